"""What single precision, cancellation and lost digits do is rounding, and hides no difference."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.target import Target
from tests.workflows.models import MODELS, Array, gradient, normal, target
from tests.workflows.test_same_target_ports import schools, wide_simplex


def test_scores_in_single_precision_may_be_off_smoothly() -> None:
    """Constants in single precision give a difference that is smooth."""
    off = np.float32(1.0 + 2.0**-21)
    draws = np.random.default_rng(0).standard_normal((50, 2))
    found = ps.same_target(lambda x: -x, lambda x: -x.astype(np.float32) * off, draws=draws)
    assert found.same
    assert found.precision == "single"


@pytest.mark.parametrize(
    ("model", "spread", "seed"), [("hierarchical", 0.9, 4), ("normal", 0.6, 13)]
)
def test_single_precision_that_was_cast_to_double(model: str, spread: float, seed: int) -> None:
    """Digits do not tell, and one draw far out has most of the rounding."""
    density, names, centre, _ = MODELS[model]
    noise = np.random.default_rng(seed).standard_normal((60, len(names)))

    def cast(x: Array) -> Array:
        return gradient(density, x, single=True) + 1e-15 * x

    found = ps.same_target(target(model), cast, draws=np.array(centre) + spread * noise)
    assert found.same, str(found)
    assert found.precision == "single"


def in_single(own: Target) -> Target:
    """The target as JAX computes it by default: all that comes in or goes out has seven digits."""

    def rounded(values: Any) -> Any:
        return np.asarray(values, np.float32)

    def single(rows: Array) -> Array:
        return rounded(rows).astype(np.float64)

    transform = own.transform
    assert transform is not None
    return replace(
        own,
        density=lambda x: rounded(own.log_density(single(x))),
        density_and_score=lambda x: tuple(map(rounded, own.log_density_and_score(single(x)))),
        transform=lambda x: {key: rounded(one) for key, one in transform(single(x)).items()},
    )


@pytest.mark.parametrize("which", ["a", "b", "both"])
@pytest.mark.parametrize("name", ["hierarchical", "simplex"])
def test_transforms_in_single_precision_are_mapped_numerically(name: str, which: str) -> None:
    first, second, draws = (
        (schools(True), schools(False), MODELS["hierarchical"].draws())
        if name == "hierarchical"
        else wide_simplex("stick", "ratios")()
    )
    pair = (
        first if which == "b" else in_single(first),
        second if which == "a" else in_single(second),
    )
    found = ps.same_target(*pair, draws=draws)
    assert found.same, str(found)
    assert found.precision == "single"
    assert found.rounding < 1e-3


def test_a_jacobian_is_missed_across_parametrisations_in_single_precision() -> None:
    pair = in_single(schools(True)), in_single(schools(False, jacobian=0.0))
    (row,) = ps.same_target(*pair, draws=MODELS["hierarchical"].draws())
    assert (row.parameter, row.pattern) == ("tau", "jacobian")


@pytest.mark.parametrize("count", [1000, 10_000])
def test_a_jacobian_beside_many_observations_in_single_precision(count: int) -> None:
    """Rounding of the data's terms is up to 1 % of the Jacobian, which is named still."""
    data = np.random.default_rng(3).normal(50.0, 1.0, count)

    def score(x: Array, jacobian: float, kind: Any) -> Array:
        x = x.astype(kind)
        z = (data.astype(kind) - x[:, :1]) / np.exp(x[:, 1:])
        first = z.sum(axis=1) / np.exp(x[:, 1]) - x[:, 0]
        return np.column_stack([first, (z**2).sum(axis=1) - kind(count) + kind(jacobian)])

    noise = np.random.default_rng(4).standard_normal((30, 2)) / np.sqrt([count, 2.0 * count])
    draws = np.array([data.mean(), np.log(data.std())]) + noise
    for jacobian, expected in ((1.0, []), (0.0, [("x[1]", "jacobian")])):
        found = ps.same_target(
            lambda x: score(x, 1.0, np.float64),
            lambda x, own=jacobian: score(x, own, np.float32),
            draws=draws,
        )
        assert [(row.parameter, row.pattern) for row in found] == expected


def test_a_score_that_cancels_to_zero_is_zero() -> None:
    """Nothing but rounding is left of the second score, which jumps."""
    draws = np.random.default_rng(0).standard_normal((100, 2))

    def zero(x: Array) -> Array:
        return np.column_stack([-x[:, 0], np.zeros(len(x))])

    def cancelled(x: Array) -> Array:
        return np.column_stack([-x[:, 0], (x[:, 1] + 0.1) - x[:, 1] - 0.1])

    assert cancelled(draws)[:, 1].any()
    found = ps.same_target(zero, cancelled, draws=draws)
    assert found.same
    assert found.precision == "double"
    assert found.rounding < 1e-15
    assert ps.same_target(ps.Sample(draws, cancelled(draws)), zero).same


def test_stored_draws_may_have_lost_digits() -> None:
    """Scores are those of draws in double precision, which were then stored in single precision."""
    draws = MODELS["normal"].draws()
    stored = ps.Sample(draws.astype(np.float32), gradient(normal, draws))
    found = ps.same_target(stored, target("normal"))
    assert found.same
    assert found.precision == "single"
    (row,) = ps.same_target(stored, target("normal", prior_sd=3.0))
    assert row.pattern == "prior scale"
