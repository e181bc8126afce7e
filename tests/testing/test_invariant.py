"""`assert_invariant`: kernels that keep their target, reversible or not, and others."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import polystein as ps

DRAWS = np.random.default_rng(0).standard_normal((20_000, 2))
MINUS = np.negative


def langevin(x: np.ndarray, rng: np.random.Generator, step: float, correct: bool) -> np.ndarray:
    """MALA about N(0, I), or ULA."""
    moved = x - 0.5 * step**2 * x + step * rng.standard_normal(x.shape)
    there = moved - x + 0.5 * step**2 * x
    back = x - moved + 0.5 * step**2 * moved
    ratio = 0.5 * (x**2 - moved**2 + (there**2 - back**2) / step**2).sum(axis=1)
    accepted = np.log(rng.random(len(x))) < ratio if correct else np.ones(len(x), bool)
    return np.where(accepted[:, None], moved, x)


def turned(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A rotation, which keeps the target and is not reversible."""
    return x @ np.array([[0.6, -0.8], [0.8, 0.6]])


@pytest.mark.parametrize(
    "kernel",
    [
        lambda x, rng: langevin(x, rng, 0.8, True),
        lambda x, rng: 0.8 * x + 0.6 * rng.standard_normal(x.shape),
        turned,
    ],
)
def test_kernels_that_keep_the_target_pass(kernel: Any) -> None:
    result = ps.testing.assert_invariant(kernel, MINUS, DRAWS)
    assert result.outcome == "passed"
    assert result.noticed.sd < 0.05


def test_one_step_of_unadjusted_langevin_is_found() -> None:
    """It adds h⁴/4 to the variance: 0.1 of the variance, 0.05 of the sd at h = 0.8."""
    with pytest.raises(ps.FaultError, match="the sd of `x") as error:
        ps.testing.assert_invariant(lambda x, rng: langevin(x, rng, 0.8, False), MINUS, DRAWS)
    sizes = [one.size for one in error.value.result.effects if one.kind == "sd"]
    assert np.mean(sizes) == pytest.approx(0.8**4 / 8, abs=0.02)


def test_too_few_draws_are_undecided_and_chains_are_blocks() -> None:
    with pytest.raises(ps.UndecidedError):
        ps.testing.assert_invariant(turned, MINUS, DRAWS[:400])
    result = ps.testing.assert_invariant(turned, MINUS, DRAWS.reshape(200, 100, 2))
    assert result.draws == 20_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": lambda x, rng: x[1:]}, "`kernel` must return real rows"),
        ({"kernel": lambda x, rng: np.nan * x}, "not finite"),
        ({"kernel": lambda x: x}, "`kernel` raised TypeError"),
        ({"draws": DRAWS[:50]}, "at least 134 rows"),
        ({"draws": DRAWS[:500, 0]}, r"`draws` must be an array \(n, d\)"),
    ],
)
def test_bad_input_is_named(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"kernel": turned, "target": MINUS, "draws": DRAWS, **options}
    with pytest.raises(ps.InputError, match=words):
        ps.testing.assert_invariant(**given)


@pytest.mark.slow
def test_the_rate_holds() -> None:
    alarms, runs = 0, 2000
    for run in range(runs):
        rng = np.random.default_rng([run, 7])
        try:
            ps.testing.assert_invariant(
                lambda x, own: langevin(x, own, 1.2, True),
                MINUS,
                rng.standard_normal((1000, 1)),
                false_alarm=0.05,
                detect=(1.0, 1.0),
                rng=run,
            )
        except ps.FaultError:
            alarms += 1
    assert alarms <= binom.ppf(0.999, runs, 0.05)
