"""Means and sds of the sets that `compare` compares, and the coordinates that they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from polystein.data.coordinates import RAW, Frame
from polystein.data.source import Source
from polystein.explain.candidates import best_estimates, coordinate_candidates
from polystein.explain.estimates import (
    COLUMNS,
    Estimate,
    Quantity,
    Rows,
    first_look,
    influence_sums,
)
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.results.effect_rows import RELIABLE, TRUSTED
from polystein.types import FloatArray

#: Targets are taken for different if the sets put the mean of a parameter this many standard
#: errors, and this many sd, apart: Monte Carlo error and small faults of the sampler do not.
FAR_ERRORS, FAR_SDS = 6.0, 0.2


class Moments(NamedTuple):
    """Means and sds of one set, plain and corrected, with batch sums of their errors' influence.

    Means come first, then sds. ``targets`` are the corrected values in the units of the draws,
    (2, d), of sds the logarithms, and ``scale`` is that of the frame of the estimates.
    """

    estimates: list[Estimate]
    sums: FloatArray
    batches: EqualBatches | IndependentBatches
    targets: FloatArray
    scale: FloatArray


def moments_of(source: Source) -> Moments:
    """Mean and sd of every coordinate, as `expectations` gives them."""
    rows = Rows.of(source)
    look = first_look(rows)
    d = source.layout.dimension
    wanted = [Quantity("mean", (j,)) for j in range(d)] + [Quantity("sd", (j,)) for j in range(d)]
    found = best_estimates(rows, look.frame, coordinate_candidates(rows, look, wanted))
    if source.facts.minibatch:  # regressions on noise are too flat: the draws alone count
        found = [one._replace(corrected=one.plain, error_se=math.nan) for one in found]
    sums = influence_sums(rows, look.frame, [one.candidate for one in found])
    values = np.array([one.corrected for one in found]).reshape(2, d)
    scale = np.broadcast_to(look.frame.scale_in(RAW), d)
    targets = np.stack([look.frame.back(values[0]), values[1] + np.log(scale)])
    return Moments(found, sums[:, COLUMNS - 1 :: COLUMNS], rows.stretches, targets, scale)


def target_frame(found: Sequence[Moments]) -> Frame:
    """The target's means and sds: medians of corrected values, of trusted ones if there are any."""
    targets = np.array([one.targets for one in found])
    trusted = np.array([[e.reliability >= TRUSTED for e in one.estimates] for one in found])
    trusted = trusted.reshape(targets.shape)
    counts = trusted | ~trusted.any(axis=0)
    centre, log_scale = np.nanmedian(np.where(counts, targets, np.nan), axis=0)
    return Frame(centre, np.exp(log_scale))


def farthest(
    names: Sequence[str], found: Sequence[Moments], frame: Frame
) -> tuple[int, str, str] | None:
    """The moment, and two sets that disagree most on its value under the target."""
    d = len(found[0].scale)
    common = np.broadcast_to(frame.scale_in(RAW), d)
    worst, answer = 1.0, None
    for place in range(2 * d):
        known = []
        unit = common[place] if place < d else 1.0
        for name, one in zip(names, found, strict=True):
            estimate = one.estimates[place]
            if estimate.reliability >= RELIABLE and math.isfinite(estimate.error_se):
                own = one.scale[place] / unit if place < d else 1.0
                known.append((one.targets.flat[place] / unit, estimate.corrected_se * own, name))
        for (value, error, name), (other, its_error, its_name) in combinations(known, 2):
            least = max(FAR_SDS, FAR_ERRORS * math.hypot(error, its_error))
            if abs(value - other) / least > worst:
                worst, answer = abs(value - other) / least, (place, name, its_name)
    return answer
