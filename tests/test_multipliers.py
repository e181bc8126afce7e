"""Multipliers of the wild bootstrap: independent signs, and AR(1) processes for chains."""

import math
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError
from polystein.inference.multipliers import Autoregressive, Signs, dependence_length, multipliers
from tests.conftest import Array, arbitrary_rows
from tests.statistical.samplers import autoregressive


def drawn(stream: Any, *parts: tuple[int, int]) -> Array:
    return np.concatenate([stream.draw(chain, rows) for chain, rows in parts], axis=1)


def test_signs_are_fair_and_independent() -> None:
    signs = Signs(400, 1).draw(0, 1003)
    assert signs.shape == (400, 1003)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 4.0 / math.sqrt(signs.size)
    assert abs((signs[:, 1:] * signs[:, :-1]).mean()) < 4.0 / math.sqrt(signs.size)
    assert abs((signs[1:] * signs[:-1]).mean()) < 4.0 / math.sqrt(signs.size)


@pytest.mark.parametrize("length", [0.5, 3.0, 20.0])
def test_autoregressive_covariance_is_geometric(length: float) -> None:
    """E W_t W_(t+k) = exp(-k/length) from the very first row on."""
    values = Autoregressive(40_000, 2, length).draw(0, 40)
    error = 4.5 / math.sqrt(40_000)
    for first in (0, 1, 15):
        for lag in (0, 1, 2, 5, 24):
            found = float(np.mean(values[:, first] * values[:, first + lag]))
            assert abs(found - math.exp(-lag / length)) < error * (2.0 if lag == 0 else 1.5)
    assert np.abs(values.mean(axis=0)).max() < error * 1.5


def test_autoregressive_is_independent_across_chains_and_replicates() -> None:
    stream = Autoregressive(40_000, 3, 50.0)
    first, second = stream.draw(0, 10), stream.draw(1, 10)
    error = 4.5 / math.sqrt(40_000)
    assert abs(float(np.mean(first[:, -1] * second[:, 0]))) < error
    assert abs(float(np.mean(first[1:, 0] * first[:-1, 0]))) < error
    # Neighbours within a chain are far from it.
    assert float(np.mean(second[:, 0] * second[:, 1])) > 0.9


@pytest.mark.parametrize("length", [None, 0.7, 30.0])
@pytest.mark.parametrize("count", [1, 5, 64])
def test_where_blocks_are_cut_does_not_matter(length: float | None, count: int) -> None:
    whole = drawn(multipliers(count, 7, length), (0, 50), (1, 30))
    cut = drawn(multipliers(count, 7, length), (0, 1), (0, 12), (0, 37), (1, 29), (1, 1))
    assert cut == pytest.approx(whole, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("length", [None, 5.0])
def test_one_seed_one_stream(length: float | None) -> None:
    parts = ((0, 20), (0, 20), (1, 20))
    first, second = (drawn(multipliers(4, 9, length), *parts) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, drawn(multipliers(4, 10, length), *parts))


# Length


def test_independent_rows_have_no_length() -> None:
    sample = ps.Sample(*arbitrary_rows(100, 2))
    assert dependence_length(sample, "auto") is None
    assert dependence_length(sample, None) is None
    with pytest.raises(InputError, match=r"`length` must be None or 'auto' for independent rows"):
        dependence_length(sample, 3.0)


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_automatic_length_is_that_of_andrews(memory: float) -> None:
    """(n alpha)^(1/3), alpha = 4 r^2/(1 - r^2)^2, with r the lag-one autocorrelation."""
    draws = autoregressive(np.random.default_rng(1), 4, 500, 1, memory)
    sample = ps.Sample(draws, lambda x: -x)
    columns = [-draws[..., 0], -(draws[..., 0] ** 2)]
    ratios = []
    for column in columns:
        centred = column - column.mean()
        ratios.append(np.sum(centred[:, 1:] * centred[:, :-1]) / np.sum(centred**2))
    largest = max(ratios)
    expected = np.cbrt(2000 * 4.0 * largest**2 / (1.0 - largest**2) ** 2)
    assert dependence_length(sample, "auto") == pytest.approx(expected, rel=1e-9)


def test_automatic_length_is_at_least_one() -> None:
    draws = np.tile([[1.0], [-1.0]], (100, 1))[None] + np.random.default_rng(0).normal(
        0.0, 0.01, (1, 200, 1)
    )
    assert dependence_length(ps.Sample(draws, draws**3), "auto") == 1.0


@pytest.mark.parametrize("length", [0.0, -1.0, math.inf, math.nan, "long"])
def test_bad_lengths_are_refused(length: Any) -> None:
    draws, scores = arbitrary_rows(100, 2)
    sample = ps.Sample(draws[None], scores[None])
    with pytest.raises(InputError, match="`length` must be a positive number or 'auto'; got"):
        dependence_length(sample, length)
    assert dependence_length(sample, 4) == 4.0
