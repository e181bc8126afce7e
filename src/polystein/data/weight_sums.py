"""Importance weights of a source, summed in a pass."""

from __future__ import annotations

from polystein._lib.numerics import kish_size
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block, Source


def effective_weights(source: Source) -> float:
    """Kish's effective number of importance weights; the number of rows if there are none."""
    if not source.weighted:
        return float(source.layout.total)
    sums = WeightSums()
    run_pass(source, every_row(source), sums)
    # A part of the rows may have no weight at all.
    return kish_size(sums.total, sums.squares) if sums.squares > 0.0 else 0.0


class WeightSums:
    """Sums of the importance weights and of their squares."""

    def __init__(self) -> None:
        self.total = self.squares = 0.0

    def zero(self) -> WeightSums:
        """An accumulator of the same kind without rows."""
        return WeightSums()

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        weights = block.weights_or_ones
        self.total += float(weights.sum())
        self.squares += float(weights @ weights)

    def merge(self, other: WeightSums) -> WeightSums:
        """Add another accumulator's rows."""
        self.total += other.total
        self.squares += other.squares
        return self
