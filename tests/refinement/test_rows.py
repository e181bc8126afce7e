"""Which rows start, and how long batches of them are."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from polystein.data.sample import Sample
from polystein.data.source import complete
from polystein.refinement.rows import ChosenRows, autocorrelation_time, chosen_rows
from polystein.types import FloatArray
from tests.sources import MinimalSource


def chains(count: int, length: int, correlation: float, seed: int = 0) -> FloatArray:
    """Stationary autoregressive chains of two coordinates."""
    noise = np.random.default_rng(seed).standard_normal((length, count, 2))
    noise[1:] *= np.sqrt(1.0 - correlation**2)
    found: FloatArray = lfilter([1.0], [1.0, -correlation], noise, axis=0).swapaxes(0, 1)
    return found


def chosen(draws: FloatArray | list[FloatArray], most: int = 1000) -> ChosenRows:
    if isinstance(draws, list):
        parts = [(part, np.zeros(part.shape)) for part in draws]
        return chosen_rows(complete(MinimalSource(parts, time_ordered=True)), most)
    return chosen_rows(Sample(draws, np.zeros(draws.shape)), most)


def lengths(found: ChosenRows) -> NDArray[np.intp]:
    """Starts in each batch."""
    return np.diff([*found.batches, len(found.starts)])


@pytest.mark.parametrize(
    ("n", "most", "starts", "batches"),
    [(200, 1000, 130, 25), (300, 150, 150, 40), (1000, 1000, 800, 250), (20000, 1000, 1000, 500)],
)
def test_independent_rows_have_many_batches(n: int, most: int, starts: int, batches: int) -> None:
    found = chosen(np.random.default_rng(1).standard_normal((n, 2)), most)
    assert len(found.starts) == starts
    assert len(found.batches) >= batches


def test_no_row_is_a_pilot_and_a_start() -> None:
    draws = np.random.default_rng(2).standard_normal((500, 2))
    found = chosen(draws)
    both = np.concatenate([found.starts, found.pilots])
    assert len(np.unique(both, axis=0)) == len(both)
    assert np.isin(both, draws).all()


@pytest.mark.parametrize(("count", "length"), [(300, 7), (700, 3), (1000, 2)])
def test_a_short_slow_chain_is_one_batch(count: int, length: int) -> None:
    draws = chains(count, length, 0.99)
    found = chosen(draws)
    order = np.argsort(draws[..., 0].ravel())
    place = order[np.searchsorted(draws[..., 0].ravel()[order], found.starts[:, 0])]
    chain = place // length
    assert len(found.batches) == len(np.unique(chain))


def test_one_short_chain_switches_nothing_off() -> None:
    long = list(chains(2, 1000, 0.95))
    without = chosen(long)
    found = chosen([*long, chains(1, 3, 0.95, seed=1)[0]])
    assert len(found.batches) <= len(without.batches) + 4
    assert len(found.batches) < 40


def test_thinned_chains_have_batches_of_few_rows() -> None:
    """200 draws apart an autocorrelation of 0.95 is forgotten, 20 draws apart it is not."""
    assert np.median(lengths(chosen(chains(1, 200_000, 0.95)))) <= 2
    assert np.median(lengths(chosen(chains(1, 20_000, 0.95)))) > 2


def test_starts_have_no_say_in_the_batches() -> None:
    draws = chains(4, 300, 0.7)
    found = chosen(draws, 600)
    other = draws.copy()
    other[np.isin(draws[..., 0], found.starts[:, 0])] = 0.0
    again = chosen(other, 600)
    assert np.array_equal(again.batches, found.batches)
    assert (again.starts == 0.0).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_autocorrelation_time_is_that_of_the_chain(correlation: float) -> None:
    """(1 + r) / (1 - r), though half of the times are not seen."""
    draws = chains(4, 4000, correlation).reshape(-1, 2)
    times = np.flatnonzero(np.arange(len(draws)) // 5 % 2 == 0)
    found = autocorrelation_time(draws[times], times, times // 4000)
    assert found == pytest.approx((1.0 + correlation) / (1.0 - correlation), rel=0.2)


def test_slow_distances_from_the_median_are_seen() -> None:
    slow = np.exp(chains(1, 4000, 0.9)[0])
    draws = slow * np.random.default_rng(3).choice([-1.0, 1.0], size=slow.shape)
    times = np.arange(4000)
    assert autocorrelation_time(draws, times, np.zeros(4000, dtype=int)) > 8.0


def test_what_no_pair_of_rows_shows_is_taken_for_slow() -> None:
    draws = np.random.default_rng(4).standard_normal((600, 2))
    assert autocorrelation_time(draws, np.arange(600), np.arange(600)) == np.inf
    assert len(chosen(draws[:, None]).batches) == len(chosen(draws[:, None]).starts)
