"""The only door: draws and scores come in here and are validated once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from polystein._lib.arrays import namespace, to_numpy
from polystein.errors import DependenceWarning, InputError
from polystein.protocols import Array, Block, FloatArray, Layout

MANY_CHAINS = 20

ScoreFunction = Callable[[Array], Array]

_TRANSPOSED_HINT = (
    "If this is a scalar parameter of shape (chain, draw), pass `draws[..., None]`, of shape "
    "(chain, draw, d) = ({0}, {1}, 1); if rows and columns are swapped, pass `draws.T`."
)


class Sample:
    """Draws with their scores, validated once.

    Parameters
    ----------
    draws : array
        Of shape (n, d), or (chain, draw, d) for MCMC output, in time order. Any
        array-API array (NumPy, PyTorch, JAX, ...) or what NumPy makes an array of.
    scores : array or callable
        The score, grad log p, at every draw: an array of the shape of `draws`, or
        a function from an (n, d) array to one of the same shape. Draws and scores
        belong to the unconstrained space.
    names : sequence of str, optional
        One name for each of the d coordinates.
    log_weights : array, optional
        Logarithms of unnormalised importance weights, of the shape of `draws`
        without its last axis.

    Notes
    -----
    The arrays are kept, not copied: do not change them while the sample is in use.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((500, 3))
    >>> ps.Sample(draws, lambda x: -x, names=["alpha", "beta", "tau"])
    Sample(500 draws, d=3)
    """

    def __init__(
        self,
        draws: Array,
        scores: Array | ScoreFunction,
        *,
        names: Sequence[str] | None = None,
        log_weights: Array | None = None,
    ) -> None:
        self.draws = _validated_array(draws, "draws")
        _check_draws_shape(self.draws.shape)
        _warn_of_swapped_axes(self.draws.shape)
        self.scores = _validated_scores(scores, self.draws)
        _check_finite(self.draws, "draws")
        _check_finite(self.scores, "scores")
        self.names = _validated_names(names, int(self.draws.shape[-1]))
        self.log_weights, self.log_scale = _validated_log_weights(
            log_weights, self.draws.shape[:-1]
        )
        self._three_dimensional = len(self.draws.shape) == 3
        self.layout = _layout(tuple(int(size) for size in self.draws.shape))

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, in double precision where there is one."""
        leading = (chain,) if self._three_dimensional else ()
        rows = (*leading, slice(start, stop))
        weights = None if self.log_weights is None else np.exp(self.log_weights[rows])
        draws, scores = self.draws[(*rows, ...)], self.scores[(*rows, ...)]
        return Block(_as_double(draws), _as_double(scores), weights, chain, start, self.log_scale)

    def __repr__(self) -> str:
        layout = self.layout
        chains = f"{len(layout.lengths)} chains of " if layout.time_ordered else ""
        weighted = "" if self.log_weights is None else ", weighted"
        return f"Sample({chains}{layout.lengths[0]} draws, d={layout.dimension}{weighted})"


def _layout(shape: tuple[int, ...]) -> Layout:
    if len(shape) == 3:
        return Layout((shape[1],) * shape[0], shape[2], True)
    return Layout((shape[0],), shape[1], False)


def as_sample(draws: Array | Sample, scores: Array | ScoreFunction | None) -> Sample:
    """Accept a `Sample` alone, or draws together with scores."""
    if isinstance(draws, Sample):
        if scores is not None:
            raise InputError(
                "`scores` must not be given with a `Sample`, which has its own; "
                f"got {type(scores).__name__}"
            )
        return draws
    if scores is None:
        raise InputError(
            "`scores` must be an array of the shape of `draws` or a callable; got None. "
            "Only a `Sample` may come without them."
        )
    return Sample(draws, scores)


def weights_ess(log_weights: FloatArray) -> float:
    """Effective sample size (sum w)^2 / sum w^2 of the importance weights."""
    weights = np.exp(log_weights)
    return float(weights.sum() ** 2 / (weights**2).sum())


def _as_double(array: Array) -> Array:
    xp = namespace(array)
    if array.dtype == xp.float64:
        return array
    return xp.astype(array, xp.float64)


def _validated_array(value: Array, argument: str) -> Array:
    """Return a real numeric array, or say which dtype is in the way."""
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"`{argument}` must be a plain array; got a masked array")
    if not is_array_api_obj(value):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise InputError(f"`{argument}` must be an array of numbers; {error}") from error
    elif is_numpy_array(value):
        value = np.asarray(value)
    xp = namespace(value)
    if value.dtype == xp.float64:
        return value
    if not _has_numeric_dtype(xp, value):
        raise InputError(
            f"`{argument}` must hold real numbers (a floating or integer dtype); "
            f"got dtype {value.dtype}"
        )
    if xp.isdtype(value.dtype, "integral"):
        _check_integers_fit(xp, value, argument)
        # A score function of integers would wrap around.
        value = xp.astype(value, xp.float64)
    return value


def _has_numeric_dtype(xp: Array, value: Array) -> bool:
    try:
        return bool(xp.isdtype(value.dtype, ("real floating", "integral")))
    except (TypeError, ValueError):
        return False


def _check_integers_fit(xp: Array, value: Array, argument: str) -> None:
    """Beyond 2^53 neighbouring integers are the same float64."""
    bound = 2**53
    if xp.iinfo(value.dtype).max <= bound or 0 in value.shape:
        return
    if int(xp.max(value)) > bound or int(xp.min(value)) < -bound:
        raise InputError(
            f"`{argument}` must hold numbers that a float64 represents exactly; got "
            f"{value.dtype} values beyond 2**53. Convert them to float64 first."
        )


def _check_draws_shape(shape: tuple[int, ...]) -> None:
    if len(shape) == 1:
        raise InputError(
            f"`draws` must have the shape (n, d) or (chain, draw, d); got {tuple(shape)}. "
            "For one scalar parameter pass `draws[:, None]`."
        )
    if len(shape) not in (2, 3):
        raise InputError(
            f"`draws` must have the shape (n, d) or (chain, draw, d); got {tuple(shape)}"
        )
    if 0 in shape:
        raise InputError(f"`draws` must not be empty; got the shape {tuple(shape)}")
    if len(shape) == 2 and shape[0] < 20 and shape[1] > shape[0]:
        raise InputError(
            f"`draws` must have one row a draw; got {tuple(shape)}, fewer than 20 rows and more "
            f"columns than rows. {_TRANSPOSED_HINT.format(*shape)}"
        )


def _warn_of_swapped_axes(shape: tuple[int, ...]) -> None:
    """(draw, chain, d), as some ensemble samplers give it, looks like many short chains."""
    if len(shape) == 3 and shape[0] >= MANY_CHAINS and shape[0] > shape[1]:
        warnings.warn(
            DependenceWarning(
                f"`draws` have the shape (chain, draw, d) = {tuple(shape)}, more chains than draws "
                "a chain. If the axes are (draw, chain, d), pass `draws.swapaxes(0, 1)`: in the "
                "wrong order autocorrelation goes unseen, and correct draws are rejected."
            ),
            stacklevel=4,
        )


def _validated_scores(scores: Array | ScoreFunction, draws: Array) -> Array:
    """Evaluate a callable on a copy of the draws; check the shape either way."""
    shape = tuple(int(size) for size in draws.shape)
    if not callable(scores) or is_array_api_obj(scores):
        result, got = _validated_array(scores, "scores"), "got"
    else:
        xp = namespace(draws)
        copied = xp.asarray(draws, copy=True)
        flat = xp.reshape(copied, (-1, shape[-1]))
        result = _validated_array(scores(flat), "scores")
        got = "the callable returned"
        if tuple(result.shape) == tuple(flat.shape):
            result = xp.reshape(result, shape)
    if tuple(result.shape) != shape:
        raise InputError(
            f"`scores` must have the shape of `draws`, {shape}; {got} {tuple(result.shape)}"
        )
    if namespace(result) is not namespace(draws):
        raise InputError(
            "`scores` must be an array of the same library as `draws`, "
            f"{type(draws).__name__}; {got} {type(result).__name__}"
        )
    return result


def _check_finite(array: Array, argument: str) -> None:
    """A sum is finite only if every term is; look closer only when it is not."""
    xp = namespace(array)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(float(xp.sum(array))):
            return
    bad = ~xp.isfinite(array)
    count = int(xp.sum(xp.astype(bad, xp.int64)))
    if count:
        flat = int(xp.argmax(xp.astype(xp.reshape(bad, (-1,)), xp.int8)))
        where = tuple(int(i) for i in np.unravel_index(flat, tuple(array.shape)))
        value = float(array[where])
        raise InputError(
            f"`{argument}` must be finite; got {count} non-finite "
            f"value{'s' if count > 1 else ''}, the first at index {where}: {value}"
        )


def _validated_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    result = tuple(names) if isinstance(names, Iterable) else ()
    strings = not isinstance(names, str) and all(isinstance(name, str) for name in result)
    if not strings or len(result) != dimension or len(set(result)) != dimension:
        raise InputError(
            f"`names` must be {dimension} different strings, one for each coordinate; got {names!r}"
        )
    return result


def _validated_log_weights(
    log_weights: Array | None, shape: tuple[int, ...]
) -> tuple[FloatArray | None, float]:
    """Return log-weights less their maximum, so that no exponential overflows, and it."""
    if log_weights is None:
        return None, 0.0
    values = to_numpy(_validated_array(log_weights, "log_weights"))
    expected = tuple(int(size) for size in shape)
    if values.shape != expected:
        raise InputError(
            f"`log_weights` must have the shape of `draws` without its last axis, {expected}; "
            f"got {values.shape}"
        )
    top = float(values.max())
    if not np.isfinite(top):
        raise InputError(
            "`log_weights` must be finite or -inf, with at least one finite value; "
            f"got a largest value of {top}"
        )
    return np.subtract(values, top), top
