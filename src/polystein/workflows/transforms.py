"""From the unconstrained coordinates of one target to those of another, through their parameters.

Transforms of one coordinate that are known by a formula are recognised and inverted exactly. All
others are solved for, and differentiated, numerically, with an estimate of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from polystein.types import FloatArray

#: How exactly a formula has to fit the values of a transform, which may be in single precision.
_FIT = 1e-5
#: Constants of a transform are rounded to this many digits if they are that close to it.
_DIGITS = 6
#: Steps of the stencils for first derivatives, and for the gradient of a log-determinant.
STEP, OUTER_STEP = 1e-3, 1e-2
#: Iterations of the search for coordinates with given parameters, and when it has arrived.
MOST_ITERATIONS, ARRIVED = 100, 1e-9


class Family(NamedTuple):
    """A function g, its inverse, log g', the derivative of log g', and the bounds of g."""

    value: Callable[[FloatArray], FloatArray]
    inverse: Callable[[FloatArray], FloatArray]
    log_slope: Callable[[FloatArray], FloatArray]
    slope_of_log_slope: Callable[[FloatArray], FloatArray]
    bounds: tuple[float, float]


def _softplus(x: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, x)


FAMILIES: dict[str, Family] = {
    "identity": Family(lambda x: x, lambda y: y, np.zeros_like, np.zeros_like, (-np.inf, np.inf)),
    "exp": Family(np.exp, np.log, lambda x: x, np.ones_like, (0.0, np.inf)),
    "logit": Family(
        expit,
        logit,
        lambda x: -_softplus(x) - _softplus(-x),
        lambda x: 1.0 - 2.0 * expit(x),
        (0.0, 1.0),
    ),
    "softplus": Family(
        _softplus,
        lambda y: y + np.log(-np.expm1(-y)),
        lambda x: -_softplus(-x),
        lambda x: expit(-x),
        (0.0, np.inf),
    ),
}


class Formula(NamedTuple):
    """The parameter ``shift + factor g(x)`` of a coordinate x, for a g of `FAMILIES`."""

    family: str
    shift: float = 0.0
    factor: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value of the parameter."""
        ends = [self.shift + self.factor * end for end in FAMILIES[self.family].bounds]
        return min(ends), max(ends)

    def has_bounds_of(self, other: Formula) -> bool:
        """Whether the bounds of both are the same to the rounding that formulas are fitted to."""
        close = _FIT * (abs(self.factor) + abs(other.factor))
        return bool(np.isclose(self.bounds, other.bounds, rtol=_FIT, atol=close).all())


def recognised(coordinate: FloatArray, parameter: FloatArray) -> Formula | None:
    """The formula that takes a column of coordinates to a column of parameters, if one does."""
    found: tuple[float, Formula] | None = None
    for name, family in FAMILIES.items():
        with np.errstate(all="ignore"):
            values = family.value(coordinate)
            design = np.column_stack([np.ones(len(values)), values])
            largest = np.abs(design).max(axis=0)
            if not np.isfinite(design).all() or not np.isfinite(parameter).all() or not largest[1]:
                continue
            shift, factor = np.linalg.lstsq(design / largest, parameter, rcond=None)[0] / largest
            off = float(np.abs(parameter - shift - factor * values).max())
        spread = float(np.ptp(parameter))
        if off <= _FIT * spread and factor != 0.0 and (found is None or off < found[0]):
            close = 4.0 * off + 1e-12 * spread
            rounded = (
                _rounded(shift, close),
                _rounded(factor, close / max(float(np.ptp(values)), 1e-300)),
            )
            found = off, Formula(name, *rounded)
    return None if found is None else found[1]


def _rounded(value: float, close: float) -> float:
    """The value with a few digits if that is as close to it as can be told: 0 for 1e-17."""
    for short in (0.0, float(f"{value:.{_DIGITS - 1}e}")):
        if abs(value - short) <= close:
            return short
    return float(value)


def carried_by_formulas(
    x: FloatArray, own: Formula, other: Formula
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The coordinate y of another target with the same parameter as the coordinate x.

    Returns y, dy/dx, log abs(dy/dx), the derivatives by x of the logs of the two transforms'
    derivatives, of which that of log abs(dy/dx) is the difference, and how far the rounding of the
    parameter moves y.
    """
    first, second = FAMILIES[own.family], FAMILIES[other.family]
    ratio, gap = own.factor / other.factor, (own.shift - other.shift) / other.factor
    y = x if own == other else second.inverse(gap + ratio * first.value(x))
    log_slope = np.log(abs(ratio)) + first.log_slope(x) - second.log_slope(y)
    slope = np.sign(ratio) * np.exp(log_slope)
    mine, theirs = first.slope_of_log_slope(x), second.slope_of_log_slope(y) * slope
    size = np.abs(gap) + np.abs(ratio * first.value(x))
    return y, slope, log_slope, mine, theirs, size / np.exp(second.log_slope(y))


#: From (n, d) rows to (n, m) parameters.
Parameters = Callable[[FloatArray], FloatArray]


def jacobian(function: Parameters, rows: FloatArray, columns: list[int], step: float) -> FloatArray:
    """Derivatives (n, m, g) of parameters by some coordinates, by stencils of five points."""
    n, g = len(rows), len(columns)
    moves = np.array([step, -step, 2.0 * step, -2.0 * step])
    points = np.repeat(rows[None, None], 4, axis=0).repeat(g, axis=1)
    for place, column in enumerate(columns):
        points[:, place, :, column] += moves[:, None]
    values = function(points.reshape(-1, rows.shape[1])).reshape(4, g, n, -1)
    slopes = (8.0 * (values[0] - values[1]) - (values[2] - values[3])) / (12.0 * step)
    return np.moveaxis(slopes, 0, 2)


def _log_volume(slopes: FloatArray) -> FloatArray:
    """The log of the root of det J'J for (n, m, g) derivatives J."""
    diagonal = np.diagonal(np.linalg.qr(slopes, mode="r"), axis1=1, axis2=2)
    found: FloatArray = np.log(np.abs(diagonal)).sum(axis=1)
    return found


def log_volume_slopes(
    function: Parameters, rows: FloatArray, columns: list[int], steps: tuple[float, float]
) -> FloatArray:
    """The gradient (n, g) of the log-determinant of the transform by its coordinates."""

    def volume(points: FloatArray) -> FloatArray:
        return _log_volume(jacobian(function, points, columns, steps[0]))[:, None]

    return jacobian(volume, rows, columns, steps[1])[:, 0, :]


def solved(
    function: Parameters,
    start: FloatArray,
    columns: list[int],
    wanted: FloatArray,
    close: float = ARRIVED,
) -> tuple[FloatArray, FloatArray]:
    """Rows whose parameters are the wanted ones, and what is left, in units of each one's size.

    Only the given columns are changed. Rows for which more than ``close`` is left begin again at
    0, and then at the nearest row that has arrived.
    """
    scale = np.maximum(np.abs(wanted).max(axis=0), 1e-300)
    rows, left = _descended(function, start, columns, wanted, scale)
    for from_zero in (True, False, False):
        away = left.max(axis=1) > close
        if not away.any() or (away.all() and not from_zero):
            break
        begin = rows[away]
        if from_zero:
            begin[:, columns] = 0.0
        else:
            apart = (wanted[away][:, None] - wanted[~away][None]) / scale
            nearest = np.argmin((apart**2).sum(axis=2), axis=1)
            begin[:, columns] = rows[~away][nearest][:, columns]
        again, now = _descended(function, begin, columns, wanted[away], scale)
        better = now.max(axis=1) < left[away].max(axis=1)
        places = np.flatnonzero(away)[better]
        rows[places], left[places] = again[better], now[better]
    return rows, left


def _descended(
    function: Parameters,
    start: FloatArray,
    columns: list[int],
    wanted: FloatArray,
    scale: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Damped Gauss-Newton steps from the start: rows, and how far off each parameter is."""
    rows, damping = start.copy(), np.full(len(start), 1e-3)

    def residual(points: FloatArray) -> FloatArray:
        found: FloatArray = np.nan_to_num((function(points) - wanted) / scale, nan=1e100)
        return found

    off = residual(rows)
    for _ in range(MOST_ITERATIONS):
        if last := bool(np.abs(off).max() <= 1e-3 * ARRIVED):
            damping = np.zeros(len(rows))  # one whole step more, to the last digit
        slopes = np.nan_to_num(jacobian(function, rows, columns, STEP) / scale[:, None])
        squares = np.einsum("nmi,nmj->nij", slopes, slopes)
        diagonal = np.einsum("nii->ni", squares)
        # What a parameter does not depend on must not make the equations singular.
        ridge = damping[:, None] * diagonal + 1e-14 * diagonal.max(axis=1)[:, None] + 1e-200
        squares = squares + ridge[:, :, None] * np.eye(len(columns))
        towards = np.einsum("nmi,nm->ni", slopes, off)
        moves = np.linalg.solve(squares, towards[..., None])[..., 0]
        proposed = rows.copy()
        proposed[:, columns] -= moves
        now = residual(proposed)
        better = (now**2).sum(axis=1) < (off**2).sum(axis=1)
        rows[better], off[better] = proposed[better], now[better]
        damping = np.clip(np.where(better, damping / 10.0, damping * 5.0), 1e-15, 1e8)
        if last or (not better.any() and damping.min() >= 1e8):
            break
    return rows, np.abs(off)
