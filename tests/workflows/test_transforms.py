"""Formulas of transforms, their inverses and Jacobians, against plain numerical derivatives."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from polystein.workflows.transforms import (
    FAMILIES,
    Formula,
    carried_by_formulas,
    jacobian,
    log_volume_slopes,
    recognised,
    solved,
)

X = np.linspace(-2.5, 2.0, 41)
FORMULAS = [
    Formula("identity"),
    Formula("identity", 3.0, -0.25),
    Formula("exp"),
    Formula("exp", 2.5),
    Formula("exp", 7.0, -1.0),
    Formula("logit"),
    Formula("logit", -1.0, 2.0),
    Formula("softplus"),
    Formula("softplus", 1e-3, 10.0),
]


def parameter(formula: Formula, x: Any) -> Any:
    plain = {
        "identity": x,
        "exp": np.exp(x),
        "logit": 1.0 / (1.0 + np.exp(-x)),
        "softplus": np.log(1.0 + np.exp(x)),
    }
    return formula.shift + formula.factor * plain[formula.family]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_formulas_are_recognised(formula: Formula, kind: Any) -> None:
    values = parameter(formula, X).astype(kind).astype(np.float64)
    found = recognised(X, values)
    assert found is not None
    assert found.family == formula.family
    assert found[1:] == pytest.approx(formula[1:], rel=1e-5, abs=1e-5)
    if kind is np.float64:
        assert found == formula


@pytest.mark.parametrize("values", [X**3, np.tanh(X) ** 2, np.ones(41), np.full(41, np.nan)])
def test_other_transforms_are_not(values: Any) -> None:
    assert recognised(X, values) is None


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_of_families(name: str) -> None:
    family, step = FAMILIES[name], 1e-5
    slope = (family.value(X + step) - family.value(X - step)) / (2.0 * step)
    np.testing.assert_allclose(np.exp(family.log_slope(X)), slope, rtol=1e-8)
    second = (family.log_slope(X + step) - family.log_slope(X - step)) / (2.0 * step)
    np.testing.assert_allclose(family.slope_of_log_slope(X), second, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(family.inverse(family.value(X)), X, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (Formula("exp"), Formula("softplus")),
        (Formula("softplus"), Formula("exp")),
        (Formula("exp"), Formula("exp", 0.0, 4.0)),
        (Formula("logit"), Formula("logit", 1.0, -1.0)),
        (Formula("logit", 0.0, 3.0), Formula("exp")),
    ],
)
def test_a_coordinate_is_carried_with_its_jacobian(own: Formula, other: Formula) -> None:
    y, slope, log_slope, mine, theirs, condition = carried_by_formulas(X, own, other)
    np.testing.assert_allclose(parameter(other, y), parameter(own, X), rtol=1e-12)
    step = 1e-5
    ends = [carried_by_formulas(X + side, own, other) for side in (step, -step)]
    np.testing.assert_allclose(slope, (ends[0][0] - ends[1][0]) / (2.0 * step), rtol=1e-7)
    np.testing.assert_allclose(log_slope, np.log(np.abs(slope)), atol=1e-12)
    change = (ends[0][2] - ends[1][2]) / (2.0 * step)
    np.testing.assert_allclose(mine - theirs, change, atol=1e-8)
    off = parameter(own, X) - other.shift
    by_hand = (abs(own.shift - other.shift) + np.abs(off - own.shift + other.shift)) / np.abs(
        (parameter(other, y + step) - parameter(other, y - step)) / (2.0 * step)
    )
    np.testing.assert_allclose(condition, by_hand, rtol=1e-7)


def stick(x: Any) -> Any:
    """Stan's simplex of three: two coordinates."""
    first = expit(x[:, 0] - np.log(2.0))
    second = (1.0 - first) * expit(x[:, 1])
    return np.column_stack([first, second, 1.0 - first - second])


def ratios(x: Any) -> Any:
    """A softmax whose last entry is 0."""
    top = np.exp(np.column_stack([x, np.zeros(len(x))]))
    return top / top.sum(axis=1)[:, None]


ROWS = np.random.default_rng(0).standard_normal((20, 2))


def test_numerical_derivatives_of_a_simplex() -> None:
    p = ratios(ROWS)
    exact = np.einsum("ni,ij->nij", p, np.eye(3)) - np.einsum("ni,nj->nij", p, p)
    found = jacobian(ratios, ROWS, [0, 1], 1e-3)
    np.testing.assert_allclose(found, exact[:, :, :2], atol=1e-11)
    # The log-Jacobian is the sum of log p, whose gradient is 1 - 3 p.
    slopes = log_volume_slopes(ratios, ROWS, [0, 1], (1e-3, 1e-2))
    np.testing.assert_allclose(slopes, 1.0 - 3.0 * p[:, :2], atol=1e-7)


def test_coordinates_of_a_simplex_are_solved_for() -> None:
    found, left = solved(stick, np.zeros((20, 2)), [0, 1], ratios(ROWS))
    assert left.max() < 1e-12
    np.testing.assert_allclose(stick(found), ratios(ROWS), atol=1e-13)


def test_what_cannot_be_reached_is_left() -> None:
    wanted = np.full((5, 1), -1.0)
    _, left = solved(np.exp, np.zeros((5, 1)), [0], wanted)
    assert left.max() > 0.5


@pytest.mark.parametrize("spread", [3.0, 5.0])
def test_corners_of_a_simplex_are_reached_from_afar(spread: float) -> None:
    rows = spread * np.random.default_rng(1).standard_normal((60, 2))
    found, left = solved(stick, np.zeros((60, 2)), [0, 1], ratios(rows))
    arrived = left.max(axis=1) <= 1e-9
    assert arrived.mean() > 0.9
    np.testing.assert_allclose(stick(found[arrived]), ratios(rows)[arrived], atol=1e-9)
