"""Right ports of five models are the same: other orders, transforms, constants, precisions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, ndtr

import polystein as ps
from polystein.data.target import Target
from polystein.workflows.parameters import parameter_map
from polystein.workflows.two_targets import Evaluator, Side
from tests.workflows.models import (
    MODELS,
    OUTCOMES,
    PREDICTORS,
    Array,
    gradient,
    hierarchical,
    log_sigmoid,
    normal,
    target,
)
from tests.workflows.test_transforms import ratios, stick

# Each port is a pair of targets, and draws in the coordinates of the first.


def reordered() -> tuple[Any, Any, Array]:
    first = target("hierarchical")
    order = np.array([4, 3, 7, 0, 2, 6, 1, 5])

    def density(rows: Array) -> Array:
        back = np.empty_like(rows)
        back[:, order] = rows
        return hierarchical(back)

    assert first.names is not None
    names = tuple(first.names[place] for place in order)
    second = Target.of_functions(8, density, lambda x: gradient(density, x), names)
    return first, second, MODELS["hierarchical"].draws()


def with_transform(name: str, names: tuple[str, ...], transform: Any, **edits: Any) -> Target:
    return replace(target(name, **edits), names=names, transform=transform)


def exp_scale() -> Target:
    return with_transform(
        "normal", ("mu", "sigma"), lambda x: {"mu": x[:, 0], "sigma": np.exp(x[:, 1])}
    )


def softplus_density(x: Array, jacobian: bool = True) -> Array:
    """The normal model in (softplus^-1 sigma, mu)."""
    sigma = np.log(1.0 + np.exp(x[:, 0]))
    found = normal(np.column_stack([x[:, 1], np.log(sigma)]), jacobian=0.0)
    return found - np.log(1.0 + np.exp(-x[:, 0])) if jacobian else found


def softplus_scale(jacobian: bool = True) -> Target:
    def density(x: Array) -> Array:
        return softplus_density(x, jacobian)

    return Target.of_functions(
        2,
        density,
        lambda x: gradient(density, x),
        ("sigma", "mu"),
        lambda x: {"sigma": np.log1p(np.exp(x[:, 0])), "mu": x[:, 1]},
    )


def other_transform() -> tuple[Any, Any, Array]:
    return exp_scale(), softplus_scale(), MODELS["normal"].draws()


def other_constant() -> tuple[Any, Any, Array]:
    first = target("poisson")
    assert first.density is not None
    density = first.density
    second = replace(
        first,
        density=lambda x: density(x) + 123.0,
        density_and_score=lambda x: (density(x) + 123.0, first.log_density_and_score(x)[1]),
    )
    return first, second, MODELS["poisson"].draws()


def single_precision(model: str) -> Callable[[], tuple[Any, Any, Array]]:
    return lambda: (
        target(model),
        lambda x: gradient(MODELS[model].log_density, x, single=True),
        MODELS[model].draws(),
    )


def other_summation() -> tuple[Any, Any, Array]:
    """20,000 observations, added up forwards and backwards, one after the other."""
    rng = np.random.default_rng(3)
    data = rng.normal(50.0, 3.0, 20_000)

    def score(rows: Array, data: Array) -> Array:
        off = data - rows[:, :1]
        sums = (np.cumsum(one, axis=1)[:, -1] for one in (off, off**2))
        variance = np.exp(2.0 * rows[:, 1])
        first, second = (one / variance for one in sums)
        return np.column_stack([first, second - len(data)])

    draws = np.array([50.0, np.log(3.0)]) + rng.standard_normal((25, 2)) * [0.02, 0.006]
    return (lambda x: score(x, data)), (lambda x: score(x, data[::-1])), draws


def names_of_stan_and_pymc() -> tuple[Any, Any, Array]:
    first = replace(target("logistic"), names=("alpha", "beta[1]", "beta[2]", "beta[3]"))

    def density(rows: Array) -> Array:
        return MODELS["logistic"].log_density(rows[:, [3, 0, 1, 2]])

    names = ("beta_identity__[x]", "beta_identity__[y]", "beta_identity__[z]", "alpha")
    second = Target.of_functions(4, density, lambda x: gradient(density, x), names)
    return first, second, MODELS["logistic"].draws()


def bounded() -> tuple[Any, Any, Array]:
    """A probability in (0, 1), by logit and by the normal distribution function."""

    def own(x: Array) -> Array:
        return MODELS["beta-binomial"].log_density(x)

    def probit(x: Any) -> Any:
        return {"p": ndtr(x)}

    def density(x: Array) -> Array:
        p = ndtr(x)
        return (
            own(
                np.log(p / (1.0 - p)),
            )
            - np.log(p * (1.0 - p)).sum(axis=1)
            - 0.5 * (x**2).sum(axis=1)
        )

    def score(x: Array) -> Array:
        p, slope = ndtr(x), np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)
        inner = gradient(own, np.log(p / (1.0 - p)))
        return (inner - (1.0 - 2.0 * p)) * slope / (p * (1.0 - p)) - x

    names = ("p[0]", "p[1]", "p[2]")
    first = with_transform("beta-binomial", names, lambda x: {"p": expit(x)})
    return (
        first,
        Target.of_functions(3, density, score, names, probit),
        MODELS["beta-binomial"].draws(),
    )


def schools(centred: bool, **edits: Any) -> Target:
    def transform(x: Array) -> dict[str, Array]:
        scales = {"mu": x[:, 0], "tau": np.exp(x[:, 1]), "sigma": np.exp(x[:, 2])}
        theta = x[:, 3:] if centred else x[:, :1] + np.exp(x[:, 1:2]) * x[:, 3:]
        return {**scales, "theta": theta}

    own = "theta" if centred else "z"
    names = ("mu", "tau", "sigma", *(f"{own}[{place}]" for place in range(5)))
    return with_transform("hierarchical", names, transform, centred=centred, **edits)


def stored_scores() -> tuple[Any, Any, Array]:
    draws = MODELS["logistic"].draws()
    scores = gradient(MODELS["logistic"].log_density, draws)
    return ps.Sample(draws, scores), target("logistic"), draws


def by_matrix() -> tuple[Any, Any, Array]:
    """The logistic regression, written with matrices by hand."""
    design = np.column_stack([np.ones(40), PREDICTORS])

    def score(x: Array) -> Array:
        return (OUTCOMES - expit(x @ design.T)) @ design - x / np.array([4.0, 1.0, 1.0, 1.0])

    return target("logistic"), score, MODELS["logistic"].draws()


def simplex(name: str) -> Target:
    """A Dirichlet of (2, 3, 4) in the coordinates of a stick, or in log-ratios."""
    shapes = np.array([2.0, 3.0, 4.0])

    def sticks(x: Array) -> Array:
        return np.column_stack([x[:, 0] - np.log(2.0), x[:, 1]])

    def density(x: Array) -> Array:
        if name == "ratios":
            top = np.column_stack([x, np.zeros(len(x))])
            return (shapes * (top - np.log(np.exp(top).sum(axis=1))[:, None])).sum(axis=1)
        yes, no = log_sigmoid(sticks(x)), log_sigmoid(-sticks(x))
        return (shapes[:2] * yes).sum(axis=1) + 7.0 * no[:, 0] + 4.0 * no[:, 1]

    function = ratios if name == "ratios" else stick
    return Target.of_functions(
        2, density, lambda x: gradient(density, x), ("w[0]", "w[1]"), lambda x: {"w": function(x)}
    )


def wide_simplex(
    first: str, second: str, spread: float = 2.0
) -> Callable[[], tuple[Any, Any, Array]]:
    draws = spread * np.random.default_rng(4).standard_normal((60, 2))
    return lambda: (simplex(first), simplex(second), draws)


PORTS: dict[str, Callable[[], tuple[Any, Any, Array]]] = {
    "reordered coordinates": reordered,
    "another transform": other_transform,
    "another constant": other_constant,
    **{f"single precision, {model}": single_precision(model) for model in MODELS},
    "another order of summation": other_summation,
    "names of Stan and PyMC": names_of_stan_and_pymc,
    "logit and probit": bounded,
    "centred and not": lambda: (schools(True), schools(False), MODELS["hierarchical"].draws()),
    "not centred and centred": lambda: (
        schools(False),
        schools(True),
        MODELS["hierarchical"].draws(),
    ),
    "a simplex": wide_simplex("stick", "ratios"),
    "a simplex, the other way round": wide_simplex("ratios", "stick"),
    "corners of a simplex": wide_simplex("stick", "ratios", 6.0),
    "corners of a simplex, too": wide_simplex("ratios", "stick", 5.0),
    "stored scores": stored_scores,
    "by hand": by_matrix,
    "a log-density alone": lambda: (
        target("normal"),
        (normal, None),
        MODELS["normal"].draws(),
    ),
}


@pytest.mark.parametrize("port", PORTS)
def test_right_ports_are_the_same(port: str) -> None:
    first, second, draws = PORTS[port]()
    found = ps.same_target(first, second, draws=None if isinstance(first, ps.Sample) else draws)
    assert found.same, str(found)
    assert found.differences == ()
    expected = "single" if "single" in port else "differences" if "alone" in port else "double"
    assert found.precision == expected
    assert found.rounding < (1e-6 if expected == "single" or "corners" in port else 1e-9)
    if port == "another constant":
        assert found.constant == pytest.approx(123.0)


def test_the_mapping_is_told() -> None:
    found = ps.same_target(exp_scale(), softplus_scale(), draws=MODELS["normal"].draws())
    assert found.mapping == (
        "coordinates come in another order",
        "`sigma` is mapped by formulas, from its transforms exp and softplus",
    )
    far = ps.same_target(schools(True), schools(False), draws=MODELS["hierarchical"].draws())
    assert far.mapping == (
        "another parametrisation, mapped numerically through `mu`, `tau`, `sigma`, `theta`",
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_a_jacobian_is_missed_between_different_transforms(swapped: bool) -> None:
    pair = exp_scale(), softplus_scale(jacobian=False)
    draws = MODELS["normal"].draws()
    if swapped:
        pair = pair[::-1]
        draws = np.column_stack([np.log(np.expm1(np.exp(draws[:, 1]))), draws[:, 0]])
    (row,) = ps.same_target(*pair, draws=draws).differences
    own = "a" if swapped else "b"
    assert (row.parameter, row.pattern) == ("sigma", "jacobian")
    assert row.text == f"the Jacobian of the transform of {own} is missing in {own}"


def test_a_softplus_without_its_jacobian() -> None:
    """Both have the same transform, and one forgot it."""
    draws = np.array([0.2, 1.3]) + 0.3 * np.random.default_rng(1).standard_normal((60, 2))
    (row,) = ps.same_target(softplus_scale(), softplus_scale(jacobian=False), draws=draws)
    assert (row.parameter, row.pattern) == ("sigma", "jacobian")
    assert row.text == (
        "the difference is the Jacobian of a softplus transform: a has it and b has not"
    )


def test_an_edit_is_named_across_parametrisations() -> None:
    draws = MODELS["hierarchical"].draws()
    (row,) = ps.same_target(schools(True), schools(False, jacobian=0.0), draws=draws).differences
    assert (row.parameter, row.pattern) == ("tau", "jacobian")


def test_differences_of_a_large_log_density_have_lost_digits() -> None:
    draws = MODELS["normal"].draws(60)
    stored = ps.Sample(draws, gradient(normal, draws))
    found = ps.same_target(stored, (lambda x: normal(x) + 1e9, None))
    assert found.same, str(found)
    assert found.precision == "differences"


def test_the_error_of_numerical_derivatives_is_known() -> None:
    """Log-ratios of a stick by formula: what the estimate says covers what is off."""
    draws = 2.0 * np.random.default_rng(4).standard_normal((60, 2))
    stick_target, other = simplex("stick"), simplex("ratios")
    mapping = parameter_map(stick_target, other, draws)
    at = Evaluator(Side("a", stick_target, None), Side("b", other, None), mapping, swapped=False)
    here = at(draws)
    exact = stick_target.log_density_and_score(draws)[1]
    error = at.errors(draws, draws.std(axis=0), here)[0]
    assert (np.abs(here.b - exact) <= error + 1e-12).all()
    assert error.max() < 1e-6


@pytest.mark.parametrize("spread", [2.0, 12.0])
def test_stored_scores_are_mapped_numerically(spread: float) -> None:
    """Some draws are too near to a corner, and are left out with their scores."""
    own = simplex("stick")
    draws = spread * np.random.default_rng(4).standard_normal((120, 2))
    stored = ps.Sample(
        draws,
        own.log_density_and_score(draws)[1],
        names=own.names,
        facts={"transform": own.transform},
    )
    for pair in ((stored, simplex("ratios")), (simplex("ratios"), stored)):
        found = ps.same_target(*pair)
        assert found.same, str(found)
        assert 20 <= found.draws <= 40
        assert (found.draws == 40) == (spread == 2.0)
