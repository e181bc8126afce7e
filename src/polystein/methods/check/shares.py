"""How the statistics of the sign flips share the level."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein.methods.check.batch_sums import BatchSums
from polystein.types import FloatArray

HOTELLING = "Hotelling"
#: Shares of the level of the sum and of the largest, by statistic. They were chosen on seeds that
#: appear in no table. Where coordinates are uncorrelated, Hotelling's statistic is the sum over the
#: scores, and the trace of the square shows what pairs show.
UNCORRELATED: Mapping[str, tuple[float, float]] = {
    "score": (0.41, 0.015),
    HOTELLING: (0.01, 0.0),
    "x": (0.004, 0.006),
    "G1-4": (0.12, 0.03),
    "tails": (0.004, 0.016),
    "trace": (0.29, 0.0),
    "trace of square": (0.01, 0.0),
    "x pairs": (0.005, 0.02),
    "G2 pairs": (0.005, 0.055),
}
#: Where they are correlated, the sums over coordinates see the stiff directions alone.
CORRELATED: Mapping[str, tuple[float, float]] = {
    "score": (0.02, 0.01),
    HOTELLING: (0.28, 0.0),
    "x": (0.004, 0.006),
    "G1-4": (0.08, 0.012),
    "tails": (0.004, 0.015),
    "trace": (0.28, 0.0),
    "trace of square": (0.24, 0.0),
    "x pairs": (0.004, 0.01),
    "G2 pairs": (0.005, 0.03),
}
#: Total correlations of the scores, in nats a coordinate, from which on the shares change, and from
#: which on they are those of correlated coordinates.
LEAST_CORRELATION, MOST_CORRELATION = 0.02, 0.06
#: Traces have their whole share of the level from this many coordinates on.
MANY_COORDINATES = 8
#: Hotelling's statistic needs this many rows for each coordinate.
FEWEST_ROWS_A_COORDINATE = 2.0


class Shares:
    """The shares for some batch sums, without coordinates that are left out.

    They depend on the rows by sum s s' alone, which no flip changes.
    """

    def __init__(self, sums: BatchSums, left_out: NDArray[np.bool_]) -> None:
        kept = np.flatnonzero(~left_out)
        rows = float(sums.sizes.sum())
        #: Whether scores have second moments that tell directions apart: enough rows for them.
        self.has_metric = (
            kept.size > 1
            and sums.score_products.size > 0
            and rows >= FEWEST_ROWS_A_COORDINATE * kept.size
        )
        #: Whether there are directions, and no metric to judge them by.
        self.lacks_metric = kept.size > 1 and not self.has_metric
        #: Whether features of different coordinates tell little more together than alone.
        self.correlated = False
        #: Whether Hotelling's statistic is judged.
        self.has_hotelling = self.has_metric
        self._of_traces = min(1.0, kept.size / MANY_COORDINATES)
        self._weight, self._coordinates, self._correlation = 0.0, kept.size, 0.0
        if self.has_metric:
            self._correlation = total_correlation(sums.score_products[np.ix_(kept, kept)])
            found = self._correlation - self._by_chance(rows)
            span = MOST_CORRELATION - LEAST_CORRELATION
            self._weight = min(max((found - LEAST_CORRELATION) / span, 0.0), 1.0)
            self.correlated = self._weight > 0.0

    def _by_chance(self, rows: float) -> float:
        """The total correlation that independent coordinates have by chance."""
        return self._coordinates / (4.0 * rows)

    def clearly_correlated(self, independent_rows: float) -> bool:
        """Whether chance does not explain the correlation of rows worth this many independent ones.

        Products of two coordinates forget twice as fast as the coordinates.
        """
        chance = self._by_chance(2.0 * max(independent_rows, 1.0))
        return self._correlation > LEAST_CORRELATION + chance

    def of(self, name: str) -> tuple[float, float]:
        """The shares of the sum and of the largest of a statistic.

        Traces add up what all coordinates have in common. Of a few there is less to add up, and
        single coordinates show as much. Where Hotelling's statistic is not judged, the sum over the
        scores has its share.
        """
        total, largest = self._between(name)
        if name.startswith("trace"):
            total *= self._of_traces
        if name == "score" and not self.has_hotelling:
            total += self._between(HOTELLING)[0]
        return total, largest

    def _between(self, name: str) -> tuple[float, float]:
        ends = zip(UNCORRELATED[name], CORRELATED[name], strict=True)
        total, largest = ((1.0 - self._weight) * a + self._weight * b for a, b in ends)
        return total, largest


def total_correlation(moments: FloatArray) -> float:
    """How far Gaussian variables with these second moments are from independent ones.

    It is -log det C/(2 d), with C the moments over their diagonal.

    Examples
    --------
    >>> total_correlation(np.diag([1.0, 4.0]))
    0.0
    >>> round(total_correlation(np.array([[1.0, 1.8], [1.8, 4.0]])), 4)
    0.4152
    """
    spread = np.sqrt(np.diagonal(moments))
    varies = np.flatnonzero(spread > TINY)
    if varies.size < 2:
        return 0.0
    correlation = moments[np.ix_(varies, varies)] / spread[varies, None] / spread[varies]
    # Rounding may make the determinant negative where it is all but 0.
    sign, log = np.linalg.slogdet(correlation)
    return float("inf") if sign <= 0.0 else max(0.0, -float(log) / (2.0 * varies.size))
