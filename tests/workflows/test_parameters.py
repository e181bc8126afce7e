"""Which coordinate is which, and densities that are carried with their Jacobian."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps
from polystein.data.target import Target
from polystein.workflows.parameters import parameter_map, places_of
from tests.workflows.test_transforms import ratios, stick

Array = NDArray[np.float64]
ROWS = np.random.default_rng(0).standard_normal((30, 4))


def flat(
    names: tuple[str, ...], transform: Callable[[Array], dict[str, Any]] | None = None
) -> Target:
    """A target whose density is of no importance."""
    return Target(len(names), lambda x: np.zeros(len(x)), None, names, transform)


def test_stan_counts_from_one_and_the_first_index_fastest() -> None:
    stan = ("m[1, 1]", "m[2, 1]", "m[1, 2]", "m[2, 2]")
    own = ("m[0, 0]", "m[0, 1]", "m[1, 0]", "m[1, 1]")
    found = parameter_map(flat(stan), flat(own), ROWS)
    assert found.order.tolist() == [0, 2, 1, 3]
    np.testing.assert_array_equal(found.carry(ROWS).rows, ROWS[:, [0, 2, 1, 3]])


def test_more_than_nine_indices_are_numbers() -> None:
    names = [f"x[{place}]" for place in reversed(range(11))]
    assert places_of(names) == {"x": list(reversed(range(11)))}


def test_numbers_that_do_not_count_are_labels() -> None:
    """The years of one model are positions in the other."""
    assert places_of(("x[2001]", "x[1999]")) == {"x": [0, 1]}
    found = parameter_map(
        flat(("x[2001]", "x[1999]", "y[7]", "y[9]")), flat(("y[0]", "y[1]", "x[0]", "x[1]")), ROWS
    )
    assert found.order.tolist() == [2, 3, 0, 1]


def test_labels_are_matched_by_what_they_say() -> None:
    first, second = ("x[b]", "x[a]", "tau_log__", "y"), ("tau", "x[a]", "x[b]", "y")
    found = parameter_map(flat(first), flat(second), ROWS)
    assert found.order.tolist() == [2, 1, 0, 3]


def simplex(function: Callable[[Array], Array], last: bool) -> Target:
    names = ("w[0]", "w[1]", "mu", "sigma") if last else ("mu", "w[0]", "w[1]", "sigma")
    places = {"mu": names.index("mu"), "w": names.index("w[0]")}

    def transform(x: Array) -> dict[str, Any]:
        w = function(x[:, places["w"] : places["w"] + 2])
        return {"mu": x[:, places["mu"]], "w": w, "sigma": np.exp(x[:, 3])}

    return flat(names, transform)


def log_p(rows: Array) -> Array:
    """A density in the coordinates of the other target."""
    found: Array = -0.5 * (rows**2).sum(axis=1) + np.sin(rows[:, 1]) * rows[:, 2]
    return found


def score(rows: Array) -> Array:
    found = -rows.copy()
    found[:, 1] += np.cos(rows[:, 1]) * rows[:, 2]
    found[:, 2] += np.sin(rows[:, 1])
    return found


def test_a_simplex_is_carried_with_its_jacobian() -> None:
    mapping = parameter_map(simplex(stick, True), simplex(ratios, False), ROWS)
    assert mapping.words == (
        "coordinates come in another order",
        "`w` is mapped numerically, since the transforms differ",
    )
    carried = mapping.carry(ROWS)

    def density(rows: Array) -> Array:
        moved = mapping.carry(rows)
        return log_p(moved.rows) + moved.log_jacobian

    step = 1e-4
    for column in range(4):
        move = np.zeros(4)
        move[column] = step
        slope = (density(ROWS + move) - density(ROWS - move)) / (2.0 * step)
        np.testing.assert_allclose(carried.scores(score(carried.rows))[:, column], slope, atol=1e-6)
    # By hand: log-ratios to the last of the three, and the ratio of the two Jacobians.
    w = stick(ROWS[:, :2])
    np.testing.assert_allclose(carried.rows[:, 1:3], np.log(w[:, :2] / w[:, 2:]), atol=1e-10)
    inner = np.log(w).sum(axis=1)
    outer = np.log(w[:, 0] * (1.0 - w[:, 0]) * w[:, 1] * w[:, 2] / (1.0 - w[:, 0]))
    np.testing.assert_allclose(carried.log_jacobian, outer - inner, atol=1e-9)


def test_bounds_that_depend_on_others_are_mapped_together() -> None:
    """x in (0, tau), where tau is the exponential of one and the softplus of the other."""

    def own(x: Array) -> dict[str, Any]:
        tau = np.exp(x[:, 0])
        return {"tau": tau, "x": tau / (1.0 + np.exp(-x[:, 1]))}

    def other(x: Array) -> dict[str, Any]:
        tau = np.log1p(np.exp(x[:, 0]))
        return {"tau": tau, "x": tau * np.exp(-np.exp(-x[:, 1]))}

    rows = ROWS[:, :2]
    mapping = parameter_map(flat(("tau", "x"), own), flat(("tau", "x"), other), rows)
    assert mapping.words == ("another parametrisation, mapped numerically through `tau`, `x`",)
    carried = mapping.carry(rows)
    for name, values in own(rows).items():
        np.testing.assert_allclose(other(carried.rows)[name], values, rtol=1e-10)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            flat(("a", "b", "c", "d"), lambda x: {"a": np.exp(x[:, 0]), "b": x[:, 1]}),
            flat(("a", "b", "c", "e"), lambda x: {"a": np.exp(x[:, 0]), "b": x[:, 1]}),
            "`d` is in one of them alone, or has another size in each",
        ),
        (
            flat(("w[0]", "w[1]", "c", "d"), lambda x: {"w": stick(x[:, :2])}),
            flat(("w[0]", "w[1]", "c", "d"), lambda x: {"w": x[:, :2]}),
            "`w` has another size in each",
        ),
    ],
)
def test_what_cannot_be_mapped_is_named(first: Target, second: Target, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        parameter_map(first, second, ROWS)


def test_large_blocks_without_formulas_are_refused() -> None:
    names = tuple(f"x[{place}]" for place in range(30))

    def cubed(x: Array) -> dict[str, Any]:
        return {"x": x**3 + x}

    rows = np.random.default_rng(1).standard_normal((30, 30))
    with pytest.raises(ps.InputError, match="at most 24 coordinates; got 30"):
        parameter_map(flat(names, cubed), flat(names, lambda x: {"x": x}), rows)


@pytest.mark.parametrize("other", [lambda x: np.exp(x[:, 0]), lambda x: np.tanh(x[:, 0] ** 3)])
def test_values_that_the_other_transform_does_not_reach(other: Any) -> None:
    """exp has no negative values, and tanh none beyond 1; one has a formula and one has not."""
    own = flat(("a",), lambda x: {"a": x[:, 0]})
    rows = np.linspace(-1.53, 0.9, 49)[:, None]
    mapping = parameter_map(own, flat(("a",), lambda x: {"a": other(x)}), rows)
    with np.errstate(all="ignore"):
        carried = mapping.carry(rows)
    inside = rows[:, 0] > (0.0 if mapping.formulas else -1.0)
    assert not carried.reached[~inside].any()
    assert carried.reached[inside].mean() > 0.9
    np.testing.assert_array_equal(np.isfinite(carried.log_jacobian), carried.reached[:, 0])
    np.testing.assert_allclose(other(carried.rows)[carried.reached[:, 0]], rows[carried.reached])
