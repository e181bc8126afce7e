"""Variances of the mean of chains: the initial sequence, and batch means."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import polystein as ps
from polystein.errors import InputError
from polystein.inference.variance import LongRun
from tests.conftest import Array
from tests.reference import autocorrelation as literal
from tests.statistical.samplers import autoregressive

RULES: list[Any] = [ps.InitialSequence(), ps.BatchMeans(), ps.BatchMeans(length=20)]


def long_run(
    rule: Any, chains: list[Array], weights: list[Array] | None = None, block: int = 10**6
) -> LongRun:
    lengths = tuple(len(chain) for chain in chains)
    accumulator = rule.accumulator(lengths, chains[0].shape[1])
    for number, chain in enumerate(chains):
        for low in range(0, len(chain), block):
            part = None if weights is None else weights[number][low : low + block]
            accumulator.update(chain[low : low + block], part, number, low)
    result: LongRun = accumulator.finalise()
    return result


def columns(lengths: tuple[int, ...], memory: float = 0.8, seed: int = 0) -> list[Array]:
    """Three columns that remember and depend on each other."""
    rng = np.random.default_rng(seed)
    mixing = np.array([[1.0, 0.5, -2.0], [0.0, 1.0, 3.0], [0.0, 0.0, 0.1]])
    return [autoregressive(rng, 1, rows, 3, memory)[0] @ mixing + 2.0 for rows in lengths]


def floored(variance: float, marginal: float, total: int) -> float:
    """No effective size beyond n log10(n)."""
    return max(variance, marginal / max(1.0, math.log10(total)))


# Against the literal transcriptions


@pytest.mark.parametrize("lengths", [(150,), (80, 80), (40, 90, 7)], ids=str)
@pytest.mark.parametrize("memory", [-0.6, 0.0, 0.8])
@pytest.mark.parametrize("block", [11, 1000])
def test_initial_sequence_is_the_literal_one(
    lengths: tuple[int, ...], memory: float, block: int
) -> None:
    chains, total = columns(lengths, memory), sum(lengths)
    result = long_run(ps.InitialSequence(), chains, block=block)
    for column in range(3):
        parts = [chain[:, column] for chain in chains]
        marginal = literal.autocovariance(parts, 0)
        variance = floored(literal.long_run_variance(parts), marginal, total) / total
        assert result.mean[column] == pytest.approx(literal.pooled_mean(parts), rel=1e-12)
        assert result.covariance[column, column] == pytest.approx(variance, rel=1e-10)
        assert result.ess[column] == pytest.approx(marginal / variance, rel=1e-10)
        assert result.df[column] == pytest.approx(max(1.0, marginal / variance / 4), rel=1e-10)


@pytest.mark.parametrize("length", [1, 7, 20, 40])
@pytest.mark.parametrize("lengths", [(150,), (80, 80), (40, 90, 7)], ids=str)
def test_batch_means_are_the_literal_ones(lengths: tuple[int, ...], length: int) -> None:
    chains = columns(lengths)
    result = long_run(ps.BatchMeans(length), chains)
    for column in range(3):
        parts = [chain[:, column] for chain in chains]
        variance = literal.batch_means_variance(parts, length)
        assert result.covariance[column, column] == pytest.approx(variance, rel=1e-10)
    assert result.df.tolist() == [sum(rows // length for rows in lengths) - 1] * 3


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_weighted_initial_sequence_is_that_of_the_influence(memory: float) -> None:
    """The variance of sum w u / sum w is that of the mean of w (u - mean) / mean(w)."""
    chains = columns((90, 60), memory)
    rng = np.random.default_rng(8)
    weights = [rng.exponential(size=len(chain)) for chain in chains]
    result = long_run(ps.InitialSequence(), chains, weights, block=13)
    scale = sum(w.sum() for w in weights) / 150
    for column in range(3):
        parts, mean = literal.influence([chain[:, column] for chain in chains], weights)
        marginal = sum(
            float(w @ (chain[:, column] - mean) ** 2)
            for w, chain in zip(weights, chains, strict=True)
        ) / (150 * scale)
        variance = floored(literal.long_run_variance(parts), marginal, 150) / 150
        assert result.mean[column] == pytest.approx(mean, rel=1e-12)
        assert result.covariance[column, column] == pytest.approx(variance, rel=1e-10)
        assert result.ess[column] == pytest.approx(marginal / variance, rel=1e-10)


def test_weighted_batch_means_are_those_of_the_influence() -> None:
    chains = columns((90, 60))
    weights = [np.random.default_rng(8).exponential(size=len(chain)) for chain in chains]
    result = long_run(ps.BatchMeans(15), chains, weights)
    for column in range(3):
        parts, _ = literal.influence([chain[:, column] for chain in chains], weights)
        variance = literal.batch_means_variance(parts, 15)
        assert result.covariance[column, column] == pytest.approx(variance, rel=1e-10)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_equal_weights_on_any_scale_are_no_weights(rule: Any) -> None:
    chains = columns((90, 90))
    plain = long_run(rule, chains)
    weighted = long_run(rule, chains, [np.full(90, 1e-3)] * 2)
    for first, second in zip(plain, weighted, strict=True):
        assert second == pytest.approx(first, rel=1e-9)


# Invariance, and the joint covariance


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(scale=st.floats(1e-6, 1e6), shift=st.floats(-1e3, 1e3), sign=st.sampled_from([-1, 1]))
def test_scale_and_shift(rule: Any, scale: float, shift: float, sign: int) -> None:
    chains = columns((70, 70))
    here = long_run(rule, chains)
    there = long_run(rule, [sign * scale * (chain + shift) for chain in chains])
    assert there.mean == pytest.approx(sign * scale * (here.mean + shift), rel=1e-9, abs=1e-9)
    assert there.covariance == pytest.approx(scale**2 * here.covariance, rel=1e-6)
    assert there.ess == pytest.approx(here.ess, rel=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("memory", [-0.7, 0.0, 0.5, 0.95])
@pytest.mark.parametrize("lengths", [(400,), (100, 100), (60, 20, 200)], ids=str)
def test_joint_covariance(rule: Any, memory: float, lengths: tuple[int, ...]) -> None:
    """Symmetric and positive semi-definite, with each column's own variance on the diagonal."""
    chains = columns(lengths, memory)
    chains = [np.hstack([chain, chain @ np.ones((3, 1))]) for chain in chains]
    if rule == ps.BatchMeans():
        # One length of batches for all columns, here for those alone too.
        rule = ps.BatchMeans(10)
    result = long_run(rule, chains)
    assert result.covariance == pytest.approx(result.covariance.T, rel=1e-12)
    values = np.linalg.eigvalsh(result.covariance)
    assert values[0] > -1e-12 * values[-1]
    for column in range(4):
        alone = long_run(rule, [chain[:, [column]] for chain in chains])
        assert result.covariance[column, column] == pytest.approx(alone.covariance[0, 0], rel=1e-9)


@pytest.mark.parametrize("rule", [ps.InitialSequence(), ps.BatchMeans()], ids=repr)
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_correlations_are_those_of_the_means(rule: Any, memory: float) -> None:
    """Columns x_1 and x_1 + x_2 have a correlation of sqrt(1/2) whatever their memory."""
    rng = np.random.default_rng(2)
    correlations = []
    for _ in range(60):
        draws = autoregressive(rng, 4, 1000, 2, memory)
        chains = list(np.cumsum(draws, axis=2))
        covariance = long_run(rule, chains).covariance
        spread = np.sqrt(np.diagonal(covariance))
        correlations.append(covariance[0, 1] / (spread[0] * spread[1]))
    error = float(np.std(correlations)) / math.sqrt(60)
    assert abs(float(np.mean(correlations)) - math.sqrt(0.5)) < 3.3 * error + 0.02


# The truth


@pytest.mark.slow
@pytest.mark.parametrize("rule", [ps.InitialSequence(), ps.BatchMeans()], ids=repr)
@pytest.mark.parametrize(("chains", "rows"), [(4, 1000), (1, 4000)])
@pytest.mark.parametrize("memory", [-0.5, 0.0, 0.5, 0.9])
def test_autoregressive_truth(rule: Any, chains: int, rows: int, memory: float) -> None:
    """(1 + a)/(1 - a): no bias beyond 10 %, as far as 100 replicates tell, and a bounded spread."""
    rng = np.random.default_rng(3)
    truth = (1.0 + memory) / (1.0 - memory) / (chains * rows)
    draws = autoregressive(rng, chains, rows, 100, memory)
    ratios = np.array(
        [
            long_run(rule, list(draws[:, :, [replicate]])).covariance[0, 0] / truth
            for replicate in range(100)
        ]
    )
    error = float(ratios.std()) / math.sqrt(100)
    assert error < 0.04
    if memory >= 0.0:
        assert abs(float(ratios.mean()) - 1.0) < 0.1 + 3.3 * error, ratios.mean()
    else:
        # Geyer's sequence errs on the safe side where neighbours alternate.
        assert 0.8 < float(ratios.mean()) < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES[:2], ids=repr)
def test_t_statistics_keep_their_level(rule: Any) -> None:
    rng = np.random.default_rng(4)
    draws = autoregressive(rng, 4, 500, 1000, 0.9)
    rejections = 0
    for replicate in range(1000):
        result = long_run(rule, list(draws[:, :, [replicate]]))
        statistic = result.mean[0] / math.sqrt(result.covariance[0, 0])
        rejections += stats.t.sf(abs(statistic), result.df[0]) < 0.025
    assert stats.binomtest(rejections, 1000, 0.05).pvalue > 0.001, rejections


def test_batches_are_long_but_never_too_few() -> None:
    """Ten autocorrelation times where there is room for eight such batches, else less."""
    rng = np.random.default_rng(5)
    roomy = long_run(ps.BatchMeans(), list(autoregressive(rng, 4, 2000, 1, 0.5)))
    tight = long_run(ps.BatchMeans(), list(autoregressive(rng, 1, 400, 1, 0.99)))
    # The autocorrelation time of 0.5 is 3, so that batches have about 30 of the 8000 rows.
    assert 8000 / 45 < roomy.df[0] + 1 < 8000 / 20
    assert tight.df[0] == 7


# Small and odd


@pytest.mark.parametrize("lengths", [(2,), (3,), (2, 3), (1, 1)], ids=str)
def test_very_short_chains_have_a_variance(lengths: tuple[int, ...]) -> None:
    result = long_run(ps.InitialSequence(), columns(lengths))
    assert np.all(np.isfinite(result.covariance))
    assert np.all(np.diagonal(result.covariance) > 0.0)
    assert np.all(result.df >= 1.0)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_constant_column_has_no_variance(rule: Any) -> None:
    chains = [np.hstack([chain, np.full((len(chain), 1), 4.0)]) for chain in columns((90, 90))]
    result = long_run(rule, chains)
    assert result.mean[3] == pytest.approx(4.0)
    assert result.covariance[3].tolist() == [0.0] * 4
    assert result.ess[3] == 0.0


def test_antithetic_rows_have_a_bounded_effective_size() -> None:
    alternating = np.tile([1.0, -1.0], 500)[:, None]
    alternating = alternating + 1e-3 * np.random.default_rng(0).standard_normal((1000, 1))
    assert long_run(ps.InitialSequence(), [alternating]).ess[0] == pytest.approx(3000.0, rel=1e-9)


@pytest.mark.parametrize("rule", RULES[:2], ids=repr)
def test_many_short_chains_that_remember(rule: Any) -> None:
    """Sixteen chains shorter than ten autocorrelation times."""
    chains = list(autoregressive(np.random.default_rng(6), 16, 50, 1, 0.95))
    result = long_run(rule, chains)
    assert 0.0 < result.covariance[0, 0] < np.inf


@pytest.mark.parametrize("length", [0, -3, 2.5, True, "long", None])
def test_bad_lengths_are_refused(length: Any) -> None:
    with pytest.raises(InputError, match="`length` must be a positive integer or 'auto'; got"):
        ps.BatchMeans(length)


def test_one_batch_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2 batches of the test rows; 90 leaves 1"):
        long_run(ps.BatchMeans(90), columns((90,)))


def test_they_say_what_they_are() -> None:
    assert repr(ps.InitialSequence()) == "InitialSequence()"
    assert repr(ps.BatchMeans(5)) == "BatchMeans(length=5)"
    assert ps.BatchMeans() == ps.BatchMeans("auto") != ps.BatchMeans(5)
