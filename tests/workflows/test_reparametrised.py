"""Other scales of one parameter, with and without their Jacobian, and centred blocks."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from tests.workflows.models import Array, beta_binomial, gradient, hierarchical, normal


def of_sigma(x: Array, jacobian: float = 0.0) -> Array:
    """The normal model in (mu, sigma)."""
    return normal(np.column_stack([x[:, 0], np.log(x[:, 1])]), jacobian=jacobian)


def of_log_sigma(x: Array) -> Array:
    return normal(x)


def of_p(x: Array, jacobian: float = 0.0) -> Array:
    """The first Beta-binomial in p itself, the others on the logit scale."""
    first = np.log(x[:, :1] / (1.0 - x[:, :1]))
    return beta_binomial(np.column_stack([first, x[:, 1:]]), jacobian=(jacobian, 1.0, 1.0))


def score(density: Any, **options: Any) -> Any:
    return lambda x: gradient(lambda rows: density(rows, **options), x)


NOISE = np.random.default_rng(7).random((60, 3))
LOGS, SIGMAS = 0.3 + 0.6 * NOISE[:, :2], 0.5 + NOISE[:, :2]
LOGITS = PROBABILITIES = 0.1 + 0.8 * NOISE
MISSING = ", and the Jacobian of that is missing in b"


@pytest.mark.parametrize(
    ("first", "second", "draws", "words"),
    [
        (score(of_log_sigma), score(of_sigma), LOGS, "the exponential of that of a"),
        (
            score(of_log_sigma),
            score(of_sigma, jacobian=1.0),
            LOGS,
            f"the exponential of that of a{MISSING}",
        ),
        (score(of_sigma), score(of_log_sigma), SIGMAS, "the logarithm of that of a"),
        (
            score(of_sigma, jacobian=1.0),
            score(of_log_sigma),
            SIGMAS,
            f"the logarithm of that of a{MISSING}",
        ),
        (score(beta_binomial), score(of_p), LOGITS, "the inverse logit of that of a"),
        (
            score(beta_binomial),
            score(of_p, jacobian=1.0),
            LOGITS,
            f"the inverse logit of that of a{MISSING}",
        ),
        (score(of_p), score(beta_binomial), PROBABILITIES, "the logit of that of a"),
        (
            score(of_p, jacobian=1.0),
            score(beta_binomial),
            PROBABILITIES,
            f"the logit of that of a{MISSING}",
        ),
    ],
)
def test_another_scale_is_named(first: Any, second: Any, draws: Array, words: str) -> None:
    found = ps.same_target(first, second, draws=draws)
    (row,) = found.differences
    assert row.pattern == "parametrisation"
    assert row.parameter == ("x[0]" if draws.shape[1] == 3 else "x[1]")
    assert row.text == f"the parameter of b is {words}"


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("jacobian", [True, False])
def test_centred_blocks_are_named(centred: bool, jacobian: bool) -> None:
    """Without the Jacobian the term 5 log tau is missing in `b`, or there in addition."""
    names = ["mu", "log_tau", "log_sigma", *(f"theta[{place}]" for place in range(5))]
    draws = 0.3 * np.random.default_rng(3).standard_normal((60, 8))
    lacking = 1.0 if jacobian else 6.0 if centred else -4.0
    first = ps.Sample(draws, score(hierarchical, centred=not centred), names=names)
    other = score(hierarchical, centred=centred, jacobian=lacking)
    found = ps.same_target(first, other)
    assert {row.pattern for row in found} != {"parametrisation"}  # scores at the draws alone
    target = ps.Sample(
        draws,
        score(hierarchical, centred=not centred),
        names=names,
        facts={"log_density": lambda x: hierarchical(x, centred=not centred)},
    )
    found = ps.same_target(target, other)
    assert {row.parameter for row in found} == set(names[3:])
    whose = "b is centred" if centred else "b is not centred"
    end = "and a is not centred" if centred else "and a is centred"
    (text,) = {row.text for row in found}
    expected = f"{whose}, with the scale exp(`log_tau`) about `mu`, {end}"
    assert text == expected + ("" if jacobian else MISSING)
