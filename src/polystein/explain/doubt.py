"""How far a corrected value depends on the features that it was corrected by."""

from __future__ import annotations

import math
from typing import NamedTuple

from polystein.results.effect_rows import TRUSTED

#: Values are compared with at least this: a tenth of it may change.
LITTLE = 0.1


class Doubt(NamedTuple):
    """How far a corrected value depends on the features, beyond its noise.

    ``change`` is by how much it changes with a wider set of features. ``margin`` allows for what
    no features explain. The residuals have mean 0 over the draws, and under the target a mean of
    at most their sd times the root of the chi-square distance of target and draws, of which the
    features know a part. Half of that with the known part is the margin.
    """

    change: float = 0.0
    margin: float = 0.0

    @property
    def reach(self) -> float:
        """What joins an interval on both sides."""
        return self.change + self.margin

    def lowered(self, r2: float, value: float, error: float) -> float:
        """R^2, or less where the change, or the reach, is too large beside the value.

        A value within two standard errors is compared with these: it may be 0. A hundredth of the
        unit, an sd or a ratio, is no change that matters.
        """
        size = max(abs(value), 2.0 * error, LITTLE)
        if not math.isfinite(size):
            return r2
        stable = 1.0 - self.change / size
        lowered = r2 if stable >= TRUSTED else max(0.0, min(r2, stable))
        return lowered if self.reach <= size else min(lowered, TRUSTED * size / self.reach)
