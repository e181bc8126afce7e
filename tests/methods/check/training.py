"""Training rows chosen by hand, their sums, and the witnesses trained on them."""

from typing import Any

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Rows
from polystein.data.split import BlockPartition, Partition
from polystein.methods.check.witnesses import TrainedWitnesses, TrainingSums, fit_witnesses


def chosen(stretches: list[Rows]) -> list[tuple[int, int]]:
    """Chain and number of every row of the stretches."""
    return [
        (chain, start + t)
        for chain, start, stop, mask in stretches
        for t in range(stop - start)
        if mask is None or mask[t]
    ]


def stretches(*training: tuple[int, int]) -> Partition:
    """One stretch of training rows for each chain; the weights' share is its later part."""
    middles = [start + 2 * (stop - start) // 3 for start, stop in training]
    return BlockPartition(
        tuple(
            {"witness": (start, middle), "weights": (middle, stop)}
            for (start, stop), middle in zip(training, middles, strict=True)
        )
    )


def training_sums(
    sample: ps.Sample, partition: Partition, basis: Any, frame: Frame
) -> TrainingSums:
    """Sums of the training rows, of a pass over all rows."""
    sums = TrainingSums(sample, partition, basis, frame)
    run_pass(sample, every_row(sample), sums)
    return sums


def trained_on(
    sample: ps.Sample, partition: Partition, basis: Any, frame: Frame, time: float = 1.0
) -> TrainedWitnesses:
    """The witnesses of the training rows, of this autocorrelation time."""
    sums = training_sums(sample, partition, basis, frame)
    return fit_witnesses(sample, sums, frame, time)
