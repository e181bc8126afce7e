"""R-hat and ESS: the fast code against loops, and what they say where nothing converged."""

import math

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from polystein.inference import convergence
from polystein.inference.convergence import rank_columns, ranked_convergence
from tests.conftest import Array
from tests.reference import convergence as reference
from tests.statistical.samplers import autoregressive


def columns(count: int, length: int, memory: float) -> Array:
    """Smooth, tied, coarse and heavy-tailed columns; one in which a chain is off, one frozen."""
    chains = autoregressive(np.random.default_rng(3), count, length, 6, memory)
    chains[:, :, 1] = np.round(chains[:, :, 1], 1)
    chains[:, :, 2] = np.sign(chains[:, :, 2])
    chains[:, :, 3] = np.exp(5.0 * chains[:, :, 3])
    chains[0, :, 4] += 3.0
    chains[0, :, 5] = 0.2
    return chains


@pytest.mark.parametrize(
    ("count", "length", "memory"),
    [(4, 60, 0.5), (2, 101, 0.9), (3, 64, -0.9), (1, 80, 0.5), (2, 4, 0.0), (2, 5, 0.0), (5, 7, 0)],
)
def test_the_diagnostics_are_those_of_the_loops(count: int, length: int, memory: float) -> None:
    chains = columns(count, length, memory)
    found = ranked_convergence(chains)
    for column in range(chains.shape[2]):
        own = chains[:, :, column].tolist()
        expected = (
            reference.rank_rhat(own),
            reference.ess_bulk(own),
            reference.ess_tail(own),
            reference.ess_folded(own),
        )
        ours = [part[column] for part in found]
        assert ours == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_columns_are_worked_on_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = columns(4, 60, 0.5)
    whole = ranked_convergence(chains)
    monkeypatch.setattr(convergence, "_NUMBERS_AT_ONCE", 500)
    for part, other in zip(ranked_convergence(chains), whole, strict=True):
        assert np.array_equal(part, other)


def test_chains_of_different_lengths_give_their_last_rows() -> None:
    chains = columns(3, 80, 0.5)
    ragged = [chains[0], chains[1, 20:], chains[2, 5:]]
    even = np.stack([chain[-60:] for chain in ragged])
    for part, other in zip(ranked_convergence(ragged), ranked_convergence(even), strict=True):
        assert np.array_equal(part, other)


def test_inputs_stay_as_they_are() -> None:
    chains = columns(3, 50, 0.5)
    before = chains.copy()
    ranked_convergence(chains)
    assert np.array_equal(chains, before)


@pytest.mark.parametrize("change", [lambda x: 1e150 * x, np.exp, lambda x: -3.0 * x + 7.0])
def test_bulk_sizes_depend_on_ranks_alone(change: object) -> None:
    chains = autoregressive(np.random.default_rng(5), 4, 100, 3, 0.5)
    changed = change(chains)  # type: ignore[operator]
    assert ranked_convergence(changed).ess_bulk == pytest.approx(
        ranked_convergence(chains).ess_bulk, rel=1e-12
    )


# What cannot converge


def test_draws_that_are_all_equal_have_no_rhat_and_count_whole() -> None:
    found = ranked_convergence(np.full((4, 50, 2), 3.0))
    assert np.isnan(found.rhat).all()
    assert found.ess_bulk.tolist() == found.ess_tail.tolist() == [200.0, 200.0]


def test_chains_frozen_at_different_values_have_an_infinite_rhat() -> None:
    chains = np.broadcast_to(np.arange(4.0)[:, None, None], (4, 50, 1))
    found = ranked_convergence(chains)
    assert found.rhat[0] == math.inf
    assert found.ess_bulk[0] < 5.0


def test_one_frozen_chain_of_four_shows() -> None:
    chains = autoregressive(np.random.default_rng(1), 4, 1000, 1, 0.5)
    chains[2] = 0.01
    assert ranked_convergence(chains).rhat[0] > 1.3


def test_huge_values_give_numbers() -> None:
    chains = autoregressive(np.random.default_rng(1), 4, 100, 1, 0.5)
    chains[1:3], chains[3] = -1e308, 1e308
    found = ranked_convergence(chains)
    assert all(np.isfinite(part).all() for part in found)
    assert found.rhat[0] > 1.3


@pytest.mark.parametrize("length", [1, 2, 3])
def test_chains_too_short_for_halves_have_none(length: int) -> None:
    found = ranked_convergence(np.random.default_rng(0).standard_normal((3, length, 2)))
    assert all(np.isnan(part).all() for part in found)


# Ranks

COUNT = 60


def blom(rows: Array) -> Array:
    """Normal scores by the ranks of SciPy, row by row."""
    ranks = np.array([rankdata(row) for row in rows])
    return np.asarray(norm.ppf((ranks - 0.375) / (rows.shape[1] + 0.25)))


def kinds() -> dict[str, Array]:
    """Rows of many kinds, four of each."""
    plain = np.random.default_rng(2).standard_normal((4, COUNT))
    close = 1.0 + 2.0**-50 * np.round(8.0 * plain)
    one_close = plain.copy()
    one_close[2] = close[2]
    pair, three = plain.copy(), plain.copy()
    pair[1, 5] = pair[1, 40] + 1e-12
    three[1, 5], three[1, 9] = three[1, 40] + 2e-12, three[1, 40] + 1e-12
    return {
        "plain": plain,
        "rounded": np.round(plain, 1),
        "signs": np.sign(plain),
        "equal": np.full((4, COUNT), 0.3),
        "different in their last digits": close,
        "different in their last digits in one row": one_close,
        "two nearly equal": pair,
        "three nearly equal": three,
        "of all sizes": np.exp(100.0 * plain),
        "tiny": np.round(3.0 * plain) * 5e-324,
        "zeros of both signs": np.where(plain > 0.5, plain, np.copysign(0.0, plain)),
        "huge": np.where(np.abs(plain) < 0.5, plain, np.copysign(1.7e308, plain)),
    }


@pytest.mark.parametrize("kind", list(kinds()))
def test_scores_are_those_of_average_ranks(kind: str) -> None:
    rows = kinds()[kind]
    halves = rows.reshape(4, 2, -1)
    folded, scores = rank_columns(halves, halves).reshape(4, *rows.shape)[:2]
    assert scores == pytest.approx(blom(rows), rel=1e-12, abs=1e-15)
    with np.errstate(over="ignore"):
        inorder = np.sort(rows, axis=1)
        median = 0.5 * inorder[:, COUNT // 2 - 1] + 0.5 * inorder[:, COUNT // 2]
        distances = np.abs(rows - median[:, None])
    assert folded == pytest.approx(blom(distances), rel=1e-12, abs=1e-15)
