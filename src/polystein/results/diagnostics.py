"""What is known beside the verdict: R-hat, ESS and divergences of chains, k-hat of fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein._lib.records import listed
from polystein.data.passes import every_row, run_pass
from polystein.data.sample import Sample
from polystein.data.source import Source, coordinate_names
from polystein.inference.convergence import ranked_convergence
from polystein.inference.convergence_of_means import MeansConvergence
from polystein.results.sampler import SamplerDiagnostics, sampler_words
from polystein.stein.witness import ChainColumns
from polystein.types import Array, FloatArray

#: Coordinates are ranked together up to this many numbers, 256 MiB.
RANKED_AT_ONCE = 2**25
#: Ranking this many numbers takes about a second. A report of more shows ranks only if they are
#: known already.
RANKED_FOR_REPORT = 2**22

#: Beyond this k-hat importance sampling fails (Vehtari et al., 2024).
LARGEST_PARETO_K = 0.7

_OF_MEANS, _BY_RANKS = ("rhat_of_means", "ess_of_means"), ("rhat", "ess_bulk", "ess_tail")


class CoordinateConvergence(NamedTuple):
    """Rank-normalised split R-hat, bulk ESS and tail ESS of one coordinate."""

    name: str
    rhat: float
    ess_bulk: float
    ess_tail: float


class Worst(NamedTuple):
    """The largest R-hat and the smallest ESS, and the coordinates that have them.

    Both are rank-normalised where ``ranked`` is True, and those of means otherwise. The ESS is
    the smaller of bulk and tail.
    """

    rhat: float
    rhat_of: str
    ess: float
    ess_of: str
    ranked: bool


@dataclass(frozen=True)
class RowsOf:
    """The rows that ranks are taken of: the draws or the scores of a source."""

    source: Source
    what: Literal["draws", "scores"]

    @property
    def array(self) -> Array | None:
        """The rows if they are in memory, of shape (chain, draw, d) or (n, d); None otherwise."""
        if not isinstance(self.source, Sample) or isinstance(self.source.draws, np.memmap):
            return None
        found = self.source.draws if self.what == "draws" else self.source.scores
        return None if isinstance(found, np.memmap) else found

    @property
    def in_memory(self) -> bool:
        """Whether rows can be looked at without reading a file."""
        return self.array is not None

    @property
    def numbers(self) -> int:
        """How many numbers there are."""
        return self.source.layout.total * self.source.layout.dimension

    def chains(self, columns: Sequence[int], step: int = 1) -> list[FloatArray] | FloatArray:
        """Some columns of every chain, of every ``step``-th row if the rows are in memory.

        Those in memory are one array of shape (chain, draw, column).
        """
        array = self.array
        if array is None:
            kept = ChainColumns(_Chosen(self.what, tuple(columns)))
            run_pass(self.source, every_row(self.source), kept)
            return kept.by_chain()
        values = to_numpy(array[..., ::step, :])
        values = values if values.ndim == 3 else values[None]
        return values if len(columns) == values.shape[2] else values[:, :, columns]


class _Chosen(NamedTuple):
    """Some columns of the draws or of the scores."""

    what: Literal["draws", "scores"]
    columns: tuple[int, ...]

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        return (draws if self.what == "draws" else scores)[:, self.columns]


class Ranked:
    """Rank-normalised diagnostics, coordinate by coordinate, each computed when first asked for.

    They need the rows, which are kept for this. A pickle has no rows: what is in memory is
    ranked first.
    """

    def __init__(self, rows: RowsOf | None = None) -> None:
        self.rows = rows
        self.known: dict[int, tuple[float, float, float]] = {}

    def learn(self, columns: Iterable[int]) -> bool:
        """Rank these coordinates unless they are known; whether they are known by now."""
        wanted = sorted(set(columns) - set(self.known))
        if not wanted or self.rows is None:
            return not wanted
        at_once = max(1, RANKED_AT_ONCE // self.rows.source.layout.total)
        for low in range(0, len(wanted), at_once):
            some = wanted[low : low + at_once]
            self.put(some, ranked_convergence(self.rows.chains(some)))
        return True

    def put(self, columns: Sequence[int], found: Sequence[FloatArray]) -> None:
        """Keep R-hat, bulk ESS and tail ESS of these coordinates, the first of what is found."""
        numbers = (part.tolist() for part in found[: len(_BY_RANKS)])
        self.known.update(zip(columns, zip(*numbers, strict=True), strict=True))

    def __getstate__(self) -> dict[str, Any]:
        if self.rows is not None and self.rows.in_memory:
            self.learn(range(self.rows.source.layout.dimension))
        return {"rows": None, "known": self.known}


@dataclass(frozen=True)
class Convergence:
    """R-hat and ESS of the draws, or of the scores.

    `rhat`, `ess_bulk` and `ess_tail` are the rank-normalised ones of Vehtari et al. (2021),
    equal to those of ArviZ. They are computed from the rows when they are first asked for,
    and are the worst over the coordinates; `by_coordinate` has all of them. They are None if
    the rows are not at hand any more. Chains count as they are, without importance weights.

    Attributes
    ----------
    names : tuple of str
        The coordinates.
    rhat_of_means, ess_of_means : tuple of float
        R-hat of the means of half chains and the ESS of the mean, of every coordinate. They need
        no second look at the rows. In results of `check` they are those that the verdict rests on:
        where ranks of evenly spaced rows give a suspect R-hat or too small an ESS, the numbers by
        ranks.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> chains = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> draws = Convergence.of(ps.Sample(chains, -chains), "draws")
    >>> draws.rhat < 1.01, draws.ess_bulk > 1500
    (True, True)
    >>> [row.name for row in draws.by_coordinate()]
    ['x[0]', 'x[1]']
    """

    names: tuple[str, ...]
    rhat_of_means: tuple[float, ...]
    ess_of_means: tuple[float, ...]
    ranked: Ranked = field(default_factory=Ranked, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        source: Source,
        what: Literal["draws", "scores"],
        means: MeansConvergence | None = None,
    ) -> Convergence:
        """The convergence of what a source holds; that of means is NaN unless it is given."""
        names = coordinate_names(source)
        unknown = np.full(len(names), math.nan)
        rhat, ess = (unknown, unknown) if means is None else means
        ranked = Ranked(RowsOf(source, what))
        return cls(names, tuple(rhat.tolist()), tuple(ess.tolist()), ranked)

    @property
    def rhat(self) -> float | None:
        """The largest rank-normalised split R-hat; NaN if no coordinate varies."""
        return self._extreme("rhat", max)

    @property
    def ess_bulk(self) -> float | None:
        """The smallest bulk ESS."""
        return self._extreme("ess_bulk", min)

    @property
    def ess_tail(self) -> float | None:
        """The smallest tail ESS, of the 5 % and 95 % quantiles."""
        return self._extreme("ess_tail", min)

    def _extreme(self, name: str, pick: Callable[..., float]) -> float | None:
        """The largest or smallest over the coordinates that vary; NaN if none does."""
        rows = self.by_coordinate()
        if rows is None:
            return None
        numbers = [getattr(row, name) for row in rows]
        return pick((value for value in numbers if not math.isnan(value)), default=math.nan)

    def by_coordinate(self) -> list[CoordinateConvergence] | None:
        """The rank-normalised diagnostics of every coordinate; None without the rows."""
        if not self.ranked.learn(range(len(self.names))):
            return None
        rows = (self.ranked.known[column] for column in range(len(self.names)))
        return [
            CoordinateConvergence(name, *row) for name, row in zip(self.names, rows, strict=True)
        ]

    def worst_known(self) -> Worst:
        """The worst without another look at the rows: by ranks where they are known, else by means.

        NaN, of a coordinate that does not vary, is neither large nor small.
        """
        rhat, ess = self.known()
        # Of equal ones the first is given.
        large = [-math.inf if math.isnan(value) else value for value in rhat]
        small = [math.inf if math.isnan(value) else value for value in ess]
        largest, smallest = large.index(max(large)), small.index(min(small))
        every, names = len(self.ranked.known) == len(self.names), self.names
        return Worst(rhat[largest], names[largest], ess[smallest], names[smallest], every)

    def known(self) -> tuple[list[float], list[float]]:
        """R-hat and ESS of every coordinate: by ranks where they are known, else of means."""
        rhat, ess = list(self.rhat_of_means), list(self.ess_of_means)
        for column, (own, bulk, tail) in self.ranked.known.items():
            # Chains of fewer than four draws have none.
            if not math.isnan(bulk):
                rhat[column], ess[column] = own, min(bulk, tail)
        return rhat, ess

    def worst(self) -> Worst:
        """The worst for a report, by ranks if they are known or do not take long."""
        rows = self.ranked.rows
        if rows is not None and rows.in_memory and rows.numbers <= RANKED_FOR_REPORT:
            self.by_coordinate()
        return self.worst_known()

    def constant(self) -> tuple[str, ...]:
        """The coordinates that do not vary."""
        numbers = zip(self.names, *self.known(), strict=True)
        return tuple(n for n, rhat, ess in numbers if math.isnan(rhat) and not math.isnan(ess))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: None for NaN, "inf" for infinity, by coordinate."""
        state = self.ranked.__getstate__()["known"]
        values: dict[str, Any] = {"names": list(self.names)}
        values["rhat_of_means"] = [_plain(value) for value in self.rhat_of_means]
        values["ess_of_means"] = [_plain(value) for value in self.ess_of_means]
        every = len(state) == len(self.names)
        for place, name in enumerate(_BY_RANKS):
            ranked = [_plain(state[column][place]) for column in sorted(state)]
            values[name] = ranked if every else None
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Convergence:
        """The convergence that `to_dict` was called on, without its rows."""
        rhat, ess = (tuple(map(_number, listed(values[name], name))) for name in _OF_MEANS)
        made = cls(listed(values["names"], "names"), rhat, ess)
        if not len(made.names) == len(rhat) == len(ess):
            raise ValueError("names and numbers of coordinates differ")
        columns = [values[name] for name in _BY_RANKS]
        if None not in columns:
            made.ranked.known.update(
                enumerate(zip(*(map(_number, column) for column in columns), strict=True))
            )
        return made


@dataclass(frozen=True)
class Diagnostics:
    """Convergence of chains and what the sampler said, or k-hat of a variational fit.

    The numbers have ArviZ's names: `rhat`, `ess_bulk`, `ess_tail`, `bfmi`, `pareto_k`.

    Attributes
    ----------
    draws, scores : Convergence or None
        R-hat and ESS of chains; None for independent rows.
    sampler : SamplerDiagnostics or None
        Divergences and the like, where the draws came with them.
    pareto_k : float or None
        Pareto k-hat of the importance ratios p/q at draws of a fit, where its density q is known.
        Above 0.7 importance weights cannot repair the draws.
    """

    draws: Convergence | None = None
    scores: Convergence | None = None
    sampler: SamplerDiagnostics | None = None
    pareto_k: float | None = None

    @property
    def of_chains(self) -> tuple[Convergence, Convergence] | None:
        """The convergence of draws and of scores; None for independent rows."""
        return None if self.draws is None or self.scores is None else (self.draws, self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        sampler = None if self.sampler is None else self.sampler._asdict()
        return {
            "draws": None if self.draws is None else self.draws.to_dict(),
            "scores": None if self.scores is None else self.scores.to_dict(),
            "sampler": sampler,
            "pareto_k": self.pareto_k,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Diagnostics:
        """The diagnostics that `to_dict` was called on."""
        sampler = values["sampler"]
        draws, scores = (
            None if values[what] is None else Convergence.from_dict(values[what])
            for what in ("draws", "scores")
        )
        return cls(
            draws,
            scores,
            None if sampler is None else SamplerDiagnostics(**sampler),
            values.get("pareto_k"),  # earlier results have none
        )

    def __str__(self) -> str:
        if self.of_chains is None:
            return "" if self.pareto_k is None else pareto_k_words(self.pareto_k)
        draws, scores = self.of_chains
        rows = [("draws", draws.worst()), ("scores", scores.worst())]
        lines = [f"{'worst of':<9} {'R-hat':>7} {'':<14} {'ESS':>8}"]
        for name, worst in rows:
            lines.append(
                f"{name:<9} {worst.rhat:>7.3f} {worst.rhat_of:<14.14} "
                f"{worst.ess:>8.0f} {worst.ess_of:.14}".rstrip()
            )
        if not all(worst.ranked for _, worst in rows):
            lines.append("R-hat and ESS of means, without ranks")
        return "\n".join([*lines, *([] if self.sampler is None else [sampler_words(self.sampler)])])


def pareto_k_words(pareto_k: float) -> str:
    """How k-hat of the importance ratios p/q is read."""
    if pareto_k > LARGEST_PARETO_K:
        reading = f"above {LARGEST_PARETO_K:g}: importance weights cannot repair these draws"
    else:
        reading = f"at most {LARGEST_PARETO_K:g}: importance weights could correct the draws"
    return f"Pareto k-hat {pareto_k:.2f}, {reading}"


def _plain(value: float) -> float | str | None:
    return None if math.isnan(value) else "inf" if math.isinf(value) else value


def _number(value: float | str | None) -> float:
    return math.nan if value is None else float(value)
