"""The arm that trains: its gap, and its p-value."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import polystein as ps
from polystein.methods.check import trained as module
from polystein.methods.check.batches import chains_are_batches
from polystein.methods.check.trained import (
    GAP_MEMORIES,
    INDEPENDENT,
    LEAST_GAP_MEMORIES,
    LEAST_TRAINING_ESS,
    TrainingMemory,
    batches_of_tests,
    memory_of_training,
    trained_arm,
)
from polystein.methods.check.witnesses import fit_witnesses
from polystein.results.evidence import Abstention, Arm
from tests.conftest import Array
from tests.methods.check.trained_rounds import (
    chains,
    known,
    round_of,
    sums_of,
    training_sums,
)
from tests.reference import lugsail as literal_lugsail
from tests.sources import MinimalSource

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


# The arm


def assert_is_loop(draws: Array, weights: Any = None, split: Any = None) -> Arm:
    """p-values of the witnesses, by lugsail batch means of the loop."""
    log_weights = None if weights is None else np.log(weights)
    rows = round_of(ps.Sample(draws, -1.1 * draws, log_weights=log_weights), split)
    remembered = memory_of_training(rows, sums_of(rows))
    sums = training_sums(rows)
    found = trained_arm(rows, sums, remembered)
    witnesses = fit_witnesses(rows.source, training_sums(rows), rows.frame, remembered.time)
    tested = list(found.partition.rows("test"))
    parts = [draws[own.chain, own.start : own.stop] for own in tested]
    columns = [witnesses.project(part, -1.1 * part) for part in parts]
    ones = np.ones(draws.shape[:2]) if weights is None else weights / weights.max()
    own_weights = [ones[own.chain, own.start : own.stop] for own in tested]
    whole = chains_are_batches(rows.source.layout)
    accumulator = batches_of_tests(found.partition, remembered.memory, whole=whole)
    assert accumulator is not None
    halves = [accumulator._chains[own.chain].halves for own in tested]
    expected = literal_lugsail.long_run(columns, own_weights, halves, halved=accumulator._halved)
    assert isinstance(found.arm, Arm)
    for k, part in enumerate(found.arm.parts):
        z = expected.mean[k] / math.sqrt(expected.covariance[k, k])
        df = min(max(expected.ess[k] - 1.0, 1.0), expected.freedom)
        assert part.pvalue == pytest.approx(float(student.sf(z, df)), rel=1e-8)
        assert part.level_share == 0.25
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
        found = trained_arm(rows, training_sums(rows), known(1.0))
        assert isinstance(found.arm, Arm)
        least = min(part.pvalue for part in found.arm.parts)
        assert least * (1.0 - 1e-9) <= found.arm.pvalue <= min(1.0, 5.0 * least) * (1.0 + 1e-9)


# The gap


@pytest.mark.parametrize("remembered", [0.0, 0.1, 4.0, 20.0])
def test_the_gap_is_three_memories(remembered: float) -> None:
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    found = trained_arm(rows, training_sums(rows), known(remembered))
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
    found = trained_arm(rows, training_sums(rows), known(remembered))
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
    found = trained_arm(rows, training_sums(rows), known(1.0, ess))
    assert isinstance(found.arm, Arm) == judges
    assert math.isnan(found.ess) != judges
    if not judges:
        assert isinstance(found.arm, Abstention)
        assert "moves so slowly" in found.arm.reason


def test_rows_whose_scale_is_slow_are_not_judged() -> None:
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    plain = trained_arm(rows, training_sums(rows), known(1.0))
    found = trained_arm(rows, training_sums(rows), known(1.0), slow_scales=True)
    assert isinstance(plain.arm, Arm)
    assert isinstance(found.arm, Abstention)
    assert found.arm.name == "trained witnesses"
    assert "the scale of some coordinates" in found.arm.reason
    assert found.partition.count("gap") == plain.partition.count("gap") > 0


def test_too_few_training_rows_are_not_called_slow() -> None:
    draws = chains(4, 400, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws))
    for count, words in ((29.0, "too short to train"), (30.0, "moves so slowly")):
        found = trained_arm(rows, training_sums(rows), TrainingMemory(1.0, count, 20.0))
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
        found = trained_arm(rows, training_sums(rows), known(remembered))
        assert isinstance(found.arm, Arm) == judges


def test_too_few_test_rows_are_not_judged() -> None:
    draws = chains(4, 30, 2, 0.0)
    rows = round_of(ps.Sample(draws, -draws))
    found = trained_arm(rows, training_sums(rows), known(0.0))
    assert isinstance(found.arm, Abstention)
    assert "too short to train on a part of them and to test another" in found.arm.reason


def test_independent_rows_need_neither_gap_nor_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(module, "batches_of_tests", never)
    draws = chains(1, 600, 2, 0.0)[0]
    sample = ps.Sample(draws, -draws)
    rows = round_of(sample, ps.RandomSplit(0.5))
    found = trained_arm(rows, training_sums(rows), INDEPENDENT)
    assert isinstance(found.arm, Arm)
    assert found.partition is rows.partition
    assert (INDEPENDENT.memory, INDEPENDENT.time, INDEPENDENT.ess) == (0.0, 1.0, math.inf)
