"""Separate groups of points, whose centres are what rows jump between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polystein.types import FloatArray

#: Most groups. More pairs of centres would make every single jump rare.
MOST_GROUPS = 6
#: Two groups are separate if their centres are this many times the sum of their sds apart: halves
#: of a Gaussian are 1.3 apart, those of a uniform law 1.7. Closer modes need no jumps.
_SEPARATE = 2.5
#: A group has at least this many points, and this part of all.
_FEWEST, _LEAST_PART = 5, 0.02
#: A group of fewer points for each coordinate is not split: any halves of it look separate.
_ROWS_FOR_EACH_COORDINATE = 5
#: How often the metric of neighbours is estimated again in the metric found before.
_METRICS = 3
#: Axes along which 2-means may begin.
_AXES = 4
#: Points far from the median, and from each other, that 2-means may begin with. They find a mode
#: that a few of 250 points are in, and rarely split the tails of one group, which costs some steps.
_FAR_POINTS = 10


def separate_groups(points: FloatArray) -> NDArray[np.intp]:
    """The group of each point; all are 0 where no gap shows.

    Groups are split in two by 2-means, again and again, where both halves are narrow beside their
    distance. Distances are measured in the metric of differences between nearest neighbours: the
    spread of all points would hide the distance between groups.
    """
    local = _in_local_metric(points)
    labels = np.zeros(len(points), dtype=np.intp)
    least = max(_FEWEST, int(np.ceil(_LEAST_PART * len(points))))
    unsplit, count = [0], 1
    while unsplit and count < MOST_GROUPS:
        own = np.flatnonzero(labels == unsplit[-1])
        if len(own) < _ROWS_FOR_EACH_COORDINATE * points.shape[1]:
            unsplit.pop()
            continue
        halves = [_halves(local[own], centres) for centres in _first_centres(local[own])]
        gaps = [_gap(local[own], second, least) for second in halves]
        best = int(np.argmax(gaps))
        if gaps[best] <= _SEPARATE:
            unsplit.pop()
            continue
        labels[own[halves[best]]] = count
        unsplit.append(count)
        count += 1
    return labels


def _in_local_metric(points: FloatArray) -> FloatArray:
    """Points in units of the differences between neighbours."""
    scale = points.std(axis=0)
    local: FloatArray = (points - points.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    for _ in range(_METRICS):
        squares = np.einsum("ij,ij->i", local, local)
        distances = squares[:, None] + squares - 2.0 * local @ local.T
        np.fill_diagonal(distances, np.inf)
        steps = local - local[distances.argmin(axis=1)]
        # Few points say little about directions: the mean variance is added, as of some points.
        spread = steps.T @ steps / len(steps)
        ridge = np.trace(spread) / (len(spread) + len(steps))
        values, vectors = np.linalg.eigh(spread + max(ridge, 1e-12) * np.eye(len(spread)))
        local = local @ (vectors / np.sqrt(values)) @ vectors.T
    return local


def _first_centres(points: FloatArray) -> list[FloatArray]:
    """Pairs of centres that 2-means begins with.

    Two points far from each other find a small group far away; halves along the axes with the
    lightest tails find groups of similar size. A few points in a group far away are lost among the
    tails of many coordinates: the median is paired with points that are far from it and from each
    other.
    """
    away = points - points.mean(axis=0)
    first = points[np.argmax(np.einsum("ij,ij->i", away, away))]
    second = points[np.argmax(((points - first) ** 2).sum(axis=1))]
    pairs = [np.stack([first, second])]
    tails = (away**4).mean(axis=0) / np.maximum((away**2).mean(axis=0) ** 2, 1e-300)
    for axis in np.argsort(tails)[:_AXES]:
        upper = away[:, axis] > 0.0
        if upper.any() and not upper.all():
            pairs.append(np.stack([points[~upper].mean(axis=0), points[upper].mean(axis=0)]))
    middle = np.median(points, axis=0)
    distances = ((points - middle) ** 2).sum(axis=1)
    for _ in range(_FAR_POINTS):
        far = points[np.argmax(distances)]
        pairs.append(np.stack([middle, far]))
        distances = np.minimum(distances, ((points - far) ** 2).sum(axis=1))
    return pairs


def _halves(points: FloatArray, centres: FloatArray) -> NDArray[np.bool_]:
    """Which points belong to the second of two means, in the metric of the halves themselves."""
    second = np.zeros(len(points), dtype=np.bool_)
    direction = centres[1] - centres[0]
    for _ in range(30):
        found = points @ direction > 0.5 * (centres.sum(axis=0) @ direction)
        if np.array_equal(found, second) or found.all() or not found.any():
            break
        second = found
        centres, direction = _centres_and_direction(points, second)
    return second


def _centres_and_direction(
    points: FloatArray, second: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """The means of both halves, and the direction W^-1 (c_2 - c_1), W the covariance within."""
    centres = np.stack([points[~second].mean(axis=0), points[second].mean(axis=0)])
    away = points - centres[second.astype(int)]
    within = away.T @ away / len(points)
    within += 1e-3 * np.trace(within) / len(within) * np.eye(len(within))
    return centres, np.linalg.solve(within, centres[1] - centres[0])


def _gap(points: FloatArray, second: NDArray[np.bool_], least: int) -> float:
    """The distance of the centres over the sum of the sds along it; 0 if one half is too small."""
    if min(second.sum(), len(points) - second.sum()) < least:
        return 0.0
    along = points @ _centres_and_direction(points, second)[1]
    distance = along[second].mean() - along[~second].mean()
    return float(distance / max(along[second].std() + along[~second].std(), 1e-300))
