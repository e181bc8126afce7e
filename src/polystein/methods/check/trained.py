"""The arm of `check` that trains: witnesses of early rows, judged on later ones.

The largest z of the trained witnesses on the test rows, allowing for their correlation. Rows of
chains keep their order: the first half of every chain trains, and between it and the test rows
lies a gap of three memories. Of many chains (`chains_are_batches`) whole chains train and others
test.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from polystein._lib.numerics import TINY
from polystein.data.passes import rows_of_many_arrays, run_pass
from polystein.data.source import coordinate_names
from polystein.data.split import TRAINING, Partition
from polystein.inference.lugsail import ChainHalves, LugsailBatches
from polystein.inference.memory import joinings, speeds, variance_curves
from polystein.inference.pareto import LargestValues
from polystein.inference.pvalues import (
    cautious_for_skewness,
    correlations,
    skewness,
    tail_of_maximum,
    upper_normal,
)
from polystein.inference.signflips import tamed
from polystein.inference.variance import IID, ColumnAccumulator
from polystein.methods.check.batches import chains_are_batches
from polystein.methods.check.left_out import chain_convergence
from polystein.methods.check.statistics import TEST_ROWS, TRAINED
from polystein.methods.check.sums import BatchSums
from polystein.methods.check.witnesses import (
    MEMBERS,
    TrainedWitnesses,
    TrainingSums,
    fit_witnesses,
)
from polystein.methods.split_sample import (
    DividedRows,
    ProjectedTestRows,
    heavy_tail_warning,
    z_statistics,
)
from polystein.results.evidence import Abstention, Arm, Part

#: Test rows stay this many memories away from training rows; nearer than one is too near.
GAP_MEMORIES, LEAST_GAP_MEMORIES = 3.0, 1.0
#: Batches of test rows have this many memories if there are enough rows for it, ...
BATCH_MEMORIES = 4.0
#: ... and every chain has this many of them, all chains together neither fewer nor more than these.
FEWEST_A_CHAIN, FEWEST_TEST_BATCHES, MOST_TEST_BATCHES = 4, 16, 128
#: With a coordinate worth fewer training rows, memory cannot be told from chance.
LEAST_TRAINING_ESS = 30.0
#: Halves of batches have at least this many rows.
ROWS_A_HALF = 2


class TrainingMemory(NamedTuple):
    """Memory of the training rows, in rows, and the effective number of the slowest score."""

    memory: float
    rows: float
    ess: float

    @property
    def time(self) -> float:
        """Autocorrelation time of the slowest score."""
        return max(1.0, self.rows / self.ess)


#: Independent rows have no autocorrelation.
INDEPENDENT = TrainingMemory(0.0, 1.0, math.inf)
#: Chains too short to show their autocorrelation are worth no rows, so that the arm abstains.
UNKNOWN = TrainingMemory(0.0, 0.0, 0.0)


def memory_of_training(rows: DividedRows, sums: BatchSums) -> TrainingMemory:
    """Memory and autocorrelation time of chains, by those batches that hold training rows only."""
    layout = rows.source.layout
    stops = [0] * len(layout.lengths)
    for stretch in rows.partition.rows(*TRAINING):
        stops[stretch.chain] = stretch.stop
    batches = sums.batches.before(stops)
    if not batches.size or not sums.memory_is_known:
        return UNKNOWN
    sizes, chains = sums.sizes[batches], sums.batches.chain_of[batches]
    lengths = joinings(sizes, chains)
    scores, spreads = sums.diagonal[batches, 0], sums.diagonal[batches, 1]
    of_all, of_training = sums.frame, rows.frame
    if not (of_all.centre is None or of_all.scale is None or of_training.centre is None):
        # They are centred at the mean over all rows, test rows among them.
        spreads = spreads + scores * ((of_all.centre - of_training.centre) / of_all.scale)
    columns = np.concatenate([scores, spreads], axis=1)
    curves = np.split(variance_curves(tamed(columns), lengths), 2, axis=1)
    memories = [speed.memory.rows for family in curves for speed in speeds(family, lengths)]
    slowest = chain_convergence(sums, batches).scores.ess.min()
    return TrainingMemory(max(memories), float(sizes.sum()), float(slowest))


class Trained(NamedTuple):
    """What the arm found or why it abstains, the roles of the rows, and the effective test rows."""

    arm: Arm | Abstention
    partition: Partition
    ess: float = math.nan


def trained_arm(
    rows: DividedRows,
    training_sums: TrainingSums,
    training_memory: TrainingMemory,
    *,
    slow_scales: bool = False,
) -> Trained:
    """Train the witnesses and judge them on the test rows, unless these depend on training rows.

    With ``slow_scales`` they may, whatever the memory of scores and spreads is.
    """
    partition = rows.partition
    if training_memory.ess < LEAST_TRAINING_ESS:
        few = training_memory.rows < LEAST_TRAINING_ESS
        return Trained(Abstention(TRAINED, _TOO_FEW if few else _TOO_SLOW), partition)
    if partition.awaits_gap:
        partition = partition.with_gap(math.ceil(GAP_MEMORIES * training_memory.memory))
        gaps = {one.chain: one.stop - one.start for one in partition.rows("gap")}
        shortest = min(gaps.get(chain, 0) for chain in range(len(rows.source.layout.lengths)))
        if shortest < LEAST_GAP_MEMORIES * training_memory.memory:
            return Trained(Abstention(TRAINED, _TOO_SLOW), partition)
    accumulator = None
    if rows.source.layout.time_ordered:
        whole = chains_are_batches(rows.source.layout)
        accumulator = batches_of_tests(partition, training_memory.memory, whole=whole)
        if accumulator is None:
            return Trained(Abstention(TRAINED, _TOO_FEW), partition)
    if slow_scales:
        return Trained(Abstention(TRAINED, _SLOW_SCALE), partition)
    witnesses = fit_witnesses(rows.source, training_sums, rows.frame, training_memory.time)
    return _judge_on_test_rows(rows, partition, witnesses, accumulator)


_TOO_SLOW = (
    "a coordinate moves so slowly that later rows cannot be tested apart from earlier ones. Run "
    "the chains longer"
)
_SLOW_SCALE = (
    "the scale of some coordinates moves so slowly that test rows may depend on training rows. Run "
    "the sampler longer"
)
_TOO_FEW = (
    "the chains are too short to train on a part of them and to test another. Run them longer"
)


def batches_of_tests(partition: Partition, memory: float, *, whole: bool) -> LugsailBatches | None:
    """Sums over batches of the test rows of chains; None if there are too few rows.

    Where ``whole`` chains are the batches, they are independent and never cut.
    """
    tested = list(partition.rows("test"))
    stretches, first = {}, 0
    if whole:
        count = min(len(tested), MOST_TEST_BATCHES)
        stretches = {
            stretch.chain: ChainHalves(stretch.start, stretch.stop, 1, place * count // len(tested))
            for place, stretch in enumerate(tested)
        }
        return LugsailBatches(stretches, MEMBERS, halved=False)
    fewest = max(FEWEST_A_CHAIN, math.ceil(FEWEST_TEST_BATCHES / len(tested)))
    most = max(fewest, MOST_TEST_BATCHES // len(tested))
    for stretch in tested:
        length = stretch.stop - stretch.start
        wanted = int(length / max(BATCH_MEMORIES * memory, 2.0 * ROWS_A_HALF))
        halves = 2 * min(max(fewest, wanted), most)
        if length < ROWS_A_HALF * halves:
            return None
        stretches[stretch.chain] = ChainHalves(stretch.start, stretch.stop, halves, first)
        first += halves
    return LugsailBatches(stretches, MEMBERS, halved=True)


def _judge_on_test_rows(
    rows: DividedRows,
    partition: Partition,
    witnesses: TrainedWitnesses,
    accumulator: ColumnAccumulator | None,
) -> Trained:
    """Judge the witnesses on the test rows."""
    members, names = witnesses.members, coordinate_names(rows.source)
    independent = accumulator is None
    judged = ProjectedTestRows(
        witnesses,
        accumulator or IID().accumulator(rows.source.layout.lengths, len(members)),
        [LargestValues(partition.count("test")) for _ in members],
        kept=independent,
    )
    most = rows_of_many_arrays(rows.source.layout.dimension)
    run_pass(rows.source, partition.rows("test"), judged, most=most, many_steps=True)
    tested = judged.variance.finalise()
    statistics = z_statistics(tested, judged=slice(None))
    if independent:  # few independent rows show their skewness; sums of batches less
        # A few long columns are summed several times as fast if each lies in memory as a whole.
        columns = np.concatenate(judged.parts)
        skewnesses = skewness(np.asfortranarray(columns))
        statistics = cautious_for_skewness(statistics, skewnesses, len(columns))
    # The variance of a handful of independent rows is uncertain, too.
    freedom = np.clip(tested.ess - 1.0, 1.0, tested.df)
    pvalues = np.maximum(stdtr(freedom, -statistics), TINY)
    leading = int(np.argmin(pvalues))
    rows.notes.add(heavy_tail_warning(judged.tails[leading]))
    parts = tuple(
        Part(
            member.name,
            member.words,
            member.orders,
            tuple(names[index] for index in member.coordinates),
            pvalue,
            1.0 / len(members),
        )
        for member, pvalue in zip(members, pvalues.tolist(), strict=True)
    )
    largest = float(upper_normal(pvalues[leading]))
    pvalue = tail_of_maximum(largest, correlations(tested.covariance))
    return Trained(Arm(TRAINED, TEST_ROWS, pvalue, parts), partition, float(tested.ess[leading]))
