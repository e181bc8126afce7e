"""Numbers behind the plots of draws: first Stein moments with errors, and chains as they grow."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import DrawMoments, Frame
from polystein.data.passes import block_rows, every_row, run_pass
from polystein.data.source import Rows, Source
from polystein.errors import InputError
from polystein.inference.batch_means import BatchMeans, ShortBatches
from polystein.methods.split_sample import ProjectedTestRows
from polystein.results.effect_rows import LEVEL
from polystein.results.tolerance import quantile
from polystein.stein.basis import Monomial
from polystein.stein.moments import SteinMoments, stein_moments
from polystein.stein.operator import FULL
from polystein.stein.witness import projected_moments
from polystein.types import FloatArray, Structure

#: Batches whose sums are kept for the errors of the moments, before they are joined.
_SHORT_BATCHES = 2048
#: Fewer rows have no errors.
_LEAST_ROWS = 16
#: Where a growing chain is looked at: its first row is one of these, the others at equal ratios.
_FIRST_ROWS, _LOOKS = 10, 40


class FirstMoments(NamedTuple):
    """Means of s_l and of s_l x_j + [l = j], standardised, which are 0 for the target.

    Row l of ``means`` has the mean of the score s_l and then those of its products with x_j, for
    the coordinates l and j in ``shown``. ``beyond_chance`` says which of them are farther from 0
    than chance explains at the level 0.05, for all d (d + 1) moments together (Bonferroni); it is
    None if there are too few rows to tell.
    """

    shown: list[int]
    means: FloatArray
    beyond_chance: NDArray[np.bool_] | None


class GrowingChain(NamedTuple):
    """The discrepancy of the first rows of a chain, for growing numbers of rows."""

    chain: int
    rows: list[int]
    values: list[float]


class _Entries(NamedTuple):
    """From a block to the scores of some coordinates and their products with draws."""

    frame: Frame
    shown: NDArray[np.intp]

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        x, s = (one[:, self.shown] for one in self.frame.apply(draws, scores))
        (term,) = Monomial(1).terms(x)
        products = FULL.stacked(s, term).reshape(*s.shape, -1)
        return np.concatenate([s[:, :, None], products], axis=2).reshape(len(s), -1)


class _Scores(NamedTuple):
    """From a block to its scores in a frame."""

    frame: Frame

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        return self.frame.apply(draws, scores)[1]


def first_moments(source: Source, most: int) -> FirstMoments:
    """The moments of order 1 of at most this many coordinates: those with the largest ones.

    Moments are compared in units of the root mean square of the score, to which their noise is
    proportional. All coordinates keep their order if there are no more.
    """
    frame = _standard_frame(source)
    found = stein_moments(source, every_row(source), Monomial(1), answer=frame).finalise()
    means = np.concatenate([found.score[:, None], found.matrices[0]], axis=1)
    shown = np.arange(len(means))
    if len(means) > most:
        scores = projected_moments(
            source, every_row(source), _Scores(frame), len(means), joint=False
        )
        root = np.sqrt(scores.variance + scores.mean**2)
        sizes = np.abs(means) / np.where(root > 0.0, root, 1.0)[:, None]
        largest = np.maximum(sizes.max(axis=1), sizes[:, 1:].max(axis=0))
        shown = np.argsort(-largest, kind="stable")[:most]
    means = means[np.ix_(shown, np.concatenate([[0], shown + 1]))]
    return FirstMoments(shown.tolist(), means, _beyond_chance(source, _Entries(frame, shown)))


def _beyond_chance(source: Source, entries: _Entries) -> NDArray[np.bool_] | None:
    """Whether means are far out, by errors of batch means, which allow for autocorrelation."""
    lengths, size = source.layout.lengths, len(entries.shown)
    columns = size * (size + 1)
    rows = min(min(lengths), -(-source.layout.total // _SHORT_BATCHES))
    if source.layout.total < _LEAST_ROWS or source.layout.total // rows > 2 * _SHORT_BATCHES:
        return None
    batches = ShortBatches(BatchMeans(), lengths, columns, rows)
    projected = ProjectedTestRows(entries, batches, [])
    run_pass(source, every_row(source), projected, most=block_rows(columns))
    found = projected.variance.finalise()
    looks = source.layout.dimension * (source.layout.dimension + 1)
    critical = np.array([quantile(LEVEL / looks, df) for df in found.df.tolist()])
    far: NDArray[np.bool_] = np.abs(found.mean) > critical * np.sqrt(found.covariance.diagonal())
    return far.reshape(size, size + 1)


def growing_chains(
    source: Source, order: int, structure: Structure, most: int
) -> tuple[list[GrowingChain], float]:
    """The chains with the largest discrepancies, the largest first, as they grow.

    The other number is the mean square that the Stein features of one row have: right,
    independent rows have discrepancies of about its root over that of the number of rows.
    Draws are standardised by all rows.
    """
    frame, basis = _standard_frame(source), Monomial(order)

    def sums(chain: int, start: int, stop: int) -> SteinMoments:
        rows = [Rows(chain, start, stop)]
        return stein_moments(source, rows, basis, structure, answer=frame)

    lengths = source.layout.lengths
    final = {
        chain: whole.finalise().norm()
        for chain, length in enumerate(lengths)
        if (whole := sums(chain, 0, length)).weight > 0.0
    }
    grown = []
    for chain in sorted(final, key=lambda chain: -final[chain])[:most]:
        so_far = SteinMoments.empty(basis, structure, answer=frame)
        rows: list[int] = []
        values: list[float] = []
        for low, high in pairwise((0, *_looks(lengths[chain]))):
            so_far.merge(sums(chain, low, high))
            if so_far.weight > 0.0:
                rows.append(high)
                values.append(so_far.finalise().norm())
        grown.append(GrowingChain(chain, rows, values))
    every = stein_moments(
        source, every_row(source), basis, structure, norms=True, answer=frame
    ).finalise()
    assert every.squared_norms is not None
    return grown, every.squared_norms * source.layout.total


def _looks(length: int) -> list[int]:
    """Numbers of rows from the first few to all of them, at equal ratios."""
    first = min(_FIRST_ROWS, length)
    return sorted({round(count) for count in np.geomspace(first, length, _LOOKS)})


def _standard_frame(source: Source) -> Frame:
    """The frame in which all draws have mean 0 and variance 1."""
    if source.layout.total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {source.layout.total}")
    moments = DrawMoments(source.layout.dimension)
    run_pass(source, every_row(source), moments)
    return moments.standard_frame()
