"""Values against the moments of arrays, gradients against differences."""

import numpy as np
import pytest

from polystein.explain.functionals import FUNCTIONALS, What, difference, has_value
from tests.reference import corrections as literal

Y = np.random.default_rng(0).gamma(3.0, size=400) - 2.5
Z = 0.5 * Y + np.random.default_rng(1).standard_normal(400)
POWERS = np.array([np.mean(Y**k) for k in (1, 2, 3, 4)])
PAIR = np.array([Y.mean(), Z.mean(), np.mean(Y**2), np.mean(Z**2), np.mean(Y * Z)])
MOMENTS: dict[What, np.ndarray] = {
    "mean": POWERS,
    "sd": POWERS,
    "skew": POWERS,
    "tail": POWERS,
    "correlation": PAIR,
}


def test_values_are_those_of_the_draws() -> None:
    values = {what: FUNCTIONALS[what](moments).value for what, moments in MOMENTS.items()}
    assert values["mean"] == pytest.approx(Y.mean())
    assert values["sd"] == pytest.approx(np.log(Y.std()))
    assert values["skew"] == pytest.approx(literal.skewness(Y))
    assert values["tail"] == pytest.approx(literal.kurtosis(Y))
    assert values["correlation"] == pytest.approx(literal.fisher_z(Y, Z))


@pytest.mark.parametrize("what", MOMENTS)
def test_gradients_are_differences(what: What) -> None:
    moments, functional = MOMENTS[what], FUNCTIONALS[what]
    for place in range(len(moments)):
        step = np.zeros(len(moments))
        step[place] = 1e-6
        slope = (functional(moments + step).value - functional(moments - step).value) / 2e-6
        assert functional(moments).gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("what", MOMENTS)
def test_gradients_of_the_difference(what: What) -> None:
    plain = MOMENTS[what]
    corrected = plain * 0.98
    found = difference(what, plain, corrected)
    for place in range(len(plain)):
        step = np.zeros(len(plain))
        step[place] = 1e-6
        by_plain = difference(what, plain + step, corrected).value
        by_plain -= difference(what, plain - step, corrected).value
        assert found.plain[place] == pytest.approx(by_plain / 2e-6, rel=1e-5, abs=1e-7)
        by_other = difference(what, plain, corrected + step).value
        by_other -= difference(what, plain, corrected - step).value
        assert found.corrected[place] == pytest.approx(by_other / 2e-6, rel=1e-5, abs=1e-7)


def test_a_mean_is_in_standard_deviations_of_the_target() -> None:
    assert difference("mean", np.array([0.6, 5.0]), np.array([0.2, 4.04])).value == pytest.approx(
        0.2
    )
    assert difference("mean", np.array([0.6, 4.36]), np.array([0.2, 0.0])).value == pytest.approx(
        0.2
    )


def test_moments_of_no_distribution_are_noticed() -> None:
    assert not has_value("sd", np.array([1.0, 0.5]))
    assert not has_value("correlation", np.array([0.0, 0.0, 1.0, 1.0, 1.1]))
    assert has_value("mean", np.array([1.0, 0.5]))
