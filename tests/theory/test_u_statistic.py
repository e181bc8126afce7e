"""The signal-to-noise ratio from draws, against loops and the exact one; laws of its decay."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polystein import theory
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.theory import GaussianPair
from polystein.theory.u_statistic import variance_of_u
from tests.conftest import arbitrary_rows
from tests.reference import stein
from tests.reference import theory as reference


@pytest.mark.parametrize("seed", [4, 5, 6])
@pytest.mark.parametrize(("n", "dimension", "order"), [(4, 1, 0), (6, 2, 0), (7, 2, 3), (8, 3, 2)])
def test_estimates_equal_loops_over_distinct_rows(
    n: int, dimension: int, order: int, seed: int
) -> None:
    draws, scores = arbitrary_rows(n, dimension, seed)
    pairs, squares, triples, quadruples = reference.distinct_means(draws, scores, order)
    estimate = theory.snr_squared(draws, scores, order=order)
    assert estimate.n == n
    assert estimate.signal == pytest.approx(pairs, rel=1e-10)
    assert estimate.signal == pytest.approx(stein.psd_u(draws, scores, order), rel=1e-10)
    assert estimate.zeta1 == pytest.approx(triples - quadruples, rel=1e-9)
    assert estimate.zeta2 == pytest.approx(squares - quadruples, rel=1e-9)
    zeta1, zeta2 = max(triples - quadruples, 0), squares - quadruples
    noise = 4 * (n - 2) / (n * (n - 1)) * zeta1 + 2 / (n * (n - 1)) * zeta2
    assert estimate.snr_squared == pytest.approx(quadruples / noise, rel=1e-9)


def test_only_zeta_1_can_be_estimated_out_of_range() -> None:
    signs = set()
    for seed in range(100):
        estimate = theory.snr_squared(*arbitrary_rows(4 + seed % 3, 1, seed), order=0)
        assert estimate.zeta2 >= max(0.0, 2 * estimate.zeta1)
        signs.add(estimate.zeta1 < 0)
    assert signs == {True, False}


@pytest.mark.slow
def test_estimates_are_unbiased_where_plug_ins_are_not() -> None:
    pair, n, rng = GaussianPair(2, 0.4, 1.3), 10, np.random.default_rng(20)
    rows, plug_in = [], []
    for _ in range(4000):
        draws = rng.normal(pair.delta, math.sqrt(pair.variance), (n, 2))
        estimate = theory.snr_squared(draws, -draws, order=1)
        rows.append((estimate.signal, estimate.zeta1, estimate.zeta2))
        features = np.array([stein.xi(draw, -draw, 1) for draw in draws])
        plug_in.append(np.var(features @ features.mean(axis=0)))
    exact = np.array([pair.psd(1) ** 2, *pair.zetas(1)])
    errors = np.std(rows, axis=0, ddof=1) / math.sqrt(len(rows))
    assert np.all(np.abs(np.mean(rows, axis=0) - exact) < 3 * errors)
    assert np.mean(plug_in) - exact[1] > 10 * np.std(plug_in) / math.sqrt(len(plug_in))


def test_an_estimate_from_many_draws_approaches_the_exact_ratio() -> None:
    pair, rng = GaussianPair(3, 0.3, 1.2), np.random.default_rng(21)
    estimates = []
    for _ in range(30):
        draws = rng.normal(pair.delta, math.sqrt(pair.variance), (500, 3))
        estimates.append(theory.snr_squared(draws, -draws, order=2).snr_squared)
    exact = pair.snr_squared_u(2, n=500)
    error = np.std(estimates, ddof=1) / math.sqrt(len(estimates))
    assert error < 0.1 * exact
    assert abs(np.mean(estimates) - exact) < 3 * error


def test_the_estimated_ratio_does_not_depend_on_a_power_of_two_in_the_score() -> None:
    draws, scores = arbitrary_rows(20, 2, seed=3)
    base = theory.snr_squared(draws, scores, order=0)
    for exponent in (-500, 200):
        scaled = theory.snr_squared(draws, np.ldexp(scores, exponent), order=0)
        assert scaled.snr_squared == base.snr_squared
        assert scaled.signal == math.ldexp(base.signal, 2 * exponent)


def test_inputs_are_left_alone_and_integers_are_numbers() -> None:
    draws, scores = arbitrary_rows(9, 2, seed=4)
    kept = draws.copy(), scores.copy()
    theory.snr_squared(draws, scores, order=3)
    assert np.array_equal(draws, kept[0])
    assert np.array_equal(scores, kept[1])
    whole = np.array([[200, 1], [3, -90], [5, 7], [100, 2], [-4, 11]], dtype=np.int16)
    expected = theory.snr_squared(whole.astype(float), -whole.astype(float), order=3)
    assert theory.snr_squared(whole, -whole, order=3) == expected


def test_draws_are_checked() -> None:
    draws, scores = arbitrary_rows(6, 2, seed=5)
    broken = draws.copy()
    broken[2, 1] = math.inf
    for bad, argument, message in [
        ((draws[:3], scores[:3]), "draws", r"n >= 4, d >= 1; got \(3, 2\)"),
        ((draws[:, 0], scores[:, 0]), "draws", r"shape \(n, d\).*got \(6,\)"),
        ((draws[:, :0], scores[:, :0]), "draws", r"got \(6, 0\)"),
        ((draws, scores[:5]), "scores", r"shape of `draws`, \(6, 2\); got \(5, 2\)"),
        ((draws, scores * 1j), "scores", "real numbers; got dtype complex128"),
        ((draws.astype(object), scores), "draws", "real numbers; got dtype object"),
        ((broken, scores), "draws", r"finite; got 1 non-finite values, the first at \(2, 1\)"),
    ]:
        with pytest.raises(InputError, match=f"`{argument}` must .*{message}"):
            theory.snr_squared(*bad, order=1)
    with pytest.raises(InputError, match=r"`order` must be an integer >= 0; got 1\.0"):
        theory.snr_squared(draws, scores, order=1.0)  # type: ignore[arg-type]


def test_no_variance_and_no_room_are_errors() -> None:
    same = np.full((8, 2), 0.3)
    with pytest.raises(DegenerateError, match="constant over `draws`"):
        theory.snr_squared(same, -same, order=2)
    with pytest.raises(DegenerateError, match="constant over `draws`"):
        theory.snr_squared(np.zeros((8, 2)), np.zeros((8, 2)), order=0)
    draws, scores = arbitrary_rows(8, 2, seed=6)
    for scale in (1e200, 1e90):
        with pytest.raises(ScaleError, match="order 1 does not fit a float64"):
            theory.snr_squared(draws * scale, scores, order=1)


def test_the_variance_of_theorem_3_5_by_hand() -> None:
    """(4 (n - 2) zeta_1 + 2 zeta_2)/(n (n - 1)): (4 x 3 x 0.5 + 2 x 7)/20."""
    assert variance_of_u(0.5, 7.0, 5) == 1.0
    # Two draws have one pair, whose variance is zeta_2 itself.
    assert variance_of_u(0.5, 7.0, 2) == 7.0


# Remark 3.6


def test_laws_of_remark_3_6_are_the_double_factorials() -> None:
    # 1!! = 1, 2!! = 2, 3!! = 3, 4!! = 8, 5!! = 15, 6!! = 48, 7!! = 105, 11!! = 10395.
    assert [theory.printed_law(q) for q in (0, 1, 3, 5)] == [1, 4 / 3, 64 / 105, 48**2 / 10395]
    assert [theory.corrected_law(q) for q in (0, 1, 3, 5)] == [1, 1 / 3, 9 / 105, 225 / 10395]
    assert 0 < theory.corrected_law(400) < theory.printed_law(400) < 1e-100


def test_the_corrected_law_follows_the_exact_decay_and_the_printed_one_drifts() -> None:
    pair = GaussianPair(1, 0.1, 1.2)
    decay = pair.snr_squared_z(5) / pair.snr_squared_z(11)
    printed = decay / (theory.printed_law(5) / theory.printed_law(11))
    corrected = decay / (theory.corrected_law(5) / theory.corrected_law(11))
    assert printed == pytest.approx(1.81, abs=0.005)
    assert corrected == pytest.approx(0.943, abs=0.0005)
    # With n zeta_1 >> zeta_2 the U-statistic decays alike; at n = 1000 it is not in that regime.
    ratio = {n: pair.snr_squared_u(5, n) / pair.snr_squared_u(11, n) for n in (1000, 10**9)}
    assert ratio[10**9] == pytest.approx(decay, rel=1e-3)
    assert ratio[1000] > 10 * decay


def test_the_exact_signal_to_noise_ratio_oscillates_with_parity() -> None:
    pair = GaussianPair(1, 0.1, 1.2)
    over_law = [pair.snr_squared_z(q) / theory.corrected_law(q) for q in range(3, 13)]
    odd, even = over_law[::2], over_law[1::2]
    assert max(odd) / min(odd) < 1.1
    assert max(even) < min(odd) / 2


@pytest.mark.parametrize("law", [theory.printed_law, theory.corrected_law])
@pytest.mark.parametrize("order", [-1, 2.0, True, None])
def test_orders_are_checked_by_both_laws(law: Callable[..., float], order: Any) -> None:
    with pytest.raises(InputError, match="`order` must be an integer >= 0"):
        law(order)
