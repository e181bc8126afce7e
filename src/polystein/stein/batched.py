"""Stein features of the paper summed over batches of rows, for errors that allow for time."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import finite
from polystein.data.coordinates import Frame
from polystein.data.source import Block
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.stein.basis import Basis
from polystein.stein.operator import derivative_sum, operator_for
from polystein.types import FloatArray, Structure


class BatchedMean(NamedTuple):
    """The mean of all features, and sums over batches of what rows add to it.

    Features are s and Phi_1, ..., Phi_Q, side by side. ``sums`` are those of the features less
    their mean, each row's as its share in the mean.
    """

    mean: FloatArray
    sums: FloatArray


class BatchedMoments:
    """Sums of s(x) and Phi_i(x) over batches of rows, in a frame, as an accumulator of a pass."""

    def __init__(
        self,
        basis: Basis,
        structure: Structure,
        frame: Frame,
        dimension: int,
        batches: EqualBatches | IndependentBatches,
    ) -> None:
        self._made_with = (basis, structure, frame, dimension, batches)
        count = feature_count(basis, structure, dimension)
        self._sums, self._weights = np.zeros((batches.total, count)), np.zeros(batches.total)

    def zero(self) -> BatchedMoments:
        """An accumulator of the same kind without rows."""
        return BatchedMoments(*self._made_with)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        basis, structure, frame, dimension, batches = self._made_with
        operator = operator_for(structure)
        draws, scores = frame.apply(block.draws, block.scores)
        weights, terms = block.weights_or_ones, list(basis.terms(draws))
        for run in block.chains:
            batch = batches.of_rows(run.chain, run.start, run.high - run.low)
            starts = np.flatnonzero(np.diff(batch, prepend=-1))
            for first, last in pairwise([*starts.tolist(), len(batch)]):
                low, high, own = run.low + first, run.low + last, self._sums[batch[first]]
                w = weights[low:high]
                weighted, weight = scores[low:high] * w[:, None], float(w.sum())
                own[:dimension] += weighted.sum(axis=0)
                at = dimension
                for term in (term.part(low, high) for term in terms):
                    slopes = derivative_sum(term, w, weight)
                    matrix = operator.summed(weighted, term.values, slopes)
                    own[at : at + matrix.size] += matrix.ravel()
                    at += matrix.size
                self._weights[batch[first]] += weight

    def merge(self, other: BatchedMoments) -> BatchedMoments:
        """Add another accumulator's rows."""
        self._sums += other._sums
        self._weights += other._weights
        return self

    def finalise(self) -> BatchedMean:
        """The mean over all rows, and what batches add to it."""
        weight = float(self._weights.sum())
        mean = self._sums.sum(axis=0) / weight
        finite(float(np.abs(mean).max()), "a Stein moment")
        return BatchedMean(mean, (self._sums - self._weights[:, None] * mean) / weight)


def feature_count(basis: Basis, structure: Structure, dimension: int) -> int:
    """How many features a row has: those of every order, and the score."""
    return dimension + basis.order * operator_for(structure).parameters(dimension)
