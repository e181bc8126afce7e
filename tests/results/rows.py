"""Rows of effects for the tests beside this file."""

import math

from polystein.results.effect_rows import EffectRow


def row(what: str, estimate: float, error: float, reliability: float = 1.0) -> EffectRow:
    """A row of the coordinate a, with infinitely many degrees of freedom."""
    size = math.exp(estimate) if what == "sd" else estimate
    return EffectRow(
        "a", what, size, size - error, size + error, 1.0, False, reliability, f"the {what} of `a`",
        estimate, error, math.inf,
    )  # fmt: skip
