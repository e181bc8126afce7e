"""What same_target takes, and the errors of what it does not take."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.target import Target
from tests.workflows.models import MODELS, Array, gradient, normal, target

DRAWS = MODELS["normal"].draws(60)


def score(x: Array) -> Array:
    return gradient(normal, x)


def spoilt(x: Array) -> Array:
    found = score(x)
    found[x[:, 0] > 1.6, 1] = np.nan
    return found


def sample(**facts: Any) -> ps.Sample:
    return ps.Sample(DRAWS, score, names=["mu", "log_sigma"], facts=facts or None)


@pytest.mark.parametrize(
    "model",
    [
        target("normal"),
        score,
        (normal, score),
        (normal, None),
        (None, score),
        sample(),
        sample(log_density=normal),
    ],
    ids=["target", "score", "pair", "density", "half a pair", "stored scores", "sample"],
)
@pytest.mark.parametrize("first", [True, False])
def test_models_of_every_kind(model: Any, first: bool) -> None:
    pair = (model, target("normal")) if first else (target("normal"), model)
    draws = None if isinstance(model, ps.Sample) else DRAWS
    assert ps.same_target(*pair, draws=draws).same
    wrong = target("normal", prior_sd=3.0)
    pair = (model, wrong) if first else (wrong, model)
    (row,) = ps.same_target(*pair, draws=draws).differences
    assert row.pattern == "prior scale"
    assert ("less" if first else "more") + " in b" in row.text


def test_chains_and_samples_of_others_as_draws() -> None:
    chains = DRAWS.reshape(3, 20, 2)
    other = ps.Sample(chains[..., ::-1], chains, names=["log_sigma", "mu"])
    for draws in (chains, other, chains.astype(np.float32)):
        found = ps.same_target(target("normal"), target("normal", jacobian=0.0), draws=draws)
        assert [row.parameter for row in found] == ["log_sigma"]
        assert found.draws == 60


def test_two_samples_with_stored_scores() -> None:
    edited = gradient(normal, DRAWS) + np.array([0.0, 1.0])
    (row,) = ps.same_target(sample(), ps.Sample(DRAWS, edited)).differences
    assert (row.parameter, row.pattern) == ("log_sigma", "jacobian")


def test_stored_scores_far_from_zero_are_rounded() -> None:
    """A draw at 1000 sds from 0 has a score that lost three digits."""
    draws = 1000.0 + DRAWS
    stored = ps.Sample(draws, draws - 1000.0)
    assert ps.same_target(stored, lambda x: x - 0.1 - 1000.0 + 0.1).same


def test_many_draws_are_thinned() -> None:
    draws = MODELS["normal"].draws(5000)
    assert ps.same_target(score, score, draws=draws).draws == 400


def test_inputs_are_not_changed() -> None:
    draws = DRAWS.copy()

    def greedy(x: Array) -> Array:
        x *= -1.0
        return x

    ps.same_target(greedy, greedy, draws=draws)
    np.testing.assert_array_equal(draws, DRAWS)


def test_renamed_parameters() -> None:
    def values(own: str) -> Any:
        return lambda x: {"mu": x[:, 0], own: np.exp(x[:, 1])}

    first = replace(target("normal"), names=("mu", "sigma"), transform=values("sigma"))
    second = replace(target("normal", jacobian=0.0), names=("m", "s_log__"))
    found = ps.same_target(first, second, draws=DRAWS, rename={"s": "sigma", "m": "mu"})
    assert [row.parameter for row in found] == ["sigma"]
    third = replace(target("normal"), names=("mu", "s"), transform=values("s"))
    assert ps.same_target(first, third, draws=DRAWS, rename={"s": "sigma"}).same
    assert ps.same_target(third, first, draws=DRAWS, rename={"sigma": "s"}).same


def other_names(*names: str) -> Target:
    return replace(target("normal"), names=names)


def scaled(function: Any) -> Target:
    """Another parameter mu of the second coordinate, which is negative at most draws."""
    return replace(
        target("normal"),
        names=("log_sigma", "mu"),
        transform=lambda x: {"log_sigma": x[:, 0], "mu": function(x[:, 1])},
    )


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((score, score), {}, "`draws` must be given"),
        (
            (3, score),
            {"draws": DRAWS},
            "`a` must be a Sample of a fit.*got a int",
        ),
        ((score, DRAWS), {"draws": DRAWS}, "`b` must be a Sample"),
        ((score, (None, None)), {"draws": DRAWS}, "`b` must be a Sample"),
        ((score, int), {"draws": DRAWS}, "`b` must be a Sample"),
        ((score, score), {"draws": DRAWS[:19]}, "at least 20 different rows; got 19"),
        ((score, score), {"draws": np.ones((50, 2))}, "at least 20 different rows; got 1"),
        ((score, score), {"draws": DRAWS[:, 0]}, r"`draws` must have the shape \(n, d\)"),
        ((target("normal"), score), {"draws": DRAWS[:, :1]}, "the 2 coordinates of `a`; got 1"),
        ((score, target("logistic")), {"draws": DRAWS}, "as many coordinates.*got 2 and 4"),
        (
            (target("normal"), target("logistic")),
            {"draws": DRAWS},
            "got 2 and 4; `mu`, `log_sigma`, `alpha`, `beta` in one of them alone",
        ),
        (
            (target("normal"), other_names("mu", "tau")),
            {"draws": DRAWS},
            "`log_sigma` is in one of them alone, and there are no transforms",
        ),
        (
            (score, spoilt),
            {"draws": DRAWS},
            r"`b` must have finite scores at the draws, below 1e\+150; got nan for `x\[1\]` at "
            r"draw \d+, and such ones at \d+ of 60 draws: \d+, ",
        ),
        ((score, lambda x: x[:, :1]), {"draws": DRAWS}, "`b` cannot be evaluated.*of shape"),
        ((lambda x: 1 / 0, score), {"draws": DRAWS}, "`a` cannot be evaluated.*ZeroDivision"),
        ((sample(), score), {"draws": DRAWS[::-1]}, "`a` cannot.*scores at its own draws alone"),
        ((score, sample()), {"draws": DRAWS[1:]}, "`b` cannot.*scores at its own draws alone"),
        ((score, sample()), {"draws": np.tile(DRAWS, (3, 1))}, "`b` must be a sample that keeps"),
        ((score, Target(2, None)), {"draws": DRAWS}, "`b` must know its score or log-density"),
        (
            (scaled(lambda x: x), scaled(lambda x: np.exp(x + 9.0))),
            {"draws": DRAWS},
            "`mu` has values at the draws that the transform of the other target does not reach",
        ),
        (
            (lambda x: -1e200 * x, score),
            {"draws": DRAWS},
            r"`a` must have finite scores at the draws, below 1e\+150; got -",
        ),
        ((score, score), {"draws": 1e160 * DRAWS}, r"`draws` must be below 1e\+150; got 2"),
        (("fit.nc", score), {"draws": DRAWS}, "`a` must be a Sample of a fit.*ps.from_file"),
        ((score, score), {"draws": DRAWS, "rename": 3}, "`rename` must be a mapping"),
        (
            (target("normal"), score),
            {"draws": DRAWS, "rename": {"s": "sigma"}},
            "`rename` must name parameters of `b`, which has no names; got 's'",
        ),
        (
            (score, target("normal")),
            {"draws": DRAWS, "rename": {"mu": "log_sigma"}},
            "`rename` must give each parameter of `b` a name of its own; 'log_sigma' is the name",
        ),
        (
            (score, target("normal")),
            {"draws": DRAWS, "rename": {"tau": "sigma"}},
            r"`rename` must name parameters of `b`, \['log_sigma', 'mu'\]; got 'tau'",
        ),
        (
            (target("normal"), score),
            {"draws": ps.Sample(DRAWS, score, names=["mu", "tau"])},
            "`draws` must have the coordinates of `a`; got none, or another number, for `log_",
        ),
    ],
)
def test_errors(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ps.InputError) as caught:
        ps.same_target(*arguments, **options)
    assert re.search(message, str(caught.value)), str(caught.value)


def test_draws_with_labels_in_another_order() -> None:
    """A label goes to the coordinate that has it, wherever it stands."""
    seen = []

    def density(x: Array) -> Array:
        seen.append(x.copy())
        return normal(x)

    own = Target.of_functions(2, density, score, ("x[a]", "x[b]"))
    given = ps.Sample(DRAWS[:, ::-1], DRAWS, names=["x[b]", "x[a]"])
    assert ps.same_target(own, own, draws=given).same
    np.testing.assert_array_equal(seen[0], DRAWS)


def test_what_a_transform_derives_can_be_renamed() -> None:
    def of_theta(names: tuple[str, str], own: str) -> Target:
        return replace(
            target("normal"),
            names=names,
            transform=lambda x: {names[0]: x[:, 0], own: x[:, 0] + x[:, 1]},
        )

    first, second = of_theta(("mu", "z"), "theta"), of_theta(("mu", "u"), "th")
    found = ps.same_target(first, second, draws=DRAWS, rename={"th": "theta"})
    assert found.same
    assert found.mapping[0].startswith("another parametrisation")


def test_tiny_draws_of_stored_scores_are_told_apart() -> None:
    draws = 1e-10 * DRAWS
    stored = ps.Sample(draws, -1e20 * draws)
    assert ps.same_target(stored, lambda x: -1e20 * x).same
    with pytest.raises(ps.InputError, match="scores at its own draws alone"):
        ps.same_target(stored, lambda x: -1e20 * x, draws=draws[::-1])
