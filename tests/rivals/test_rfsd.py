"""RFSD: the literal formula, its bootstrap, or an error."""

import math
import warnings
from typing import Any, get_args

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import sqrtm
from scipy.stats import beta as beta_law
from scipy.stats import kstest

import polystein as ps
from polystein._lib.random import Streams
from polystein.errors import DegenerateError, DependenceWarning, InputError
from polystein.inference.multipliers import multipliers
from polystein.rivals.rfsd import (
    Calibration,
    draw_locations,
    exponents,
    log_kurtosis,
    simulated,
)
from tests.reference import rfsd as literal
from tests.rivals.rows import plausible_rows

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")


@pytest.mark.parametrize(("dimension", "df"), [(1, 0.5), (2, 0.5), (4, 0.5), (2, 2.6)])
def test_statistic_and_replicates_are_the_literal_ones(dimension: int, df: float) -> None:
    draws, scores = plausible_rows(25, dimension, seed=5)
    result = ps.rfsd_test(draws, scores, n_features=3, degrees_of_freedom=df, n_bootstrap=49, rng=5)
    estimates = result.evidence.estimates
    place = np.array(estimates["locations"]), estimates["c"]
    unit = np.exp(estimates["log_unit"])
    observed = literal.squared_discrepancy(draws, scores, *place, df=df)
    assert result.statistic * unit == pytest.approx(25 * observed, rel=1e-10)
    signs = multipliers(49, int(Streams(5).resampling.integers(2**63)), None).draw(0, 25)
    replicates = [literal.squared_discrepancy(draws, scores, *place, row, df) for row in signs]
    larger = sum(replicate >= observed for replicate in replicates)
    assert 0 < larger < 49
    assert result.pvalue == (larger + 1) / 50


# As in experiment 1 and in experiment 2.
TUNED = [(4.0, 0.5), (100.0, 2.6)]


@pytest.mark.parametrize("dimension", [1, 2, 4])
@pytest.mark.parametrize(("medians", "df"), TUNED)
def test_the_published_calibration_is_the_literal_one(
    dimension: int, medians: float, df: float
) -> None:
    draws, scores = plausible_rows(25, dimension, seed=5)
    options: dict[str, Any] = {"medians": medians, "degrees_of_freedom": df, "rng": 5}
    result = ps.rfsd_test(
        draws, scores, n_features=3, n_bootstrap=49, calibration="published", **options
    )
    estimates = result.evidence.estimates
    assert estimates["c"] == pytest.approx(literal.published_scale(draws, medians), rel=1e-12)
    place = np.array(estimates["locations"]), estimates["c"]
    normals = Streams(5).resampling.standard_normal((49, 3 * dimension))
    observed, under_null = literal.published_statistics(draws, scores, *place, df, normals)
    unit = np.exp(estimates["log_unit"])
    assert result.statistic * unit == pytest.approx(observed, rel=1e-10)
    larger = sum(one >= observed for one in under_null)
    assert result.pvalue == (larger + 1) / 50

    sample, streams = ps.Sample(draws, scores), Streams(5)
    chosen = draw_locations(sample, 3, streams.weights, published=True, medians=medians, df=df)
    _, made = simulated(sample, chosen, 49, streams.resampling)
    assert 25 * made * unit == pytest.approx(np.array(under_null), rel=1e-10)


def test_published_locations_have_scale_1_whatever_c_is() -> None:
    """Along one coordinate a multivariate t is a t with the same degrees of freedom."""
    draws, scores = plausible_rows(50, 3)
    for medians, df in TUNED:
        sample, rng = ps.Sample(draws, scores), np.random.default_rng(0)
        chosen = draw_locations(sample, 4000, rng, published=True, medians=medians, df=df)
        first = chosen.locations[:, 0] - draws[:, 0].mean()
        assert kstest(first, "t", args=(df,)).pvalue > 0.001


def test_simulated_features_have_the_observed_second_moments() -> None:
    """One location in dimension 1: B simulations are chi-squares times the second moment."""
    draws, scores = plausible_rows(200, 1)
    sample, rng = ps.Sample(draws, scores), np.random.default_rng(0)
    chosen = draw_locations(sample, 1, rng, published=True)
    _, made = simulated(sample, chosen, 4000, rng)
    second = np.mean(chosen.features(draws, scores) ** 2)
    assert kstest(200 * made / second, "chi2", args=(1,)).pvalue > 0.001


def test_a_component_of_next_to_no_variance_is_left_out() -> None:
    draws, scores = plausible_rows(40, 2)
    sample = ps.Sample(draws, scores * np.array([1.0, 0.0]))
    rng = np.random.default_rng(0)
    chosen = draw_locations(sample, 2, rng, published=True, medians=1e12)
    features = chosen.features(draws, scores * np.array([1.0, 0.0]))
    variances = np.mean(features**2, axis=0)
    assert np.all(variances[1::2] < 1e-20 * variances.max())
    assert np.all(variances[1::2] > 0.0)
    _, made = simulated(sample, chosen, 99, np.random.default_rng(1))
    kept = features[:, ::2]
    normals = np.random.default_rng(1).standard_normal((99, 4))[:, ::2]
    values = normals @ np.real(sqrtm(kept.T @ kept)) / 40
    assert made == pytest.approx(np.abs(values).sum(axis=1) ** 2, rel=1e-6)


def test_the_published_calibration_in_high_dimension_stays_finite() -> None:
    draws = np.random.default_rng(0).standard_normal((400, 128))
    result = ps.rfsd_test(draws, -draws, calibration="published", n_bootstrap=99, rng=0)
    assert 0.0 < result.statistic < np.inf
    assert 0.01 <= result.pvalue <= 1.0
    assert result.settings["calibration"] == "published"


def test_there_are_500_or_3000_replicates_by_default() -> None:
    rows = plausible_rows(50, 2)
    made = {
        calibration: ps.rfsd_test(*rows, calibration=calibration, rng=0).settings["n_bootstrap"]
        for calibration in get_args(Calibration)
    }
    assert made == {"wild-bootstrap": 500, "published": 3000}


@pytest.mark.parametrize("dimension", [1, 2, 16])
def test_exponents_are_the_published_ones(dimension: int) -> None:
    xi, beta = exponents(dimension)
    assert beta == pytest.approx(literal.exponent(dimension), rel=1e-12)
    # nu is proportional to Phi^xi, a t density with 1/2 degree of freedom.
    assert -2 * xi * beta == pytest.approx(dimension + 0.5, rel=1e-12)


def chosen_scale(n: int, dimension: int, count: int) -> tuple[float, float]:
    """c' and the published one, in units of the largest spread."""
    draws, scores = plausible_rows(n, dimension)
    spread = np.sqrt(np.linalg.eigvalsh(np.atleast_2d(np.cov(draws.T, bias=True)))[-1])
    chosen = draw_locations(ps.Sample(draws, scores), count, np.random.default_rng(0))
    return chosen.c / spread, literal.published_scale(draws) / spread


def test_the_scale_is_the_published_one_where_features_are_tame() -> None:
    scale, published = chosen_scale(200, 1, 10)
    assert scale == pytest.approx(published, rel=1e-10)


@pytest.mark.parametrize("dimension", [2, 8])
def test_the_scale_is_the_smallest_that_tames_the_features(dimension: int) -> None:
    scale, published = chosen_scale(200, dimension, 10)
    assert scale > published
    assert log_kurtosis(scale, dimension, 10) == pytest.approx(np.log(200) / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("dimension", "c", "df"), [(1, 2.0, 0.5), (2, 9.8, 0.5), (16, 60.0, 0.5), (4, 30.0, 2.6)]
)
def test_the_kurtosis_is_that_of_the_feature_to_second_order(
    dimension: int, c: float, df: float
) -> None:
    """By quadrature over normal draws, with slope and curvature by finite differences."""
    b = beta_law(dimension / 2, df / 2).ppf(0.1)
    place = c * np.sqrt(b / (1 - b))

    def log_phi(x: float) -> float:
        return float(literal.exponent(dimension, df) * np.log(1 + (x - place) ** 2 / c**2))

    h = 1e-3 * c
    slope = (log_phi(h) - log_phi(-h)) / (2 * h)
    curvature = (log_phi(h) - 2 * log_phi(0.0) + log_phi(-h)) / h**2

    def moment(power: int) -> float:
        def density(x: float) -> float:
            return float(np.exp(power * (slope * x + curvature * x**2 / 2) - x**2 / 2))

        return float(quad(density, -40.0, 40.0, limit=200)[0] / np.sqrt(2 * np.pi))

    expected = np.log(moment(4) / moment(2) ** 2)
    assert log_kurtosis(c, dimension, 10, df) == pytest.approx(expected, rel=1e-3)


def test_locations_follow_the_t_density() -> None:
    """Along one coordinate a multivariate t is a t with the same degrees of freedom."""
    draws, scores = plausible_rows(50, 3)
    chosen = draw_locations(ps.Sample(draws, scores), 4000, np.random.default_rng(0))
    first = (chosen.locations[:, 0] - draws[:, 0].mean()) / (chosen.c / np.sqrt(0.5))
    assert kstest(first, "t", args=(0.5,)).pvalue > 0.001


def test_high_dimension_neither_underflows_nor_overflows() -> None:
    draws = np.random.default_rng(0).standard_normal((400, 300))
    assert 0.0 < ps.rfsd_test(draws, -draws, n_bootstrap=99, rng=0).statistic < np.inf
    shifted = ps.rfsd_test(draws + 1.0, -draws - 1.0, n_bootstrap=99, rng=0)
    assert shifted.pvalue == 0.01


def test_the_result_does_not_depend_on_unit_and_origin() -> None:
    draws, scores = plausible_rows(200, 3)
    raw = ps.rfsd_test(draws, scores, rng=2)
    moved = ps.rfsd_test(1000.0 * draws + 3e6, scores / 1000.0, rng=2)
    assert moved.pvalue == raw.pvalue
    assert moved.statistic == pytest.approx(raw.statistic / 1e6, rel=1e-5)


def test_a_seed_reproduces_the_result_and_another_changes_it() -> None:
    draws, scores = plausible_rows(60, 2)
    first, again, other = (ps.rfsd_test(draws, scores, rng=seed) for seed in (1, 1, 2))
    assert first == again
    assert other.statistic != first.statistic


def test_chains_emit_a_warning_and_count_as_rows() -> None:
    draws, scores = plausible_rows(120, 2)
    chains = draws.reshape(3, 40, 2), scores.reshape(3, 40, 2)
    with pytest.warns(DependenceWarning, match="3 time-ordered chains, but `rfsd_test`") as caught:
        result = ps.rfsd_test(*chains, rng=1)
    assert caught[0].filename == __file__
    assert set(result.warnings) == {str(item.message) for item in caught}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = ps.rfsd_test(draws, scores, rng=1)
    assert alone.statistic == pytest.approx(result.statistic, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "`n_features` must be a positive integer; got 0"),
        ({"n_bootstrap": 0}, "`n_bootstrap` must be a positive integer; got 0"),
        ({"n_bootstrap": True}, "`n_bootstrap` must be a positive integer; got True"),
        ({"calibration": "honest"}, "`calibration` must be 'wild-bootstrap' or 'published'; got"),
        ({"medians": 0.0}, "`medians` must be a positive number; got 0.0"),
        ({"medians": math.nan}, "`medians` must be a positive number; got nan"),
        ({"medians": 1e-300}, "`medians` must be between 1e-100 and 1e.100; got 1e-300"),
        ({"medians": 10**300}, "`medians` must be between 1e-100 and 1e.100; got 10{300}"),
        ({"degrees_of_freedom": -1}, "`degrees_of_freedom` must be a positive number; got -1"),
        ({"degrees_of_freedom": "2"}, "`degrees_of_freedom` must be a positive number; got '2'"),
        ({"degrees_of_freedom": 0.01}, "`degrees_of_freedom` must be between 0.1 and 1e.06; got"),
        ({"degrees_of_freedom": 1e308}, "`degrees_of_freedom` must be between 0.1 and 1e.06; got"),
        ({"rng": "a"}, "`rng` must be a non-negative int"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.rfsd_test(*plausible_rows(50, 2), **options)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, int])
def test_options_in_other_precisions_give_the_same_answer(kind: Any) -> None:
    """The search for c' did not end in single precision."""
    rows = plausible_rows(50, 2)
    expected = ps.rfsd_test(*rows, medians=4.0, n_bootstrap=49, rng=0)
    assert ps.rfsd_test(*rows, medians=kind(4), n_bootstrap=49, rng=0) == expected


def test_bad_rows_are_named() -> None:
    draws, scores = plausible_rows(50, 2)
    with pytest.raises(InputError, match="`log_weights` must be None for `rfsd_test`"):
        ps.rfsd_test(ps.Sample(draws, scores, log_weights=np.zeros(50)))
    with pytest.raises(InputError, match="`draws` must have at least 2 rows; got 1"):
        ps.rfsd_test(np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(DegenerateError, match="median of the distances"):
        ps.rfsd_test(np.ones((50, 2)), scores)
