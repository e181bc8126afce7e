"""Several random splits, and one p-value for all of them."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.errors import InputError
from polystein.methods.split_sample import combined
from polystein.results.result import GofResult
from tests.conftest import arbitrary_rows

TESTS: list[Any] = [ps.psd_test, ps.lambda_psd_test]


def literal(pvalues: list[float]) -> float:
    """min over k of 2/k (p_1 + ... + p_k), at most 1."""
    best = 1.0
    for k in range(1, len(pvalues) + 1):
        best = min(best, 2.0 * sum(pvalues[:k]) / k)
    return best


def result_of(pvalue: float) -> GofResult:
    return GofResult(float(stats.norm.isf(pvalue)), pvalue, "greater", "psd")


@pytest.mark.parametrize(
    ("pvalues", "expected"),
    [([0.01, 0.5, 0.9], 0.02), ([0.5, 0.01, 0.03], 0.36), ([0.9, 0.8], 1.0), ([0.2], 0.2)],
)
def test_the_rule_by_hand(pvalues: list[float], expected: float) -> None:
    assert combined([result_of(p) for p in pvalues]).pvalue == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [2, 3, 10, 31])
def test_the_rule_is_the_literal_one(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(50):
        pvalues = (rng.random(count) ** 3).tolist()
        result = combined([result_of(p) for p in pvalues])
        assert result.pvalue == pytest.approx(literal(pvalues), rel=1e-12)
        assert result.settings["pvalues"] == pvalues
        assert result.settings["repeats"] == count
        assert result.statistic == sorted(stats.norm.isf(pvalues))[count // 2]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95, 1.0])
def test_the_rule_is_valid_for_exchangeable_pvalues(correlation: float) -> None:
    """Never above the level, whatever the dependence."""
    rng = np.random.default_rng(1)
    z = np.sqrt(correlation) * rng.standard_normal((20_000, 1))
    z = z + np.sqrt(1.0 - correlation) * rng.standard_normal((20_000, 10))
    pvalues = stats.norm.sf(z)
    rule = np.minimum(2.0 * np.cumsum(pvalues, axis=1) / np.arange(1, 11), 1.0).min(axis=1)
    for level in (0.01, 0.05, 0.2):
        rejections = int(np.sum(rule < level))
        assert stats.binomtest(rejections, 20_000, level, "greater").pvalue > 0.001


@pytest.mark.parametrize("test", TESTS)
def test_repeats_are_single_splits_combined(test: Any) -> None:
    draws, scores = arbitrary_rows(200, 2)
    result = test(draws, scores, order=1, repeats=5, rng=3)
    seeds = np.random.SeedSequence(3).spawn(5)
    single = [test(draws, scores, order=1, rng=seed) for seed in seeds]
    pvalues = [part.pvalue for part in single]
    assert result.settings["pvalues"] == pvalues
    assert len(set(pvalues)) == 5
    assert result.pvalue == pytest.approx(literal(pvalues), rel=1e-12)
    middle = sorted(single, key=lambda part: part.statistic)[2]
    assert (result.statistic, result.weights) == (middle.statistic, middle.weights)
    assert test(draws, scores, order=1, repeats=5, rng=3) == result


@pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
def test_the_size_of_repeated_splits() -> None:
    rejections = 0
    for seed in range(300):
        draws = np.random.default_rng(seed).standard_normal((300, 3))
        result = ps.psd_test(
            draws, lambda x: -x, order=1, alternative="greater", repeats=8, rng=seed
        )
        rejections += result.pvalue < 0.05
    assert stats.binomtest(rejections, 300, 0.05, "greater").pvalue > 0.001
    draws = np.random.default_rng(0).standard_normal((300, 3)) + 0.3
    assert ps.psd_test(draws, lambda x: -x, order=1, repeats=8, rng=0).pvalue < 0.01


def test_a_warning_of_several_splits_comes_once() -> None:
    draws, scores = arbitrary_rows(60, 1)
    with pytest.warns(ps.LowESSWarning) as caught:
        result = ps.psd_test(draws, scores, order=1, repeats=4, rng=0)
    assert len(caught) == len(result.warnings) == 1


@pytest.mark.parametrize("test", TESTS)
def test_chains_are_not_split_twice(test: Any) -> None:
    draws, scores = arbitrary_rows(200, 2)
    chains = draws.reshape(2, 100, 2), scores.reshape(2, 100, 2)
    message = r"`repeats` must be 1 unless independent rows, \(n, d\), are split at random; got 3"
    for split in (ps.RandomSplit(), ps.BlockSplit(), ps.ChainSplit()):
        with pytest.raises(InputError, match=message):
            test(*chains, order=1, split=split, repeats=3, rng=0)
    with pytest.raises(InputError, match=message):
        test(draws, scores, order=1, split=ps.BlockSplit(), repeats=3, rng=0)


@pytest.mark.parametrize("repeats", [0, -1, 2.0, "3", None])
def test_bad_repeats_are_refused(repeats: Any) -> None:
    with pytest.raises(InputError, match=f"`repeats` must be a positive integer; got {repeats!r}"):
        ps.psd_test(*arbitrary_rows(200, 2), order=1, repeats=repeats, rng=0)
