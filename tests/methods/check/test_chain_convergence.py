"""R-hat and ESS of means, by sums over batches, and which coordinates are too slow."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.inference.convergence import MeansConvergence, convergence_of_means
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import cut
from polystein.methods.check.chain_convergence import (
    LEAST_ESS,
    TIMES_FASTER,
    ChainConvergence,
    chain_convergence,
    of_means,
)
from polystein.methods.check.families import BASIS
from tests.conftest import Array
from tests.reference import convergence as literal
from tests.statistical.samplers import autoregressive


def sums_of(sample: ps.Sample) -> BatchSums:
    dimension = sample.layout.dimension
    frame = Frame(np.linspace(-0.5, 0.5, dimension), np.linspace(0.5, 2.0, dimension))
    return BatchSums(sample, frame, BASIS, cut(sample.layout, chains=True)).take()


def slow_coordinate(seed: int = 0, rho: float = 0.99) -> Array:
    """Four chains of 1,000 draws of three coordinates, of which the second one is slow."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((4, 1000, 3))
    draws[..., 1] = autoregressive(rng, 4, 1000, 1, rho)[..., 0]
    return draws


# R-hat and ESS


def test_rhat_is_the_classical_one_of_draws_and_of_scores() -> None:
    """In any frame; chains of 64 batches halve evenly."""
    draws = slow_coordinate()[:, :960]
    scores = -draws + 0.2 * draws**2
    found = chain_convergence(sums_of(ps.Sample(draws, scores)))
    for own, values in ((found.draws, draws), (found.scores, scores)):
        expected = [literal.rhat(literal.halves(values[..., j].tolist())) for j in range(3)]
        assert own.rhat == pytest.approx(expected, rel=1e-9)
    assert found.draws.rhat[1] > 1.01 > found.draws.rhat[0]


def test_draws_and_scores_are_told_apart() -> None:
    """Scores of a coordinate may be fast where its draws are slow."""
    draws = slow_coordinate()
    scores = -np.random.default_rng(5).standard_normal(draws.shape)
    found = chain_convergence(sums_of(ps.Sample(draws, scores)))
    assert found.draws.ess[1] < 100.0 < 1_000.0 < found.draws.ess[0]
    assert found.scores.ess.min() > 1_000.0


def test_variances_are_those_of_the_rows() -> None:
    """From sums of columns and of their squares, wherever the columns are."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 10, 2)) * [1.0, 3.0] + [0.0, 20.0]
    sizes, chains = np.full(40, 10.0), np.repeat([0, 1], 20)
    found = of_means(rows.sum(axis=1), (rows**2).sum(axis=1), sizes, chains)
    variances = rows.reshape(-1, 2).var(axis=0)
    expected = convergence_of_means(rows.sum(axis=1), sizes, chains, variances)
    assert found.rhat == pytest.approx(expected.rhat, rel=1e-9)
    assert found.ess == pytest.approx(expected.ess, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_column_that_is_constant_has_no_rhat() -> None:
    """Rounding may leave less than no variance."""
    sizes, chains = np.full(40, 10.0), np.repeat([0, 1], 20)
    for value in (0.1, 1e8 + 0.1, -3.0):
        totals = np.full((40, 1), 10.0 * value)
        found = of_means(totals, np.full((40, 1), 10.0 * value**2), sizes, chains)
        assert np.isnan(found.rhat[0]) or found.rhat[0] == pytest.approx(1.0, abs=0.1)
        assert found.ess[0] == pytest.approx(400.0)


def test_weighted_rows_count_by_their_weights() -> None:
    """Equal weights of any size give the R-hat of rows without."""
    draws = slow_coordinate()
    plain = chain_convergence(sums_of(ps.Sample(draws, -draws)))
    weighted = ps.Sample(draws, -draws, log_weights=np.full((4, 1000), 300.0))
    found = chain_convergence(sums_of(weighted))
    for own, wanted in zip(found, plain, strict=True):
        assert own.rhat == pytest.approx(wanted.rhat, rel=1e-9)
        assert own.ess == pytest.approx(wanted.ess, rel=1e-9)


def test_weights_cost_what_kish_says() -> None:
    """One row weighs as much as 50: 4,000 rows are worth 2,500 then, and not 81."""
    draws = np.random.default_rng(2).standard_normal((4, 1000, 2))
    log_weights = np.zeros((4, 1000))
    log_weights[1, 500] = np.log(50.0)
    kish = (3999.0 + 50.0) ** 2 / (3999.0 + 2500.0)
    sample = ps.Sample(draws, -draws, log_weights=log_weights)
    for own in chain_convergence(sums_of(sample)):
        assert np.all(own.ess <= 1.05 * kish)
        assert np.all(own.ess >= 0.5 * kish)


# Coordinates that are too slow


def known(draws: Any, scores: Any) -> ChainConvergence:
    ones = np.ones(len(draws))
    return ChainConvergence(
        MeansConvergence(ones, np.array(draws)), MeansConvergence(ones, np.array(scores))
    )


@pytest.mark.parametrize(
    ("draws", "scores", "slow"),
    [
        ([1000.0, 500.0], [1000.0, 500.0], [False, False]),
        # Draws or scores, the smaller counts.
        ([1000.0, 99.0], [1000.0, 500.0], [False, True]),
        ([1000.0, 500.0], [1000.0, 99.0], [False, True]),
        ([1000.0, 100.0], [1000.0, 500.0], [False, False]),
        # Where all are slow, they are judged together.
        ([90.0, 60.0], [90.0, 60.0], [False, False]),
        ([90.0, 22.0], [90.0, 60.0], [False, True]),
        ([90.0, 23.0], [90.0, 60.0], [False, False]),
        ([20.0], [20.0], [False]),
    ],
)
def test_coordinates_are_too_slow_beside_the_others(draws: Any, scores: Any, slow: Any) -> None:
    assert (LEAST_ESS, TIMES_FASTER) == (100.0, 4.0)
    assert known(draws, scores).too_slow().tolist() == slow


def test_a_slow_coordinate_is_seen() -> None:
    draws = slow_coordinate()
    found = chain_convergence(sums_of(ps.Sample(draws, -draws)))
    assert found.too_slow().tolist() == [False, True, False]


def test_equally_slow_coordinates_are_not_left_out() -> None:
    draws = autoregressive(np.random.default_rng(0), 4, 1000, 3, 0.98)
    found = chain_convergence(sums_of(ps.Sample(draws, -draws)))
    assert not found.too_slow().any()
