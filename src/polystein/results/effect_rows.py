"""Rows of the tables of effects and of corrected expectations."""

from __future__ import annotations

import math
from typing import NamedTuple

#: Below this reliability (R^2 out of fold, over the draws) intervals may not cover. Above it they
#: cover where the features explain as much under the target.
RELIABLE = 0.99
#: Below this reliability neither size nor direction is told, and no value is corrected.
TRUSTED = 0.9
#: Level at which an effect counts as found, and of simultaneous intervals.
LEVEL = 0.05


def size_number(value: float) -> str:
    """A size as people read it; small ones have two digits, and are never rounded to 0."""
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


class EffectRow(NamedTuple):
    """One property of the sampler's law, beside that of the target.

    Attributes
    ----------
    name : str
        The parameter, or two of them joined by ", ".
    what : str
        ``"mean"``, ``"sd"``, ``"skew"``, ``"tail"``, ``"correlation"``, ``"direction mean"`` or
        ``"direction sd"``.
    size : float
        How far the draws are off. For a mean in standard deviations of the target, for an sd the
        ratio of that of the draws to that of the target, else a difference: of the third or fourth
        standardised moment, or of correlations.
    lower, upper : float
        The interval of level 0.95 for the size, of this row alone.
    pvalue : float
        P-value after Holm's correction for everything that was looked at.
    found : bool
        Whether it is at most 0.05.
    reliability : float
        R^2 over the draws, out of fold, of the function behind the row on Stein features, and
        lower where the features show that the draws are far off, or where a wider set of features
        gives another size. Below 0.9 no size is told: it is NaN, and the interval has no bounds.
        It is no bound on what is unexplained where no draws are.
    sentence : str
        The same in words.
    estimate, error, df : float
        What the interval comes from: the difference on the scale of the interval (logarithm of the
        ratio for sds, Fisher's z for correlations), its standard error and the degrees of freedom.
    direction : tuple of float
        Of a direction, the coefficient of every coordinate, each in units of its own sd. It was
        chosen on the first rows of every chain and judged on the last ones, or, of 32 chains or
        more, chosen on the first chains and judged on the others.
    pair : tuple of str
        Of a correlation, the names of its two parameters, which may hold commas themselves.
    doubt : float
        What the interval has on both sides beside its noise: how far the size changes with a wider
        set of features, and a margin for what no features explain.
    """

    name: str
    what: str
    size: float
    lower: float
    upper: float
    pvalue: float
    found: bool
    reliability: float
    sentence: str
    estimate: float
    error: float
    df: float
    direction: tuple[float, ...] = ()
    pair: tuple[str, ...] = ()
    doubt: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of the row: two of a correlation, else one."""
        # Rows that were stored before have no pair.
        parts = tuple(self.name.split(", "))
        pair = self.pair or (parts if len(parts) == 2 else ())
        return pair if pair and self.what == "correlation" else (self.name,)

    @property
    def judged(self) -> bool:
        """Whether the size has an error that is known; without one it says nothing."""
        return math.isfinite(self.size) and math.isfinite(self.error)

    @property
    def directed(self) -> bool:
        """Whether the size is told, and with it whether it is too large or too small."""
        nothing = 1.0 if self.what in ("sd", "direction sd") else 0.0
        return self.judged and (self.lower > nothing or self.upper < nothing)

    @property
    def reliable(self) -> bool:
        """Whether the reliability is at least 0.99."""
        return self.reliability >= RELIABLE

    @property
    def statistic(self) -> float:
        """The estimate over its standard error."""
        return self.estimate / self.error if self.error > 0.0 else 0.0


class ExpectationRow(NamedTuple):
    """An expectation under the target: averaged over the draws, and corrected.

    Attributes
    ----------
    name, what : str
        The parameter or function, and which property of it.
    plain, mcse : float
        Its value in the draws, and that value's Monte Carlo standard error.
    corrected, error : float
        The value corrected by Stein features, and its standard error. Both are NaN where the
        reliability is below 0.9: nothing then replaces the plain value.
    bias, lower, upper : float
        Plain minus corrected value, the sampler's error, with its interval of level 0.95, which
        allows for the choice of features. Without a corrected value the bias is NaN, and the
        interval has no bounds.
    reliability : float
        R^2 over the draws, out of fold, of the function on the features, and lower where the
        features show that the draws are far off, or where a wider set of features gives another
        value. Below 0.99 the corrected value may be off by more
        than its error says, if the draws are wrong. It is no bound on what is unexplained where no
        draws are.
    reduction : float
        By what factor the correction lowers the variance.
    ess : float
        How many independent draws would give the corrected value's error by plain averages.
    """

    name: str
    what: str
    plain: float
    mcse: float
    corrected: float
    error: float
    bias: float
    lower: float
    upper: float
    reliability: float
    reduction: float
    ess: float

    @property
    def reliable(self) -> bool:
        """Whether the reliability is at least 0.99."""
        return self.reliability >= RELIABLE
