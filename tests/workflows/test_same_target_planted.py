"""Planted edits of two more models: what is named is right, and the rest is not named."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import polystein as ps
from polystein.data.target import Target
from tests.workflows.models import Array, gradient, like, log_sigmoid

_RNG = np.random.default_rng(77)
X = _RNG.standard_normal((30, 2))
Y = 0.5 + X @ [1.0, -0.7] + 0.8 * _RNG.standard_normal(30)
GROUPS = np.repeat(np.arange(6), 3)
TRIALS = _RNG.integers(5, 20, 18).astype(float)
SUCCESSES = _RNG.binomial(TRIALS.astype(int), 0.4).astype(float)
COVARIATE = _RNG.standard_normal(18)
SCALES = {"sd": 1.0, "variance": 0.5, "precision": -0.5}


def regression(
    x: Array,
    kept: Any = slice(None),
    prior: tuple[float, float] = (0.0, 1.5),
    rate: float = 1.0,
    jacobian: float = 1.0,
    noise: str = "sd",
    sign: float = 1.0,
    link: Any = lambda eta: eta,
    likelihood: float = 1.0,
    whole: float = 1.0,
) -> Array:
    """y ~ N(alpha + X beta, sigma), alpha and beta normal, sigma exponential, on the log scale."""
    alpha, beta, t = x[:, 0], x[:, 1:3], x[:, 3]
    centre = link(alpha[:, None] + sign * (beta @ like(X[kept].T, x)))
    log_sd = SCALES[noise] * t
    off = (like(Y[kept], x) - centre) / np.exp(log_sd)[:, None]
    observed = (-0.5 * off**2).sum(axis=1) - off.shape[1] * log_sd
    before = -0.5 * ((alpha - prior[0]) / prior[1]) ** 2 - 0.5 * (beta**2).sum(axis=1)
    return whole * (likelihood * observed + before - rate * np.exp(t) + jacobian * t)


def varying(
    x: Array,
    kept: Any = slice(None),
    prior: tuple[float, float] = (0.0, 1.0),
    gamma: tuple[float, float] = (2.0, 1.5),
    jacobian: float = 1.0,
    scale: str = "sd",
    sign: float = 1.0,
    link: str = "logit",
    centred: bool = True,
    likelihood: float = 1.0,
    whole: float = 1.0,
) -> Array:
    """Successes ~ Binomial(logit = u[group] + slope z), u ~ N(mu, tau), tau gamma."""
    mu, slope, t, u = x[:, 0], x[:, 1], x[:, 2], x[:, 3:]
    log_sd = SCALES[scale] * t
    if centred:
        z = (u - mu[:, None]) / np.exp(log_sd)[:, None]
        groups = (-0.5 * z**2).sum(axis=1) - 6.0 * log_sd
    else:
        groups = (-0.5 * u**2).sum(axis=1)
        u = mu[:, None] + np.exp(log_sd)[:, None] * u
    eta = u[:, GROUPS[kept]] + sign * slope[:, None] * like(COVARIATE[kept], x)
    yes, no = like(SUCCESSES[kept], x), like((TRIALS - SUCCESSES)[kept], x)
    if link == "logit":
        observed = yes * log_sigmoid(eta) + no * log_sigmoid(-eta)
    else:  # complementary log-log
        observed = yes * np.log(1.0 - np.exp(-np.exp(eta))) - no * np.exp(eta)
    before = -0.5 * ((mu - prior[0]) / prior[1]) ** 2 - 0.5 * slope**2
    before = before + (gamma[0] - 1.0) * t - gamma[1] * np.exp(t) + jacobian * t
    return whole * (likelihood * observed.sum(axis=1) + groups + before)


class Model(NamedTuple):
    density: Any
    names: tuple[str, ...]
    centre: tuple[float, ...]


U = tuple(f"u[{group}]" for group in range(6))
SLOPES = ("alpha", "beta[0]", "beta[1]")
MODELS = {
    "regression": Model(regression, (*SLOPES, "log_sigma"), (0.5, 1.0, -0.7, -0.2)),
    "varying": Model(
        varying, ("mu", "slope", "log_tau", *U), (-0.4, 0.1, -0.3, -0.6, -0.1, -0.4, -0.8, -0.2, 0)
    ),
}


def target(model: str, edits: dict[str, Any]) -> Target:
    density, names, _ = MODELS[model]
    edited = partial(density, **edits)
    return Target.of_functions(
        len(names), lambda rows: edited(rows), lambda rows: gradient(edited, rows), names
    )


def found(model: str, edits: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Pattern and words of each parameter that differs."""
    names, centre = MODELS[model][1:]
    noise = np.random.default_rng(5).standard_normal((150, len(names)))
    answer = ps.same_target(
        target(model, {}), target(model, edits), draws=np.array(centre) + 0.3 * noise
    )
    return {row.parameter: (row.pattern, row.text) for row in answer}


def but(count: int, *left_out: int) -> list[int]:
    return [place for place in range(count) if place not in left_out]


ALL, EVERY = MODELS["regression"].names, MODELS["varying"].names
#: Model, edit, parameters, pattern, and what all the words say.
EDITS: list[tuple[str, dict[str, Any], tuple[str, ...], str, str]] = [
    ("regression", {"prior": (0.0, 2.5)}, ("alpha",), "prior scale", "0.284444 less in b"),
    ("regression", {"prior": (1.0, 1.5)}, ("alpha",), "prior location", "+0.444444"),
    ("regression", {"jacobian": 0.0}, ("log_sigma",), "jacobian", "a has it and b has not"),
    ("regression", {"sign": -1.0}, SLOPES[1:], "parametrisation", "minus that of a"),
    ("regression", {"whole": -1.0}, ALL, "sign", "all scores of b are minus"),
    ("regression", {"kept": but(30, 4)}, ALL, "observations", "-0.5501 `alpha` + 1 `beta[0]`"),
    ("regression", {"kept": [*range(30), 4]}, ALL, "observations", "+ 1 `beta[0]`"),
    ("regression", {"kept": but(30, 4, 9)}, ALL, "unrecognised", "several observations"),
    ("regression", {"noise": "variance"}, ALL[3:], "parametrisation", "a variance is for"),
    ("regression", {"noise": "precision"}, ALL[3:], "parametrisation", "a precision is for"),
    ("regression", {"link": np.exp}, ALL, "unrecognised", "another likelihood or link"),
    ("regression", {"link": np.tanh}, ALL, "unrecognised", "another likelihood or link"),
    ("regression", {"likelihood": 0.5}, ALL, "factor", "the likelihood counts 0.5 times"),
    ("regression", {"whole": 0.7}, ALL, "factor", "all scores of b are 0.7 times"),
    ("regression", {"rate": 2.0}, ALL[3:], "prior scale", "1 less of its exponential"),
    ("regression", {"prior": (0.0, 2.5), "kept": but(30, 4)}, ALL, "unrecognised", "edits at once"),
    ("varying", {"prior": (0.0, 2.5)}, ("mu",), "prior scale", "0.84 less in b"),
    ("varying", {"prior": (0.5, 1.0)}, ("mu",), "prior location", "+0.5 everywhere"),
    ("varying", {"jacobian": 0.0}, ("log_tau",), "jacobian", "a has it and b has not"),
    ("varying", {"gamma": (3.0, 1.5)}, ("log_tau",), "jacobian", "the shape of a gamma prior"),
    ("varying", {"gamma": (2.0, 1.0)}, ("log_tau",), "prior scale", "0.5 more of its exponential"),
    ("varying", {"sign": -1.0}, ("slope",), "parametrisation", "minus that of a"),
    ("varying", {"kept": but(18, 4)}, ("slope", "u[1]"), "observations", "0.3061 `slope` + 1 `u["),
    ("varying", {"kept": [*range(18), 4]}, ("slope", "u[1]"), "observations", "0.3061 `slope`"),
    ("varying", {"kept": but(18, 15, 16, 17)}, ("slope", "u[5]"), "observations", "touches"),
    ("varying", {"scale": "variance"}, ("log_tau",), "parametrisation", "a variance is for"),
    ("varying", {"scale": "precision"}, ("log_tau",), "parametrisation", "a precision is for"),
    ("varying", {"centred": False}, U, "parametrisation", "b is not centred"),
    ("varying", {"link": "cloglog"}, ("slope", *U), "unrecognised", "another likelihood or link"),
    ("varying", {"likelihood": 0.5}, ("slope", *U), "factor", "the likelihood counts 0.5 times"),
    ("varying", {"whole": 2.0}, EVERY, "factor", "all scores of b are 2 times"),
]


@pytest.mark.parametrize(("model", "edits", "names", "pattern", "words"), EDITS)
def test_no_edit_has_a_wrong_name(
    model: str, edits: dict[str, Any], names: tuple[str, ...], pattern: str, words: str
) -> None:
    answer = found(model, edits)
    assert {name: one for name, (one, _) in answer.items()} == dict.fromkeys(names, pattern)
    assert all(words in text for _, text in answer.values())


@pytest.mark.parametrize(
    ("edits", "name", "pattern"),
    [({"jacobian": 0.0}, "log_tau", "jacobian"), ({"prior": (0.0, 2.5)}, "mu", "prior scale")],
)
def test_another_parametrisation_does_not_hide_a_prior(
    edits: dict[str, Any], name: str, pattern: str
) -> None:
    answer = found("varying", {"centred": False, **edits})
    expected = {**dict.fromkeys(U, "parametrisation"), name: pattern}
    assert {one: what for one, (what, _) in answer.items()} == expected


def test_normal_observations_are_counted() -> None:
    """Three of y ~ N(alpha, sigma), in a model without predictors."""

    def score(kept: Array) -> Any:
        def of(x: Array) -> Array:
            off = kept - x[:, :1]
            precision = np.exp(-2.0 * x[:, 1:])
            squares = (off**2).sum(axis=1, keepdims=True)
            return np.hstack([precision * off.sum(axis=1, keepdims=True), precision * squares])

        return of

    draws = [0.5, -0.2] + 0.3 * np.random.default_rng(3).standard_normal((100, 2))
    answer = ps.same_target(score(Y), score(Y[3:]), draws=draws)
    assert [row.pattern for row in answer] == ["observations", "observations"]
    assert (
        "Normal observations: 3 fewer in b, with the sd exp(`x[1]`)" in answer.differences[0].text
    )
