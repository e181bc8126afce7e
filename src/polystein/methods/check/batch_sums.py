"""Sums of Stein features over batches of rows, taken in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY, kish_size, summed_products
from polystein._lib.scratch import empty_like
from polystein._lib.segments import Segments
from polystein.data.coordinates import Frame
from polystein.data.passes import Accumulator, Tick, every_row, rows_of_many_arrays, run_pass
from polystein.data.screen import LargestDeviations
from polystein.data.source import Block, Source
from polystein.inference.columns import segment_sums
from polystein.inference.memory import Joining, joinings
from polystein.methods.check.batches import Batches, chains_are_batches
from polystein.stein.basis import Basis, Term
from polystein.stein.operator import diagonal_entries
from polystein.types import FloatArray

#: Sums over pairs of coordinates take at most this many numbers at once, 256 MiB. What does not
#: fit is summed in further passes.
PAIR_NUMBERS = 2**25
#: In more dimensions than this pairs of coordinates are not looked at: there are d^2 of them. Up to
#: it the sums of two orders over 256 batches fit, and no row is read once more for them.
MOST_PAIRED_DIMENSIONS = 256
#: Products of all pairs of scores are summed for no more coordinates than this.
MOST_COORDINATES = 1_000
# More sums over pairs than this are kept in single precision ...
_MANY_SUMS = 2**22
# ... if the largest score of a block lies between these: their products with standardised draws
# and their squares stay far from the limits of single precision.
_LEAST_SCORE, _MOST_SCORE = 1e-12, 1e12
# So many segments of a block are multiplied together, if their products are no more than these.
_MANY_SEGMENTS, _FEW_PRODUCTS = 16, 2**16


class PairJob(NamedTuple):
    """Sums of s_l phi_m of one order, for the score coordinates l of a slice."""

    order: int
    low: int
    high: int


class BatchSums:
    """Sums of features over the batches, in the frame that standardises all rows.

    Those of the diagonal are there after `take`. Those of pairs of coordinates, of the orders
    asked for, are kept as far as the budget goes, and summed anew where it does not.
    """

    def __init__(
        self,
        source: Source,
        frame: Frame,
        basis: Basis,
        batches: Batches,
        orders: tuple[int, ...] = (),
        tails: Basis | None = None,
    ) -> None:
        self.source, self.basis, self.batches, self.frame = source, basis, batches, frame
        self.deviations = LargestDeviations(frame, source.layout.dimension)
        self.judges_pairs = 1 < source.layout.dimension <= MOST_PAIRED_DIMENSIONS
        self._jobs = self._pair_jobs(orders if self.judges_pairs else ())
        fitting = self._fitting(self._jobs)
        dimension = source.layout.dimension
        self._pass = BatchPass(frame, basis, batches, dimension, fitting, self.deviations, tails)
        self._pairs = self._pass.pairs

    def take(self, *others: Accumulator, tick: Tick | None = None) -> BatchSums:
        """Read all rows once, for these sums and for other accumulators."""
        most = rows_of_many_arrays(self.source.layout.dimension)
        run_pass(self.source, every_row(self.source), self._pass, *others, tick=tick, most=most)
        return self

    @property
    def count(self) -> int:
        """How many batches there are."""
        return self.batches.count

    @cached_property
    def joinings(self) -> list[Joining]:
        """The batches as they are, and joined to longer ones if rows remember those before."""
        found = joinings(self.sizes, self.batches.chain_of)
        return found if self.source.layout.time_ordered else found[:1]

    @property
    def memory_is_known(self) -> bool:
        """Whether batches are independent, or chains long enough to tell how long they remember."""
        layout = self.source.layout
        whole = not layout.time_ordered or chains_are_batches(layout)
        return whole or len(self.joinings) > 1

    @cached_property
    def sizes(self) -> FloatArray:
        """Rows in each batch; with importance weights, effective rows in the sense of Kish."""
        if not self.source.weighted:
            return self.batches.rows.astype(np.float64)
        return self._pass.weights * self.weight_scale

    @cached_property
    def weight_scale(self) -> float:
        """What makes importance weights sum to their effective number, sum w / sum w^2."""
        if not self.source.weighted:
            return 1.0
        return float(self._pass.weights.sum()) / max(self._pass.squared_weights, TINY)

    def effective_count(self, joining: Joining) -> float:
        """Kish's effective number of batches; their number if there are no importance weights."""
        if not self.source.weighted:
            return float(joining.count)
        return kish_size(float(joining.rows.sum()), float(joining.rows @ joining.rows))

    @property
    def diagonal(self) -> FloatArray:
        """Sums of s, and of s phi_i + phi_i' for each order; of shape (batches, 1 + Q, d)."""
        return self._pass.diagonal.reshape(self.count, 1 + self.basis.order, -1)

    @property
    def tails(self) -> FloatArray:
        """Sums of s phi + phi' for the functions of the tails; of shape (batches, 2, d)."""
        return self._pass.tails.reshape(self.count, -1, self.source.layout.dimension)

    @property
    def score_products(self) -> FloatArray:
        """Sum over all rows of s s'; without entries if there are too many coordinates."""
        return self._pass.score_products

    @property
    def draws(self) -> FloatArray:
        """Sums of the standardised draws."""
        return self._pass.draws

    @cached_property
    def distant_means(self) -> FloatArray:
        """For each batch the mean of the draws far from it: outside the longest batch it joins.

        Its own draws depend on its scores, and centred by them scores times draws have no mean
        of -1.
        """
        longest, weights = self.joinings[-1], self.sizes / self.weight_scale
        outside = weights.sum() - longest.joined(weights)
        sums = self.draws.sum(axis=0) - longest.joined(self.draws)
        means = sums / np.maximum(outside, TINY)[:, None]
        return np.repeat(means, np.diff(longest.starts, append=self.count), axis=0)

    @property
    def squares(self) -> FloatArray:
        """Sums over the batches of squared draws and squared scores, of shape (batches, 2, d)."""
        return self._pass.squares.reshape(self.count, 2, -1)

    @property
    def keeps_pairs(self) -> bool:
        """Whether all sums of pairs fit into memory together."""
        return len(self._fitting(self._jobs)) == len(self._jobs)

    def pairs(self, order: int) -> Iterator[FloatArray]:
        """Sums of s_l phi_m for l != m, a few score coordinates l at a time.

        Yields sums of shape (batches, part, d) that are 0 where l = m, for these are the
        diagonal's.
        """
        jobs = [job for job in self._jobs if job.order == order]
        if not jobs:
            raise IndexError(order)
        for job in jobs:
            if job not in self._pairs:
                self._sum_again(job)
            yield self._pairs[job].without_diagonal()

    def _sum_again(self, wanted: PairJob) -> None:
        """Sum pairs that did not fit, as many as do: those wanted next."""
        jobs = self._fitting(self._jobs[self._jobs.index(wanted) :])
        self._pairs = self._pass.pairs = {}  # their memory is needed
        dimension = self.source.layout.dimension
        again = BatchPass(self.frame, self.basis, self.batches, dimension, jobs, None)
        run_pass(self.source, every_row(self.source), again)
        self._pairs = again.pairs

    def _pair_jobs(self, orders: tuple[int, ...]) -> list[PairJob]:
        dimension = self.source.layout.dimension
        at_once = max(1, min(dimension, PAIR_NUMBERS // (self.batches.count * dimension)))
        return [
            PairJob(order, low, min(low + at_once, dimension))
            for order in orders
            for low in range(0, dimension, at_once)
        ]

    def _fitting(self, jobs: list[PairJob]) -> list[PairJob]:
        """The first of the jobs that fit into the budget together, at least one."""
        dimension, total = self.source.layout.dimension, 0
        kept: list[PairJob] = []
        for job in jobs:
            total += self.batches.count * (job.high - job.low) * dimension
            if kept and total > PAIR_NUMBERS:
                break
            kept.append(job)
        return kept


class BatchPass:
    """The accumulator behind `BatchSums`: every basis function is evaluated once for all sums."""

    def __init__(
        self,
        frame: Frame,
        basis: Basis,
        batches: Batches,
        dimension: int,
        jobs: list[PairJob],
        deviations: LargestDeviations | None,
        tails: Basis | None = None,
    ) -> None:
        self._tails = tails
        self._frame, self._basis, self._batches = frame, basis, batches
        self._dimension, self._jobs = dimension, jobs
        #: None where pairs are all that is summed: the rest has been summed before.
        self.deviations = deviations
        self.diagonal = np.zeros((batches.count, (1 + basis.order) * dimension))
        self.tails = np.zeros((batches.count, (0 if tails is None else tails.order) * dimension))
        own = 0 if dimension > MOST_COORDINATES or deviations is None else dimension
        self.score_products = np.zeros((own, own))
        self.draws = np.zeros((batches.count, dimension))
        self.squares = np.zeros((batches.count, 2 * dimension))
        self.weights, self.squared_weights = np.zeros(batches.count), 0.0
        self.pairs = {job: PairSums(job, batches.count, dimension) for job in jobs}

    def zero(self) -> BatchPass:
        """An accumulator of the same kind without rows."""
        deviations = None if self.deviations is None else self.deviations.zero()
        return BatchPass(
            self._frame,
            self._basis,
            self._batches,
            self._dimension,
            self._jobs,
            deviations,
            self._tails,
        )

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        seen, segments = self._frame.see(block), self._batches.segments(block)
        if self.deviations is not None:
            # Rows between batches count, too.
            self.deviations.update_seen(seen.draws, seen.weights)
        if segments.number.size == 0:
            return
        terms = list(self._basis.terms(seen.draws))
        if self.deviations is not None:
            self._add_diagonal(seen, terms, segments)
        for job, pairs in self.pairs.items():
            pairs.add(seen, terms[job.order - 1].values, segments)

    def _add_diagonal(self, seen: Block, terms: list[Term], segments: Segments) -> None:
        if seen.weights is not None:
            _add(
                self.weights,
                segments.number,
                segment_sums(seen.weights, segments.low, segments.high),
            )
            self.squared_weights += float(seen.weights @ seen.weights)
        parts = []
        for values in (seen.draws, seen.scores):
            squares = np.multiply(values, values, out=empty_like(values))
            parts.append(_weighted_sums(squares, seen.weights, segments))
        _add(self.squares, segments.number, np.concatenate(parts, axis=1))
        _add(self.draws, segments.number, _weighted_sums(seen.draws, seen.weights, segments))
        parts = []
        for entry in diagonal_entries(seen.scores, terms):
            parts.append(_weighted_sums(entry, seen.weights, segments))
        _add(self.diagonal, segments.number, np.concatenate(parts, axis=1))
        self._add_tails(seen, segments)
        self._add_score_products(seen)

    def _add_tails(self, seen: Block, segments: Segments) -> None:
        if self._tails is None:
            return
        entries = diagonal_entries(seen.scores, self._tails.terms(seen.draws))
        next(entries)  # the scores have been summed
        parts = [_weighted_sums(entry, seen.weights, segments) for entry in entries]
        _add(self.tails, segments.number, np.concatenate(parts, axis=1))

    def _add_score_products(self, seen: Block) -> None:
        """Add s s' of all rows."""
        if self.score_products.size:
            scores = seen.scores
            weighted = scores if seen.weights is None else scores * seen.weights[:, None]
            with np.errstate(over="ignore"):  # infinity is reported where the sums are used
                self.score_products += weighted.T @ scores

    def merge(self, other: BatchPass) -> BatchPass:
        """Add another accumulator's rows."""
        if self.deviations is not None and other.deviations is not None:
            self.deviations.merge(other.deviations)
        self.diagonal += other.diagonal
        self.tails += other.tails
        self.score_products += other.score_products
        self.draws += other.draws
        self.squares += other.squares
        self.weights += other.weights
        self.squared_weights += other.squared_weights
        for job, pairs in other.pairs.items():
            self.pairs[job].merge(pairs)
        return self


class PairSums:
    """Sums over the batches of s_l phi_m, for the score coordinates l of a job.

    Many sums are kept in single precision, which halves their memory and the time of their
    flips. Flips rank sums that are rounded alike, and need no more digits than that. Scores of
    a size at which single precision could overflow or underflow are summed in double precision.
    """

    def __init__(self, job: PairJob, batches: int, dimension: int) -> None:
        self._job = job
        shape = (batches, job.high - job.low, dimension)
        self.sums: NDArray[Any] = np.zeros(
            shape, dtype=np.float32 if math.prod(shape) > _MANY_SUMS else np.float64
        )
        self._seen = np.zeros(batches, dtype=np.bool_)

    def add(self, seen: Block, values: FloatArray, segments: Segments) -> None:
        """Add s' phi of every segment to the sums of its batch."""
        scores = seen.scores[:, self._job.low : self._job.high]
        if seen.weights is not None:
            scores = scores * seen.weights[:, None]
        if self.sums.dtype == np.float32 and not _LEAST_SCORE < np.abs(scores).max() < _MOST_SCORE:
            self.sums = self.sums.astype(np.float64)
        scores, values = (rows.astype(self.sums.dtype, copy=False) for rows in (scores, values))
        count = segments.number.size
        if count >= _MANY_SEGMENTS and count * self.sums[0].size <= _FEW_PRODUCTS:
            self._add_at_once(scores, values, segments)
            return
        product = np.empty(self.sums.shape[1:], dtype=self.sums.dtype)
        for low, high, batch in zip(*(part.tolist() for part in segments), strict=True):
            factors = scores[low:high], values[low:high]
            if self._seen[batch]:
                self.sums[batch] += summed_products(*factors, out=product)
            else:
                # The first product of a batch is written where it belongs.
                summed_products(*factors, out=self.sums[batch])
                self._seen[batch] = True

    def _add_at_once(self, scores: FloatArray, values: FloatArray, segments: Segments) -> None:
        """The same with one product for all segments of equal length, which are few lengths."""
        lengths = segments.high - segments.low
        for length in np.unique(lengths).tolist():
            own = lengths == length
            rows = segments.low[own, None] + np.arange(length)
            products = scores.take(rows, axis=0).transpose(0, 2, 1) @ values.take(rows, axis=0)
            _add(self.sums, segments.number[own], products)
        self._seen[segments.number] = True

    def merge(self, other: PairSums) -> None:
        """Add the sums of other rows."""
        if self.sums.dtype != other.sums.dtype:
            self.sums = self.sums.astype(np.float64)
        self.sums += other.sums
        self._seen |= other._seen

    def without_diagonal(self) -> FloatArray:
        """The sums, with 0 where l = m: these are the diagonal's."""
        own = np.arange(self._job.low, self._job.high)
        self.sums[:, own - self._job.low, own] = 0.0
        return self.sums


def _add(sums: FloatArray, batches: NDArray[np.intp], values: FloatArray) -> None:
    """Add values to the sums of their batches, several of which may be the same."""
    if batches.size == 1:
        sums[batches[0]] += values[0]
    elif np.all(batches[1:] > batches[:-1]):
        sums[batches] += values
    else:
        np.add.at(sums, batches, values)


def _weighted_sums(
    columns: FloatArray, weights: FloatArray | None, segments: Segments
) -> FloatArray:
    """Sums over the rows of each segment, times the importance weights if there are any."""
    weighted = columns if weights is None else columns * weights[:, None]
    return segment_sums(weighted, segments.low, segments.high)
