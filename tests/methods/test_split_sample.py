"""Split-sample tests: what they are asked, one split or several, and who is warned of what."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein._lib.notes import Notes
from polystein.data.coordinates import RAW
from polystein.errors import DegenerateError, InputError
from polystein.inference.pvalues import exchangeable_pvalue
from polystein.inference.variance import LongRun
from polystein.methods.split_sample import combine_splits, split_rows, z_statistics
from polystein.results.result import GofResult
from tests.conftest import RecordingSplit, arbitrary_rows, arbitrary_weights
from tests.reference import stein
from tests.statistical.samplers import autoregressive

TESTS: list[Any] = [ps.psd_test, ps.lambda_psd_test]
VARIANCES: list[Any] = [ps.IID(), ps.InitialSequence(), ps.BatchMeans()]
SPLITS: list[Any] = [ps.RandomSplit(), ps.BlockSplit(), ps.ChainSplit()]


# Options and splits


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": ps.RandomSplit}, r"`split` must be RandomSplit\(\).*; got .*a class: call it"),
        ({"split": "random"}, r"`split` must be RandomSplit\(\), .*; got 'random'"),
        ({"variance": ps.IID}, r"`variance` must be IID\(\).*a class: call it, `IID\(\)`"),
        ({"alternative": "less"}, "`alternative` must be 'two-sided' or 'greater'; got 'less'"),
    ],
)
def test_bad_rules_are_refused(changes: dict[str, Any], message: str) -> None:
    for test in TESTS:
        with pytest.raises(InputError, match=message):
            test(*arbitrary_rows(60, 2), order=1, **changes)


def test_rows_are_seen_in_the_frame_of_the_training_rows() -> None:
    draws, scores = arbitrary_rows(60, 2)
    split = RecordingSplit()
    sample = ps.Sample(draws, scores)
    (rows,) = split_rows(sample, split, 0, Notes(), standardise=True)
    seen, _ = rows.frame.apply(draws[split.train], scores[split.train])
    assert seen.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-14)
    assert seen.std(axis=0) == pytest.approx(np.ones(2), rel=1e-14)
    (rows,) = split_rows(sample, ps.RandomSplit(), 0, Notes())
    assert rows.frame is RAW


def test_each_of_several_rounds_has_a_split_of_its_own() -> None:
    split = RecordingSplit()
    found = []
    for _ in split_rows(ps.Sample(*arbitrary_rows(60, 2)), split, 0, Notes(), repeats=3):
        found.append(tuple(split.rows["test"].tolist()))
    assert len(set(found)) == 3


def test_weights_are_told_by_their_effective_number() -> None:
    draws, scores = arbitrary_rows(60, 2)
    log_weights, weights = arbitrary_weights(60)
    found = []
    for sample in (ps.Sample(draws, scores), ps.Sample(draws, scores, log_weights=log_weights)):
        (rows,) = split_rows(sample, ps.RandomSplit(), 0, Notes())
        found.append(rows.estimates)
    plain, estimates = found
    assert plain == {}
    assert estimates == {"weights_ess": pytest.approx(1.0 / float(weights @ weights), rel=1e-12)}


# Statistics and components


def long_run(mean: list[float], variance: list[float]) -> LongRun:
    ones = np.ones(len(mean))
    return LongRun(np.array(mean), np.diag(variance), 50.0 * ones, np.inf * ones)


def test_a_statistic_is_the_mean_over_its_standard_error() -> None:
    found = z_statistics(long_run([1.0, -3.0, 2.0], [4.0, 0.25, 0.0]), judged=slice(1))
    assert found.tolist() == [0.5, -6.0, 0.0]


def test_what_is_judged_must_vary() -> None:
    with pytest.raises(DegenerateError, match="no variance: it is 2 on every test row"):
        z_statistics(long_run([2.0, 1.0], [0.0, 1.0]), judged=slice(1))


def test_shares_are_weight_times_mean_over_the_sum_of_their_sizes() -> None:
    draws, scores = arbitrary_rows(200, 2)
    split = RecordingSplit()
    result = ps.lambda_psd_test(draws, scores, order=2, weights=ps.ClosedForm(), split=split, rng=1)
    rows = split.rows
    matrices, vector = stein.maximiser(draws[rows["witness"]], scores[rows["witness"]], 2)
    table = stein.features(draws[rows["test"]], scores[rows["test"]], matrices, vector)
    assert result.weights is not None
    products = np.array(list(result.weights.values())) * table.mean(axis=0)
    expected = products / np.abs(products).sum()
    assert [part.share for part in result.components] == pytest.approx(expected, rel=1e-10)
    assert [part.words for part in result.components] == [
        "spread, correlation", "skewness", "location",
    ]  # fmt: skip


# Several splits


def literal(pvalues: list[float]) -> float:
    """min over k of 2/k (p_1 + ... + p_k), at most 1."""
    best = 1.0
    for k in range(1, len(pvalues) + 1):
        best = min(best, 2.0 * sum(pvalues[:k]) / k)
    return best


def result_of(pvalue: float) -> GofResult:
    return GofResult(float(stats.norm.isf(pvalue)), pvalue, "greater", "psd", 1)


@pytest.mark.parametrize(
    ("pvalues", "expected"),
    [([0.01, 0.5, 0.9], 0.02), ([0.5, 0.01, 0.03], 0.36), ([0.9, 0.8], 1.0), ([0.2], 0.2)],
)
def test_the_rule_by_hand(pvalues: list[float], expected: float) -> None:
    result = combine_splits([result_of(p) for p in pvalues], Notes(), 0)
    assert result.pvalue == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [2, 3, 10, 31])
def test_the_rule_is_the_literal_one(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(50):
        pvalues = (rng.random(count) ** 3).tolist()
        result = combine_splits([result_of(p) for p in pvalues], Notes(), 0)
        assert result.pvalue == pytest.approx(literal(pvalues), rel=1e-12)
        assert result.evidence.split_pvalues == tuple(pvalues)
        assert result.settings["repeats"] == count
        assert result.statistic == sorted(stats.norm.isf(pvalues))[count // 2]


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95, 1.0])
def test_the_rule_is_valid_for_exchangeable_pvalues(correlation: float) -> None:
    """Never above the level, whatever the dependence."""
    rng = np.random.default_rng(1)
    z = np.sqrt(correlation) * rng.standard_normal((20_000, 1))
    z = z + np.sqrt(1.0 - correlation) * rng.standard_normal((20_000, 10))
    rule = np.array([exchangeable_pvalue(pvalues) for pvalues in stats.norm.sf(z)])
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
    assert result.evidence.split_pvalues == tuple(pvalues)
    assert len(set(pvalues)) == 5
    assert result.pvalue == pytest.approx(literal(pvalues), rel=1e-12, abs=0.0)
    middle = sorted(single, key=lambda part: part.statistic)[2]
    assert (result.statistic, result.weights) == (middle.statistic, middle.weights)
    assert test(draws, scores, order=1, repeats=5, rng=3) == result


@pytest.mark.slow
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


# Warnings


@pytest.mark.parametrize("variance", VARIANCES, ids=repr)
@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_chains_are_warned_about_unless_both_rules_keep_time(split: Any, variance: Any) -> None:
    chains = autoregressive(np.random.default_rng(0), 4, 1000, 3, 0.5)
    options: Any = {"order": 1, "split": split, "variance": variance, "rng": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ps.psd_test(chains, lambda x: -x, **options)
    kinds = [item.category for item in caught]
    safe = split != ps.RandomSplit() and variance != ps.IID()
    assert kinds == ([] if safe else [ps.DependenceWarning])
    assert result.warnings == tuple(str(item.message) for item in caught)
    if not safe:
        assert f"{split} with {variance} holds for independent rows only" in result.warnings[0]


def test_independent_rows_are_not_warned_about() -> None:
    draws = autoregressive(np.random.default_rng(0), 1, 1000, 3, 0.0)[0]
    result = ps.psd_test(draws, lambda x: -x, order=1, split=ps.RandomSplit(), rng=0)
    assert result.warnings == ()
