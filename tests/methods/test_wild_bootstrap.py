"""How long the multipliers of a wild bootstrap remember."""

import math
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.errors import InputError
from polystein.methods.wild_bootstrap import (
    dependence_length,
    lag_one_autocorrelation,
)
from tests.conftest import Array, arbitrary_rows
from tests.statistical.samplers import autoregressive


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


def literal_lag_one(chains: Array) -> float:
    """The largest over columns of the lagged products over the squares; chains come first."""
    ratios = [0.0]
    for column in np.moveaxis(chains, 2, 0):
        centred = column - column.mean()
        squares = float(np.sum(centred**2))
        if squares > 0.0:
            ratios.append(float(np.sum(centred[:, 1:] * centred[:, :-1])) / squares)
    return max(ratios)


@pytest.mark.parametrize("elements", [1, 70, 10**6])
@pytest.mark.parametrize("memory", [-0.5, 0.0, 0.8])
def test_lag_one_autocorrelation_is_the_loop(
    memory: float, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the rows are cut into blocks, and never across the end of a chain."""
    rng = np.random.default_rng(2)
    draws = autoregressive(rng, 3, 60, 2, memory) + rng.normal(0.0, 2.0, (3, 1, 2))
    scores = np.tanh(draws) + 0.1 * rng.standard_normal(draws.shape)
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", elements)
    found = lag_one_autocorrelation(ps.Sample(draws, scores))
    expected = literal_lag_one(np.concatenate([scores, scores * draws], axis=2))
    assert found == pytest.approx(expected, rel=1e-10)


def test_columns_that_do_not_vary_have_no_autocorrelation() -> None:
    draws = np.full((2, 30, 1), 2.0)
    assert lag_one_autocorrelation(ps.Sample(draws, np.full((2, 30, 1), -1.0))) == 0.0


def test_chains_that_never_move_have_a_correlation_below_one() -> None:
    draws = np.broadcast_to(np.array([-1.0, 1.0])[:, None, None], (2, 5000, 1)).copy()
    sample = ps.Sample(draws, -draws)
    assert literal_lag_one(draws) > 0.999
    assert lag_one_autocorrelation(sample) == 0.999
    length = dependence_length(sample, "auto")
    assert length is not None
    assert math.isfinite(length)
