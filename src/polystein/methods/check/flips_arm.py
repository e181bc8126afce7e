"""The arm of `check` that spends no rows on training: sign flips of batch sums over all rows.

Under H0 every entry of Phi_i has mean 0, so that flipping the signs of whole batches of rows
shows how large statistics become by chance (`polystein.inference.signflips`). Batches of
chains are joined until they are longer than the memory of their features, and what memory is
left is allowed for (`polystein.inference.memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polystein.inference.memory import Joining, speeds, variance_curves
from polystein.inference.signflips import (
    FlippedStatistics,
    at_least_as_extreme,
    gamma_tail,
    is_decided,
    maximum_tail,
    random_signs,
    tamed,
)
from polystein.methods.check.arms import ALL_ROWS, DIRECTIONS, FLIPS
from polystein.methods.check.batch_sums import MOST_COORDINATES, BatchSums
from polystein.methods.check.families import (
    FEWEST_BATCHES,
    FEWEST_INDEPENDENT_A_COORDINATE,
    LEAST_DEFLATION,
    Family,
    families,
)
from polystein.methods.check.flipped_forms import FlippedForm
from polystein.methods.check.invariant import forms
from polystein.methods.check.shares import FEWEST_ROWS_A_COORDINATE, HOTELLING, Shares
from polystein.results.evidence import Abstention, Arm, Part
from polystein.types import FloatArray

#: The upper tail of values of a statistic under the law of reference values.
Tail = Callable[[FloatArray, FloatArray], FloatArray]
#: Patterns of signs, that of the draws as they are included: the p-value is a multiple of 1/500.
#: Where it is near a level that people use, the flips go on until so many.
FIRST_PATTERNS, FURTHER_PATTERNS = 500, (2_000, 6_000, 20_000)
#: Flips beyond the first take at most so many multiplications: a few seconds.
MOST_PRODUCTS = 2**35
#: So many patterns are tried at once.
_PATTERNS_AT_ONCE = 1_000


def flip_signs(
    sums: BatchSums,
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    left_out: NDArray[np.bool_],
    levels: Sequence[float] = (),
) -> list[Arm | Abstention]:
    """The arm of the sign flips, or why it abstains, and the families that it cannot judge.

    ``left_out`` says which coordinates are too slow to be judged. The flips go on while the
    p-value is near one of the ``levels``.
    """
    if not sums.memory_is_known:
        return [Abstention(FLIPS, _SHORT)]
    if left_out.all():
        return [Abstention(FLIPS, _ALL_SLOW)]
    shares = Shares(sums, left_out)
    every = _everything(sums, left_out, shares)
    signs = random_signs(FIRST_PATTERNS, sums.count, rng, unflipped_first=True)
    for one in every:
        one.flip(signs)
    missing = list(_missing(every, shares))
    judged = [one for one in every if one.moves]
    if not judged:
        few = f"there are fewer than {FEWEST_BATCHES} independent batches of rows. Take more draws"
        return [Abstention(FLIPS, few), *missing]
    extreme, patterns = _continued(judged, sums, rng, levels)
    parts = [part for one in judged for part in one.parts(names)]
    pairs = zip(parts, _shares(judged).tolist(), strict=True)
    shared = tuple(part._replace(level_share=share) for part, share in pairs)
    return [Arm(FLIPS, ALL_ROWS, extreme / patterns, shared), *missing]


_SHORT = "the chains are too short to tell how long they remember. Run them longer"
_ALL_SLOW = (
    "every coordinate is too slow, or too different from chain to chain. Look at the chains, and "
    "run them longer"
)
_SLOW = "some features remember for longer than the longest batches. Run the chains longer"
_FEW_FOR_DIRECTIONS = (
    "the coordinates are correlated, and the chains are worth fewer than "
    f"{FEWEST_INDEPENDENT_A_COORDINATE:.0f} independent rows for each of them. Run them longer"
)
_NO_METRIC = (
    f"location along a direction needs {FEWEST_ROWS_A_COORDINATE:.0f} rows for each coordinate "
    f"and at most {MOST_COORDINATES:,} coordinates. Where coordinates are correlated, faults may "
    "go unseen"
)


def _missing(every: list[Judged], shares: Shares) -> Iterator[Abstention]:
    """What is not judged though it may matter, and why."""
    if shares.lacks_metric:
        yield Abstention(DIRECTIONS, _NO_METRIC)
    for one in every:
        if one.slow:
            yield Abstention(f"{FLIPS} of {one.words}", _SLOW)
        elif isinstance(one, FlippedForm) and one.short and shares.clearly_correlated(one.worth):
            yield Abstention(f"{FLIPS} of {one.words}", _FEW_FOR_DIRECTIONS)


def _everything(sums: BatchSums, left_out: NDArray[np.bool_], shares: Shares) -> list[Judged]:
    """All statistics, whether or not they can be judged."""
    directions = [FlippedForm(form, sums) for form in forms(sums, left_out, shares)]
    # What Hotelling's statistic cannot judge is left to the sum over the scores.
    shares.has_hotelling = any(one.form.name == HOTELLING and one.moves for one in directions)
    coordinates = [
        _Flips(family, sums, left_out, careful=shares.correlated)
        for family in families(sums, left_out, shares)
    ]
    return [*coordinates, *directions]


def _shares(judged: list[Judged]) -> FloatArray:
    """Shares of the level of all statistics, which sum to 1."""
    shares = np.array([share for one in judged for share in one.shares])
    result: FloatArray = shares / shares.sum()
    return result


def _continued(
    judged: list[Judged], sums: BatchSums, rng: np.random.Generator, levels: Sequence[float]
) -> tuple[int, int]:
    """How many of how many patterns are extreme, after as many flips as it takes to be sure."""
    shares, patterns = _shares(judged), FIRST_PATTERNS
    most = _most_patterns(judged, sums)
    for further in FURTHER_PATTERNS:
        extreme = at_least_as_extreme(_tails(judged), shares)
        if further > most or is_decided(extreme, patterns, levels):
            return extreme, patterns
        while patterns < further:
            some = min(_PATTERNS_AT_ONCE, further - patterns)
            signs = random_signs(some, sums.count, rng)
            for one in judged:
                one.flip(signs)
            patterns += some
    return at_least_as_extreme(_tails(judged), shares), patterns


def _tails(judged: list[Judged]) -> FloatArray:
    """The tails of all statistics for the draws and for every flip."""
    return np.array([tail for one in judged for tail in one.tails])


def _most_patterns(judged: list[Judged], sums: BatchSums) -> float:
    """How many patterns of signs are worth their time."""
    if not sums.keeps_pairs:
        return FIRST_PATTERNS
    return MOST_PRODUCTS / (sum(one.features for one in judged) * sums.count)


class _Group(NamedTuple):
    """Features of one part of a family, by their places in it, that share their batches.

    ``deflation`` is the part of the variance that is seen, and ``independent`` is how many
    independent rows a chain's rows are worth.
    """

    places: NDArray[np.intp]
    joining: Joining
    deflation: float
    independent: float


class _Flips:
    """The two statistics of a family, for the draws and for every flip so far."""

    def __init__(
        self, family: Family, sums: BatchSums, left_out: NDArray[np.bool_], *, careful: bool
    ) -> None:
        self.family, self._sums, self._left_out = family, sums, left_out
        self._careful = careful
        #: Whether any features remember too long to be judged.
        self.slow = False
        # The groups of each part. A part may have been summed for one visit: it is grouped when
        # it is first flipped.
        self._groups: list[list[_Group]] = []
        self._found: list[FlippedStatistics] = []

    @property
    def words(self) -> str:
        """What the family looks at."""
        return self.family.words

    @property
    def features(self) -> int:
        """How many features are judged."""
        return sum(group.places.size for groups in self._groups for group in groups)

    def _grouped(self, part: FloatArray, offset: int) -> Iterator[_Group]:
        """Features of a part by their memory, without those that cannot be judged."""
        kept = self._kept(offset, part.shape[1])
        for group in self._by_memory(part, kept):
            if group.deflation < LEAST_DEFLATION:
                self.slow = True
            elif self._suffices(group):
                yield group

    def _by_memory(self, part: FloatArray, kept: NDArray[np.intp]) -> Iterator[_Group]:
        """Groups of features with the batches they are summed over."""
        levels, rows = self._sums.joinings, float(self._sums.sizes.sum())
        if len(levels) == 1 or not kept.size:
            yield _Group(kept, levels[0], 1.0, np.inf)
            return
        columns = tamed(part if kept.size == part.shape[1] else part[:, kept])
        careful = self._careful or self.family.of_all
        for features, memory in speeds(variance_curves(columns, levels), levels, careful=careful):
            independent = memory.independent(rows)
            yield _Group(kept[features], levels[memory.level], memory.deflation, independent)

    def _suffices(self, group: _Group) -> bool:
        """Whether the family can be judged on these batches."""
        enough = self._sums.effective_count(group.joining) >= self.family.fewest_batches
        return enough and group.independent >= self.family.fewest_rows

    def _kept(self, offset: int, features: int) -> NDArray[np.intp]:
        """Places of the features without a coordinate that is left out."""
        if self.family.of_all:
            return np.arange(features)
        first, second = np.divmod(np.arange(offset, offset + features), self._left_out.size)
        slow = self._left_out[second]
        return np.flatnonzero(~(slow | self._left_out[first] if self.family.of_pairs else slow))

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        found, offset = FlippedStatistics(len(signs)), 0
        for number, part in enumerate(self.family.parts()):
            if number == len(self._groups):
                self._groups.append(list(self._grouped(part, offset)))
            for group in self._groups[number]:
                self._add(found, part, offset, group, signs)
            offset += part.shape[1]
        self._found.append(found)

    def _add(
        self,
        found: FlippedStatistics,
        part: FloatArray,
        offset: int,
        group: _Group,
        signs: FloatArray,
    ) -> None:
        """Add the features of a group, of a part that begins at ``offset`` in the family."""
        whole = group.places.size == part.shape[1]
        columns = group.joining.joined(part if whole else part[:, group.places])
        own = group.joining.of_first(signs)
        # The draws' own sums are more alike than flipped ones, by what is remembered.
        unflipped = None if self._found else group.deflation
        found.add(columns, own, places=offset + group.places, unflipped=unflipped)

    @property
    def moves(self) -> bool:
        """Whether any feature varies."""
        return any(found.largest.max() > 0.0 for found in self._found)

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of the level of the statistics that have one."""
        shares = self.family.sum_share, self.family.max_share
        return tuple(share for share in shares if share > 0.0)

    @property
    def statistics(self) -> tuple[tuple[str, Tail, FloatArray], ...]:
        """Kind, tail, and values for the draws and for every flip."""
        total = np.concatenate([found.total for found in self._found])
        largest = np.concatenate([found.largest for found in self._found])
        both = (("sum", gamma_tail, total), ("max", maximum_tail, largest))
        return both[: len(self.shares)]

    @property
    def tails(self) -> list[FloatArray]:
        """The tails of the statistics, for the draws and for every flip.

        To be calibrated, the draws are treated as one of the flips.
        """
        return [tail(values, values) for _, tail, values in self.statistics]

    def parts(self, names: Sequence[str]) -> Iterator[Part]:
        """The statistics, each with a p-value of its own."""
        family, first = self.family, self._found[0]
        orders, place = family.place(first.position, len(names))
        where = (orders, tuple(names[index] for index in place))
        # A sum that comes mostly from one feature is attributed to that feature.
        of_sum = where if 2 * first.largest[0] > first.total[0] else (family.orders, ())
        places = (of_sum, where)[: len(self.shares)]
        for (kind, tail, values), share, (seen, coordinates) in zip(
            self.statistics, self.shares, places, strict=True
        ):
            # To be shown, the draws are compared with the flips alone.
            shown = float(tail(values[:1], values[1:])[0])
            yield Part(f"{family.name}: {kind}", family.words, seen, coordinates, shown, share)


#: Statistics on the same flips: those of a family of features, or a quadratic form.
Judged: TypeAlias = _Flips | FlippedForm
