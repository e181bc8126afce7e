"""Sums of products of features and functions, fold by fold, in one pass for many designs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import summed_products
from polystein.data.coordinates import Frame
from polystein.data.source import Block, Layout
from polystein.explain.designs import Design, Seen
from polystein.types import FloatArray

#: Rows are cut into this many stretches, each of which is left out once to choose features.
FOLDS = 5


class Folds:
    """Contiguous folds of all rows, chain after chain."""

    def __init__(self, layout: Layout, count: int = FOLDS) -> None:
        self.first = np.concatenate([[0], np.cumsum(layout.lengths)])[:-1].tolist()
        self.count, self.total = count, layout.total

    @property
    def borders(self) -> NDArray[np.intp]:
        """Where folds begin, and where the last one ends."""
        return np.array([-(-self.total * fold // self.count) for fold in range(self.count + 1)])

    def pieces(self, block: Block) -> Iterator[tuple[int, slice]]:
        """The rows of a block, fold by fold."""
        for run in block.chains:
            begin = self.first[run.chain] + run.start
            cuts = np.clip(self.borders, begin, begin + run.high - run.low) - begin + run.low
            for fold, (low, high) in enumerate(pairwise(cuts.tolist())):
                if low < high:
                    yield fold, slice(low, high)


class GramPass:
    """For each design and fold, the matrix of sums of w a a' over rows a = (features, functions).

    As an accumulator of a pass; the matrices of different rows are added.
    """

    def __init__(self, designs: Sequence[Design], frame: Frame, folds: Folds) -> None:
        self.designs, self.frame, self.folds = tuple(designs), frame, folds
        sizes = [design.cuts[-1] + design.functions for design in self.designs]
        self.matrices = [np.zeros((folds.count, size, size)) for size in sizes]

    def zero(self) -> GramPass:
        """An accumulator of the same kind without rows."""
        return GramPass(self.designs, self.frame, self.folds)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        draws, scores = self.frame.apply(block.draws, block.scores)
        pieces = list(self.folds.pieces(block))
        for fold, rows in pieces:
            seen = Seen(draws[rows], scores[rows], block.draws[rows])
            weights = None if block.weights is None else np.sqrt(block.weights[rows])
            for design, matrices in zip(self.designs, self.matrices, strict=True):
                columns = design.columns(seen)
                if weights is not None:
                    columns *= weights[:, None]
                matrices[fold] += summed_products(columns, columns)

    def merge(self, other: GramPass) -> GramPass:
        """Add another accumulator's rows."""
        for own, others in zip(self.matrices, other.matrices, strict=True):
            own += others
        return self


def in_groups(designs: Sequence[Design], numbers: int) -> Iterator[list[Design]]:
    """Groups of one or more designs, whose matrices take at most this many numbers together."""
    group: list[Design] = []
    held = 0
    for design in designs:
        size = FOLDS * (design.cuts[-1] + design.functions) ** 2
        if group and held + size > numbers:
            yield group
            group, held = [], 0
        group.append(design)
        held += size
    if group:
        yield group


def leading(matrix: FloatArray, features: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The parts F'F, F'f and f'f of a matrix of sums."""
    return (
        matrix[..., :features, :features],
        matrix[..., :features, features:],
        matrix[..., features:, features:],
    )
