"""The arm of `check` that spends no rows on training: sign flips of batch sums over all rows.

Under H0 every entry of Phi_i has mean 0, so that flipping the signs of whole batches of rows
shows how large statistics become by chance (`polystein.inference.signflips`). Batches of
chains are joined until they are longer than the memory of their features, and what memory is
left is allowed for (`polystein.inference.memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

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
from polystein.methods.check.arms import ALL_ROWS, FLIPS
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import FEWEST_BATCHES, Family, families
from polystein.results.evidence import Abstention, Arm, Part
from polystein.types import FloatArray

#: The upper tail of values of a statistic under the law of reference values.
Tail = Callable[[FloatArray, FloatArray], FloatArray]
#: Patterns of signs, that of the draws as they are included: the p-value is a multiple of 1/500.
#: Where it is near a level that people use, the flips go on until so many.
FIRST_PATTERNS, FURTHER_PATTERNS = 500, (2_000, 5_000, 20_000)
#: Flips beyond the first take at most so many multiplications: a few seconds.
MOST_PRODUCTS = 2**35
#: So many patterns are tried at once.
_PATTERNS_AT_ONCE = 1_000
#: Features of which this little of the variance is seen by the longest batches are not judged.
LEAST_DEFLATION = 0.3


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
    every = [_Flips(family, sums, left_out) for family in families(sums)]
    slow = [Abstention(f"{FLIPS} of {one.family.words}", _SLOW) for one in every if one.slow]
    judged = [one for one in every if one.groups]
    signs = random_signs(FIRST_PATTERNS, sums.count, rng, unflipped_first=True)
    for one in judged:
        one.flip(signs)
    judged = [one for one in judged if one.moves]
    if not judged:
        few = f"there are fewer than {FEWEST_BATCHES} independent batches of rows"
        return [Abstention(FLIPS, few), *slow]
    extreme, patterns = _continued(judged, sums, rng, levels)
    parts = [part for one in judged for part in one.parts(names)]
    pairs = zip(parts, _shares(judged).tolist(), strict=True)
    shared = tuple(part._replace(level_share=share) for part, share in pairs)
    return [Arm(FLIPS, ALL_ROWS, extreme / patterns, shared), *slow]


_SLOW = "some features remember for longer than the longest batches. Run the chains longer"


def _shares(judged: list[_Flips]) -> FloatArray:
    """Shares of the level of all statistics, which sum to 1."""
    shares = np.array([share for one in judged for share in one.shares])
    result: FloatArray = shares / shares.sum()
    return result


def _continued(
    judged: list[_Flips], sums: BatchSums, rng: np.random.Generator, levels: Sequence[float]
) -> tuple[int, int]:
    """How many of how many patterns are extreme, after as many flips as it takes to be sure."""
    shares, patterns = _shares(judged), FIRST_PATTERNS
    most = _most_patterns(judged, sums)
    for further in FURTHER_PATTERNS:
        extreme = at_least_as_extreme(_tails(judged), shares)
        if further > most or is_decided(extreme, patterns, levels):
            break
        while patterns < further:
            some = min(_PATTERNS_AT_ONCE, further - patterns)
            signs = random_signs(some, sums.count, rng)
            for one in judged:
                one.flip(signs)
            patterns += some
    return at_least_as_extreme(_tails(judged), shares), patterns


def _tails(judged: list[_Flips]) -> FloatArray:
    """The tails of all statistics for the draws and for every flip.

    To be calibrated, the draws are treated as one of the flips.
    """
    return np.array([tail(values, values) for one in judged for _, tail, values in one.statistics])


def _most_patterns(judged: list[_Flips], sums: BatchSums) -> float:
    """How many patterns of signs are worth their time."""
    if not sums.keeps_pairs:
        return FIRST_PATTERNS
    features = sum(group.places.size for one in judged for group in one.groups)
    return MOST_PRODUCTS / (features * sums.count)


class _Group(NamedTuple):
    """Features of one part of a family that are flipped in the same batches.

    ``places`` are their places in the part, ``offset`` is where the part begins in the family.
    """

    part: int
    offset: int
    places: NDArray[np.intp]
    joining: Joining
    deflation: float


class _Flips:
    """The two statistics of a family, for the draws and for every flip so far."""

    def __init__(self, family: Family, sums: BatchSums, left_out: NDArray[np.bool_]) -> None:
        self.family, self._sums, self._left_out = family, sums, left_out
        #: Whether any features remember too long to be judged.
        self.slow = False
        self.groups = list(self._grouped())
        self._found: list[FlippedStatistics] = []

    def _grouped(self) -> Iterator[_Group]:
        """Features by their memory, without those that cannot be judged."""
        offset = 0
        for number, part in enumerate(self.family.parts()):
            kept = self._kept(offset, part.shape[1])
            for places, joining, deflation in _by_memory(part, kept, self._sums):
                if deflation < LEAST_DEFLATION:
                    self.slow = True
                elif self._sums.effective_count(joining) >= self.family.fewest_batches:
                    yield _Group(number, offset, places, joining, deflation)
            offset += part.shape[1]

    def _kept(self, offset: int, features: int) -> NDArray[np.intp]:
        """Places of the features without a coordinate that is left out."""
        first, second = np.divmod(np.arange(offset, offset + features), self._left_out.size)
        slow = self._left_out[second]
        return np.flatnonzero(~(slow | self._left_out[first] if self.family.of_pairs else slow))

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        found = FlippedStatistics(len(signs))
        parts = enumerate(self.family.parts())
        number, part = next(parts)
        for group in self.groups:
            while number < group.part:
                number, part = next(parts)
            whole = group.places.size == part.shape[1]
            columns = group.joining.joined(part if whole else part[:, group.places])
            own = signs if group.joining.count == len(part) else signs[:, group.joining.starts]
            factors = None
            if not self._found and group.deflation < 1.0:
                # The draws' own sums are more alike than flipped ones, by what is remembered.
                factors = np.ones(len(signs))
                factors[0] = group.deflation
            found.add(
                columns,
                own,
                factors=factors,
                places=group.offset + group.places,
                unflipped_first=not self._found,
            )
        self._found.append(found)

    @property
    def moves(self) -> bool:
        """Whether any feature varies."""
        return any(found.largest.max() > 0.0 for found in self._found)

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of the level of the two statistics."""
        return self.family.sum_share, self.family.max_share

    @property
    def statistics(self) -> tuple[tuple[str, Tail, FloatArray], ...]:
        """Kind, tail, and values for the draws and for every flip."""
        total = np.concatenate([found.total for found in self._found])
        largest = np.concatenate([found.largest for found in self._found])
        return (("sum", gamma_tail, total), ("max", maximum_tail, largest))

    def parts(self, names: Sequence[str]) -> Iterator[Part]:
        """The two statistics, each with a p-value of its own."""
        family = self.family
        orders, place = family.place(self._found[0].position, len(names))
        where = (orders, tuple(names[index] for index in place))
        (_, _, total), (_, _, largest) = self.statistics
        # A sum that comes mostly from one feature is attributed to that feature.
        of_sum = where if 2 * largest[0] > total[0] else (family.orders, ())
        places = (of_sum, where)
        for (kind, tail, values), share, (seen, coordinates) in zip(
            self.statistics, self.shares, places, strict=True
        ):
            # To be shown, the draws are compared with the flips alone.
            shown = float(tail(values[:1], values[1:])[0])
            yield Part(f"{family.name}: {kind}", family.words, seen, coordinates, shown, share)


def _by_memory(
    part: FloatArray, kept: NDArray[np.intp], sums: BatchSums
) -> Iterator[tuple[NDArray[np.intp], Joining, float]]:
    """Groups of features, the batches they are summed over, and the part of the variance seen."""
    levels = sums.joinings
    if len(levels) == 1 or not kept.size:
        yield kept, levels[0], 1.0
        return
    columns = tamed(part if kept.size == part.shape[1] else part[:, kept])
    for speed in speeds(variance_curves(columns, levels), levels):
        memory = speed.memory
        yield kept[speed.features], levels[memory.level], memory.deflation
