"""Multipliers of the wild bootstrap: independent signs, and AR(1) processes for chains."""

import math
from typing import Any

import numpy as np
import pytest

from polystein.inference.multipliers import Autoregressive, Signs, multipliers, plug_in_length
from tests.conftest import Array


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


@pytest.mark.parametrize(
    ("correlation", "rows", "expected"),
    [
        # 4 r^2/(1 - r^2)^2 is 16/9 for r = 1/2, of either sign: (16/9 x 1125)^(1/3).
        (0.5, 1125, 2000.0 ** (1 / 3)),
        (-0.5, 1125, 2000.0 ** (1 / 3)),
        # 4 x 0.8/0.2^2 = 80 for r^2 = 0.8: (80 x 100)^(1/3).
        (math.sqrt(0.8), 100, 20.0),
        (0.0, 10**9, 1.0),
        (0.01, 100, 1.0),
    ],
)
def test_plug_in_lengths_by_hand(correlation: float, rows: int, expected: float) -> None:
    assert plug_in_length(correlation, rows) == pytest.approx(expected, rel=1e-12)


def test_the_kind_follows_from_the_length() -> None:
    assert isinstance(multipliers(3, 0, None), Signs)
    assert isinstance(multipliers(3, 0, 2.0), Autoregressive)
