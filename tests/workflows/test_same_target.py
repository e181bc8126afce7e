"""Planted edits of five models are named by parameter and pattern."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import polystein as ps
from polystein.data.target import Target
from tests.workflows.models import (
    HEIGHTS,
    MODELS,
    OUTCOMES,
    PREDICTORS,
    SUCCESSES,
    Array,
    gradient,
    normal,
    target,
)


def without(count: int, left_out: int) -> list[int]:
    return [place for place in range(count) if place != left_out]


def with_scores(model: str, change: Callable[[Array], Array]) -> Target:
    """A model whose scores alone are changed."""
    right = target(model)
    assert right.density is not None
    return Target.of_functions(
        right.dimension,
        right.density,
        lambda rows: change(right.log_density_and_score(rows)[1]),
        right.names,
    )


def minus_one(scores: Array) -> Array:
    return scores * np.array([1.0, 1.0, -1.0, 1.0])


def half(t: Array) -> Array:
    return -0.5 * t


THETA = tuple(f"theta[{place}]" for place in range(5))
BETA = ("alpha", "beta[0]", "beta[1]", "beta[2]")
#: An edit of a model: what it is made of, the parameters and patterns that must be named, and what
#: the words must say.
EDITS: dict[str, tuple[str, Any, dict[str, str], str]] = {
    "wider prior": ("normal", {"prior_sd": 3.0}, {"mu": "prior scale"}, "0.138889 less in b"),
    "shifted prior": ("normal", {"prior_mean": 0.5}, {"mu": "prior location"}, r"\+0.125"),
    "log-Jacobian": ("normal", {"jacobian": 0.0}, {"log_sigma": "jacobian"}, "b has not"),
    "one height fewer": (
        "normal",
        {"data": HEIGHTS[1:]},
        {"mu": "observations", "log_sigma": "observations"},
        "touches `mu`, `log_sigma`",
    ),
    "half-normal scale": (
        "normal",
        {"scale": 2.0},
        {"log_sigma": "prior scale"},
        "0.75 more of the square of its exponential",
    ),
    "log precision": (
        "normal",
        {"log_sigma": half},
        {"log_sigma": "parametrisation"},
        "-2 times that of a",
    ),
    "data twice": (
        "normal",
        {"times": 2.0},
        {"mu": "factor", "log_sigma": "factor"},
        "likelihood counts 2 times",
    ),
    "sign of all": (
        "logistic",
        with_scores("logistic", np.negative),
        dict.fromkeys(BETA, "sign"),
        "all scores of b are minus",
    ),
    "sign of one": (
        "logistic",
        with_scores("logistic", minus_one),
        {"beta[1]": "sign"},
        "the score of b is minus",
    ),
    "one outcome fewer": (
        "logistic",
        {"kept": without(40, 7)},
        dict.fromkeys(BETA, "observations"),
        "It depends on",
    ),
    "wider prior of one": (
        "logistic",
        {"sds": (2.0, 1.0, 1.0, 2.5)},
        {"beta[2]": "prior scale"},
        "0.84 less in b",
    ),
    "likelihood tempered": (
        "logistic",
        {"times": 0.5},
        dict.fromkeys(BETA, "factor"),
        "likelihood counts 0.5 times",
    ),
    "all tempered": (
        "logistic",
        with_scores("logistic", lambda s: 0.5 * s),
        dict.fromkeys(BETA, "factor"),
        "all scores of b are 0.5 times",
    ),
    "sign of a column": (
        "logistic",
        {"signs": (1.0, 1.0, -1.0, 1.0)},
        {"beta[1]": "parametrisation"},
        "minus that of a",
    ),
    "log-Jacobian of tau": (
        "hierarchical",
        {"jacobian": 0.0},
        {"log_tau": "jacobian"},
        "a has it and b has not",
    ),
    "not centred": (
        "hierarchical",
        {"centred": False},
        dict.fromkeys(THETA, "parametrisation"),
        r"b is not centred, with the scale exp\(`log_tau`\) about `mu`, and a is",
    ),
    "one measurement fewer": (
        "hierarchical",
        {"kept": without(20, 9)},
        {"theta[2]": "observations", "log_sigma": "observations"},
        r"touches `log_sigma`, `theta\[2\]`",
    ),
    "another family": ("hierarchical", {"cauchy": True}, {"log_tau": "prior"}, "alone"),
    "one count fewer": (
        "poisson",
        {"kept": without(20, 9)},
        {"alpha": "observations", "beta": "observations", "u[2]": "observations"},
        r"It depends on 1 `alpha` - 0.7092 `beta` \+ 1 `u\[2\]`",
    ),
    "shifted intercept": ("poisson", {"prior_mean": 1.0}, {"alpha": "prior location"}, r"\+0.25"),
    "log-Jacobian twice": ("poisson", {"jacobian": 2.0}, {"log_tau": "jacobian"}, "b has it"),
    "logit-Jacobian": (
        "beta-binomial",
        {"jacobian": (0.0, 1.0, 1.0)},
        {"p[0]": "jacobian"},
        "Jacobian of a logit transform: a has it and b has not",
    ),
    "Beta shapes": (
        "beta-binomial",
        {"shapes": (1.0, 1.0)},
        {"p[0]": "prior", "p[1]": "prior", "p[2]": "prior"},
        "off by -1 and -2",
    ),
    "one success fewer": (
        "beta-binomial",
        {"successes": SUCCESSES - np.array([0.0, 1.0, 0.0])},
        {"p[1]": "prior"},
        "-1 and 0, or it has that many more successes",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_named(edit: str) -> None:
    model, change, expected, words = EDITS[edit]
    other = change if isinstance(change, Target) else target(model, **change)
    found = ps.same_target(target(model), other, draws=MODELS[model].draws())
    assert not found.same
    assert {row.parameter: row.pattern for row in found.differences} == expected
    assert all(row.size > 0.0 for row in found)
    assert all(re.search(words, row.text) for row in found.differences)


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_found_from_either_side_without_names(edit: str) -> None:
    model, change, expected, _ = EDITS[edit]
    other = change if isinstance(change, Target) else target(model, **change)
    back = ps.same_target(replace(other, names=None), target(model), draws=MODELS[model].draws())
    assert not back.same
    touched = {row.parameter for row in back.differences}
    if "parametrisation" not in expected.values():
        assert touched == set(expected)


def test_a_small_difference_is_not_rounding() -> None:
    """A prior sd of 101 for 100, beside 25 observations."""
    found = ps.same_target(
        target("normal", prior_sd=100.0),
        target("normal", prior_sd=101.0),
        draws=MODELS["normal"].draws(),
    )
    (row,) = found.differences
    assert (row.parameter, row.pattern) == ("mu", "prior scale")
    assert row.size < 1e-5
    assert row.text.endswith("data stored in single precision would explain it")


def test_data_in_single_precision_are_told_by_the_size() -> None:
    """The data differ, smoothly, by what storing them in single precision does."""
    stored = HEIGHTS.astype(np.float32).astype(np.float64)
    found = ps.same_target(
        target("normal"), target("normal", data=stored), draws=MODELS["normal"].draws()
    )
    assert {row.parameter for row in found} == {"mu", "log_sigma"}
    assert all("data stored in single precision would explain it" in row.text for row in found)


def test_minus_a_score_is_a_sign_and_no_prior() -> None:
    draws = np.random.default_rng(0).standard_normal((50, 2))
    (row,) = ps.same_target(lambda x: -x, lambda x: x * [-1.0, 1.0], draws=draws)
    assert (row.parameter, row.pattern) == ("x[1]", "sign")


def test_the_form_that_fits_best_is_named() -> None:
    """In single precision and a narrow range a line fits an exponential almost as well."""
    narrow = np.array([1.3, -0.2]) + 0.002 * np.random.default_rng(5).standard_normal((200, 2))

    def half_normal(scale: float) -> Callable[[Array], Array]:
        return lambda x: gradient(partial(normal, scale=scale), x, single=True)

    (row,) = ps.same_target(half_normal(0.05), half_normal(0.1), draws=narrow)
    assert (row.parameter, row.pattern) == ("x[1]", "prior scale")
    assert "the square of its exponential" in row.text


def test_random_scores_are_noise() -> None:
    """Minibatches: each call takes other observations."""
    rng = np.random.default_rng(2)
    design, names = np.column_stack([np.ones(40), PREDICTORS]), MODELS["logistic"].names

    def score(x: Array) -> Array:
        kept = rng.integers(0, 40, (len(x), 10))
        eta = np.einsum("nd,nkd->nk", x, design[kept])
        off = OUTCOMES[kept] - expit(eta)
        return 4.0 * np.einsum("nk,nkd->nd", off, design[kept]) - x / [4.0, 1.0, 1.0, 1.0]

    found = ps.same_target(target("logistic"), score, draws=MODELS["logistic"].draws())
    assert {row.parameter: row.pattern for row in found} == dict.fromkeys(names, "noise")


def test_a_score_that_is_no_gradient_of_its_density() -> None:
    right = target("normal")
    wrong = (lambda x: normal(x) + x[:, 0], lambda x: gradient(normal, x))
    found = ps.same_target(right, wrong, draws=MODELS["normal"].draws())
    (row,) = found.differences
    assert (row.parameter, row.pattern) == ("", "log-density")
    assert found.constant is None
    assert "scores agree" in str(found)


def test_an_observation_of_one_parameter_is_a_normal_term() -> None:
    """With a known sd it cannot be told from a prior, and the words say so."""
    edited = with_scores("logistic", lambda s: s)

    def score(x: Array) -> Array:
        found = edited.log_density_and_score(x)[1].copy()
        found[:, 1] += (2.8 - x[:, 1]) / 1.5**2
        return found

    (row,) = ps.same_target(edited, score, draws=MODELS["logistic"].draws()).differences
    assert row.pattern == "prior scale"
    assert (
        "a normal term about 2.8 has a precision (1 / variance) that is 0.444444 more" in row.text
    )
    assert "an observation with a known sd" in row.text


def test_a_difference_at_few_draws_says_so() -> None:
    """A bound on a prior, which some draws alone are beyond."""

    def bounded_score(x: Array) -> Array:
        found = gradient(normal, x)
        found[:, 0] -= np.where(x[:, 0] > 1.6, 5.0 * (x[:, 0] - 1.6), 0.0)
        return found

    (row,) = ps.same_target(target("normal"), bounded_score, draws=MODELS["normal"].draws())
    assert (row.parameter, row.pattern) == ("mu", "prior")
    assert row.text.endswith("% of the draws alone")


def test_two_edits_of_one_scale_are_both_told() -> None:
    edited = target("normal", scale=2.0, jacobian=0.0)
    (row,) = ps.same_target(target("normal"), edited, draws=MODELS["normal"].draws())
    assert (row.parameter, row.pattern) == ("log_sigma", "prior scale")
    assert row.text.endswith("and a constant -1: the Jacobian of a log transform")


def test_a_shift_of_a_real_parameter_is_no_jacobian() -> None:
    """A difference of 1 is the Jacobian of a log transform, unless the transform says otherwise."""

    def with_transform(own: Target) -> Target:
        return replace(own, transform=lambda x: {"mu": x[:, 0], "log_sigma": x[:, 1]})

    first = target("normal", prior_sd=1.0)
    second = target("normal", prior_sd=1.0, prior_mean=1.0)
    draws = MODELS["normal"].draws()
    (row,) = ps.same_target(first, second, draws=draws)
    assert row.pattern == "jacobian"
    assert "a shift by 1 of a normal prior with sd 1, looks the same" in row.text
    assert "the shape of a gamma prior that is off by 1" in row.text
    (row,) = ps.same_target(with_transform(first), with_transform(second), draws=draws)
    assert row.pattern == "prior location"


def test_round_scores_are_not_taken_for_single_precision() -> None:
    """The scores of a Laplace prior are -1 and 1."""
    draws = np.random.default_rng(0).standard_normal((50, 2))
    found = ps.same_target(lambda x: -np.sign(x), lambda x: -1.000001 * np.sign(x), draws=draws)
    assert [row.pattern for row in found] == ["factor", "factor"]
    assert "1.000001 times" in found.differences[0].text
    assert found.precision == "double"
