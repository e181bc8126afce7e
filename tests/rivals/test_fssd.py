"""FSSD: the literal formula, the search for locations, the null law, or an error."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, ks_1samp

import polystein as ps
from polystein._lib.random import Streams
from polystein.data.passes import every_row
from polystein.data.sample import Sample
from polystein.errors import DegenerateError, DependenceWarning, InputError
from polystein.rivals.fssd import exceedances, statistic_and_spectrum
from polystein.rivals.fssd_features import FiniteSet, power_criterion
from tests.conftest import arbitrary_rows, row_numbers
from tests.reference import fssd as literal
from tests.rivals.rows import plausible_rows


def trained_set(result: ps.GofResult) -> FiniteSet:
    estimates = result.evidence.estimates
    return FiniteSet(np.array(estimates["locations"]), estimates["squared_width"])


@pytest.mark.parametrize("optimise", [True, False])
def test_the_statistic_is_the_literal_one(optimise: bool) -> None:
    draws, scores = plausible_rows(60, 2)
    result = ps.fssd_test(draws, scores, n_locations=3, optimise=optimise, rng=4)
    rows = np.arange(60)
    if optimise:
        partition = ps.RandomSplit(0.2).partition(Sample(draws, scores).layout, Streams(4).split)
        rows = row_numbers(partition.rows("test"))
    chosen = trained_set(result)
    features = literal.taus(draws[rows], scores[rows], chosen.locations, chosen.squared_width)
    statistic = len(rows) * literal.unbiased_square(features)
    assert result.statistic == pytest.approx(statistic, rel=1e-10, abs=1e-12)
    assert (result.n_train, result.n_test) == ((12, 48) if optimise else (0, 60))
    assert result.settings["optimise"] is optimise
    normals = Streams(4).resampling.standard_normal((2000, 6))
    assert result.pvalue == literal.pvalue(features, normals)
    assert 0.001 < result.pvalue < 0.999


@pytest.mark.parametrize("n", [5, 40])
def test_statistic_and_spectrum_with_fewer_rows_than_features_and_with_more(n: int) -> None:
    draws, scores = arbitrary_rows(n, 2)
    sample = Sample(draws, scores)
    chosen = FiniteSet(arbitrary_rows(4, 2, seed=1)[0], 0.8)
    features = literal.taus(draws, scores, chosen.locations, 0.8)
    statistic, spectrum = statistic_and_spectrum(sample, every_row(sample), n, chosen)
    assert statistic == pytest.approx(n * literal.unbiased_square(features), rel=1e-10)
    expected = np.linalg.eigvalsh(np.cov(features.T))[-len(spectrum) :]
    np.testing.assert_allclose(spectrum, expected, rtol=1e-9, atol=1e-14)


def test_the_null_law_is_a_weighted_sum_of_centred_chi_squares() -> None:
    """With one weight P(omega (Z^2 - 1) >= t) is known."""
    larger = exceedances(2.0, np.array([0.5]), 400_000, np.random.default_rng(0))
    share = float(chi2.sf(5.0, 1))
    assert abs(larger - 400_000 * share) < 4.0 * np.sqrt(400_000 * share * (1 - share))


# The search


def test_the_search_goes_uphill() -> None:
    """On the training rows the trained set beats every width of the grid it started from."""
    draws = np.random.default_rng(3).laplace(scale=0.5**0.5, size=(1000, 2))
    sample = Sample(draws, -draws)
    partition = ps.RandomSplit(0.2).partition(sample.layout, Streams(9).split)
    training = draws[row_numbers(partition.rows("witness", "weights"))]
    powers = []
    for steps in (1, 5, 40):
        chosen = trained_set(ps.fssd_test(draws, -draws, max_steps=steps, rng=9))
        place = chosen.squared_width, chosen.locations
        powers.append(power_criterion(training, -training, *place)[0])
    assert powers[0] < powers[1] < powers[2]


# What the result may depend on


def test_the_result_does_not_depend_on_unit_and_origin() -> None:
    draws, scores = plausible_rows(300, 3)
    raw = ps.fssd_test(draws, scores, rng=2)
    moved = ps.fssd_test(1000.0 * draws + 3e6, scores / 1000.0, rng=2)
    assert moved.pvalue == raw.pvalue
    assert moved.statistic == pytest.approx(raw.statistic / 1e6, rel=1e-4)


def test_a_seed_reproduces_the_result_and_another_changes_it() -> None:
    draws, scores = plausible_rows(100, 2)
    first, again, other = (ps.fssd_test(draws, scores, rng=seed) for seed in (1, 1, 2))
    assert first == again
    assert other.statistic != first.statistic


def test_p_values_are_never_zero() -> None:
    draws = np.random.default_rng(0).normal(3.0, 1.0, (200, 2))
    assert ps.fssd_test(draws, lambda x: -x, n_simulations=99, rng=0).pvalue == 0.01


@pytest.mark.slow
def test_p_values_without_training_are_uniform_under_the_null() -> None:
    pvalues = []
    for seed in range(200):
        draws = np.random.default_rng([seed, 5]).standard_normal((300, 2))
        pvalues.append(ps.fssd_test(draws, -draws, optimise=False, rng=seed).pvalue)
    assert ks_1samp(pvalues, lambda p: p).pvalue > 0.001


def test_chains_emit_a_warning_and_count_as_rows() -> None:
    draws, scores = plausible_rows(120, 2)
    chains = draws.reshape(3, 40, 2), scores.reshape(3, 40, 2)
    with pytest.warns(DependenceWarning, match="3 time-ordered chains, but `fssd_test`") as caught:
        result = ps.fssd_test(*chains, rng=1)
    assert caught[0].filename == __file__
    assert result.warnings == (str(caught[0].message),)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = ps.fssd_test(draws, scores, rng=1)
    assert alone.statistic == pytest.approx(result.statistic, rel=1e-8)


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_locations": 0}, "`n_locations` must be a positive integer; got 0"),
        ({"n_locations": 2.5}, "`n_locations` must be a positive integer; got 2.5"),
        ({"max_steps": 0}, "`max_steps` must be a positive integer; got 0"),
        ({"n_simulations": True}, "`n_simulations` must be a positive integer; got True"),
        ({"train": 1.0}, "`train` must be a fraction strictly between 0 and 1; got 1.0"),
        ({"rng": -1}, "`rng` must be a non-negative int"),
        ({"optimise": "no"}, "`optimise` must be True or False; got 'no'"),
        ({"optimise": 1}, "`optimise` must be True or False; got 1"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.fssd_test(*plausible_rows(50, 2), **options)


@pytest.mark.parametrize(
    ("n", "train", "message"),
    [
        (8, 0.2, "of 8 it leaves 1 to train, which takes 3, and 7 to test"),
        (14, 0.2, "of 14 it leaves 2 to train, which takes 3, and 12 to test"),
        (8, 0.9, "of 8 it leaves 7 to train, which takes 3, and 1 to test, which takes 2"),
    ],
)
def test_too_few_rows_are_counted_in_the_parts_that_fssd_has(
    n: int, train: float, message: str
) -> None:
    with pytest.raises(
        InputError, match=f"`draws` must have more rows for train={train}: {message}"
    ):
        ps.fssd_test(*plausible_rows(n, 2), train=train)


@pytest.mark.parametrize(("n", "train", "n_train"), [(15, 0.2, 3), (8, 0.8, 6)])
def test_the_fewest_rows_that_do(n: int, train: float, n_train: int) -> None:
    result = ps.fssd_test(*plausible_rows(n, 2), train=train, rng=0)
    assert (result.n_train, result.n_test) == (n_train, n - n_train)


def test_bad_rows_are_named() -> None:
    draws, scores = plausible_rows(50, 2)
    with pytest.raises(InputError, match="`log_weights` must be None for `fssd_test`"):
        ps.fssd_test(ps.Sample(draws, scores, log_weights=np.zeros(50)))
    with pytest.raises(InputError, match="`draws` must have at least 2 rows; got 1"):
        ps.fssd_test(np.ones((1, 1)), np.ones((1, 1)), optimise=False)
    with pytest.raises(InputError, match="repeat another row"):
        ps.fssd_test(np.repeat(draws, 2, axis=0), np.repeat(scores, 2, axis=0))
    with pytest.raises(DegenerateError, match="`scores` are all zero"):
        ps.fssd_test(draws, np.zeros_like(draws))
    with pytest.raises(DegenerateError, match="`draws` are all equal"):
        ps.fssd_test(np.zeros((50, 2)), scores, optimise=False)
