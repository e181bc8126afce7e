"""Sums over batches of what pairs of coordinates need: products of two functions of a row."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import summed_products
from polystein._lib.segments import Segments
from polystein.methods.check.batches import add_to_batches
from polystein.types import FloatArray

# More sums over pairs than this are kept in single precision ...
_MANY_SUMS = 2**22
# ... if the largest score of a block lies between these: their products with standardised draws
# and their squares stay far from the limits of single precision.
_LEAST_SCORE, _MOST_SCORE = 1e-12, 1e12
# At least this many segments of a block are multiplied at once, if they have few products.
_MANY_SEGMENTS, _FEW_PRODUCTS = 16, 2**16


class PairJob(NamedTuple):
    """Sums of s_l phi_m of one order, or of magnitudes, for the coordinates l of a slice."""

    order: int
    low: int
    high: int


class PairSums:
    """Sums over the batches of products u_l v_m, for the coordinates l of a job.

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

    def add(
        self,
        left: FloatArray,
        values: FloatArray,
        weights: FloatArray | None,
        segments: Segments,
    ) -> None:
        """Add u'v of every segment to the sums of its batch."""
        scores = left[:, self._job.low : self._job.high]
        if weights is not None:
            scores = scores * weights[:, None]
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
            add_to_batches(self.sums, segments.number[own], products)
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
