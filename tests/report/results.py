"""Results made by hand, so that reports are tested without running a test."""

import math
from typing import Any

from polystein.results.result import Component, GofResult


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
        "weights": {name: 0.5 for name in shares},
        "components": tuple(Component(name, 1.25, 0.5) for name in shares),
        "ess": 287.6,
        "n_train": 700,
        "n_test": 300,
        "settings": {"order": 2, "dimension": 4, "shares": shares},
        "warnings": warnings,
    }
    return GofResult(**{**values, **changes})


def bootstrap_result() -> GofResult:
    return GofResult(
        statistic=-1.5,
        pvalue=0.4,
        alternative="greater",
        method="psd-bootstrap",
        ess=math.nan,
        n_test=1000,
        settings={"order": 2, "dimension": 4, "estimator": "u", "n_bootstrap": 500},
    )
