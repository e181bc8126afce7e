"""Rounds of the arm that trains: chains, their split, and what their training rows sum to."""

from typing import Any

import numpy as np

import polystein as ps
from polystein._lib.notes import Notes
from polystein.data.passes import every_row, run_pass
from polystein.data.spread import KeptRows
from polystein.methods.check.batches import cut
from polystein.methods.check.look import kept_rows
from polystein.methods.check.statistics import BASIS
from polystein.methods.check.sums import BatchSums
from polystein.methods.check.trained import (
    TrainingMemory,
)
from polystein.methods.check.witnesses import TrainingSums
from polystein.methods.split_sample import DividedRows, split_rows
from tests.conftest import Array
from tests.statistical.samplers import autoregressive


def chains(count: int, rows: int, d: int, rho: float, seed: int = 0) -> Array:
    return autoregressive(np.random.default_rng(seed), count, rows, d, rho)


def round_of(sample: ps.Sample, split: Any = None, rng: int = 0) -> DividedRows:
    split = split or ps.BlockSplit(0.5)
    (rows,) = split_rows(sample, split, rng, Notes(), standardise=True)
    return rows


def thinned_of(sample: ps.Sample) -> KeptRows:
    thinned = kept_rows(sample.layout)
    run_pass(sample, every_row(sample), thinned)
    return thinned


def sums_of(rows: DividedRows) -> BatchSums:
    source = rows.source
    batches = cut(source.layout, chains=True)
    return BatchSums(source, rows.frame_of_all(), BASIS, batches).take()


def training_sums(rows: DividedRows) -> TrainingSums:
    source = rows.source
    sums = TrainingSums(source, rows.partition, BASIS, rows.frame)
    run_pass(source, every_row(source), sums)
    return sums


def known(memory: float, ess: float = 1_000.0) -> TrainingMemory:
    """What is known of 2,000 training rows."""
    return TrainingMemory(memory, 2_000.0, ess)
