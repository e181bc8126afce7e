"""How time grows: a fixed cost beside a power of the rows, and steps that leave a trend."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import curve_fit

#: Rows are counted in millions, so that the numbers of a fit are neither large nor small.
MILLION = 1e6


class Growth(NamedTuple):
    """time = fixed + rate (n / 10^6)^power, with the error of the power and the worst misfit."""

    fixed: float
    rate: float
    power: float
    #: Standard error of the power, by the misfits of the sizes.
    error: float
    #: The largest relative distance of a time from the fit.
    misfit: float

    @property
    def even(self) -> float:
        """The number of rows that cost as much as the call itself."""
        return float(MILLION * (self.fixed / self.rate) ** (1.0 / self.power))


def fitted_growth(sizes: Sequence[int], seconds: Sequence[float]) -> Growth:
    """Least squares on relative errors over all sizes: a call costs something whatever its rows."""
    millions, times = np.array(sizes) / MILLION, np.array(seconds)
    rate = times[-1] / millions[-1]
    found, covariance = curve_fit(
        _time,
        millions,
        times,
        p0=(0.5 * times[0], np.log(rate), 1.0),
        sigma=times,
        bounds=([0.0, -np.inf, 0.0], np.inf),
        x_scale=(times[0], 1.0, 1.0),
    )
    misfit = float(np.max(np.abs(_time(millions, *found) / times - 1.0)))
    error = float(np.sqrt(covariance[2, 2]))
    return Growth(float(found[0]), float(np.exp(found[1])), float(found[2]), error, misfit)


def _time(millions: np.ndarray, fixed: float, log_rate: float, power: float) -> np.ndarray:
    return fixed + np.exp(log_rate) * millions**power


def plain_slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of log time against log size over all sizes, with no regard to a fixed cost."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def farthest_above(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, int]:
    """The largest factor by which a time lies above the trend of all times, and its size."""
    powers = np.array(sizes, dtype=float) ** plain_slope(sizes, seconds)
    logs = np.log(np.array(seconds) / powers)
    above = logs - logs.mean()
    return float(np.exp(above.max())), sizes[int(np.argmax(above))]


def worst_step(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, int, int]:
    """The largest factor by which a step leaves the trend, up or down, and the sizes of the step.

    The trend is the power of the size that all times together follow best. Where time falls from
    one size to the next, there is a cliff as well.
    """
    slope, points = plain_slope(sizes, seconds), list(zip(sizes, seconds, strict=True))
    steps = [
        (abs(np.log(later / earlier) - slope * np.log(after / before)), before, after)
        for (before, earlier), (after, later) in pairwise(points)
    ]
    distance, before, after = max(steps)
    return float(np.exp(distance)), before, after
