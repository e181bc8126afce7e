"""The Pareto index of a column, and whether its tail is heavy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystein.inference.pareto import (
    LARGEST_INDEX,
    SUSPICIOUS_PART,
    LargestValues,
    heavy_tail_index,
    pareto_index,
    psis_index,
)
from tests.reference.psis import k_hat


def generalised_pareto(rng: np.random.Generator, index: float, size: int) -> Any:
    """Quantiles (u^-k - 1)/k of uniform u."""
    uniform = rng.random(size)
    return -np.log(uniform) if index == 0.0 else (uniform**-index - 1.0) / index


def index_of(values: Any) -> float:
    return pareto_index(values)[0]


@pytest.mark.parametrize("index", [-0.2, 0.0, 0.3, 0.5, 0.8, 1.2])
@pytest.mark.parametrize("n", [400, 5000])
def test_index_of_generalised_pareto_values(index: float, n: int) -> None:
    """A tail of a generalised Pareto law is one too, with the same index."""
    rng = np.random.default_rng(0)
    found = np.array([index_of(generalised_pareto(rng, index, n)) for _ in range(200)])
    error = float(found.std()) / np.sqrt(200)
    assert abs(float(found.mean()) - index) < 0.06 + 3.3 * error
    # A maximum likelihood estimate from m values has a spread of (1 + k)/sqrt(m).
    count = min(0.2 * n, 3.0 * np.sqrt(n))
    assert float(found.std()) < 1.5 * (1.0 + index) / np.sqrt(count)


@pytest.mark.parametrize("index", [0.0, 0.5, 1.0])
def test_error_of_the_index(index: float) -> None:
    """(1 + k)/sqrt(m) is how far the fits of many samples spread."""
    rng = np.random.default_rng(0)
    fits = np.array([pareto_index(generalised_pareto(rng, index, 3000)) for _ in range(300)])
    assert float(fits[:, 0].std()) / float(fits[:, 1].mean()) == pytest.approx(1.0, abs=0.2)


@given(scale=st.floats(1e-100, 1e100))
def test_index_does_not_depend_on_units(scale: float) -> None:
    values = generalised_pareto(np.random.default_rng(1), 0.4, 500)
    assert index_of(scale * values) == pytest.approx(index_of(values), rel=1e-6)


def test_index_looks_at_the_largest_values_only() -> None:
    values = generalised_pareto(np.random.default_rng(1), 0.4, 2000)
    other = values.copy()
    small = values < np.quantile(values, 0.9)
    other[small] = np.random.default_rng(2).uniform(0.0, other[small].max(), small.sum())
    assert pareto_index(other) == pareto_index(values)
    assert pareto_index(values[::-1].copy()) == pareto_index(values)


@pytest.mark.parametrize("values", [np.arange(10.0), np.ones(1000), np.zeros(1000)])
def test_nothing_to_fit(values: Any) -> None:
    assert pareto_index(values) == (-np.inf, 0.0)


@pytest.mark.parametrize("repeats", [1, 10, 34, 60, 100])
def test_repeated_values_give_a_moderate_number(repeats: int) -> None:
    """A Metropolis chain repeats its rows, at the threshold too; here of an exponential tail."""
    quantiles = -np.log1p(-(np.arange(1900) + 0.5) / 1900)
    at = 1900 - 100
    values = np.concatenate([quantiles[:at], np.full(repeats, quantiles[at]), quantiles[at:]])
    assert abs(index_of(values)) < 0.5


def test_a_column_without_a_variance_is_heavy() -> None:
    """Of Student's t with 1.5 degrees of freedom the index is 2/3."""
    column = np.random.default_rng(3).standard_t(1.5, 4000)
    index = heavy_tail_index(column)
    assert index is not None
    assert index > LARGEST_INDEX
    assert index == index_of(np.abs(column))
    # Neither signs nor units nor the order of the rows matter.
    assert heavy_tail_index(-column) == index
    assert heavy_tail_index(column[::-1].copy()) == index
    assert heavy_tail_index(1e-3 * column) == pytest.approx(index, rel=1e-9)


def test_columns_of_a_normal_are_not_heavy() -> None:
    for seed in range(50):
        normal = np.random.default_rng(seed).standard_normal(1000)
        assert heavy_tail_index(normal) is None
        assert heavy_tail_index(normal**2 - 1.0) is None


def test_a_heavy_tail_of_which_no_row_stands_out_is_not_looked_at() -> None:
    """Two equal halves of heavy quantiles, the largest of which are cut off."""
    quantiles = ((np.arange(4000) + 0.5) / 4000) ** -0.9
    assert index_of(quantiles) - pareto_index(quantiles)[1] > LARGEST_INDEX
    assert heavy_tail_index(quantiles) == index_of(quantiles)
    column = np.tile(quantiles, 20)
    squares = column**2
    assert squares.max() <= SUSPICIOUS_PART * squares.sum()
    assert heavy_tail_index(column) is None


def test_an_index_within_its_error_of_one_half_is_not_heavy() -> None:
    """One row makes up most of the squares, but 0.6 has an error of 0.12."""
    quantiles = ((np.arange(3200) + 0.5) / 3200) ** -0.6
    quantiles[0] *= 2.0
    index, error = pareto_index(quantiles)
    assert LARGEST_INDEX < index < LARGEST_INDEX + error
    squares = quantiles**2
    assert squares.max() > SUSPICIOUS_PART * squares.sum()
    assert heavy_tail_index(quantiles) is None


@pytest.mark.parametrize("column", [np.zeros(1000), np.ones(1000), np.array([1e6, *[1.0] * 30])])
def test_what_cannot_be_fitted_is_not_heavy(column: Any) -> None:
    assert heavy_tail_index(column) is None


@pytest.mark.parametrize("size", [50, 1000, 50_000])
def test_parts_of_a_column_give_the_index_of_the_whole(size: int) -> None:
    column = np.random.default_rng(3).standard_t(1.5, size=size)
    expected = heavy_tail_index(column)
    first, second = LargestValues(size), LargestValues(size)
    for number, part in enumerate(np.array_split(column, 17)):
        (first if number % 3 else second).add(part)
    assert first.merge(second).heavy_tail_index() == expected
    # Some multiple of the root of the rows is kept.
    assert first._held <= 2 * first._count + size // 17 + 1


def test_columns_whose_squares_overflow_are_no_error() -> None:
    column = np.random.default_rng(3).standard_normal(1000)
    assert heavy_tail_index(1e200 * column) is None


@pytest.mark.parametrize("zeros", [1, 700, 9000])
@pytest.mark.parametrize("index", [0.8, 1.2])
def test_zeros_are_no_part_of_a_tail(index: float, zeros: int) -> None:
    """Rows without importance weight leave zeros, and change nothing."""
    rng = np.random.default_rng(3)
    column = generalised_pareto(rng, index, 700)
    with_zeros = rng.permutation(np.concatenate([column, np.zeros(zeros)]))
    assert heavy_tail_index(column) is not None
    assert heavy_tail_index(with_zeros) == heavy_tail_index(column)
    first, second = np.split(with_zeros, [300])
    parts = [LargestValues(with_zeros.size).add(part) for part in (first, second)]
    assert parts[0].merge(parts[1]).heavy_tail_index() == heavy_tail_index(column)


def test_light_columns_with_zeros_are_not_heavy() -> None:
    for seed in range(50):
        column = np.zeros(4000)
        column[:300] = np.random.default_rng(seed).standard_normal(300) ** 3
        assert heavy_tail_index(column) == heavy_tail_index(column[:300])


@pytest.mark.parametrize("n", [26, 100, 1001, 4000])
@pytest.mark.parametrize("scale", [-0.3, 0.05, 0.4, 2.0])
def test_k_hat_is_that_of_the_formula(n: int, scale: float) -> None:
    ratios = scale * np.random.default_rng(n).standard_normal(n) ** 2 - 800.0
    assert psis_index(ratios) == pytest.approx(k_hat(ratios), rel=1e-9)
    far = np.where(np.arange(n) % 7, ratios, -np.inf)  # rows outside the support
    assert psis_index(far) == pytest.approx(k_hat(far), rel=1e-9)


@pytest.mark.parametrize(
    "ratios",
    [
        np.zeros(100),
        np.arange(4.0),
        np.array([0.0] * 99 + [np.inf]),
        np.full(50, np.nan),
        np.where(np.arange(100) % 10, 0.0, -(2.0**-53)),
    ],
)
def test_k_hat_is_infinite_where_no_tail_can_be_fitted(ratios: Any) -> None:
    assert psis_index(ratios) == np.inf
