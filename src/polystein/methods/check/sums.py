"""Sums of Stein features over batches of rows, taken in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import TINY, kish_size
from polystein._lib.segments import Segments
from polystein.data.coordinates import Frame
from polystein.data.guard.rows import LargestDeviations
from polystein.data.passes import (
    Accumulator,
    every_row,
    rows_of_many_arrays,
    run_pass,
    uncounted,
)
from polystein.data.source import Block, Source
from polystein.inference.memory import Joining, joinings
from polystein.methods.check.batches import (
    Batches,
    PairJob,
    PairSums,
    Totals,
    add_to_batches,
    chains_are_batches,
)
from polystein.methods.check.statistics import WAVES
from polystein.stein.basis import Basis, Term, magnitude_functions
from polystein.stein.operator import diagonal_entries
from polystein.types import FloatArray

#: Sums over pairs of coordinates take at most this many numbers at once, 192 MiB in single
#: precision. What does not fit is summed in further passes.
PAIR_NUMBERS = 3 * 2**24
#: In more dimensions than this pairs of coordinates are not looked at: there are d^2 of them. Up to
#: it the three sums of pairs over 256 batches fit, and no row is read once more for them.
MOST_PAIRED_DIMENSIONS = 256
#: Products of all pairs of scores, and waves, are summed for no more coordinates than this.
MOST_COORDINATES = 1_000
#: Waves and pairs of magnitudes are summed over about this many rows, evenly spaced, if there are
#: more.
MOST_ROBUST_ROWS = 2**17
#: Sums of pairs of magnitudes, in the place of the order of a basis function.
MAGNITUDES = 0


class BatchSums:
    """Sums of features over the batches, in the frame that standardises all rows.

    Those of the diagonal are there after `take`. Those of pairs of coordinates, of the orders
    asked for, are kept as far as the budget goes, and summed anew where it does not. In the
    ``robust`` frame, if there is one, waves and pairs of magnitudes are summed as well.
    """

    def __init__(
        self,
        source: Source,
        frame: Frame,
        basis: Basis,
        batches: Batches,
        orders: tuple[int, ...] = (),
        tails: Basis | None = None,
        robust: Frame | None = None,
    ) -> None:
        self.source, self.basis, self.batches, self.frame = source, basis, batches, frame
        #: How many batches there are.
        self.count, dimension = batches.count, source.layout.dimension
        self.deviations = LargestDeviations(frame, dimension)
        self.judges_pairs = 1 < dimension <= MOST_PAIRED_DIMENSIONS
        every = (*orders, *([] if robust is None else [MAGNITUDES])) if self.judges_pairs else ()
        at_once = max(1, min(dimension, PAIR_NUMBERS // (self.count * dimension)))
        self._jobs = [
            PairJob(order, low, min(low + at_once, dimension))
            for order in every
            for low in range(0, dimension, at_once)
        ]
        fitting = self._fitting(self._jobs)
        #: Whether all sums of pairs fit into memory together.
        self.keeps_pairs = len(fitting) == len(self._jobs)
        #: The frame of waves and pairs of magnitudes, and every how many rows they are summed.
        self.robust, self.stride = robust, -(-source.layout.total // MOST_ROBUST_ROWS)
        self._pass = BatchPass(
            frame,
            basis,
            batches,
            dimension,
            fitting,
            self.deviations,
            tails,
            robust,
            self.stride,
        )
        self._pairs, sums, planes = self._pass.pairs, self._pass.sums, Planes.of(basis, tails)
        #: Sums over the batches of squared draws and squared scores, of shape (batches, 2, d).
        self.squares = sums[:, planes.squares]
        #: Sums of the standardised draws.
        self.draws = sums[:, planes.draws]
        #: Sums of s, and of s phi_i + phi_i' for each order; of shape (batches, 1 + Q, d).
        self.diagonal = sums[:, planes.diagonal]
        #: Sums of s phi + phi' for the functions of the tails; of shape (batches, 2, d).
        self.tails = sums[:, planes.tails]
        #: Sums of s phi + phi' for the waves; of shape (batches, 14, d), or without entries.
        self.waves = self._pass.waves
        #: Sum over all rows of s s'; without entries if there are too many coordinates.
        self.score_products = self._pass.score_products

    def take(self, *others: Accumulator) -> BatchSums:
        """Read all rows once, for these sums and for other accumulators."""
        most = rows_of_many_arrays(self.source.layout.dimension)
        sums, rows = (self._pass, *others), every_row(self.source)
        run_pass(self.source, rows, *sums, most=most, many_steps=True)
        return self

    @cached_property
    def joinings(self) -> list[Joining]:
        """The batches as they are, and joined to longer ones if rows are autocorrelated."""
        found = joinings(self.sizes, self.batches.chain_of)
        return found if self.source.layout.time_ordered else found[:1]

    @property
    def memory_is_known(self) -> bool:
        """Whether batches are independent, or chains long enough to show their autocorrelation."""
        layout = self.source.layout
        whole = not layout.time_ordered or chains_are_batches(layout)
        return whole or len(self.joinings) > 1

    @cached_property
    def sizes(self) -> FloatArray:
        """Rows in each batch; with importance weights, effective rows in the sense of Kish."""
        if not self.source.weighted:
            return self.batches.rows.astype(np.float64)
        return self._pass.weights * self.weight_scale

    @property
    def effective_rows(self) -> float:
        """How many rows all batches have; with importance weights, how many they are worth."""
        return float(self.sizes.sum())

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

    def pairs(self, order: int) -> Iterator[FloatArray]:
        """Sums of s_l phi_m, or of magnitudes, for l != m, a few coordinates l at a time.

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
        again = BatchPass(
            self.frame,
            self.basis,
            self.batches,
            dimension,
            jobs,
            None,
            robust=self.robust,
            stride=self.stride,
        )
        with uncounted():
            run_pass(self.source, every_row(self.source), again)
        self._pairs = again.pairs

    def _fitting(self, jobs: list[PairJob]) -> list[PairJob]:
        """The first of the jobs that fit into the budget together, at least one."""
        dimension, total = self.source.layout.dimension, 0
        fitting: list[PairJob] = []
        for job in jobs:
            total += self.batches.count * (job.high - job.low) * dimension
            if fitting and total > PAIR_NUMBERS:
                break
            fitting.append(job)
        return fitting


class Planes(NamedTuple):
    """Where the sums of columns lie among those of shape (batches, planes, d), as they come."""

    squares: slice
    draws: int
    diagonal: slice
    tails: slice

    @classmethod
    def of(cls, basis: Basis, tails: Basis | None) -> Planes:
        """The planes: the diagonal has the score first, and one for each order of the basis."""
        first, last = 3, 4 + basis.order
        tail_orders = 0 if tails is None else tails.order
        return cls(slice(0, 2), 2, slice(first, last), slice(last, last + tail_orders))


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
        robust: Frame | None = None,
        stride: int = 1,
    ) -> None:
        self._tails, self.robust, self.stride = tails, robust, stride
        self._frame, self._basis, self._batches = frame, basis, batches
        self._dimension, self._jobs = dimension, jobs
        #: None where pairs are all that is summed: the rest has been summed before.
        self.deviations = deviations
        #: Sums of single columns, by their `Planes`.
        planes = 0 if deviations is None else Planes.of(basis, tails).tails.stop
        self.sums = np.zeros((batches.count, planes, dimension))
        own = 0 if dimension > MOST_COORDINATES or deviations is None else dimension
        self.score_products = np.zeros((own, own))
        has_waves = own > 0 and robust is not None
        self.waves = np.zeros((batches.count, WAVES.order if has_waves else 0, dimension))
        self.weights, self.squared_weights = np.zeros(batches.count), 0.0
        self.pairs = {job: PairSums(job, batches.count, dimension) for job in jobs}

    def zero(self) -> BatchPass:
        """An accumulator of the same kind without rows."""
        return BatchPass(
            self._frame,
            self._basis,
            self._batches,
            self._dimension,
            self._jobs,
            None if self.deviations is None else self.deviations.zero(),
            self._tails,
            self.robust,
            self.stride,
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
            self._add_all(seen, terms, segments)
        for job, pairs in self.pairs.items():
            if job.order != MAGNITUDES:
                pairs.add(seen.scores, terms[job.order - 1].values, seen.weights, segments)
        if self.robust is not None:
            self._add_robust(block, segments)

    def _add_all(self, seen: Block, terms: list[Term], segments: Segments) -> None:
        """Add everything but waves and pairs."""
        totals = Totals(seen, segments)
        add_to_batches(self.weights, segments.number, totals.weights)
        if seen.weights is not None:
            self.squared_weights += float(seen.weights @ seen.weights)
        sums = np.empty((segments.number.size, *self.sums.shape[1:]))
        tails = () if self._tails is None else self._tails.terms(seen.draws)
        # In the order of the `Planes`.
        squares = (values * values for values in (seen.draws, seen.scores))
        entries = diagonal_entries(seen.scores, chain(terms, tails))
        columns = chain(squares, [seen.draws], entries)
        for place, column in enumerate(columns):
            totals.write(column, sums[:, place])
        add_to_batches(self.sums, segments.number, sums)
        if self.score_products.size:
            scores = seen.scores
            weighted = scores if seen.weights is None else scores * seen.weights[:, None]
            with np.errstate(over="ignore"):  # infinity is reported where the sums are used
                self.score_products += weighted.T @ scores

    def _add_robust(self, block: Block, segments: Segments) -> None:
        """Add the waves and the pairs of magnitudes of evenly spaced rows."""
        if self.stride > 1:
            block, segments = _every(self.stride, block, segments)
        if segments.number.size == 0:
            return
        assert self.robust is not None
        seen = self.robust.see(block)
        if self.waves.size:
            totals = Totals(seen, segments)
            sums = np.empty((segments.number.size, *self.waves.shape[1:]))
            entries = diagonal_entries(seen.scores, WAVES.terms(seen.draws))
            next(entries)  # the scores themselves
            for place, column in enumerate(entries):
                totals.write(column, sums[:, place])
            add_to_batches(self.waves, segments.number, sums)
        wanted = [pairs for job, pairs in self.pairs.items() if job.order == MAGNITUDES]
        if wanted:
            # The factors are s g(x) + g'(x), and k(x).
            odd, even = magnitude_functions(seen.draws)
            _, entry = diagonal_entries(seen.scores, [odd])
            for pairs in wanted:
                pairs.add(entry, even, seen.weights, segments)

    def merge(self, other: BatchPass) -> BatchPass:
        """Add another accumulator's rows."""
        if self.deviations is not None and other.deviations is not None:
            self.deviations.merge(other.deviations)
        self.sums += other.sums
        self.waves += other.waves
        self.score_products += other.score_products
        self.weights += other.weights
        self.squared_weights += other.squared_weights
        for job, pairs in other.pairs.items():
            self.pairs[job].merge(pairs)
        return self


def _every(stride: int, block: Block, segments: Segments) -> tuple[Block, Segments]:
    """Every k-th row of each chain in a block, and which of them belong to which batch."""
    rows = np.concatenate(
        [np.arange(low + -start % stride, high, stride) for _, start, low, high in block.chains]
    )
    low, high = np.searchsorted(rows, segments.low), np.searchsorted(rows, segments.high)
    filled = high > low
    return block.take(rows), Segments(low[filled], high[filled], segments.number[filled])
