"""Lugsail variances of sums over batches of chains."""

import numpy as np
import pytest
from scipy.special import stdtr
from scipy.stats import binomtest

from polystein.inference.longrun import (
    EqualBatches,
    IndependentBatches,
    independent_variance,
    lugsail_variance,
)
from polystein.inference.memory import (
    FEWEST_A_CHAIN,
    FLAT,
    LUGSAIL_ERRORS,
    MOST_INDEPENDENT,
    SLOWER_BY_CHANCE,
)
from tests.reference import memory


def autoregressive(seed: int, columns: int, chains: int, rows: int, rho: float) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((chains, rows, columns))
    noise[:, 1:] *= np.sqrt(1.0 - rho**2)
    for t in range(1, rows):
        noise[:, t] += rho * noise[:, t - 1]
    return noise


def batch_sums(draws: np.ndarray, batches: EqualBatches) -> np.ndarray:
    sums = np.zeros((batches.total, draws.shape[-1]))
    for chain, rows in enumerate(draws):
        np.add.at(sums, batches.of_rows(chain, 0, len(rows)), rows)
    return sums


def test_stretches_are_powers_of_two_and_cover_every_row() -> None:
    batches = EqualBatches((1000, 100, 9, 2))
    assert batches.counts == (64, 16, 2, 1)
    index = batches.of_rows(0, 0, 1000)
    assert (index[0], index[-1]) == (0, 63)
    assert set(np.bincount(index)) <= {15, 16}
    assert np.array_equal(batches.of_rows(0, 300, 50), index[300:350])
    assert batches.of_rows(3, 0, 2).tolist() == [82, 82]


@pytest.mark.parametrize("columns", [1, 7])
def test_the_variance_equals_the_transcription(columns: int) -> None:
    draws = autoregressive(3, columns, 3, 300, 0.6)
    batches = EqualBatches((300,) * 3)
    sums, chains = batch_sums(draws, batches), batches.chains.tolist()
    found = lugsail_variance(sums, batches)
    sizes, joinings = batches.rows.tolist(), memory.levels(chains, FEWEST_A_CHAIN)
    table = memory.curves(sums, sizes, chains, joinings)
    rules = memory.Rules(FEWEST_A_CHAIN, FLAT, MOST_INDEPENDENT, LUGSAIL_ERRORS, SLOWER_BY_CHANCE)
    known = memory.pooled(table, joinings, sizes, chains, rules)
    for column in range(columns):
        own = np.array(memory.group_sums(sums[:, column].tolist(), joinings[known.level]))
        assert found.variance[column] == pytest.approx(np.sum(own**2) / known.deflation)
        noise = max(0.5 * (np.mean(own**4) / np.mean(own**2) ** 2 - 1.0), 1.0)
        freedom = (len(own) - 1.0) / noise / (1.0 + 1.5 / columns)
        assert found.df[column] == pytest.approx(freedom)


def test_chains_that_are_many_are_stretches_themselves() -> None:
    draws = autoregressive(0, 3, 40, 50, 0.5)
    batches = EqualBatches((50,) * 40)
    found = lugsail_variance(batch_sums(draws, batches), batches)
    assert found.variance == pytest.approx((draws.sum(axis=1) ** 2).sum(axis=0))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.5])
def test_the_variance_of_the_sum_is_found_on_average(rho: float) -> None:
    draws = autoregressive(1, 400, 4, 1000, rho)
    batches = EqualBatches((1000,) * 4)
    found = lugsail_variance(batch_sums(draws, batches), batches)
    truth = 4000.0 * (1.0 + rho) / (1.0 - rho)
    assert np.mean(found.variance) / truth == pytest.approx(1.0, abs=0.1)


def test_a_slow_column_shows_among_fast_ones() -> None:
    draws = autoregressive(2, 40, 4, 1000, 0.0)
    slow = np.concatenate([autoregressive(seed, 1, 4, 1000, 0.95) for seed in range(30)], axis=2)
    batches = EqualBatches((1000,) * 4)
    ratios = []
    for column in range(30):
        together = np.concatenate([draws, slow[..., column : column + 1]], axis=2)
        found = lugsail_variance(batch_sums(together, batches), batches)
        ratios.append(found.variance[-1] / (4000.0 * 1.95 / 0.05))
    assert np.mean(ratios) > 0.75


def test_independent_rows_are_stretches_themselves_if_they_are_few() -> None:
    few, many = IndependentBatches((3, 4)), IndependentBatches((5000, 5000))
    assert few.total == 7
    assert few.of_rows(1, 1, 3).tolist() == [4, 5, 6]
    assert many.total == 4096
    assert many.of_rows(1, 4999, 1).tolist() == [4095]
    sums = np.random.default_rng(0).standard_normal((50, 2))
    found = independent_variance(sums)
    assert found.variance == pytest.approx((sums**2).sum(axis=0))
    assert found.df == pytest.approx(2 * (sums**2).sum(axis=0) ** 2 / (sums**4).sum(axis=0))


@pytest.mark.parametrize(("rows", "rho"), [(60, 0.0), (100, 0.97)])
def test_short_chains_go_by_their_own_sums(rows: int, rho: float) -> None:
    """With few batches, or a memory that no batch outlasts."""
    draws = autoregressive(5, 3, 4, rows, rho)
    draws -= draws.mean(axis=(0, 1))
    batches = EqualBatches((rows,) * 4)
    found = lugsail_variance(batch_sums(draws, batches), batches)
    by_chain = draws.sum(axis=1)
    between = 4.0 * np.var(by_chain, axis=0, ddof=1)
    assert found.df.tolist() == [3.0, 3.0, 3.0]
    assert np.all(found.variance >= between * (1.0 - 1e-12))
    one = EqualBatches((rows,))
    assert lugsail_variance(batch_sums(draws[:1], one), one).df.tolist() == [1.0, 1.0, 1.0]


def test_t_of_short_chains_that_remember_long_is_t() -> None:
    """Means of chains of 60 rows with a memory of 19: rejected no more often than they should."""
    columns = 400
    draws = autoregressive(6, columns, 4, 60, 0.9)
    batches = EqualBatches((60,) * 4)
    sums = batch_sums(draws - draws.mean(axis=(0, 1)), batches)
    found = lugsail_variance(sums, batches)
    t = draws.sum(axis=(0, 1)) / np.sqrt(found.variance)
    rejected = int(np.sum(2.0 * stdtr(found.df, -np.abs(t)) <= 0.05))
    assert binomtest(rejected, columns, 0.05, alternative="greater").pvalue > 0.01


def test_some_dozen_long_chains_have_batches_of_all_lengths() -> None:
    assert EqualBatches((1000,) * 20).counts == (32,) * 20
    draws = autoregressive(7, 5, 20, 1000, 0.5)
    batches = EqualBatches((1000,) * 20)
    found = lugsail_variance(batch_sums(draws, batches), batches)
    assert np.all(found.df > 40.0)


def test_columns_without_variation_have_none() -> None:
    found = lugsail_variance(np.zeros((64, 2)), EqualBatches((64,) * 4))
    assert found.variance.tolist() == [0.0, 0.0]
    assert np.all(found.df >= 1.0)


def apart(lengths: tuple[int, ...], spread: float, noise: float = 1.0) -> np.ndarray:
    """Of 200 columns with means of their own in every chain, which go by the sums of chains."""
    rng = np.random.default_rng(8)
    chains = [
        noise * rng.standard_normal((rows, 200)) + spread * rng.standard_normal(200)
        for rows in lengths
    ]
    centre, batches = np.concatenate(chains).mean(axis=0), EqualBatches(lengths)
    sums = np.zeros((batches.total, 200))
    for number, rows in enumerate(chains):
        np.add.at(sums, batches.of_rows(number, 0, len(rows)), rows - centre)
    found = lugsail_variance(sums, batches)
    assert np.array_equal(found.excess > 1.0, found.df == len(lengths) - 1.0)
    by_chain = np.array([(rows - centre).sum(axis=0) for rows in chains])
    own = found.df == len(lengths) - 1.0
    between = len(lengths) * np.var(by_chain, axis=0, ddof=1)
    assert np.all(found.variance[own] >= between[own] * (1.0 - 1e-9))
    return own


@pytest.mark.parametrize("lengths", [(1000,) * 4, (900, 700, 400)])
def test_chains_that_disagree_go_by_their_own_sums(lengths: tuple[int, ...]) -> None:
    """Batches within chains do not see that the chains' means have an sd of 0.3."""
    assert np.mean(apart(lengths, 0.3)) > 0.75
    assert not np.any(apart(lengths, 0.0))


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_chains_that_stand_still_go_by_their_own_sums(noise: float) -> None:
    assert np.all(apart((500,) * 4, 1.0, noise))
