"""KSDAgg: the decision of the paper's bisection at every level, and its collection."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError
from polystein.inference.multipliers import multipliers
from polystein.methods.wild_bootstrap import resampling_seed
from polystein.rivals.ksdagg import EXPONENTS
from tests.conftest import Array, arbitrary_rows
from tests.reference import kernels as literal
from tests.rivals.rows import plausible_rows

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")

FAMILIES = {"imq": literal.imq, "gaussian": literal.gaussian}


def literal_forms(
    draws: Array, scores: Array, bandwidths: list[float], family: Any, factors: Array
) -> Array:
    """n V of every bandwidth (rows) for every vector of factors (columns)."""
    rows = []
    for bandwidth in bandwidths:
        matrix = literal.stein_matrix(FAMILIES[family](bandwidth), draws, scores)
        rows.append([literal.v_statistic(matrix, column) for column in factors])
    return np.array(rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_pvalue_is_the_smallest_level_of_the_bisection(family: Any) -> None:
    seed = 0
    draws, scores = plausible_rows(25, 2, seed)
    bandwidths = [0.5, 1.0, 4.0]
    signs = multipliers(59 + 40, resampling_seed(seed), None).draw(0, 25)
    factors = np.concatenate([np.ones((1, 25)), signs]) / 25
    forms = literal_forms(draws, scores, bandwidths, family, factors)
    observed, quantile, level = forms[:, 0], forms[:, 1:60], forms[:, 60:]
    result = ps.ksdagg_test(
        draws,
        scores,
        kernel=family,
        bandwidths=bandwidths,
        n_bootstrap=59,
        n_correction=40,
        rng=seed,
    )
    own = [literal.pvalue(t, row) for t, row in zip(observed, quantile.tolist(), strict=True)]
    assert [part.pvalue for part in result.evidence.parts] == pytest.approx(own, rel=1e-12)
    # (b + 1)/(B2 + 1) is ours, b/B2 the level at which the paper first rejects.
    extreme = round(result.pvalue * 41) - 1
    assert 0 < extreme < 40
    for alpha in np.arange(0.5, 40) / 40:
        expected = literal.ksdagg_rejects(observed, quantile, level, alpha)
        assert expected == (extreme / 40 <= alpha)


def test_the_statistic_is_that_of_the_strongest_bandwidth() -> None:
    draws, scores = plausible_rows(40, 2)
    result = ps.ksdagg_test(draws, scores, rng=0)
    pvalues = {part.name: part.pvalue for part in result.evidence.parts}
    best = result.evidence.estimates["bandwidth"]
    assert pvalues[f"bandwidth {best:.3g}"] == min(pvalues.values())
    strongest = ps.IMQKernel(best)
    expected = ps.ksd(draws, scores, kernel=strongest, estimator="u")
    assert result.statistic == pytest.approx(40 * expected, rel=1e-10)


def test_the_collection_is_powers_of_two_about_the_median() -> None:
    draws, scores = arbitrary_rows(40, 2)
    result = ps.ksdagg_test(draws, scores, n_bootstrap=9, n_correction=9, rng=0)
    median = literal.median_distance(draws)
    expected = [2.0**exponent * median for exponent in EXPONENTS]
    assert result.evidence.estimates["bandwidths"] == pytest.approx(expected, rel=1e-12)
    names = [f"bandwidth {width:.3g}" for width in expected]
    assert [part.name for part in result.evidence.parts] == names
    best = result.evidence.estimates["bandwidth"]
    assert min(abs(best / width - 1.0) for width in expected) < 1e-12
    assert list(EXPONENTS) == [-5, -4, -3, -2, -1, 0, 1, 2, 3]


def test_one_bandwidth_is_no_stricter_than_its_own_test() -> None:
    """With one bandwidth the aggregate judges the p-value among p-values: nearly itself."""
    draws, scores = plausible_rows(60, 2)
    single = ps.ksd_test(draws, scores, n_bootstrap=2000, rng=0).pvalue
    result = ps.ksdagg_test(
        draws, scores, bandwidths=[1.0], n_bootstrap=2000, n_correction=2000, rng=0
    )
    assert result.pvalue == pytest.approx(single, abs=0.05)
    assert 0.1 < single < 0.9


def test_chains_use_dependent_multipliers_and_the_v_statistic() -> None:
    draws, scores = plausible_rows(40, 2)
    result = ps.ksdagg_test(
        draws.reshape(2, 20, 2), scores.reshape(2, 20, 2), bandwidths=[1.0], length=2.5, rng=0
    )
    assert result.settings["length"] == result.evidence.estimates["multiplier_length"] == 2.5
    assert result.statistic == pytest.approx(40 * ps.ksd(draws, scores) ** 2, rel=1e-10)


def test_result_says_how_it_came_about() -> None:
    draws, scores = arbitrary_rows(40, 2)
    result = ps.ksdagg_test(draws, scores, n_bootstrap=499, n_correction=19, rng=0)
    assert (result.method, result.alternative, result.n_test) == ("ksdagg", "greater", 40)
    assert (result.settings["n_bootstrap"], result.settings["n_correction"]) == (499, 19)
    assert result.pvalue == 0.05


@pytest.mark.parametrize(
    "bandwidths",
    [[], [1.0, 0.0], [[1.0]], [np.nan], [np.inf], 2.0, ["a"], "ab", [True], np.array([True]),
     np.array(2.0)],
)  # fmt: skip
def test_bandwidths_must_be_positive(bandwidths: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`bandwidths` must be a sequence of positive numbers"):
        ps.ksdagg_test(draws, scores, bandwidths=bandwidths)


def test_kernel_must_be_a_known_family() -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`kernel` must be 'imq' or 'gaussian'; got 'laplace'"):
        ps.ksdagg_test(draws, scores, kernel="laplace")  # type: ignore[arg-type]


@pytest.mark.parametrize("n_correction", [0, 1.5, "9", True])
def test_the_number_of_corrections_must_be_positive(n_correction: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`n_correction` must be a positive integer"):
        ps.ksdagg_test(draws, scores, n_correction=n_correction)
