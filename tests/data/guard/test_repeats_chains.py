"""Chains that repeat rows: given twice, resampled, walkers in one chain."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import polystein as ps
from polystein.data.guard.repeats import (
    RowKeys,
    forbid_copies,
    keys_of_chains,
    refuse_copies,
)
from polystein.data.passes import every_row, run_pass
from polystein.data.source import in_time_order
from polystein.errors import InputError
from tests.rows import Array
from tests.sources import CountingSample
from tests.statistical.samplers import correlated_gaussian, metropolis_step
from tests.statistical.samplers import run as run_sampler

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")


def autoregressive(chains: int, rows: int, d: int, memory: float, seed: int = 0) -> Array:
    noise = np.random.default_rng(seed).standard_normal((chains, rows, d))
    noise[:, 1:] *= np.sqrt(1.0 - memory**2)
    found: Array = lfilter([1.0], [1.0, -memory], noise, axis=1)
    return found


def metropolis(chains: int, rows: int, seed: int = 1) -> Array:
    target, rng = correlated_gaussian(), np.random.default_rng(seed)
    return run_sampler(rng, target, metropolis_step(1.0), chains, rows, thin=1, burn=0)


def block_split_test(draws: Array) -> object:
    options: Any = {"order": 1, "variance": ps.InitialSequence(), "split": ps.BlockSplit()}
    return ps.psd_test(draws, lambda x: -x, rng=0, **options)


#: Everything that takes chains in time order.
OF_CHAINS: list[Any] = [
    lambda draws: ps.check(draws, lambda x: -x),
    block_split_test,
    lambda draws: ps.effects(draws, lambda x: -x),
    lambda draws: ps.expectations(draws, lambda x: -x),
]


def copies_refused(draws: Array, message: str = "") -> str:
    """The message of the error for chains, which has these words in it."""
    with pytest.raises(InputError) as caught:
        forbid_copies(in_time_order(ps.Sample(draws, -draws)))
    assert message in str(caught.value)
    return str(caught.value)


def allowed(draws: Array) -> None:
    forbid_copies(in_time_order(ps.Sample(draws, -draws)))


@pytest.mark.parametrize("test", OF_CHAINS)
def test_one_chain_copied_four_times_is_refused(test: Any) -> None:
    """A seed that was forgotten."""
    draws = np.repeat(autoregressive(1, 200, 2, 0.5), 4, axis=0)
    with pytest.raises(InputError, match="chains 0, 1, 2 and 3 have the same rows") as caught:
        test(draws)
    assert "a seed for each" in str(caught.value)
    assert "`np.delete(draws, [1, 2, 3], axis=0)`" in str(caught.value)


@pytest.mark.parametrize("test", OF_CHAINS)
def test_chains_given_twice_are_refused(test: Any) -> None:
    draws = autoregressive(3, 200, 2, 0.5)
    with pytest.raises(InputError, match="chains 0 and 3, chains 1 and 4, chains 2 and 5 have"):
        test(np.concatenate([draws, draws]))


@pytest.mark.parametrize("test", OF_CHAINS)
def test_rows_resampled_in_one_chain_are_refused(test: Any) -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((300, 2))[rng.integers(300, size=1000)]
    with pytest.raises(InputError, match="of 1000 rows repeat a row that is not their") as caught:
        test(draws)
    assert "log_weights=" in str(caught.value)


@pytest.mark.parametrize("test", OF_CHAINS)
def test_chains_that_take_turns_and_stay_are_refused(test: Any) -> None:
    """Metropolis chains, interleaved: a row is equal to the one as many rows before."""
    draws = metropolis(32, 100).swapaxes(0, 1).reshape(-1, 5)
    with pytest.raises(InputError, match="rows 32 apart are alike") as caught:
        test(draws)
    assert "`draws.reshape(-1, 32, 5).swapaxes(0, 1)`" in str(caught.value)
    allowed(draws.reshape(-1, 32, 5).swapaxes(0, 1))


def test_copies_are_found_among_many_chains_and_of_chains_that_stay() -> None:
    many = autoregressive(100, 30, 1, 0.5)
    many[71] = many[12]
    copies_refused(many, "chains 12 and 71 have the same rows")
    stays = metropolis(3, 300)
    assert np.mean(np.all(stays[:, 1:] == stays[:, :-1], axis=2)) > 0.5
    allowed(stays)
    stays[2] = stays[0]
    copies_refused(stays, "chains 0 and 2 have the same rows")


def test_of_many_copies_some_are_named() -> None:
    words = copies_refused(np.repeat(autoregressive(1, 50, 2, 0.5), 30, axis=0))
    assert "chains 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 18 more have" in words
    assert "pass every chain once; the scores" in words


def test_copies_may_begin_at_another_row() -> None:
    chain = autoregressive(1, 500, 2, 0.5)[0]
    copies_refused(np.stack([chain[:400], chain[100:]]), "chains 0 and 1")
    copies_refused(np.stack([chain[:300], chain[200:]]), "chains 0 and 1")
    allowed(np.stack([chain[:260], chain[240:]]))


def test_a_chain_given_again_in_itself_is_refused() -> None:
    chain = metropolis(1, 300)[0]
    copies_refused(np.tile(chain, (3, 1)), "rows 300 apart are equal: the same 300 rows are given")
    copies_refused(np.tile(chain, (3, 1)), "`draws[..., :300, :]`")


def test_several_chains_of_walkers_are_told_apart() -> None:
    draws = metropolis(20, 120).swapaxes(0, 1).reshape(2, -1, 5)[:, :-3]
    words = copies_refused(draws, "rows 20 apart are alike")
    line = "draws[..., :1180, :].reshape(2, -1, 20, 5).swapaxes(1, 2).reshape(40, -1, 5)"
    assert f"`{line}`" in words


@pytest.mark.parametrize(
    "draws",
    [
        np.repeat(autoregressive(4, 100, 2, 0.5), 3, axis=1),
        autoregressive(4, 300, 1, 0.0).astype(np.float32),
        autoregressive(4, 300, 1, 0.5).round(2),
        autoregressive(4, 500, 1, 0.5).round(1),
        (2.0 * autoregressive(1, 500, 2, 0.0)).round() / 2.0,
        np.sign(autoregressive(4, 300, 2, -0.9)),
        np.zeros((4, 100, 2)),
        0.3 + 1e-6 * autoregressive(4, 300, 1, 0.0).astype(np.float32),
        np.round(1e3 * autoregressive(1, 500, 1, 0.0)).cumsum(axis=1) % 7.0,
        np.log(np.exp(autoregressive(4, 500, 1, 0.9)).round(1) + 0.05),
        1.0 / np.maximum(np.exp(autoregressive(1, 2000, 1, 0.0)).round(1), 0.1),
        np.abs(autoregressive(4, 1000, 2, 0.5)).round(1) ** 2,
        np.log(np.maximum(np.random.default_rng(0).gamma(2.0, 0.1, (4, 1500, 1)).round(2), 0.01)),
    ],
)
def test_neighbours_and_rounded_values_may_repeat(draws: Array) -> None:
    allowed(draws)


def test_resampling_shows_in_one_coordinate_and_single_precision() -> None:
    rng = np.random.default_rng(0)
    unique = rng.standard_normal((300, 1)).astype(np.float32)
    copies_refused(unique[rng.integers(300, size=1000)], "repeat a row that is not their neigh")
    # A coordinate of few values beside a continuous one does not excuse.
    both = np.concatenate([np.sign(unique), unique], axis=1)
    copies_refused(both[rng.integers(300, size=(4, 250))], "repeat a row that is not their neigh")


def test_swaps_there_and_back_are_no_resampling() -> None:
    """Replica exchange comes back to a row after a few others, and stays at some."""
    draws = autoregressive(2, 600, 2, 0.5)
    draws[:, 2::4] = draws[:, ::4]
    draws[:, 3::8] = draws[:, 2::8]
    allowed(draws)
    draws[:, 3::8] = autoregressive(2, 75, 2, 0.5, seed=1)
    allowed(draws)


@pytest.mark.parametrize("step", [1.0, 3.0, 6.0])
def test_metropolis_that_turns_its_sign_at_every_step_is_no_copy(step: float) -> None:
    """N(0, I) is symmetric: x to -x, to x, to -x, until a proposal is accepted."""
    rng = np.random.default_rng(5)
    state, draws = rng.standard_normal((4, 2)), np.empty((4, 1500, 2))
    for t in range(1500):
        proposal = state + step * rng.standard_normal((4, 2))
        gain = np.sum(state**2 - proposal**2, axis=1) / 2
        accepted = np.log(rng.random(4)) < gain
        state = -np.where(accepted[:, None], proposal, state)
        draws[:, t] = state
    allowed(draws)


def test_few_rows_given_again_and_again_are_refused() -> None:
    draws = np.tile(autoregressive(1, 10, 2, 0.5)[0], (50, 1))
    copies_refused(draws, "the same 10 rows are given again")


def test_most_rows_of_chains_that_repeat_by_chance() -> None:
    """One in ten, of rows that are no neighbours, and no more."""
    rng = np.random.default_rng(3)
    for repeats in (100, 101):
        draws = autoregressive(1, 1000, 2, 0.0)[0]
        draws[850 : 850 + repeats] = draws[rng.permutation(800)[:repeats]]
        if repeats == 100:
            allowed(draws)
        else:
            copies_refused(draws, "101 of 1000 rows repeat")


def test_chains_are_read_again_only_where_first_coordinates_repeat() -> None:
    draws = autoregressive(4, 300, 2, 0.5)
    sample = CountingSample(draws, -draws)
    forbid_copies(sample)
    assert sample.mean_reads == 1.0
    draws[..., 0] = np.sign(draws[..., 0])
    sample = CountingSample(draws, -draws)
    forbid_copies(sample)
    assert 2.0 <= sample.mean_reads <= 2.5


def test_of_long_chains_the_first_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = autoregressive(3, 900, 2, 0.5)
    draws[2, 700:] = draws[0, 700:]
    copies_refused(draws, "chains 0 and 2")
    monkeypatch.setattr("polystein.data.guard.repeats.MOST_ROWS_ALONE", 2100)
    sample = CountingSample(draws, -draws)
    forbid_copies(sample)
    assert sample.mean_reads == pytest.approx(7 / 9)
    draws[2, :100] = draws[0, :100]
    copies_refused(draws, "chains 0 and 2")
    # Beside another look at all rows more are looked at.
    monkeypatch.setattr("polystein.data.guard.repeats.MOST_ROWS", 300)
    keys = keys_of_chains(sample, alone=False)
    run_pass(sample, every_row(sample), keys)
    assert keys.in_order().size == 300
    with pytest.raises(InputError, match="chains 0 and 2"):
        refuse_copies(sample, keys)


def test_keys_come_in_any_order() -> None:
    draws = np.repeat(autoregressive(1, 300, 2, 0.5), 3, axis=0)
    sample, first, second = ps.Sample(draws, -draws), RowKeys(), RowKeys()
    rows = list(every_row(sample))
    run_pass(sample, rows[1:], first)
    run_pass(sample, rows[:1], second)
    with pytest.raises(InputError, match="chains 0, 1 and 2 have the same rows"):
        refuse_copies(sample, first.merge(second))
    assert np.array_equal(first.in_order()[:300], first.in_order()[300:600])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_copies_are_found_on_several_cores(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polystein.data.guard.repeats.MANY_ROWS", 100)
    draws = np.repeat(autoregressive(1, 300, 2, 0.5), 2, axis=0)
    with pytest.raises(InputError, match="chains 0 and 1 have the same rows"):
        ps.check(draws, -draws, n_jobs=n_jobs)


def test_huge_values_are_told_from_a_grid() -> None:
    rng = np.random.default_rng(0)
    draws = 1e308 * rng.uniform(-1.0, 1.0, size=(300, 1))
    copies_refused(draws[rng.integers(300, size=1000)], "repeat a row")
