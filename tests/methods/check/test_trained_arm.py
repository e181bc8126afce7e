"""The arm that trains: the memory of its rows, its gap, its batches, and its p-value."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import polystein as ps
from polystein._lib.notes import Notes
from polystein.data.passes import Tick, every_row, run_pass
from polystein.data.split import StretchPartition
from polystein.inference import memory
from polystein.methods.check import trained_arm as module
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import chains_are_batches, cut
from polystein.methods.check.families import BASIS
from polystein.methods.check.trained_arm import (
    BATCH_MEMORIES,
    FEWEST_A_CHAIN,
    FEWEST_BATCHES,
    FEWEST_ROWS,
    GAP_MEMORIES,
    INDEPENDENT,
    LEAST_GAP_MEMORIES,
    LEAST_TRAINING_ESS,
    MOST_BATCHES,
    Training,
    batches_of_tests,
    trained_arm,
    training_memory,
)
from polystein.methods.check.trained_witnesses import TrainingSums, fit_witnesses
from polystein.methods.split_sample import SplitRound, SplitSampleTest
from polystein.results.evidence import Abstention, Arm
from tests.conftest import Array
from tests.reference import check as literal
from tests.reference import lugsail as literal_lugsail
from tests.reference import memory as literal_memory
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
RULES = literal_memory.Rules(
    memory.FEWEST_A_CHAIN,
    memory.FLAT,
    memory.MOST_INDEPENDENT,
    memory.LUGSAIL_ERRORS,
    memory.SLOWER_BY_CHANCE,
)


def chains(count: int, rows: int, d: int, rho: float, seed: int = 0) -> Array:
    return autoregressive(np.random.default_rng(seed), count, rows, d, rho)


def round_of(sample: ps.Sample, split: Any = None) -> SplitRound:
    split = split or ps.BlockSplit(0.5)
    test = SplitSampleTest(sample, BASIS, "full", split, ps.BatchMeans(), "greater", True)
    (rows,) = test.rounds(1, 0, Notes())
    return rows


def sums_of(rows: SplitRound) -> BatchSums:
    source = rows.test.source
    batches = cut(source.layout, chains=True)
    return BatchSums(source, rows.look.frame_of_all(), BASIS, batches).take()


def training_sums(rows: SplitRound) -> TrainingSums:
    source = rows.test.source
    sums = TrainingSums(source, rows.partition, BASIS, rows.frame)
    run_pass(source, every_row(source), sums)
    return sums


def known(memory: float, ess: float = 1_000.0) -> Training:
    """What is known of 2,000 training rows."""
    return Training(memory, 2_000.0, ess)


# The memory of training rows


def literal_training(draws: Array, scores: Array, training: int) -> float:
    """The longest memory of the pools of three families, by batches of training rows."""
    count, rows, _ = draws.shape
    places = literal.cut([rows] * count, 4, 256)
    early = [place for place in places if place[2] <= training]
    early = [(*place[:3], k) for k, place in enumerate(early)]
    sums = literal.diagonal_sums(draws, scores, None, early, BASIS.order)
    sizes, own = [float(p[2] - p[1]) for p in early], [p[0] for p in early]
    levels = literal_memory.levels(own, RULES.fewest_a_chain)
    families = (sums[:, 0], sums[:, 1], sums[:, 2:].reshape(len(early), -1))
    return max(
        found.rows
        for columns in families
        for _, found in literal_memory.speeds(
            literal_memory.curves(columns, sizes, own, levels), levels, sizes, own, RULES
        )
    )


@pytest.mark.parametrize("rho", [0.0, 0.8, 0.95])
def test_the_memory_of_training_rows_is_the_loop(rho: float) -> None:
    draws = chains(4, 256, 2, rho)
    rows = round_of(ps.Sample(draws, -draws))
    found = training_memory(rows, sums_of(rows))
    own = rows.look.frame_of_all().apply(draws, -draws)
    assert found.memory == pytest.approx(literal_training(*own, 128), rel=1e-8, abs=1e-8)
    assert found.time >= 1.0


def test_test_rows_do_not_count() -> None:
    """But for the frame that they share, which is a unit for all."""
    draws = chains(4, 256, 2, 0.8)
    rows = round_of(ps.Sample(draws, -draws))
    sums = sums_of(rows)
    found = training_memory(rows, sums)
    late = np.setdiff1d(np.arange(sums.count), sums.batches.before([128] * 4))
    assert late.size == sums.count // 2
    sums.diagonal[late] = 7.0
    sums.squares[late] = 90.0
    assert training_memory(rows, sums) == found


def test_slow_chains_have_a_long_memory_and_fast_ones_a_short_one() -> None:
    """Medians of nine; 2 rho/(1 - rho^2) is 9.5 and 33, (1 + rho)/(1 - rho) is 19 and 66."""
    found = []
    for rho in (0.0, 0.9, 0.97):
        own = []
        for seed in range(9):
            draws = chains(4, 1000, 8, rho, seed)
            rows = round_of(ps.Sample(draws, -draws))
            own.append(training_memory(rows, sums_of(rows)))
        found.append(np.median([(one.memory, one.time) for one in own], axis=0))
    (none, _), (short, brief), (long, slow) = found
    assert none < 5.0 < short < 25.0 < long < 60.0
    assert 12.0 < brief < 40.0 < slow


def test_whole_chains_train() -> None:
    draws = chains(40, 60, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws), ps.ChainSplit(0.5))
    found = training_memory(rows, sums_of(rows))
    assert found.memory == 0.0
    assert found.time >= 1.0


@pytest.mark.parametrize("shape", [(4, 7, 2), (4, 4, 1), (3, 6, 2), (15, 5, 2), (15, 31, 2)])
def test_chains_too_short_for_a_batch_of_training_rows(shape: tuple[int, int, int]) -> None:
    """They remember what cannot be known; nobody may crash."""
    draws = np.random.default_rng(0).standard_normal(shape)
    result = ps.check(draws, -draws)
    assert "trained witnesses" in [one.name for one in result.evidence.abstained]
    assert result.verdict == "inconclusive"


def test_training_rows_of_unknown_memory_are_worth_nothing() -> None:
    draws = chains(8, 31, 2, 0.9)
    rows = round_of(ps.Sample(draws, -draws))
    found = training_memory(rows, sums_of(rows))
    assert found == Training(0.0, 0.0, 0.0)
    arm = trained_arm(rows, training_sums(rows), found, Tick()).arm
    assert isinstance(arm, Abstention)
    assert "too short to train on a part of them" in arm.reason


def test_weighted_training_rows_count_by_their_effective_number() -> None:
    draws = chains(4, 1000, 2, 0.0)
    weights = np.random.default_rng(1).exponential(size=(4, 1000))
    rows = round_of(ps.Sample(draws, -draws, log_weights=np.log(weights)))
    sums = sums_of(rows)
    early = sums.batches.before([500] * 4)
    found = training_memory(rows, sums)
    kish = weights.sum() ** 2 / (weights**2).sum()
    held = sums.sizes[early].sum()
    assert found.rows == pytest.approx(held, rel=1e-12)
    assert found.rows == pytest.approx(kish * weights[:, :500].sum() / weights.sum(), rel=0.01)
    assert 0.3 * kish / 2.0 < found.ess <= (1.0 + 1e-9) * held


# Batches of test rows


def partition(*tested: tuple[int, int]) -> StretchPartition:
    stretches: Any = tuple({"weights": (0, start), "test": (start, stop)} for start, stop in tested)
    return StretchPartition(stretches)


def cut_of(*tested: tuple[int, int], memory: float = 0.0) -> Any:
    found = batches_of_tests(partition(*tested), memory, whole=len(tested) >= 16)
    return None if found is None else (found._halved, dict(found._stretches))


def test_a_chain_has_four_batches_and_all_together_sixteen() -> None:
    """With a memory that leaves no more of them."""
    for count, each in ((1, 16), (2, 8), (3, 6), (4, 4), (8, 4), (15, 4)):
        halved, found = cut_of(*[(500, 1000)] * count, memory=1e6)
        assert halved
        assert [own.halves for own in found.values()] == [2 * each] * count
        assert [own.first for own in found.values()] == [2 * each * k for k in range(count)]
        assert all((own.start, own.stop) == (500, 1000) for own in found.values())


def test_batches_have_several_memories_where_there_are_enough_rows() -> None:
    """Never fewer than four a chain, nor more than the part of a chain of all."""
    seen = set()
    for remembered in (0.5, 1.0, 2.0, 5.0, 8.0, 12.5, 100.0):
        _, found = cut_of(*[(500, 1000)] * 4, memory=remembered)
        fitting = int(500 / (BATCH_MEMORIES * remembered))
        each = min(max(FEWEST_A_CHAIN, fitting), MOST_BATCHES // 4)
        assert {own.halves for own in found.values()} == {2 * each}
        seen.add(each)
    assert {FEWEST_A_CHAIN, MOST_BATCHES // 4} < seen


@pytest.mark.parametrize("memory", [0.0, 0.3])
def test_there_are_not_more_batches_than_are_useful(memory: float) -> None:
    for count in (1, 4, 10):
        _, found = cut_of(*[(0, 100_000)] * count, memory=memory)
        assert {own.halves for own in found.values()} == {2 * (MOST_BATCHES // count)}


def test_halves_have_at_least_two_rows() -> None:
    """16 batches of 32 halves are 64 rows of one chain, and 4 of each of four chains 16."""
    assert cut_of((10, 10 + 32 * FEWEST_ROWS)) is not None
    assert cut_of((10, 9 + 32 * FEWEST_ROWS)) is None
    assert cut_of(*[(10, 10 + 8 * FEWEST_ROWS)] * 4) is not None
    # One chain that is too short is one too many.
    assert cut_of(*[(10, 10 + 8 * FEWEST_ROWS)] * 3, (10, 9 + 8 * FEWEST_ROWS)) is None
    assert (FEWEST_A_CHAIN, FEWEST_BATCHES) == (4, 16)


@pytest.mark.parametrize("count", [16, 40, 128])
def test_many_chains_are_the_batches(count: int) -> None:
    halved, found = cut_of(*[(20, 40)] * count)
    assert not halved
    assert list(found.values()) == [(20, 40, 1, k) for k in range(count)]


@pytest.mark.parametrize(("count", "rows"), [(16, 60), (20, 60), (30, 60), (31, 40), (40, 40)])
def test_chains_that_are_batches_are_never_cut(
    count: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What chains remember is not known if they are one batch each: parts of them may depend."""
    cut_up: list[bool] = []

    class Spy(module.LugsailBatches):
        def __init__(self, *args: Any, halved: bool) -> None:
            cut_up.append(halved)
            super().__init__(*args, halved=halved)

    monkeypatch.setattr(module, "LugsailBatches", Spy)
    draws = chains(count, rows, 2, 0.7)
    ps.check(draws, -draws)
    assert not any(cut_up)


def test_more_chains_than_batches_share_them() -> None:
    halved, found = cut_of(*[(20, 40)] * 300)
    assert not halved
    numbers = [own.first for own in found.values()]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(MOST_BATCHES))


# The arm


def assert_is_loop(draws: Array, weights: Any = None, split: Any = None) -> Arm:
    """p-values of the witnesses, by lugsail batch means of the loop."""
    log_weights = None if weights is None else np.log(weights)
    rows = round_of(ps.Sample(draws, -1.1 * draws, log_weights=log_weights), split)
    remembered = training_memory(rows, sums_of(rows))
    sums = training_sums(rows)
    found = trained_arm(rows, sums, remembered, Tick())
    witnesses = fit_witnesses(rows.test.source, training_sums(rows), rows.frame, remembered.time)
    tested = list(found.partition.rows("test"))
    parts = [draws[own.chain, own.start : own.stop] for own in tested]
    columns = [witnesses.project(part, -1.1 * part) for part in parts]
    ones = np.ones(draws.shape[:2]) if weights is None else weights / weights.max()
    own_weights = [ones[own.chain, own.start : own.stop] for own in tested]
    whole = chains_are_batches(rows.test.source.layout)
    accumulator = batches_of_tests(found.partition, remembered.memory, whole=whole)
    assert accumulator is not None
    halves = [accumulator._stretches[own.chain].halves for own in tested]
    expected = literal_lugsail.long_run(columns, own_weights, halves, halved=accumulator._halved)
    assert isinstance(found.arm, Arm)
    for k, part in enumerate(found.arm.parts):
        z = expected.mean[k] / math.sqrt(expected.covariance[k, k])
        df = min(max(expected.ess[k] - 1.0, 1.0), expected.freedom)
        assert part.pvalue == pytest.approx(float(student.sf(z, df)), rel=1e-8)
        assert part.level_share == 0.2
    # The effective test rows are those of the witness with the smallest p-value.
    leading = int(np.argmin([part.pvalue for part in found.arm.parts]))
    assert found.ess == pytest.approx(expected.ess[leading], rel=1e-8)
    return found.arm


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_arm_is_the_loop(count: int, rho: float, weighted: bool) -> None:
    draws = chains(count, 2400 // count, 2, rho)
    weights = np.random.default_rng(1).exponential(size=draws.shape[:2]) if weighted else None
    arm = assert_is_loop(draws, weights)
    assert (arm.name, arm.rows) == ("trained witnesses", "the test rows")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_arm_of_whole_chains_is_the_loop(weighted: bool) -> None:
    draws = chains(40, 30, 2, 0.9)
    weights = np.random.default_rng(1).exponential(size=(40, 30)) if weighted else None
    assert_is_loop(draws, weights, ps.ChainSplit(0.5))


def test_the_p_value_is_that_of_the_largest() -> None:
    """Not below the smallest part, nor above five times as much (Bonferroni)."""
    for seed in range(5):
        draws = chains(4, 400, 2, 0.5, seed)
        rows = round_of(ps.Sample(draws, -draws))
        found = trained_arm(rows, training_sums(rows), known(1.0), Tick())
        assert isinstance(found.arm, Arm)
        least = min(part.pvalue for part in found.arm.parts)
        assert least * (1.0 - 1e-9) <= found.arm.pvalue <= min(1.0, 5.0 * least) * (1.0 + 1e-9)


# The gap


@pytest.mark.parametrize("remembered", [0.0, 0.1, 4.0, 20.0])
def test_the_gap_is_three_memories(remembered: float) -> None:
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    found = trained_arm(rows, training_sums(rows), known(remembered), Tick())
    assert isinstance(found.arm, Arm)
    gap = math.ceil(GAP_MEMORIES * remembered)
    assert found.partition.count("gap") == 4 * gap
    tested = list(found.partition.rows("test"))
    assert [own[1:3] for own in tested] == [(200 + gap, 400)] * 4


@pytest.mark.parametrize(("remembered", "judges"), [(99.0, True), (100.0, True), (101.0, False)])
def test_a_gap_shorter_than_a_memory_is_none(remembered: float, judges: bool) -> None:
    """Half of the 200 test rows are as many as it can have."""
    assert LEAST_GAP_MEMORIES == 1.0
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    found = trained_arm(rows, training_sums(rows), known(remembered), Tick())
    assert isinstance(found.arm, Arm) == judges
    if not judges:
        assert isinstance(found.arm, Abstention)
        assert found.arm.name == "trained witnesses"
        assert "cannot be tested apart" in found.arm.reason
        assert "longer" in found.arm.reason


@pytest.mark.parametrize(
    ("ess", "judges"), [(LEAST_TRAINING_ESS, True), (29.9, False), (3.0, False)]
)
def test_training_rows_worth_too_few_are_not_judged(ess: float, judges: bool) -> None:
    assert LEAST_TRAINING_ESS == 30.0
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    found = trained_arm(rows, training_sums(rows), known(1.0, ess), Tick())
    assert isinstance(found.arm, Arm) == judges
    assert math.isnan(found.ess) != judges
    if not judges:
        assert isinstance(found.arm, Abstention)
        assert "moves so slowly" in found.arm.reason


def test_too_few_training_rows_are_not_called_slow() -> None:
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    for count, words in ((29.0, "too short to train"), (30.0, "moves so slowly")):
        found = trained_arm(rows, training_sums(rows), Training(1.0, count, 20.0), Tick())
        assert isinstance(found.arm, Abstention)
        assert words in found.arm.reason


def test_the_time_is_at_least_one_row() -> None:
    assert known(0.0, 500.0).time == 4.0
    assert known(0.0, 9_000.0).time == 1.0


def test_the_shortest_chain_decides() -> None:
    """A gap is a memory long in every chain, or nobody judges."""
    draws = chains(2, 400, 2, 0.5)
    source: Any = ps.data.source.complete(
        MinimalSource([(draws[0], -draws[0]), (draws[1, :200], -draws[1, :200])], time_ordered=True)
    )
    for remembered, judges in ((50.0, True), (51.0, False)):
        rows = round_of(source)
        found = trained_arm(rows, training_sums(rows), known(remembered), Tick())
        assert isinstance(found.arm, Arm) == judges


def test_too_few_test_rows_are_not_judged() -> None:
    draws = chains(4, 30, 2, 0.0)
    rows = round_of(ps.Sample(draws, -draws))
    found = trained_arm(rows, training_sums(rows), known(0.0), Tick())
    assert isinstance(found.arm, Abstention)
    assert "too short to train on a part of them and to test another" in found.arm.reason


def test_independent_rows_need_neither_gap_nor_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(module, "batches_of_tests", never)
    draws = chains(1, 600, 2, 0.0)[0]
    test = SplitSampleTest(
        ps.Sample(draws, -draws), BASIS, "full", ps.RandomSplit(0.5), ps.IID(), "greater", True
    )
    (rows,) = test.rounds(1, 0, Notes())
    found = trained_arm(rows, training_sums(rows), INDEPENDENT, Tick())
    assert isinstance(found.arm, Arm)
    assert found.partition is rows.partition
    assert (INDEPENDENT.memory, INDEPENDENT.time, INDEPENDENT.ess) == (0.0, 1.0, math.inf)
