"""The arm of `check` that spends no rows on training: sign flips of batch sums over all rows.

Under H0 every entry of Phi_i has mean 0, so that flipping the signs of whole batches of rows
shows how large statistics become by chance (`polystein.inference.signflips`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polystein.inference.signflips import (
    calibrated_minimum,
    flipped_statistics,
    gamma_tail,
    maximum_tail,
    random_signs,
)
from polystein.methods.check.arms import ALL_ROWS, FLIPS
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import Family, families
from polystein.results.evidence import Arm, Part
from polystein.types import FloatArray

#: Flips beside the draws as they are: the p-value is a multiple of 1/(NUMBER_OF_FLIPS + 1).
NUMBER_OF_FLIPS = 499
#: Fewer batches than this have too few patterns of signs for a p-value.
FEWEST_BATCHES = 8


def flip_signs(sums: BatchSums, names: Sequence[str], rng: np.random.Generator) -> Arm | None:
    """The arm of the sign flips; None if there are too few batches."""
    if sums.effective_count < FEWEST_BATCHES:
        return None
    signs = random_signs(NUMBER_OF_FLIPS, sums.count, rng)
    parts: list[Part] = []
    tails: list[FloatArray] = []
    for family in families(sums):
        for part, tail in _judged(family, signs, names):
            parts.append(part)
            tails.append(tail)
    if not parts:
        return None
    whole = sum(part.level_share for part in parts)
    parts = [part._replace(level_share=part.level_share / whole) for part in parts]
    shares = np.array([part.level_share for part in parts])
    return Arm(FLIPS, ALL_ROWS, calibrated_minimum(np.array(tails), shares), tuple(parts))


def _judged(
    family: Family, signs: FloatArray, names: Sequence[str]
) -> list[tuple[Part, FloatArray]]:
    """The two statistics of a family, each with its tails for the draws and for every flip."""
    total, largest, position = flipped_statistics(family.parts, signs)
    if not largest.max() > 0.0:
        return []
    orders, place = family.place(position, len(names))
    where = (orders, tuple(names[index] for index in place))
    # A sum that comes mostly from one feature is attributed to that feature.
    of_sum = where if 2 * largest[0] > total[0] else (family.orders, ())
    found = []
    for kind, tail, values, share, (seen, coordinates) in (
        ("sum", gamma_tail, total, family.sum_share, of_sum),
        ("max", maximum_tail, largest, family.max_share, where),
    ):
        # To be shown, the draws are compared with the flips alone; to be calibrated, they
        # must be treated as one of them.
        shown = float(tail(values[:1], values[1:])[0])
        name = f"{family.name}: {kind}"
        part = Part(name, family.words, seen, coordinates, shown, share)
        found.append((part, tail(values, values)))
    return found
