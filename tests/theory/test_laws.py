"""How the signal-to-noise ratio falls with the order, against the exact ratios."""

from collections.abc import Callable
from typing import Any

import pytest

from polystein import theory
from polystein.errors import InputError
from polystein.theory import GaussianPair


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
