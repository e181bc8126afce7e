"""Results made by hand, so that reports are tested without running a test."""

import math
from typing import Any

from polystein.methods.wild_bootstrap import STATISTIC_NAME
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.evidence import Abstention, Arm, Component, Evidence, Part
from polystein.results.result import GofResult
from polystein.results.sampler import SamplerDiagnostics

WORDS = {"score": "location", "x": "spread, correlation", "x^2": "skewness"}


def z_result(
    *,
    pvalue: float = 0.0123,
    shares: dict[str, float] | None = None,
    warnings: tuple[str, ...] = (),
    **changes: Any,
) -> GofResult:
    shares = {"x": 0.25, "x^2": -0.125, "score": 0.625} if shares is None else shares
    values: dict[str, Any] = {
        "statistic": 2.5,
        "pvalue": pvalue,
        "alternative": "two-sided",
        "method": "lambda-psd",
        "dimension": 4,
        "weights": {name: 0.5 for name in shares},
        "components": tuple(
            Component(name, WORDS.get(name, name), 1.25, 0.5, share)
            for name, share in shares.items()
        ),
        "ess": 287.6,
        "n_train": 700,
        "n_test": 300,
        "settings": {"order": 2},
        "warnings": warnings,
    }
    return GofResult(**{**values, **changes})


def bootstrap_result() -> GofResult:
    return GofResult(
        statistic=-1.5,
        pvalue=0.4,
        alternative="greater",
        method="psd-bootstrap",
        dimension=4,
        ess=math.nan,
        n_test=1000,
        statistic_name=STATISTIC_NAME,
        settings={"order": 2, "estimator": "u", "n_bootstrap": 500},
    )


REASONS = (
    "The chains disagree: R-hat is 2.47 for the draws of b, above 1.05. Run longer.",
    "The trained witnesses did not judge: test rows would depend on training rows.",
)
ABSTENTION = Abstention("trained witnesses", "test rows would depend on training rows")


def diagnostics(*, divergences: int | None = None) -> Diagnostics:
    """R-hat of 1.01 and 2.47, at least 4.9 effective draws."""
    sampler = None if divergences is None else SamplerDiagnostics(4000, divergences, None)
    return Diagnostics(
        Convergence(("a", "b"), (1.0, 2.47), (900.0, 300.0)),
        Convergence(("a", "b"), (1.01, 1.0), (4.9, 800.0)),
        sampler,
    )


def inconclusive_result(**changes: Any) -> GofResult:
    values: dict[str, Any] = {
        "pvalue": 0.42,
        "shares": {},
        "weights": None,
        "method": "check",
        "settings": {},
        "reasons": REASONS,
        "diagnostics": diagnostics(),
        "evidence": Evidence(check_result().evidence.arms[:1], abstained=(ABSTENTION,)),
    }
    return z_result(**{**values, **changes})


def check_result(
    *, flips: float = 0.01, trained: float = 0.2, coordinates: tuple[str, ...] = ("a",)
) -> GofResult:
    """A result of two arms, of which the one that found more comes first."""
    location = Part("score: sum", "location", ("score",), (), 0.5, 0.4)
    spread = Part("x: max", "spread", ("x",), coordinates, 0.001, 0.4)
    stack = Part("trained stack", "everything at once", ("x", "score"), (), 0.04, 0.2)
    arms = (
        Arm("sign flips", "all rows", flips, (location, spread)),
        Arm("trained witnesses", "the test rows", trained, (stack,)),
    )
    pvalue = min(flips, trained)
    return z_result(
        pvalue=pvalue,
        shares={},
        weights=None,
        method="check",
        alternative="greater",
        evidence=Evidence(tuple(sorted(arms, key=lambda arm: arm.pvalue))),
        settings={},
    )


#: A name that would run, or end a sentence, if it were not escaped.
NASTY = "<script>alert('x')</script> & \"quotes\""
#: A result of every kind that a report words in its own way.
EVERY_KIND = (
    z_result(),
    z_result(shares={"x": math.nan, "score": math.nan}, settings={}),
    bootstrap_result(),
    check_result(),
    inconclusive_result(),
)
