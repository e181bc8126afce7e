"""`assert_invariant`: kernels that keep their target, reversible or not, and others."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

import polystein as ps
from polystein.inference.autocorrelation import autocorrelation_times
from polystein.testing.stretches import starts_of, stretches_of

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
        ps.testing.assert_invariant(turned, MINUS, DRAWS[:400], iid=True)
    result = ps.testing.assert_invariant(turned, MINUS, DRAWS.reshape(200, 100, 2))
    assert result.draws == 20_000


def autoregressive(rng: np.random.Generator, shape: tuple[int, ...], memory: float) -> np.ndarray:
    """Stationary AR(1) chains about N(0, I), in time order along the last axis but one."""
    noise = rng.standard_normal(shape)
    noise[..., 1:, :] *= np.sqrt(1.0 - memory**2)
    return lfilter([1.0], [1.0, -memory], noise, axis=-2)


def test_dependent_draws_are_not_taken_for_independent_ones() -> None:
    draws = autoregressive(np.random.default_rng(3), (4000, 2), 0.5)
    with pytest.raises(ps.InputError, match=r"neighbouring ones have a correlation of 0\.[45]"):
        ps.testing.assert_invariant(turned, MINUS, draws, iid=True)
    with pytest.raises(ps.InputError, match=r"correlation of"):
        ps.testing.assert_invariant(turned, MINUS, np.sort(DRAWS, axis=0), iid=True)


def test_wild_rows_that_are_neighbours_are_no_dependence() -> None:
    """As in one of 4,000 tests: one far out gives the scale, and two others are neighbours."""
    draws = np.log(np.random.default_rng(0).exponential(size=(400, 1)))
    draws[[10, 200, 201]] = -30.0
    ps.testing.assert_invariant(
        lambda x, rng: x, lambda x: 1.0 - np.exp(x), draws, iid=True, detect=(1e9, 1e9)
    )


def test_draws_that_are_too_few_for_their_memory_are_an_error() -> None:
    draws = autoregressive(np.random.default_rng(3), (4000, 2), 0.9)
    with pytest.raises(ps.InputError, match="autocorrelation time is about") as error:
        ps.testing.assert_invariant(turned, MINUS, draws)
    (needed,) = re.findall("about ([0-9,]+) rows", str(error.value))
    assert 12_000 < int(needed.replace(",", "")) < 40_000
    with pytest.raises(ps.InputError, match="at least 134 independent chains"):
        ps.testing.assert_invariant(turned, MINUS, draws.reshape(100, 40, 2))


def test_a_few_long_chains_are_cut_into_stretches() -> None:
    draws = autoregressive(np.random.default_rng(3), (4, 10_000, 2), 0.5)
    result = ps.testing.assert_invariant(turned, MINUS, draws, detect=(0.2, 0.2))
    assert result.draws == 40_000


def test_stretches_are_ten_times_long_after_a_gap_of_two() -> None:
    columns = autoregressive(np.random.default_rng(1), (60_000, 1), 0.9)
    starts = starts_of(np.vstack([columns[:20_000], columns]), False)
    (time,) = autocorrelation_times([columns])
    found = stretches_of(starts, columns, columns)
    numbers, first, counts = np.unique(found[found >= 0], return_index=True, return_counts=True)
    assert numbers.tolist() == list(range(len(numbers)))
    assert len(numbers) == min(200, 60_000 // (np.ceil(10 * time) + np.ceil(2 * time)))
    assert counts.min() >= 10 * time
    kept = np.flatnonzero(found >= 0)
    assert np.diff(kept)[first[1:] - 1].min() > 2 * time
    assert np.ptp(counts) <= 1


def test_the_printed_call_fails_as_the_test_did() -> None:
    def kernel(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return langevin(x, rng, 0.8, False)

    with pytest.raises(ps.FaultError) as error:
        ps.testing.assert_invariant(kernel, MINUS, DRAWS, rng=np.random.default_rng(5))
    (line,) = re.findall("To run it again: (.*)", str(error.value))
    with pytest.raises(ps.FaultError) as again:
        eval(line, {"ps": ps, "kernel": kernel, "target": MINUS, "draws": DRAWS})
    assert again.value.result == error.value.result


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": lambda x, rng: x[1:]}, "`kernel` must return real rows"),
        ({"kernel": lambda x, rng: np.nan * x}, "not finite"),
        ({"kernel": lambda x: x}, "`kernel` raised TypeError"),
        ({"draws": DRAWS[:50], "iid": True}, "at least 134 rows"),
        ({"draws": DRAWS[:500]}, "must be about 1,[0-9]{3} rows"),
        ({"iid": 1}, "`iid` must be"),
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
                iid=True,
                detect=(1.0, 1.0),
                rng=run,
            )
        except ps.FaultError:
            alarms += 1
    assert alarms <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [lambda x, own: langevin(x, own, 0.5, True), turned], ids=["MALA", "rotation"]
)
def test_the_rate_holds_on_a_long_run(kernel: Any) -> None:
    """A reversible kernel and one that is not, from the draws of an AR(.9) chain."""
    alarms, runs = 0, 400
    for run in range(runs):
        draws = autoregressive(np.random.default_rng([run, 8]), (30_000, 2), 0.9)
        try:
            ps.testing.assert_invariant(
                kernel, MINUS, draws, false_alarm=0.05, detect=(5.0, 5.0), rng=run
            )
        except ps.FaultError:
            alarms += 1
    assert alarms <= binom.ppf(0.999, runs, 0.05)
