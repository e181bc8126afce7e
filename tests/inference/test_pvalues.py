"""P-values: of one statistic, of the largest of several, and of several tests together."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, combine_pvalues, norm

from polystein.inference.pvalues import (
    benjamini_hochberg,
    combined_pvalue,
    correlations,
    exchangeable_pvalue,
    holm,
    monte_carlo_pvalue,
    spent_levels,
    tail_of_maximum,
    tail_probability,
)
from polystein.types import Alternative
from tests.conftest import Array
from tests.reference import check as literal

# Of one statistic


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_tails_stay_between_0_and_1(alternative: Alternative) -> None:
    for statistic in (-math.inf, -1e300, 0.0, 1e-300, 1e300, math.inf):
        for df in (math.inf, 1.0, 3.0):
            assert 0.0 <= tail_probability(statistic, df, alternative) <= 1.0


# Of simulations


@pytest.mark.parametrize(
    ("larger", "simulations", "expected"),
    [(0, 999, 0.001), (49, 999, 0.05), (999, 999, 1.0), (0, 1, 0.5), (3, 9, 0.4)],
)
def test_the_draws_count_as_one_simulation(larger: int, simulations: int, expected: float) -> None:
    assert monte_carlo_pvalue(larger, simulations) == expected


# Of several tests


@pytest.mark.parametrize(
    ("pvalues", "expected"),
    [
        # 2 x 0.2; 2 x 0.3/2 = 0.3; 2 x 0.33/3 = 0.22.
        ([0.2, 0.1, 0.03], 0.22),
        # The other way round: 0.06; 0.13; 0.22. The order matters.
        ([0.03, 0.1, 0.2], 0.06),
        ([0.01, 0.9], 0.02),
        ([0.3], 0.6),
        ([0.5], 1.0),
        ([0.7, 0.8, 0.9], 1.0),
        ([0.8, 0.0, 0.0, 0.0], 0.4),
        ([0.0, 0.6], 0.0),
    ],
)
def test_exchangeable_p_values_by_hand(pvalues: list[float], expected: float) -> None:
    assert exchangeable_pvalue(np.array(pvalues)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("correlation", [0.0, 0.7, 1.0])
def test_exchangeable_p_values_keep_their_level(correlation: float) -> None:
    rng = np.random.default_rng(12)
    common, own = rng.standard_normal((4000, 1)), rng.standard_normal((4000, 5))
    normals = math.sqrt(correlation) * common + math.sqrt(1.0 - correlation) * own
    for level in (0.05, 0.2):
        rejected = sum(exchangeable_pvalue(row) <= level for row in norm.sf(normals))
        assert binomtest(rejected, 4000, level, alternative="greater").pvalue > 0.001


# Of the largest of several correlated z-statistics


def random_correlation(size: int, seed: int) -> Array:
    factors = np.random.default_rng(seed).standard_normal((size, 2))
    covariance = factors @ factors.T + 0.2 * np.eye(size)
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def pair(correlation: float) -> Array:
    return np.array([[1.0, correlation], [correlation, 1.0]])


@pytest.mark.parametrize(("size", "seed"), [(2, 0), (3, 1), (4, 2), (4, 3), (5, 4)])
@pytest.mark.parametrize("z", [0.8, 2.0, 3.5])
def test_the_tree_is_the_best_of_all_trees(size: int, seed: int, z: float) -> None:
    correlation = random_correlation(size, seed)
    expected = literal.hunter_worsley(z, correlation)
    assert tail_of_maximum(z, correlation) == pytest.approx(expected, rel=1e-10)


def test_another_tree_would_be_worse() -> None:
    """The chain 0 - 1 - 2 - 3 in any other order joins what is not correlated."""
    correlation = 0.9 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    shuffled = correlation[np.ix_([2, 0, 3, 1], [2, 0, 3, 1])]
    neighbours = 4 * norm.sf(2.0) - 3 * literal.both_above(2.0, 0.9)
    assert tail_of_maximum(2.0, shuffled) == pytest.approx(neighbours, rel=1e-10)


@pytest.mark.parametrize("correlation", [-1.0, -0.7, 0.0, 0.4, 0.99, 1.0])
@pytest.mark.parametrize("z", [1e-9, 0.5, 2.5])
def test_it_is_exact_for_two(z: float, correlation: float) -> None:
    either = 1.0 - literal.both_above(-z, correlation)
    assert tail_of_maximum(z, pair(correlation)) == pytest.approx(either, rel=1e-10)


@pytest.mark.parametrize("z", [0.3, 1.0, 3.0, 8.0, 20.0])
def test_copies_of_one_statistic_count_once(z: float) -> None:
    assert tail_of_maximum(z, np.ones((5, 5))) == pytest.approx(norm.sf(z), rel=1e-12)


def test_one_statistic_has_its_own_tail() -> None:
    for z in (-2.0, 0.0, 1.3):
        assert tail_of_maximum(z, np.eye(1)) == pytest.approx(norm.sf(z), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_it_lies_between_the_single_tail_and_bonferroni(seed: int) -> None:
    correlation = random_correlation(5, seed)
    for z in (-3.0, -0.1, 0.0, 0.1, 1.0, 2.0, 5.0, 10.0, 37.0):
        tail = tail_of_maximum(z, correlation)
        assert norm.sf(z) <= tail <= min(1.0, 5 * norm.sf(z) * (1.0 + 1e-12))


def test_correlation_gives_something_back() -> None:
    correlation = np.full((5, 5), 0.9) + 0.1 * np.eye(5)
    assert tail_of_maximum(2.5, correlation) < 0.6 * 5 * norm.sf(2.5)
    assert tail_of_maximum(2.5, np.eye(5)) > 0.95 * 5 * norm.sf(2.5)


@pytest.mark.parametrize("correlation", [np.eye(5), np.ones((5, 5)), random_correlation(5, 7)])
@pytest.mark.parametrize("z", [37.5, 38.0, 100.0])
def test_it_is_never_zero(z: float, correlation: Array) -> None:
    assert 0.0 < tail_of_maximum(z, correlation) < 1e-300


@pytest.mark.parametrize("seed", range(3))
def test_it_falls_with_z(seed: int) -> None:
    correlation = random_correlation(4, seed)
    tails = [tail_of_maximum(z, correlation) for z in np.linspace(-2.0, 30.0, 321)]
    assert all(before >= after for before, after in itertools.pairwise(tails))
    assert tails[0] == 1.0
    assert all(before > after for before, after in itertools.pairwise(tails[60:]))


def test_rounding_beyond_one_is_no_error() -> None:
    """Correlations of computed covariances may be 1 + 1e-15."""
    beyond = pair(1.0 + 1e-15)
    assert tail_of_maximum(2.0, beyond) == pytest.approx(norm.sf(2.0), rel=1e-6)
    assert tail_of_maximum(2.0, pair(-1.0 - 1e-15)) == pytest.approx(2 * norm.sf(2.0), rel=1e-6)


def test_the_maximum_of_normals_stays_below() -> None:
    """P(max > z) itself, by simulation: the bound holds, and is not far above."""
    correlation = random_correlation(4, 11)
    normals = np.random.default_rng(5).multivariate_normal(np.zeros(4), correlation, 20_000)
    exceed = int((normals.max(axis=1) > 2.0).sum())
    bound = tail_of_maximum(2.0, correlation)
    assert binomtest(exceed, 20_000, bound, alternative="greater").pvalue > 0.001
    assert binomtest(exceed, 20_000, 0.8 * bound, alternative="less").pvalue > 0.001


def test_what_has_no_correlation_counts_as_one_more() -> None:
    """An edge that is not a number is no edge: Bonferroni for that statistic."""
    correlation = pair(0.6)
    lonely = np.full((3, 3), np.nan)
    lonely[:2, :2], lonely[2, 2] = correlation, 1.0
    expected = tail_of_maximum(2.0, correlation) + norm.sf(2.0)
    assert tail_of_maximum(2.0, lonely) == pytest.approx(expected, rel=1e-12)


def test_correlations_are_the_covariances_over_the_spreads() -> None:
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 9.0, -3.0], [0.0, -3.0, 4.0]])
    expected = [[1.0, 1.0 / 6.0, 0.0], [1.0 / 6.0, 1.0, -0.5], [0.0, -0.5, 1.0]]
    assert correlations(covariance) == pytest.approx(np.array(expected), abs=1e-15)


def test_what_does_not_vary_is_correlated_with_nothing() -> None:
    covariance = np.array([[4.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 4.0]])
    expected = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    assert correlations(covariance) == pytest.approx(expected, abs=1e-15)


def test_levels_are_spent_in_proportion_to_rows() -> None:
    assert spent_levels(0.05, [100, 300, 1000]) == pytest.approx([0.005, 0.01, 0.035])


def test_the_combination_is_stouffers() -> None:
    pvalues, rows = [0.2, 0.01, 0.7], [100, 250, 30]
    expected = combine_pvalues(pvalues, "stouffer", np.sqrt(rows)).pvalue
    assert combined_pvalue(pvalues, rows) == pytest.approx(expected)
    assert combined_pvalue([0.3], [10]) == pytest.approx(0.3)


def test_the_combination_is_a_number_at_the_ends() -> None:
    assert 0.0 <= combined_pvalue([0.0, 1.0], [10, 10]) <= 1.0


# Of many tests


def rejected_by_benjamini_hochberg(pvalues: list[float], level: float) -> set[int]:
    """Step up: reject the k smallest for the largest k with p_(k) <= k level / m."""
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    bounds = [level * k / len(pvalues) for k in range(1, len(pvalues) + 1)]
    last = max((k for k, i in enumerate(order, 1) if pvalues[i] <= bounds[k - 1]), default=0)
    return set(order[:last])


def rejected_by_holm(pvalues: list[float], level: float) -> set[int]:
    """Step down: reject as long as p_(k) <= level / (m - k + 1)."""
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    found = set()
    for k, i in enumerate(order):
        if pvalues[i] > level / (len(pvalues) - k):
            break
        found.add(i)
    return found


@pytest.mark.parametrize(
    ("adjust", "rejected"),
    [(holm, rejected_by_holm), (benjamini_hochberg, rejected_by_benjamini_hochberg)],
)
def test_adjusted_p_values_are_the_levels_at_which_each_is_rejected(
    adjust: Callable[[list[float]], Array], rejected: Callable[[list[float], float], set[int]]
) -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 7):
        pvalues = (rng.random(count) ** 3).tolist()
        adjusted = adjust(pvalues)
        assert (adjusted >= pvalues).all()
        for i, level in enumerate(adjusted):
            if level < 1.0:
                assert i in rejected(pvalues, level * (1 + 1e-12))
            assert i not in rejected(pvalues, level * (1 - 1e-9))


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_nothing_to_adjust(adjust: Callable[[list[float]], Array]) -> None:
    assert adjust([]).shape == (0,)
    assert adjust([0.0, 1.0]).tolist() == [0.0, 1.0]
