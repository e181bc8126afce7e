"""The target itself: its log-density and score at any rows, where they are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein._lib.numerics import is_single
from polystein.errors import InputError, PolysteinError
from polystein.types import Array, FloatArray, ScoreFunction

#: Shortest step of differences of the log-density, in standard deviations of the draws.
_STEP = 1e-4
#: The rounding of numbers of about 1 in single precision.
SINGLE = float(np.finfo(np.float32).eps)
#: Sums of many terms are off by more than the rounding of one.
ROUNDINGS = 8.0
#: What functions that fail are told.
_OUTSIDE = "It must take any (n, d) draws, and return -inf for those outside the support"
_SCORES_OUTSIDE = "It must take any (n, d) draws, also where the log-density is -inf"


@dataclass(frozen=True, eq=False)
class Target:
    """A log-density, up to a constant, on the unconstrained space of the draws.

    The functions take (n, d) rows. `log_density` and `log_density_and_score` call them with
    NumPy arrays in double precision, give the same, and check what comes back. A target is lost
    in pickling, since compiled functions and models often cannot be pickled: what is unpickled
    has None in its place.

    Attributes
    ----------
    dimension : int
        Number d of coordinates.
    density : callable or None
        The log-density of each row. None if only the transform is known.
    density_and_score : callable or None
        The log-density and its gradient at each row, if there are gradients.
    names : tuple of str or None
        One name for each coordinate.
    transform : callable or None
        From unconstrained rows to a mapping of the model's own parameters.
    vectorised : bool
        Whether the functions work on all rows at once. Otherwise they go from row to row.
    """

    dimension: int
    density: Callable[[FloatArray], Array] | None
    density_and_score: Callable[[FloatArray], tuple[Array, Array]] | None = None
    names: tuple[str, ...] | None = None
    transform: Callable[[FloatArray], Mapping[str, Array]] | None = None
    vectorised: bool = True

    @classmethod
    def of_functions(
        cls,
        dimension: int,
        density: Callable[[FloatArray], Array],
        score: ScoreFunction | None,
        names: tuple[str, ...] | None = None,
        transform: Callable[[FloatArray], Mapping[str, Array]] | None = None,
    ) -> Target:
        """The target of a pair of functions, the second of which may be missing."""
        both = None
        if score is not None:
            known: ScoreFunction = score

            def both(rows: FloatArray) -> tuple[Array, Array]:
                values = density(rows)
                with user_code("scores", _SCORES_OUTSIDE):
                    return values, known(rows)

        return cls(dimension, density, both, names, transform)

    @property
    def has_score(self) -> bool:
        """Whether gradients of the log-density are known."""
        return self.density_and_score is not None

    def with_score(self, score: ScoreFunction) -> Target:
        """The target with a score function beside its log-density; itself if it has a score."""
        if self.has_score or self.density is None:
            return self
        both = Target.of_functions(self.dimension, self.density, score)
        return replace(self, density_and_score=both.density_and_score)

    def log_density(self, rows: Array) -> FloatArray:
        """The log-density at (n, d) rows, n numbers."""
        if self.density is None:
            raise InputError("`target` must know its log-density; it has a transform alone")
        given = self._rows(rows)
        with user_code("log_density", _OUTSIDE):
            values = self.density(given.copy())
        return _numbers(values, given.shape[:1], "log_density")

    def log_density_and_score(self, rows: Array) -> tuple[FloatArray, FloatArray]:
        """The log-density at (n, d) rows and its gradients, of the shapes (n,) and (n, d)."""
        if self.density_and_score is None:
            raise InputError("`target` must know its score; it has a log-density alone")
        given = self._rows(rows)
        with user_code("log_density", _OUTSIDE):
            values, scores = self.density_and_score(given.copy())
        return (
            _numbers(values, given.shape[:1], "log_density"),
            _numbers(scores, given.shape, "scores"),
        )

    def _rows(self, rows: Array) -> FloatArray:
        given = np.atleast_2d(to_numpy(rows))
        if given.ndim != 2 or given.shape[1] != self.dimension:
            raise InputError(
                f"`rows` must have the shape (n, {self.dimension}); got {np.shape(rows)}"
            )
        return given

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _lost, ()


def _lost() -> None:
    return None


@contextmanager
def user_code(function: str, remedy: str) -> Iterator[None]:
    """Turn errors of a user's function into errors of the input that name it."""
    try:
        yield
    except (PolysteinError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"`{function}` raised {type(error).__name__}: {error}. {remedy}"
        ) from error


def _numbers(found: Array, shape: tuple[int, ...], function: str) -> FloatArray:
    """What a function gave in double precision; NaN and infinity are left to the caller."""
    try:
        array = found if is_array(found) else np.asarray(found)
    except ValueError as error:
        raise InputError(f"`{function}` must return an array; got parts that differ") from error
    if not holds_real_numbers(array) or math.prod(array.shape) != math.prod(shape):
        what = "a real number" if len(shape) == 1 else "a gradient"
        raise InputError(
            f"`{function}` must return {what} for each of (n, d) draws, an array of shape {shape} "
            f"here; got dtype {array.dtype} of shape {tuple(array.shape)}"
        )
    return to_numpy(array).reshape(shape)


def precision(*answers: FloatArray) -> float:
    """The rounding of numbers of about 1: that of single precision if any answer has its digits."""
    single = any(is_single(one) for one in answers)
    return SINGLE if single else float(np.finfo(np.float64).eps)


def difference_step(values: FloatArray) -> tuple[float, float]:
    """The step of central differences of a log-density, and what rounding makes of them.

    Both are in standard deviations of the draws, and ``values`` are those of the log-density. The
    error of a difference over a step h is about the rounding over h, and h^2: steps are longer in
    single precision.
    """
    known = np.abs(values[np.isfinite(values)])
    rounding = precision(values) * (max(1.0, float(np.median(known))) if known.size else 1.0)
    step = max(_STEP, float(np.cbrt(rounding)))
    return step, ROUNDINGS * rounding / step


def scores_by_differences(target: Target, rows: FloatArray) -> FloatArray:
    """Central differences of the log-density at (n, d) rows, coordinate by coordinate."""
    spread = rows.std(axis=0)
    step_in_sds, _ = difference_step(target.log_density(rows))
    steps = step_in_sds * np.where(spread > 0.0, spread, 1.0)
    scores = np.empty(rows.shape)
    for column, step in enumerate(steps):
        move = np.zeros(rows.shape[1])
        move[column] = step
        ends = target.log_density(rows + move), target.log_density(rows - move)
        scores[:, column] = (ends[0] - ends[1]) / (2.0 * step)
    return scores
