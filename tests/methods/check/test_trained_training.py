"""The memory of training rows, and what they are worth."""

import numpy as np
import pytest

import polystein as ps
from polystein.methods.check.statistics import BASIS
from polystein.methods.check.trained import (
    TrainingMemory,
    memory_of_training,
    trained_arm,
)
from polystein.results.evidence import Abstention
from tests.conftest import Array
from tests.inference.batch_cases import RULES
from tests.methods.check.trained_rounds import chains, round_of, sums_of, training_sums
from tests.reference import check as literal
from tests.reference import memory as literal_memory

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


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
    found = memory_of_training(rows, sums_of(rows))
    own = rows.frame_of_all().apply(draws, -draws)
    assert found.memory == pytest.approx(literal_training(*own, 128), rel=1e-8, abs=1e-8)
    assert found.time >= 1.0


def test_test_rows_do_not_count() -> None:
    """But for the frame that they share, which is a unit for all."""
    draws = chains(4, 256, 2, 0.8)
    rows = round_of(ps.Sample(draws, -draws))
    sums = sums_of(rows)
    found = memory_of_training(rows, sums)
    late = np.setdiff1d(np.arange(sums.count), sums.batches.before([128] * 4))
    assert late.size == sums.count // 2
    sums.diagonal[late] = 7.0
    sums.squares[late] = 90.0
    assert memory_of_training(rows, sums) == found


def test_slow_chains_have_a_long_memory_and_fast_ones_a_short_one() -> None:
    """Medians of nine; 2 rho/(1 - rho^2) is 9.5 and 33, (1 + rho)/(1 - rho) is 19 and 66."""
    found = []
    for rho in (0.0, 0.9, 0.97):
        own = []
        for seed in range(9):
            draws = chains(4, 1000, 8, rho, seed)
            rows = round_of(ps.Sample(draws, -draws))
            own.append(memory_of_training(rows, sums_of(rows)))
        found.append(np.median([(one.memory, one.time) for one in own], axis=0))
    (none, _), (short, brief), (long, slow) = found
    assert none < 5.0 < short < 25.0 < long < 60.0
    assert 12.0 < brief < 40.0 < slow


def test_whole_chains_train() -> None:
    draws = chains(40, 60, 2, 0.5)
    rows = round_of(ps.Sample(draws, -draws), ps.ChainSplit(0.5))
    found = memory_of_training(rows, sums_of(rows))
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
    found = memory_of_training(rows, sums_of(rows))
    assert found == TrainingMemory(0.0, 0.0, 0.0)
    arm = trained_arm(rows, training_sums(rows), found).arm
    assert isinstance(arm, Abstention)
    assert "too short to train on a part of them" in arm.reason


def test_weighted_training_rows_count_by_their_effective_number() -> None:
    draws = chains(4, 1000, 2, 0.0)
    weights = np.random.default_rng(1).exponential(size=(4, 1000))
    rows = round_of(ps.Sample(draws, -draws, log_weights=np.log(weights)))
    sums = sums_of(rows)
    early = sums.batches.before([500] * 4)
    found = memory_of_training(rows, sums)
    kish = weights.sum() ** 2 / (weights**2).sum()
    held = sums.sizes[early].sum()
    assert found.rows == pytest.approx(held, rel=1e-12)
    assert found.rows == pytest.approx(kish * weights[:, :500].sum() / weights.sum(), rel=0.01)
    assert 0.3 * kish / 2.0 < found.ess <= (1.0 + 1e-9) * held
