"""The Stein features that are judged, in the frame of pilots, with sizes in natural units.

For a function g of coordinate j the feature is s_j g + ∂g/∂x_j, whose mean is 0 under the target
for draws of any quality. A shift of the draws by δ sd changes the mean of c s_j by -δ I, where I
is its variance under the target (Fisher's information), and likewise for the scale.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from polystein.errors import InputError
from polystein.types import FloatArray

#: What a feature tells about its coordinate.
Kind: TypeAlias = Literal["mean", "sd", "shape", "dependence"]
#: Shares of the level. Means and sds are what `detect` promises; the others find what has neither.
SHARES: dict[Kind, float] = {"mean": 0.35, "sd": 0.35, "shape": 0.15, "dependence": 0.15}
#: Frequency of the waves, in radians per sd: two modes of three sds between them are one period.
_FREQUENCY = 2.0
#: Up to this many coordinates all pairs are judged, above it neighbours.
_ALL_PAIRS = 6


class Feature(NamedTuple):
    """One feature: what it tells, about which coordinates."""

    kind: Kind
    name: str


class Frame(NamedTuple):
    """Centre and scale of the draws, and Fisher's information of the feature columns."""

    centre: FloatArray
    scale: FloatArray
    information: FloatArray
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
    centre, scale = draws.mean(axis=0), draws.std(axis=0)
    if not (scale > 0.0).all():
        raise InputError(
            "`sampler` must return draws that vary; "
            f"`{names[int(np.argmin(scale))]}` is the same in all pilots"
        )
    bare = Frame(centre, scale, np.ones(1), ())
    columns = stein_columns(bare, draws, scores)
    information = np.mean(columns**2, axis=0)
    d = draws.shape[1]
    kinds: list[Kind] = [*("mean",) * d, *("sd",) * d, *("shape",) * (2 * d)]
    features = [Feature(kind, name) for kind, name in zip(kinds, names * 4, strict=True)]
    features += [Feature("dependence", f"{names[a]}, {names[b]}") for a, b in pairs(d)]
    # Waves are in units of their own sd; products in those of a correlation.
    information[2 * d : 4 * d] = np.sqrt(information[2 * d : 4 * d])
    information[4 * d :] = 1.0
    information = np.where(information > 0.0, information, 1.0)
    return Frame(centre, scale, information, tuple(features)), columns


def pairs(d: int) -> list[tuple[int, int]]:
    """The pairs of coordinates whose dependence is judged."""
    if d <= _ALL_PAIRS:
        return [(a, b) for a in range(d) for b in range(d) if a != b]
    return [(a, a + 1) for a in range(d - 1)]


def stein_columns(frame: Frame, draws: FloatArray, scores: FloatArray) -> FloatArray:
    """The features of (n, d) rows: location, scale, two waves, products; mean 0 under H0."""
    z, s = (draws - frame.centre) / frame.scale, scores * frame.scale
    sine, cosine = np.sin(_FREQUENCY * z), np.cos(_FREQUENCY * z)
    waves = [s * sine + _FREQUENCY * cosine, s * cosine - _FREQUENCY * sine]
    first, second = np.array(pairs(draws.shape[1]), dtype=np.intp).reshape(-1, 2).T
    return np.hstack([s, s * z + 1.0, *waves, s[:, first] * z[:, second]])


def sizes_of(frame: Frame, columns: FloatArray) -> FloatArray:
    """Columns as one-step estimates of the effects: sds, parts of the sd, correlations."""
    return -columns / frame.information


def plain_columns(frame: Frame, draws: FloatArray) -> FloatArray:
    """Functions of rows whose means a kernel must keep, in the units of `sizes_of`.

    They are z, (z² - 1) / 2 (a change by ε of the sd is a change by ε), two waves and products.
    """
    z = (draws - frame.centre) / frame.scale
    first, second = np.array(pairs(draws.shape[1]), dtype=np.intp).reshape(-1, 2).T
    waves = [np.sin(_FREQUENCY * z), np.cos(_FREQUENCY * z)]
    return np.hstack([z, 0.5 * (z**2 - 1.0), *waves, z[:, first] * z[:, second]])
