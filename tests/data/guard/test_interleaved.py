"""Walkers that take turns in one chain, and chains that are not to be taken for that."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.guard.interleaved import refuse_interleaved
from polystein.data.guard.rows import ScreenedRows, screened_rows
from polystein.data.passes import run_pass
from polystein.data.source import in_time_order
from polystein.errors import InputError
from tests.data.guard.test_repeats_chains import autoregressive
from tests.rows import Array


def look(draws: Array) -> None:
    sample = in_time_order(ps.Sample(draws, -draws))
    rows = ScreenedRows(sample.layout)
    run_pass(sample, screened_rows(sample.layout), rows)
    refuse_interleaved(sample.layout, rows)


def in_turns(walkers: int, rows: int, d: int, memory: float, seed: int = 0) -> Array:
    return autoregressive(walkers, rows, d, memory, seed).swapaxes(0, 1).reshape(-1, d)


@pytest.mark.parametrize(
    ("walkers", "rows", "d", "memory"),
    [(2, 500, 3, 0.5), (8, 500, 3, 0.5), (32, 300, 4, 0.9), (200, 60, 3, 0.9), (40, 20, 1000, 0.9),
     (3, 100_000, 2, 0.9)],
)  # fmt: skip
def test_walkers_in_one_chain_are_counted(walkers: int, rows: int, d: int, memory: float) -> None:
    draws = in_turns(walkers, rows, d, memory)
    with pytest.raises(InputError, match=f"rows {walkers} apart are alike") as caught:
        look(draws)
    assert f"`draws.reshape(-1, {walkers}, {d}).swapaxes(0, 1)`" in str(caught.value)
    look(draws.reshape(-1, walkers, d).swapaxes(0, 1))


def test_one_coordinate_that_remembers_is_enough() -> None:
    draws = in_turns(10, 400, 3, 0.8)
    draws[:, :2] = np.random.default_rng(1).standard_normal((4000, 2))
    with pytest.raises(InputError, match="rows 10 apart are alike"):
        look(draws)


@pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")
def test_check_refuses_walkers_and_takes_them_as_chains() -> None:
    draws = in_turns(4, 500, 2, 0.8)
    with pytest.raises(InputError, match=r"correlation is 0\.8\d, and that of neighbours"):
        ps.check(draws, lambda x: -x)
    assert ps.check(draws.reshape(-1, 4, 2).swapaxes(0, 1), lambda x: -x).pvalue > 0.01


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
    look(draws)
    look(draws[:, ::2])  # thinned
    look(np.exp(3.0 * draws))  # heavy tails


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 8, 20])
@pytest.mark.parametrize("refreshed", [0.01, 0.1, 0.5])
def test_trajectories_that_come_round_pass(parts: int, refreshed: float) -> None:
    """Every second, third, fourth, ... row is near the same place."""
    look(rotations(2.0 * np.pi / parts, refreshed))


def test_a_weak_slow_component_and_constant_coordinates_pass() -> None:
    fast, slow = autoregressive(4, 2000, 2, 0.0, 1), autoregressive(4, 2000, 2, 0.98, 2)
    look(np.sqrt(0.9) * fast + np.sqrt(0.1) * slow)
    look(np.zeros((4, 500, 3)))
    look(np.repeat(fast, 5, axis=1))
