"""Frames in which rows are seen: as they come, safe for powers, or standardised.

The paper's functions answer in the coordinates they are given. Raw powers of draws far from
the origin lose digits, and powers of large draws overflow. So sums are taken in a *working*
frame y = (x - c)/D, in which the score is D s, and mapped back (`polystein.stein.change`). The
scale of that frame is a power of two and the centre a multiple of it, so that the change to it
causes no rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polystein._lib.numerics import columnwise, is_constant
from polystein.data.source import Block
from polystein.errors import DegenerateError
from polystein.inference.columns import ColumnMoments
from polystein.inference.pvalues import correlations
from polystein.types import FloatArray

# Raw powers are safe while the middle of the draws is not farther from the origin than
# this many times half of their range ...
SAFE_OFFSET = 2.0
# ... and that is within this factor of 1: its eighth power, of orders up to 8, is below 2^64.
SAFE_REACH = 256.0
#: Correlations whose eigenvalues differ by more than this are taken for singular.
LEAST_EIGENVALUE = 1e-12
# Exponents of the scale stay where neither it nor its inverse leaves the range of a float64.
_LARGEST_EXPONENT = 1000


@dataclass(frozen=True, eq=False)
class Frame:
    """x -> (x - centre)/scale and s -> scale s; nothing where both are None."""

    centre: FloatArray | None = None
    scale: FloatArray | None = None

    def apply(self, draws: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Draws and scores in this frame; the inputs are left alone."""
        if self.scale is None:
            return draws, scores
        with np.errstate(over="ignore"):  # infinity is reported where rows are summed
            scaled = columnwise(np.multiply, scores, self.scale, np.empty_like(scores))
            return self.of_draws(draws), scaled

    def of_draws(self, draws: FloatArray) -> FloatArray:
        """The draws alone in this frame."""
        if self.scale is None:
            return draws
        seen = np.empty_like(draws)
        if self.centre is None:
            return columnwise(np.divide, draws, self.scale, seen)
        columnwise(np.subtract, draws, self.centre, seen)
        return columnwise(np.divide, seen, self.scale, seen)

    def back(self, draws: FloatArray) -> FloatArray:
        """Draws of this frame as they came."""
        scaled = draws if self.scale is None else draws * self.scale
        return scaled if self.centre is None else scaled + self.centre

    def scale_in(self, other: Frame) -> FloatArray | float:
        """How large this frame's unit is in another frame; infinite where that overflows."""
        own = 1.0 if self.scale is None else self.scale
        with np.errstate(over="ignore"):
            return own if other.scale is None else own / other.scale

    def see(self, block: Block) -> Block:
        """The block in this frame."""
        draws, scores = self.apply(block.draws, block.scores)
        return block._replace(draws=draws, scores=scores)

    def __reduce__(self) -> str | tuple[type[Frame], tuple[FloatArray | None, ...]]:
        # The raw frame is recognised by identity, also after pickling.
        return "RAW" if self is RAW else (Frame, (self.centre, self.scale))


RAW = Frame()


def working_frame(draws: FloatArray) -> Frame:
    """A frame in which powers of these draws neither lose digits nor overflow.

    It is the raw frame if raw powers are safe. The way back is exact, so that the choice
    changes results by rounding only.
    """
    # Half of the range, not the standard deviation: it cannot overflow. NumPy finds extremes along
    # contiguous columns many times as fast.
    columns = np.ascontiguousarray(draws.T)
    low, high = 0.5 * columns.min(axis=1), 0.5 * columns.max(axis=1)
    middle, reach = low + high, high - low
    offset = np.abs(middle) > SAFE_OFFSET * reach
    if reach.max() < SAFE_REACH and reach.min() > 1.0 / SAFE_REACH and not offset.any():
        return RAW
    size = np.where(offset & (reach > 0.0), reach, np.maximum(np.abs(middle), reach))
    exponent = np.round(np.log2(size, out=np.zeros_like(size), where=size > 0.0))
    scale = np.ldexp(1.0, np.clip(exponent, -_LARGEST_EXPONENT, _LARGEST_EXPONENT).astype(int))
    centre = np.where(offset, np.round(middle / scale) * scale, 0.0)
    return Frame(centre if centre.any() else None, scale)


@dataclass(frozen=True, eq=False)
class WhiteningFrame(Frame):
    """x -> R^-1/2 (x - centre)/scale and s -> R^1/2 (scale s), with R the correlation of draws.

    The roots are symmetric: coordinates keep their places as far as they can. Other roots of the
    same rows turn chance correlations into directions, on which a test rejects too often.
    """

    root: FloatArray | None = None
    inverse_root: FloatArray | None = None

    def apply(self, draws: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Draws and scores in this frame; the inputs are left alone."""
        assert self.scale is not None
        assert self.root is not None
        with np.errstate(over="ignore"):  # infinity is reported where rows are summed
            return self.of_draws(draws), (scores * self.scale) @ self.root

    def of_draws(self, draws: FloatArray) -> FloatArray:
        """The draws alone in this frame."""
        assert self.inverse_root is not None
        result: FloatArray = super().of_draws(draws) @ self.inverse_root
        return result

    def back(self, draws: FloatArray) -> FloatArray:
        """Draws of this frame as they came."""
        assert self.root is not None
        return super().back(draws @ self.root)

    def __reduce__(self) -> tuple[type[WhiteningFrame], tuple[FloatArray | None, ...]]:
        return WhiteningFrame, (self.centre, self.scale, self.root, self.inverse_root)


def whitening_frame(standard: Frame, correlation: FloatArray) -> WhiteningFrame:
    """The frame in which draws of this correlation, standardised, are uncorrelated."""
    values, vectors = np.linalg.eigh(correlation)
    if not values[0] > LEAST_EIGENVALUE * values[-1]:
        raise DegenerateError(
            '`standardise="whiten"` needs training rows whose correlation matrix can be inverted; '
            f"its smallest eigenvalue is {values[0]:.3g} and its largest {values[-1]:.3g}. Take "
            "more draws, leave out coordinates that others determine, or pass `standardise=True`"
        )
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    return WhiteningFrame(standard.centre, standard.scale, root, inverse)


class DrawMoments:
    """Mean and variance of the draws, as an accumulator of a pass; ``joint`` adds covariances.

    Sums are taken in a working frame, which the first block chooses: squares of draws on a
    huge scale would overflow.
    """

    def __init__(self, dimension: int, *, joint: bool = False) -> None:
        self._working: Frame | None = None
        self._joint = joint
        self._moments = ColumnMoments(dimension, joint=joint)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self._moments.mean.size

    def zero(self) -> DrawMoments:
        """An accumulator of the same kind without rows."""
        return DrawMoments(self.dimension, joint=self._joint)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        self.add(block.draws, block.weights)

    def add(self, draws: FloatArray, weights: FloatArray | None) -> None:
        """Take draws and their importance weights."""
        if self._working is None:
            self._working = working_frame(draws)
        self._moments.update(self._working.of_draws(draws), weights)

    def merge(self, other: DrawMoments) -> DrawMoments:
        """Add another accumulator's rows."""
        if other._working is None:
            return self
        if self._working is None:
            self._working = other._working
        found, ratio = other._moments, other._working.scale_in(self._working)
        # Infinity is reported where the frame is used.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self._working.of_draws(other._working.back(found.mean))
            ratios = np.broadcast_to(ratio, mean.shape)
            scatter = found.scatter * (np.outer(ratios, ratios) if self._joint else ratios**2)
        self._moments.add(found.weight, found.weight_squares, mean, scatter)
        return self

    def standard_frame(self) -> Frame:
        """The frame in which the rows so far have mean 0 and variance 1."""
        found, working = self._moments.finalise(), self._working or RAW
        mean, spread = working.back(found.mean), found.spread * working.scale_in(RAW)
        flat = np.flatnonzero(is_constant(spread, mean))
        if flat.size:
            raise DegenerateError(
                "`draws` must vary in every coordinate to be standardised; coordinate "
                f"{flat[0]} is constant over the training rows ({flat.size} of {spread.size} are)"
            )
        return Frame(mean, spread)

    def whitening_frame(self) -> WhiteningFrame:
        """The frame in which the rows so far have mean 0, variance 1 and no correlation."""
        standard, found = self.standard_frame(), self._moments.finalise()
        return whitening_frame(standard, correlations(found.covariance))
