"""Autocovariances by FFT and Geyer's sequence, against their literal transcriptions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystein.inference.autocorrelation import (
    autocorrelation_times,
    autocovariances,
    initial_monotone_sums,
)
from tests.conftest import Array
from tests.inference.walks import walks
from tests.reference import autocorrelation as literal


def centred(chains: list[Array]) -> list[Array]:
    mean = np.concatenate(chains).mean(axis=0)
    return [chain - mean for chain in chains]


LENGTHS = [(40,), (30, 30), (17, 31, 2), (2,), (3,), (2, 3), (1,), (1, 1), (64,), (65, 63)]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_autocovariances_are_the_double_loop(lengths: tuple[int, ...]) -> None:
    """Centred at the mean over all chains: chains that disagree add to every lag."""
    chains = walks(lengths)
    result = autocovariances(centred(chains))
    assert result.shape == (max(lengths), 2)
    for column in range(2):
        parts = [chain[:, column] for chain in chains]
        expected = [literal.autocovariance(parts, lag) for lag in range(max(lengths))]
        assert result[:, column] == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_chains_that_disagree_are_not_centred_apart() -> None:
    """Constant chains at -1 and 1: every lag of 10 keeps what is left of the variance."""
    chains = [np.full((10, 1), -1.0), np.full((10, 1), 1.0)]
    expected = [(10 - lag) / 10 for lag in range(10)]
    assert autocovariances(chains)[:, 0] == pytest.approx(expected, rel=1e-12)


def test_chains_do_not_run_into_each_other() -> None:
    """Neither the next chain's start nor, by the FFT's circle, the chain's own."""
    spike_last, spike_first = np.zeros((8, 1)), np.zeros((8, 1))
    spike_last[-1], spike_first[0] = 1.0, 1.0
    result = autocovariances([spike_last, spike_first])[:, 0]
    assert result == pytest.approx([2 / 16, *[0.0] * 7], abs=1e-15)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_sums_are_geyers(lengths: tuple[int, ...]) -> None:
    covariances = autocovariances(centred(walks(lengths, columns=3, seed=4)))
    variance, lags = initial_monotone_sums(covariances)
    for column in range(3):
        expected = literal.initial_monotone_sum(covariances[:, column].tolist())
        assert (variance[column], lags[column]) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=12))
def test_sums_of_any_numbers_are_geyers(gamma: list[float]) -> None:
    variance, lags = initial_monotone_sums(np.array(gamma)[:, None])
    expected, count = literal.initial_monotone_sum(gamma)
    assert variance[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert lags[0] == count


def test_a_rising_pair_is_lowered_and_the_rest_is_cut() -> None:
    gamma = np.array([1.0, 0.5, 0.3, 0.2, 0.5, 0.4, -0.3, 0.1, 0.9, 0.9])[:, None]
    variance, lags = initial_monotone_sums(gamma)
    assert variance[0] == pytest.approx(-1.0 + 2 * (1.5 + 0.5 + 0.5), rel=1e-14)
    assert lags[0] == 6


def test_times_are_the_sums_over_the_variance_and_at_least_one() -> None:
    chains = walks((200, 200))
    alternating = np.tile([1.0, -1.0], 100)[:, None] + 1e-3 * chains[0][:, :1]
    chains = [np.hstack([chain, alternating, np.full((200, 1), 3.0)]) for chain in chains]
    times = autocorrelation_times(chains)
    for column in range(2):
        parts = [chain[:, column] for chain in chains]
        expected = literal.long_run_variance(parts) / literal.autocovariance(parts, 0)
        assert expected > 5.0
        assert times[column] == pytest.approx(expected, rel=1e-10)
    # A column that alternates, and one that never moves.
    assert times[2:].tolist() == [1.0, 1.0]
