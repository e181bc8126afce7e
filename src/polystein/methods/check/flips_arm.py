"""The arm of `check` that spends no rows on training: sign flips of batch sums over all rows.

Under H0 every entry of Phi_i has mean 0, so that flipping the signs of whole batches of rows
shows how large statistics become by chance (`polystein.inference.signflips`). Batches of
chains are joined until they are longer than the memory of their features, and what memory is
left is allowed for (`polystein.inference.memory`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polystein.inference.signflips import at_least_as_extreme, is_decided, random_signs
from polystein.methods.check.arms import ALL_ROWS, DIRECTIONS, FLIPS
from polystein.methods.check.batch_sums import MOST_COORDINATES, BatchSums
from polystein.methods.check.families import (
    FEWEST_BATCHES,
    FEWEST_INDEPENDENT_A_COORDINATE,
    families,
)
from polystein.methods.check.flipped_families import FlippedFamily
from polystein.methods.check.flipped_forms import FlippedForm
from polystein.methods.check.invariant import forms
from polystein.methods.check.shares import FEWEST_ROWS_A_COORDINATE, HOTELLING, Shares
from polystein.results.evidence import Abstention, Arm
from polystein.types import FloatArray

#: Statistics on the same flips: those of a family of features, or a quadratic form.
Judged: TypeAlias = FlippedFamily | FlippedForm
#: Patterns of signs, that of the draws as they are included: the p-value is a multiple of 1/500.
#: Where it is near a level that people use, the flips go on until this many.
FIRST_PATTERNS, FURTHER_PATTERNS = 500, (2_000, 6_000, 20_000)
#: Flips beyond the first take at most this many multiplications: a few seconds.
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
    every = _Everything(sums, left_out, shares)
    every.flip(random_signs(FIRST_PATTERNS, sums.count, rng, unflipped_first=True))
    missing = list(_missing(every.statistics, shares))
    judged = every.moving
    if not judged:
        few = f"there are fewer than {FEWEST_BATCHES} independent batches of rows. Take more draws"
        return [Abstention(FLIPS, few), *missing]
    extreme, patterns = _continued(every, sums, rng, levels)
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


class _Everything:
    """All statistics, whether or not they can be judged."""

    def __init__(self, sums: BatchSums, left_out: NDArray[np.bool_], shares: Shares) -> None:
        forms_of_sums = [FlippedForm(form, sums) for form in forms(sums, left_out, shares)]
        # What Hotelling's statistic cannot judge is left to the sum over the scores.
        shares.has_hotelling = any(
            one.form.name == HOTELLING and one.moves for one in forms_of_sums
        )
        coordinates = [
            FlippedFamily(family, sums, left_out, conservative=shares.correlated)
            for family in families(sums, left_out, shares)
        ]
        self.statistics: list[Judged] = [*coordinates, *forms_of_sums]

    @property
    def moving(self) -> list[Judged]:
        """Those that vary."""
        return [one for one in self.statistics if one.moves]

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs."""
        for one in self.statistics:
            if not one.is_flipped or one.moves:
                one.flip(signs)


def _shares(judged: list[Judged]) -> FloatArray:
    """Shares of the level of all statistics, which sum to 1."""
    shares = np.array([share for one in judged for share in one.shares])
    result: FloatArray = shares / shares.sum()
    return result


def _continued(
    every: _Everything, sums: BatchSums, rng: np.random.Generator, levels: Sequence[float]
) -> tuple[int, int]:
    """How many of how many patterns are extreme, after as many flips as it takes to be sure."""
    judged, patterns = every.moving, FIRST_PATTERNS
    most = _most_patterns(judged, sums)
    for further in FURTHER_PATTERNS:
        extreme = _extreme(judged)
        if further > most or is_decided(extreme, patterns, levels):
            return extreme, patterns
        while patterns < further:
            some = min(_PATTERNS_AT_ONCE, further - patterns)
            every.flip(random_signs(some, sums.count, rng))
            patterns += some
    return _extreme(judged), patterns


def _extreme(judged: list[Judged]) -> int:
    """How many patterns are at least as extreme as the draws, which count themselves."""
    statistics = [statistic for one in judged for statistic in one.statistics]
    return at_least_as_extreme(statistics, _shares(judged).tolist())


def _most_patterns(judged: list[Judged], sums: BatchSums) -> float:
    """How many patterns of signs are worth their time."""
    if not sums.keeps_pairs:
        return FIRST_PATTERNS
    return MOST_PRODUCTS / (sum(one.features for one in judged) * sums.count)
