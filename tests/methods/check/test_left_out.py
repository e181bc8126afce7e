"""R-hat and ESS of means, by sums over batches, and which coordinates are too slow."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.inference.convergence import RankedConvergence
from polystein.inference.convergence_of_means import MeansConvergence, convergence_of_means
from polystein.methods.check.batches import cut
from polystein.methods.check.left_out import (
    FEW_DRAWS,
    FEWEST_DRAWS,
    RHAT_LEFT_OUT,
    TIMES_FASTER,
    ChainConvergence,
    RankedRows,
    chain_convergence,
)
from polystein.methods.check.statistics import BASIS
from polystein.methods.check.sums import BatchSums
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


def given_sums(totals: Any, squares: Any) -> Any:
    """Two chains of 20 batches of ten rows, draws and scores alike but for the scores' sign."""
    return SimpleNamespace(
        draws=totals,
        diagonal=-totals[:, None],
        squares=np.stack([squares, squares], axis=1),
        weight_scale=1.0,
        sizes=np.full(40, 10.0),
        batches=SimpleNamespace(chain_of=np.repeat([0, 1], 20)),
    )


@pytest.mark.parametrize("what", ["draws", "scores"])
@pytest.mark.parametrize("some", [np.arange(40), np.r_[0:9, 20:29]])
def test_variances_are_those_of_the_rows(what: Any, some: Any) -> None:
    """From sums of columns and of their squares over some batches, wherever the columns are."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 10, 2)) * [1.0, 3.0] + [0.0, 20.0]
    sums = given_sums(rows.sum(axis=1), (rows**2).sum(axis=1))
    found = getattr(chain_convergence(sums, some), what)
    variances = rows[some].reshape(-1, 2).var(axis=0)
    chains = np.repeat([0, 1], 20)[some]
    own = rows[some].sum(axis=1)
    expected = convergence_of_means(own, np.full(some.size, 10.0), chains, variances)
    assert found.rhat == pytest.approx(expected.rhat, rel=1e-9)
    assert found.ess == pytest.approx(expected.ess, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_column_that_is_constant_has_no_rhat() -> None:
    """Rounding may leave less than no variance."""
    for value in (0.1, 1e8 + 0.1, -3.0):
        totals = np.full((40, 1), 10.0 * value)
        sums = given_sums(totals, np.full((40, 1), 10.0 * value**2))
        found = chain_convergence(sums).draws
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


def kish(log_weights: Array) -> float:
    weights = np.exp(log_weights)
    return float(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.parametrize("kind", ["equal", "exponential", "log-normal", "one of fifty"])
def test_independent_weighted_rows_are_worth_what_kish_says(kind: str) -> None:
    """Median of 40 columns, for the largest of several variances is a little cautious."""
    rng = np.random.default_rng(2)
    draws = rng.standard_normal((4, 1000, 40))
    log_weights = np.zeros((4, 1000))
    if kind == "exponential":
        log_weights = np.log(rng.exponential(size=(4, 1000)))
    elif kind == "log-normal":
        log_weights = rng.standard_normal((4, 1000))
    elif kind == "one of fifty":
        # 4,000 rows are worth 2,523 then, and not 81.
        log_weights[1, 500] = np.log(50.0)
    expected = kish(log_weights)
    assert (expected < 2_600.0) == (kind != "equal")
    sample = ps.Sample(draws, -draws, log_weights=300.0 + log_weights)
    for own in chain_convergence(sums_of(sample)):
        assert 0.75 * expected < np.median(own.ess) <= (1.0 + 1e-9) * expected
        assert own.ess.max() <= (1.0 + 1e-9) * expected
        assert own.rhat == pytest.approx(np.ones(40), abs=0.01)


# Coordinates that are too slow


def known(draws: Any, scores: Any, of_draws: Any = None, of_scores: Any = None) -> ChainConvergence:
    """ESS of draws and scores, and their R-hat, which is 1 unless it is given."""
    ones = np.ones(len(draws))
    return ChainConvergence(
        MeansConvergence(ones if of_draws is None else np.array(of_draws), np.array(draws)),
        MeansConvergence(ones if of_scores is None else np.array(of_scores), np.array(scores)),
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
        ([200.0, 49.0], [200.0, 60.0], [False, True]),
        ([200.0, 50.0], [200.0, 60.0], [False, False]),
        # But not if they are worth next to nothing.
        ([90.0, 29.0], [90.0, 60.0], [False, True]),
        ([90.0, 30.0], [90.0, 60.0], [False, False]),
        ([20.0, 25.0], [20.0, 25.0], [True, True]),
        ([30.0], [30.0], [False]),
        ([29.0], [29.0], [True]),
    ],
)
def test_coordinates_are_too_slow_beside_the_others(draws: Any, scores: Any, slow: Any) -> None:
    assert (FEWEST_DRAWS, FEW_DRAWS, TIMES_FASTER) == (30.0, 100.0, 4.0)
    assert known(draws, scores).too_slow().tolist() == slow


@pytest.mark.parametrize(
    ("draws", "scores", "apart"),
    [
        ([1.0, 1.2], [1.0, 1.2], [False, False]),
        ([1.0, 1.21], [1.0, 1.0], [False, True]),
        ([1.0, 1.0], [1.21, 1.0], [True, False]),
        ([np.inf, 3.0], [1.0, 1.0], [True, True]),
    ],
)
def test_coordinates_of_chains_that_disagree_are_left_out(
    draws: Any, scores: Any, apart: Any
) -> None:
    """However many draws they are worth."""
    assert RHAT_LEFT_OUT == 1.2
    ess = [1e4, 1e4]
    assert known(ess, ess, draws, scores).too_slow().tolist() == apart


def test_a_slow_coordinate_is_seen() -> None:
    draws = slow_coordinate()
    found = chain_convergence(sums_of(ps.Sample(draws, -draws)))
    assert found.too_slow().tolist() == [False, True, False]


def test_equally_slow_coordinates_are_not_left_out() -> None:
    """Worth fewer than 100 draws each, 61 in truth."""
    draws = autoregressive(np.random.default_rng(0), 4, 1000, 3, 0.97)
    found = chain_convergence(sums_of(ps.Sample(draws, -draws)))
    assert found.draws.ess.max() < FEW_DRAWS
    assert not found.too_slow().any()


def test_scores_whose_squares_overflow_are_no_warning() -> None:
    draws = np.random.default_rng(7).standard_normal((100, 1))
    scores = -draws
    scores[-1] = 1e300
    with pytest.raises(ps.ScaleError):
        ps.check(draws, scores, rng=3, tolerance=0.5)


def ranked(bulk: list[float], folded: list[float]) -> RankedConvergence:
    ones = np.ones(len(bulk))
    return RankedConvergence(
        **{
            **dict.fromkeys(RankedConvergence._fields, ones),
            "ess_bulk": np.array(bulk),
            "ess_folded": np.array(folded),
        }
    )


@pytest.mark.parametrize(
    ("folded", "slow"),
    [
        ([1000.0, 1000.0, 1000.0, 600.0], [False, False, False, False]),
        ([1000.0, 1000.0, 600.0, 90.0], [False, False, False, True]),
        # Half of the scales are slow, and so are those that are slower than their values.
        ([1000.0, 834.0, 300.0, 90.0], [False, False, True, True]),
        ([1000.0, 832.0, 300.0, 90.0], [False, True, True, True]),
        ([600.0, 90.0], [True, True]),
        ([1000.0, 90.0], [False, True]),
    ],
)
@pytest.mark.parametrize("of_scores", [False, True])
def test_what_has_a_slow_scale_is_not_left_to_chance(
    folded: list[float], slow: list[bool], of_scores: bool
) -> None:
    bulk = [1000.0] * len(folded)
    given = [ranked(bulk, bulk), ranked(bulk, folded)]
    found = RankedRows(*(given if of_scores else given[::-1]), rows=1000)
    assert found.slow_scales().tolist() == slow
