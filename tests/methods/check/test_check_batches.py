"""Chains as batches of `check`, and memory that its batches have to show."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.methods.check import check as check_module
from polystein.methods.check.batches import MANY_CHAINS
from polystein.methods.check.flips import flip_signs
from polystein.methods.check.sums import BatchSums
from tests.methods.check.answers import FLIPS, arm_names, arm_pvalue, chains, normal_score
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive
from tests.statistical.samplers_memory import slow_radius


@pytest.fixture
def batches_seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many batches the flips have had, and at how many lengths."""
    seen: list[tuple[int, int]] = []

    def spy(sums: BatchSums, *args: Any, **options: Any) -> Any:
        seen.append((sums.count, len(sums.joinings)))
        assert sums.memory_is_known
        return flip_signs(sums, *args, **options)

    monkeypatch.setattr(check_module, "flip_signs", spy)
    return seen


@pytest.mark.parametrize(
    ("count", "rows", "batches", "lengths"),
    [
        (MANY_CHAINS - 1, 100, 248, 2),
        (MANY_CHAINS, 100, 32, 1),
        (60, 100, 60, 1),
        # Half as many are enough if they are short.
        (16, 16, 16, 1),
        (16, 63, 16, 1),
        (16, 64, 256, 3),
        (15, 63, 225, 2),
    ],
)
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_many_chains_are_their_own_batches(
    count: int, rows: int, batches: int, lengths: int, batches_seen: list[tuple[int, int]]
) -> None:
    result = ps.check(chains(count, rows, 2, 0.0), normal_score)
    assert batches_seen == [(batches, lengths)]
    if batches == count:
        # Whole chains train then, and need no gap.
        assert result.n_gap == 0
        assert result.n_train == count // 2 * rows
        assert result.n_test == (count - count // 2) * rows


def test_sixteen_short_chains_are_judged() -> None:
    """By their independence: 16 rows each say nothing of what they remember."""
    result = ps.check(chains(16, 16, 2, 0.0), normal_score)
    assert FLIPS in arm_names(result)
    off = ps.check(chains(16, 16, 2, 0.0) + 0.7, normal_score)
    assert off.verdict == "rejected"
    assert arm_pvalue(off, FLIPS) <= 0.05


def test_independent_rows_are_never_joined(batches_seen: list[tuple[int, int]]) -> None:
    """Not even rows that would show a memory; the same rows as a chain are."""
    draws = chains(1, 2000, 2, 0.9)[0]
    ps.check(draws, normal_score, iid=True)
    ps.check(draws, normal_score)
    assert batches_seen == [(250, 1), (256, 7)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_slow_radius_is_inconclusive_wherever_rows_are_kept(seed: int) -> None:
    """White signs: means are fast, and only ranks of distances from the median are slow."""
    draws = slow_radius(np.random.default_rng(seed), 4, 2000, 2, memory=0.997)
    lazy = MinimalSource([(chain, -chain) for chain in draws], time_ordered=True)
    for source in (ps.Sample(draws, -draws), lazy):
        result = ps.check(source)
        assert result.pvalue > 0.05
        assert result.verdict == "inconclusive"
        assert any("R-hat" in reason for reason in result.reasons)
        assert any("Too few effective draws" in reason for reason in result.reasons)
        assert result.ess < 100.0
    # Clean chains are not.
    clean = slow_radius(np.random.default_rng(seed), 4, 2000, 2, memory=0.5)
    lazy = MinimalSource([(chain, -chain) for chain in clean], time_ordered=True)
    assert ps.check(lazy).reasons == ps.check(clean, normal_score).reasons == ()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_many_slow_chains_are_judged_by_their_independence() -> None:
    """40 chains of AR(.95), shorter than what they remember twice over."""
    rejected = 0
    for seed in range(60):
        draws = autoregressive(np.random.default_rng(seed), 40, 50, 2, 0.95)
        rejected += ps.check(draws, normal_score).pvalue <= 0.05
    assert binomtest(rejected, 60, 0.07, alternative="greater").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_product_that_remembers_longer_than_its_factors_is_seen() -> None:
    """Exact draws of N(0, I) whose coordinates are independent in time, but not their product."""
    rejections = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        signs = np.cumprod(np.where(rng.random(1000) < 0.02, -1.0, 1.0))
        draws = rng.standard_normal((1000, 2))
        draws[:, 1] = np.abs(draws[:, 1]) * np.sign(draws[:, 0]) * signs
        rejections += ps.check(draws, normal_score, rng=seed).pvalue <= 0.05
    # A size of 0.05 gives more than 8 of 60 in 0.6 % of the cases; it was 0.24 once.
    assert rejections <= 8
