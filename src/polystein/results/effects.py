"""Tables of what is wrong and by how much, and of corrected expectations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from polystein._lib.imports import imported
from polystein._lib.notes import first_of
from polystein._lib.records import listed, require_types, restore, stored
from polystein.errors import InputError
from polystein.results.coded import ACTIONS
from polystein.results.effect_rows import EffectRow, ExpectationRow
from polystein.results.noticeable import Noticeable
from polystein.results.summary import SummaryTable
from polystein.results.tolerance import Tolerance, checked_bound, judged

_Row = TypeVar("_Row", EffectRow, ExpectationRow)


class _Table(Generic[_Row]):
    """Rows that are found by name and property, and shown by `print`."""

    rows: tuple[_Row, ...]

    def __getitem__(self, key: tuple[str, str]) -> _Row:
        """The row of a name and a property, ``table["tau", "sd"]``."""
        for row in self.rows:
            if (row.name, row.what) == tuple(key):
                return row
        known = ", ".join(f"({row.name!r}, {row.what!r})" for row in self.rows[:6])
        raise InputError(
            f"the key must be the name and property of a row, {known}, ...; got {key!r}"
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[_Row]:
        return iter(self.rows)

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame."""
        pandas = imported("pandas", None, "`to_dataframe`")
        return pandas.DataFrame([row._asdict() for row in self.rows])


@dataclass(frozen=True, repr=False)
class ExpectationTable(_Table[ExpectationRow]):
    """Expectations of the target, one row each; `print` shows them.

    Attributes
    ----------
    rows : tuple of ExpectationRow
        In the order in which they were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.0, 0.5, size=(1000, 2))
    >>> sample = ps.Sample(draws, lambda x: -x, names=["a", "b"])  # the target is N(0, I)
    >>> table = ps.expectations(sample)
    >>> table
    ExpectationTable(4 rows: a, b)
    >>> row = table["a", "sd"]
    >>> round(row.plain, 2), round(row.corrected, 2), row.reliable
    (0.51, 1.0, True)
    """

    rows: tuple[ExpectationRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: None stands for NaN and infinity."""
        return {"rows": [_finite(row._asdict()) for row in self.rows]}

    def __str__(self) -> str:
        from polystein.report.effects import expectation_table

        return expectation_table(self)

    def __repr__(self) -> str:
        names = first_of(list(dict.fromkeys(row.name for row in self.rows)), 3)
        return f"ExpectationTable({len(self)} rows: {names})"

    def _repr_html_(self) -> str:
        from polystein.report.html import expectations_fragment

        return expectations_fragment(self)


@dataclass(frozen=True, repr=False)
class EffectTable(_Table[EffectRow]):
    """What is wrong with the draws, the most important first; `print` shows it.

    Attributes
    ----------
    rows : tuple of EffectRow
        What was found, and below that what was looked at and not found.
    looks : int
        How many properties the p-values allow for, also those that a quick look left out.
    hint : str
        What to do next. Empty where nothing was found, unless `check` knows of suspect scores or
        of chains that differ.
    complete : bool
        Whether the mean and the sd of every coordinate are among the rows.
    action : str
        The code of the hint, for programs, such as ``"full-rank-or-mcmc"``; empty without a hint.
    own_names : mapping
        What the model itself calls coordinates that are its parameters on another scale, such as
        ``"tau"`` for ``"tau_log__"``. Sizes are those of the coordinates.
    unconstrained : bool
        Whether the sample has a transform to the model's own parameters: sizes, and tolerances,
        are those of unconstrained coordinates.
    refine : str
        The call of `polystein.refine` that fits the draws, such as ``"ps.refine(sample)"``; empty
        where their log-density is not known. `to_dict` leaves it out.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((4, 1000, 2)) * [1.0, 0.7]
    >>> sample = ps.Sample(draws, lambda x: -x, names=["mu", "tau"])  # the target is N(0, I)
    >>> table = ps.check(sample, rng=1).effects  # or ps.effects(sample)
    >>> print(table.found[0].sentence)
    the sd of `tau` is 30 % too small (29 to 32 %)
    >>> row = table["tau", "sd"]
    >>> row.found, round(row.size, 1)  # of an sd, the ratio to that of the target
    (True, 0.7)
    >>> table.within(0.1).verdict
    'beyond'
    """

    rows: tuple[EffectRow, ...]
    looks: int
    hint: str = ""
    complete: bool = True
    action: str = ""
    own_names: Mapping[str, str] = field(default_factory=dict)
    unconstrained: bool = False
    refine: str = field(default="", compare=False)

    @property
    def found(self) -> tuple[EffectRow, ...]:
        """The rows that are found at the level 0.05, all together."""
        return tuple(row for row in self.rows if row.found)

    @property
    def unsized(self) -> tuple[EffectRow, ...]:
        """Of single parameters and pairs, the rows that are off by an amount that is not known."""
        return tuple(row for row in self.found if not row.judged and not row.direction)

    @property
    def judged(self) -> tuple[EffectRow, ...]:
        """The rows whose error is known. What the scores do not explain cannot be judged."""
        return tuple(row for row in self.rows if row.judged)

    def within(self, tolerance: float) -> Tolerance:
        """Whether every mean and every sd is within the tolerance.

        Means must be within ``tolerance`` standard deviations of the target, and ratios of sds
        between 1 - tolerance and 1 + tolerance. The tolerance is strictly between 0 and 1.
        """
        return judged(self.rows, checked_bound(tolerance), complete=self.complete)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: None stands for NaN and infinity."""
        return {
            "rows": [_finite(row._asdict()) for row in self.rows],
            "looks": self.looks,
            "hint": self.hint,
            "complete": self.complete,
            "action": self.action,
            "own_names": dict(self.own_names),
            "unconstrained": self.unconstrained,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EffectTable:
        """The table that `to_dict` was called on."""
        with stored(values) as content:
            if isinstance(content.get("action"), str) and content["action"] not in ACTIONS:
                content["action"] = ""  # a code of a later version
            rows = tuple(EffectRow(**_unbounded(row)) for row in listed(content["rows"], "rows"))
            parts = (content["looks"], content["hint"], content["complete"])
            own = dict(content.get("own_names", {}))
            scale = content.get("unconstrained", False)
            made = cls(rows, *parts, content.get("action", ""), own, scale)
            require_types(made)
        return made

    def __str__(self) -> str:
        from polystein.report.effects import effect_table

        return effect_table(self)

    def __repr__(self) -> str:
        found = self.found
        first = f": {found[0].sentence}" + (", ..." if len(found) > 1 else "") if found else ""
        return f"EffectTable({len(found)} of {self.looks} properties off{first})"

    def _repr_html_(self) -> str:
        from polystein.report.html import effects_fragment

        return effects_fragment(self)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        restore(self, state)


class WithEffects:
    """What a result has beside its verdict: effects, computed when they are asked for.

    A result that was read from a file, or unpickled, has those that were computed before.
    """

    #: The table, once it is computed.
    effect_table: EffectTable | None
    #: What would have been noticed, once it is computed.
    noticeable_faults: tuple[Noticeable, ...] | None

    @property
    def effects(self) -> EffectTable:
        """Which property of which parameter is off, and by how much; see `polystein.effects`."""
        if self.effect_table is None:
            compute = self.__dict__.get("_compute_effects")
            if compute is None:
                raise InputError(
                    "`effects` must have been computed before a result is stored, and need a test "
                    "that computes them, `check`. Call `polystein.effects` on the draws"
                )
            object.__setattr__(self, "effect_table", compute())
            self.__dict__.pop("_compute_effects")
        assert self.effect_table is not None
        return self.effect_table

    @property
    def can_tell_effects(self) -> bool:
        """Whether `effects` are there, or can be computed."""
        return self.effect_table is not None or "_compute_effects" in self.__dict__

    def compute_effects_by(self, compute: Callable[[], EffectTable]) -> None:
        """Say how the effects are computed when they are asked for."""
        object.__setattr__(self, "_compute_effects", compute)

    @property
    def noticeable(self) -> tuple[Noticeable, ...]:
        """The sizes of faults that `check` would have noticed, with probability 0.8 or more.

        A mean, an sd and a correlation that are off in one parameter alone, each in that where it
        shows least. Empty where the sign flips do not judge.
        """
        if self.noticeable_faults is None:
            compute = self.__dict__.get("_compute_noticeable")
            if compute is None:
                raise InputError(
                    "`noticeable` must have been computed before a result is stored, and needs a "
                    "test that computes it, `check`. Call `check` on the draws again"
                )
            object.__setattr__(self, "noticeable_faults", compute())
            self.__dict__.pop("_compute_noticeable")
        assert self.noticeable_faults is not None
        return self.noticeable_faults

    @property
    def can_tell_noticeable(self) -> bool:
        """Whether `noticeable` is there, or can be computed."""
        return self.noticeable_faults is not None or "_compute_noticeable" in self.__dict__

    def compute_noticeable_by(self, compute: Callable[[], tuple[Noticeable, ...]]) -> None:
        """Say how what would have been noticed is computed when it is asked for."""
        object.__setattr__(self, "_compute_noticeable", compute)

    def compute_summary_by(self, compute: Callable[[Any], SummaryTable]) -> None:
        """Say how the summary of the result is computed when it is asked for."""
        object.__setattr__(self, "_compute_summary", compute)

    def __getstate__(self) -> dict[str, Any]:
        # What computes effects and summaries holds the draws, which no stored result should.
        return {
            key: value for key, value in self.__dict__.items() if not key.startswith("_compute_")
        }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def _unbounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """None as what it stood for: the bounds of an interval without bounds, an unknown size."""
    missing = {"lower": -math.inf, "upper": math.inf, "error": math.inf, "df": math.inf}
    if values["lower"] is None and values["upper"] is None:
        missing |= {"size": math.nan, "estimate": math.nan}
    found = {key: missing.get(key) if value is None else value for key, value in values.items()}
    lists = {name: listed(values.get(name, ()), name) for name in ("direction", "pair")}
    return {**found, **lists}
