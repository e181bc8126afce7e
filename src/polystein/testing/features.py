"""The Stein features that are judged, in the frame of pilots, with sizes in natural units.

For a function g of coordinate j the feature is s_j g + ∂g/∂x_j, whose mean is 0 under the target.
If the draws are those of the target moved by δ sds, the means of the scores are -I δ to the first
order, where I is Fisher's information, the second moment of the scores under the target.
-I⁻¹ times the scores therefore estimates δ, also where coordinates are correlated.

What changes the sd of x_j with the least trace is the map x + ε x_j I⁻¹e_j / (I⁻¹)_jj, which moves
the other coordinates as far as they depend on x_j. Its field x_j I⁻¹e_j gives the feature of the
sd, (I⁻¹s)_j x_j + (I⁻¹)_jj, which sees changes of the sds also where correlations change, too.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from polystein._lib.numerics import EPSILON
from polystein.errors import InputError, ScaleError
from polystein.types import FloatArray

#: What a feature tells about its coordinate.
Kind: TypeAlias = Literal["mean", "sd", "shape", "dependence"]
#: Shares of the level. Means and sds are what `detect` promises; the others find what has neither.
SHARES: dict[Kind, float] = {"mean": 0.35, "sd": 0.35, "shape": 0.15, "dependence": 0.15}
#: Frequency of the waves, in radians per sd: two modes of three sds between them are one period.
_FREQUENCY = 2.0
#: Rows of the pilots depend on each other: ten of them count as one in the information.
_ROWS = 0.1
#: The information is taken as it is if so many rows that count come on each coordinate; but for
#: this part of it, which keeps the matrix from being singular.
_ENOUGH, _NEVER_SINGULAR = 4.0, 1e-9
#: Larger features would overflow in third powers.
_LARGEST = 1e90
#: Up to this many coordinates all pairs are judged, above it neighbours.
_ALL_PAIRS = 6


class Feature(NamedTuple):
    """One feature: what it tells, about which coordinates."""

    kind: Kind
    name: str


class Frame(NamedTuple):
    """Centre and scale of the draws, I⁻¹, and the matrix that turns features into effects."""

    centre: FloatArray
    scale: FloatArray
    inverse: FloatArray
    effects: FloatArray
    features: tuple[Feature, ...]

    @property
    def shares(self) -> FloatArray:
        """The share of the level of every feature."""
        kinds = [feature.kind for feature in self.features]
        return np.array([SHARES[kind] / kinds.count(kind) for kind in kinds])

    def promised(self, detect: tuple[float, float]) -> FloatArray:
        """The effect to be noticed in every feature; infinity where none is promised."""
        sizes = {"mean": detect[0], "sd": detect[1]}
        return np.array([sizes.get(feature.kind, np.inf) for feature in self.features])


def frame_of(
    draws: FloatArray, scores: FloatArray, names: tuple[str, ...]
) -> tuple[Frame, FloatArray]:
    """The frame of (n, d) pilots, which are not judged, and their features."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        centre, scale = draws.mean(axis=0), draws.std(axis=0)
    if not (scale > 0.0).all():
        raise InputError(
            "the draws must vary in every coordinate; "
            f"`{names[int(np.argmin(scale))]}` is the same in all that give the scale"
        )
    own = _bounded(scores * scale)
    frame = Frame(centre, scale, inverse_information(own), np.ones((1, 1)), ())
    columns = stein_columns(frame, draws, scores)
    d, count = draws.shape[1], columns.shape[1]
    kinds: list[Kind] = [*("mean",) * d, *("sd",) * d, *("shape",) * (2 * d)]
    features = [Feature(kind, name) for kind, name in zip(kinds, names * 4, strict=True)]
    features += [Feature("dependence", f"{names[a]}, {names[b]}") for a, b in pairs(d)]
    # Waves are in units of their own sd; products in those of a correlation.
    squares = np.mean(columns[:, d : 4 * d] ** 2, axis=0)
    squares[squares <= 0.0] = 1.0
    sizes = np.ones(count)
    sizes[d : 2 * d] = np.diag(frame.inverse) / squares[:d]
    sizes[2 * d : 4 * d] = 1.0 / np.sqrt(squares[d:])
    effects = np.diag(-sizes)
    effects[:d, :d] = -frame.inverse
    return frame._replace(effects=effects, features=tuple(features)), columns


def inverse_information(columns: FloatArray) -> FloatArray:
    """The inverse of the second moment of columns, of few rows drawn towards the diagonal.

    Any matrix keeps the mean 0 of the features: with few rows this one costs power, not the level.
    """
    n, d = columns.shape
    moment = columns.T @ columns / n
    own = np.diag(moment).copy()
    own[own <= 0.0] = 1.0
    rows, root = _ROWS * n, np.sqrt(own)
    share = d / (d + rows) if rows < _ENOUGH * d else _NEVER_SINGULAR
    correlation = (1.0 - share) * moment / np.outer(root, root)
    np.fill_diagonal(correlation, 1.0)
    found: FloatArray = np.linalg.inv(correlation) / np.outer(root, root)
    return found


def parts_shown(frame: Frame, moment: FloatArray, n: int) -> FloatArray:
    """The part of an error of each mean and sd that its feature shows; 1 for other features.

    The mean whose error is least visible moves the others by I⁻¹e / (I⁻¹)_jj, of which the
    matrix A of the frame, drawn towards the diagonal, shows A_jj / (I⁻¹)_jj. Of an sd it shows at
    least as much. ``moment`` is that of the scores of n rows. If it has no inverse, nothing is
    taken to be shown.
    """
    d = len(moment)
    root = np.sqrt(np.diag(moment))
    root[root <= 0.0] = 1.0
    lengths, axes = np.linalg.eigh(moment / np.outer(root, root))
    own = np.zeros(d)
    if n > d and lengths[0] > n * EPSILON * lengths[-1]:
        # The inverse of the moment of n rows is too large by about this factor.
        inverse = (1.0 - d / n) * (axes**2 / lengths).sum(axis=1) / root**2
        own = np.minimum(np.diag(frame.inverse) / inverse, 1.0)
    shown = np.ones(len(frame.features))
    shown[: 2 * d] = np.tile(own, 2)
    return shown


def pairs(d: int) -> list[tuple[int, int]]:
    """The pairs of coordinates whose dependence is judged."""
    if d <= _ALL_PAIRS:
        return [(a, b) for a in range(d) for b in range(d) if a != b]
    return [(a, a + 1) for a in range(d - 1)]


@np.errstate(over="ignore", invalid="ignore")
def stein_columns(frame: Frame, draws: FloatArray, scores: FloatArray) -> FloatArray:
    """The features of (n, d) rows: location, scale, two waves, products; mean 0 under H0."""
    z, s = (draws - frame.centre) / frame.scale, scores * frame.scale
    sine, cosine = np.sin(_FREQUENCY * z), np.cos(_FREQUENCY * z)
    waves = [s * sine + _FREQUENCY * cosine, s * cosine - _FREQUENCY * sine]
    first, second = np.array(pairs(draws.shape[1]), dtype=np.intp).reshape(-1, 2).T
    spread = (s @ frame.inverse) * z + np.diag(frame.inverse)
    return _bounded(s, spread, *waves, s[:, first] * z[:, second])


def sizes_of(frame: Frame, columns: FloatArray) -> FloatArray:
    """Columns as one-step estimates of the effects: sds, parts of the sd, correlations."""
    return columns @ frame.effects


@np.errstate(over="ignore", invalid="ignore")
def plain_columns(frame: Frame, draws: FloatArray) -> FloatArray:
    """Functions of rows whose means a kernel must keep, in the units of `sizes_of`.

    They are z, (z² - 1) / 2 (a change by ε of the sd is a change by ε), two waves and products.
    """
    z = (draws - frame.centre) / frame.scale
    first, second = np.array(pairs(draws.shape[1]), dtype=np.intp).reshape(-1, 2).T
    waves = [np.sin(_FREQUENCY * z), np.cos(_FREQUENCY * z)]
    return _bounded(z, 0.5 * (z**2 - 1.0), *waves, z[:, first] * z[:, second])


def _bounded(*parts: FloatArray) -> FloatArray:
    """The features side by side; an error if they cannot be summed."""
    columns = np.hstack(parts)
    if not (np.abs(columns) < _LARGEST).all():
        raise ScaleError(
            f"the Stein features must be below {_LARGEST:g}, in sds of the draws; got larger ones. "
            "Are draws and scores of the same target, on the same scale?"
        )
    return columns
