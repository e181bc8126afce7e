"""Walkers that take turns in one chain, and chains that are not to be taken for that."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.guard.interleaved import interleaved_warning
from polystein.data.guard.rows import ScreenedRows, screened_rows
from polystein.data.passes import run_pass
from polystein.data.source import in_time_order
from polystein.errors import DependenceWarning
from tests.data.guard.test_repeats_chains import allowed, autoregressive, metropolis
from tests.rows import Array


def look(draws: Array) -> str:
    """The warning's words, if there is one."""
    sample = in_time_order(ps.Sample(draws, -draws))
    rows = ScreenedRows(sample.layout)
    run_pass(sample, screened_rows(sample.layout), rows)
    return str(interleaved_warning(sample.layout, rows) or "")


def in_turns(walkers: int, rows: int, d: int, memory: float, seed: int = 0) -> Array:
    return autoregressive(walkers, rows, d, memory, seed).swapaxes(0, 1).reshape(-1, d)


@pytest.mark.parametrize(
    ("walkers", "rows", "d", "memory"),
    [(2, 500, 3, 0.5), (8, 500, 3, 0.5), (32, 300, 4, 0.9), (200, 60, 3, 0.9), (40, 20, 1000, 0.9),
     (3, 100_000, 2, 0.9)],
)  # fmt: skip
def test_walkers_in_one_chain_are_counted(walkers: int, rows: int, d: int, memory: float) -> None:
    draws = in_turns(walkers, rows, d, memory)
    assert f"that are {walkers} apart are alike" in look(draws)
    assert f"`draws.reshape(-1, {walkers}, {d}).swapaxes(0, 1)`" in look(draws)
    assert not look(draws.reshape(-1, walkers, d).swapaxes(0, 1))


def test_one_coordinate_that_remembers_is_enough() -> None:
    draws = in_turns(10, 400, 3, 0.8)
    draws[:, :2] = np.random.default_rng(1).standard_normal((4000, 2))
    assert "that are 10 apart are alike" in look(draws)


def test_few_metropolis_walkers_are_counted() -> None:
    """Rows at most 16 apart may be equal: replica exchange goes there and back."""
    draws = metropolis(8, 300).swapaxes(0, 1).reshape(-1, 5)
    allowed(draws)
    assert "that are 8 apart are alike" in look(draws)


def test_several_chains_of_walkers_are_told_apart() -> None:
    draws = in_turns(8, 300, 2, 0.9).reshape(2, -1, 2)[:, :-3]
    line = "draws[..., :1192, :].reshape(2, -1, 8, 2).swapaxes(1, 2).reshape(16, -1, 2)"
    assert f"`{line}`" in look(draws)


@pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")
def test_check_warns_of_walkers_and_takes_them_as_chains() -> None:
    draws = in_turns(4, 500, 2, 0.8)
    with pytest.warns(DependenceWarning, match=r"correlation is 0\.8\d, and that of neighbours"):
        result = ps.check(draws, lambda x: -x)
    assert any("4 walkers or chains took turns" in words for words in result.warnings)
    chains = ps.check(draws.reshape(-1, 4, 2).swapaxes(0, 1), lambda x: -x)
    assert chains.pvalue > 0.01
    assert not any("took turns" in words for words in chains.warnings)


def replica_exchange(temperatures: list[float], step: float, n: int = 1500) -> Array:
    """The cold chains, (4, n, 2), of N(0, I): a Metropolis step, then swaps, at each iteration."""
    rng, chains = np.random.default_rng(4), np.arange(4)
    inverse = 1.0 / np.array(temperatures)
    state = rng.standard_normal((4, inverse.size, 2)) / np.sqrt(inverse)[:, None]
    cold = np.empty((4, n, 2))
    for t in range(n):
        proposal = state + step * rng.standard_normal(state.shape)
        energy, proposed = np.sum(state**2, axis=2) / 2, np.sum(proposal**2, axis=2) / 2
        accepted = np.log(rng.random(energy.shape)) < inverse * (energy - proposed)
        state[accepted] = proposal[accepted]
        for k in range(inverse.size - 1):
            gain = np.sum(state[:, k] ** 2 - state[:, k + 1] ** 2, axis=1) / 2
            swapped = chains[np.log(rng.random(4)) < (inverse[k] - inverse[k + 1]) * gain]
            state[swapped, k : k + 2] = state[swapped, k : k + 2][:, ::-1]
        cold[:, t] = state[:, 0]
    return cold


@pytest.mark.parametrize(
    ("ladder", "step"), [([1, 1.3], 0.3), ([1, 1.5, 2.2], 3.0), ([1, 1.2, 1.44, 1.73], 1.0)]
)
def test_replica_exchange_passes(ladder: list[float], step: float) -> None:
    """Cold chains alternate between replicas, until a swap is refused."""
    exchange_passes(ladder, step)


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("ladder", [[1, 1.3], [1, 1.5], [1, 1.5, 2.2], [1, 1.2, 1.44, 1.73]])
def test_replica_exchange_passes_at_all_temperatures(ladder: list[float], step: float) -> None:
    exchange_passes(ladder, step)


def exchange_passes(ladder: list[float], step: float) -> None:
    draws = replica_exchange(ladder, step)
    assert not look(draws)
    allowed(draws)


@pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")
def test_replica_exchange_that_always_swaps_is_warned_of_and_judged() -> None:
    """Nothing in the rows tells it from two walkers."""
    draws = replica_exchange([1, 1.01], 1.0)
    with pytest.warns(DependenceWarning, match="Replica exchange that swaps at nearly every step"):
        assert ps.check(draws, lambda x: -x).pvalue > 0.01


def rotations(angle: float, refreshed: float, n: int = 2000) -> Array:
    """Exact Hamiltonian dynamics of N(0, 1) with momentum that is refreshed in part."""
    rng, state = np.random.default_rng(2), np.array([0.3, 1.0])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    rows = np.empty((n, 1))
    for t in range(n):
        state = turn @ state
        state[1] = np.sqrt(1.0 - refreshed) * state[1] + np.sqrt(refreshed) * rng.standard_normal()
        rows[t] = state[0]
    return rows


@pytest.mark.parametrize("memory", [-0.99, -0.9, -0.5, -0.2, 0.0, 0.2, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("shape", [(1, 300, 20), (1, 20_000, 2), (4, 1000, 8), (50, 20, 3)])
def test_chains_with_their_own_memory_pass(memory: float, shape: tuple[int, int, int]) -> None:
    draws = autoregressive(*shape, memory)
    assert not look(draws)
    assert not look(draws[:, ::2])  # thinned
    assert not look(np.exp(3.0 * draws))  # heavy tails


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 8, 20])
@pytest.mark.parametrize("refreshed", [0.01, 0.1, 0.5])
def test_trajectories_that_come_round_pass(parts: int, refreshed: float) -> None:
    """Every second, third, fourth, ... row is near the same place."""
    assert not look(rotations(2.0 * np.pi / parts, refreshed))


def test_a_weak_slow_component_and_constant_coordinates_pass() -> None:
    fast, slow = autoregressive(4, 2000, 2, 0.0, 1), autoregressive(4, 2000, 2, 0.98, 2)
    assert not look(np.sqrt(0.9) * fast + np.sqrt(0.1) * slow)
    assert not look(np.zeros((4, 500, 3)))
    assert not look(np.repeat(fast, 5, axis=1))
