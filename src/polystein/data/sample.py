"""The only door: draws and scores come in here and are validated once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from polystein._lib.arrays import (
    as_rows,
    holds_integers,
    holds_real_numbers,
    independent_copy,
    integer_range,
    is_array,
    library,
    to_numpy,
)
from polystein._lib.notes import warn_caller
from polystein.data.facts import Facts, validated_facts
from polystein.data.foreign import adapted, refuse_dask, type_name
from polystein.data.guard.chains import LEAST_LENGTH, rearranged
from polystein.data.guard.pairing import require_same_labels
from polystein.data.selection import Selection, selected_parts
from polystein.data.source import (
    Block,
    ChainRows,
    Layout,
    Source,
    checked_names,
    complete,
    is_source,
)
from polystein.data.target import Target
from polystein.errors import DependenceWarning, InputError
from polystein.types import Array, FloatArray, ScoreFunction

#: From this many chains on, more chains than draws per chain look like swapped axes. From
#: `LEAST_LENGTH` chains on the draws themselves tell.
MANY_CHAINS = 20
#: Most rows that a score function is given, or that are searched for NaN, at a time.
ROWS_AT_ONCE = 65_536
#: Beyond this, neighbouring integers are the same float64.
LARGEST_INTEGER = 2**53

_TRANSPOSED_HINT = (
    "If this is a scalar parameter of shape (chain, draw), pass `draws[..., None]`, of shape "
    "(chain, draw, d) = ({0}, {1}, 1); if rows and columns are swapped, pass `draws.T`."
)


class Sample(Source):
    """Draws with their scores, validated once.

    Parameters
    ----------
    draws : array
        Of shape (n, d), or (chain, draw, d) for MCMC output, in time order. An array of
        NumPy, PyTorch, JAX or another library, a pandas DataFrame, an xarray DataArray,
        or anything that NumPy converts to an array.
    scores : array or callable
        The score, grad log p, at every draw: an array of the shape of `draws`, or
        a function from an (n, d) array to one of the same shape. The function is given
        blocks of draws in the library, precision and device of `draws`. Draws and scores
        belong to the unconstrained space.
    names : sequence of str, optional
        One name for each of the d coordinates.
    log_weights : array, optional
        Logarithms of unnormalised importance weights, of the shape of `draws`
        without its last axis.
    facts : mapping, optional
        What else is known about the draws: ``sampler_statistics``, a mapping of arrays of
        shape (chain, draw); ``log_density``, a function of (n, d) draws; ``transform``, a
        function from (n, d) draws to a mapping of the model's own parameters; ``minibatch``, as
        for `check`.

    Notes
    -----
    The arrays are kept, not copied: do not change them while the sample is in use. Rows are
    converted to NumPy in double precision when they are read. Draws and scores may come from
    different libraries.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((500, 3))
    >>> ps.Sample(draws, lambda x: -x, names=["alpha", "beta", "tau"])
    Sample(500 draws, d=3)
    """

    validated = True

    def __init__(
        self,
        draws: Array,
        scores: Array | ScoreFunction,
        *,
        names: Sequence[str] | None = None,
        log_weights: Array | None = None,
        facts: Mapping[str, Any] | Facts | None = None,
    ) -> None:
        self.draws = validated_array(draws, "draws")
        shape = _validated_shape(self.draws)
        self.facts = _with_swapped_axes(validated_facts(facts, shape), shape)
        target, of_rows = self.facts.target, callable(scores) and not is_array(scores)
        # A score function takes arrays of the draws' own library; a target's NumPy's, no noise.
        usable = of_rows and library(self.draws) == "numpy" and not self.facts.minibatch
        if target is not None and usable:
            self.facts = replace(self.facts, target=target.with_score(scores))
        self.scores = _validated_scores(scores, self.draws, shape)
        #: Whether both are arrays of NumPy in double precision, which need no conversion.
        arrays = type(self.draws) is type(self.scores) is np.ndarray
        self._double = arrays and self.draws.dtype == self.scores.dtype == np.float64
        if self.draws is not draws or self.scores is not scores:  # else there are no labels
            require_same_labels(draws, scores)
        with np.errstate(over="ignore", invalid="ignore"):
            _require_finite(self.draws, "draws")
            _require_finite(self.scores, "scores")
        self.names = checked_names(names, shape[-1])
        self.log_weights, self.log_scale, self.weighted = None, 0.0, log_weights is not None
        if log_weights is not None:
            self.log_weights, self.log_scale = _validated_log_weights(log_weights, shape[:-1])
        chains = len(shape) == 3
        self._leading = chains
        lengths = (shape[1],) * shape[0] if chains else (shape[0],)
        self.layout = Layout(lengths, shape[-1], time_ordered=chains)

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, in NumPy and double precision."""
        own = slice(start, stop)
        rows = (chain, own, ...) if self._leading else (own, ...)
        weights = None if self.log_weights is None else np.exp(self.log_weights[rows])
        draws, scores = self.draws[rows], self.scores[rows]
        if not self._double:
            draws, scores = to_numpy(draws), to_numpy(scores)
        return Block(draws, scores, weights, chain, start)

    def read_chains(self, first: int, last: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of each of the chains ``first:last``, one chain after the other."""
        rows = slice(first, last), slice(start, stop)
        weights = None if self.log_weights is None else np.exp(self.log_weights[rows].reshape(-1))
        draws, scores = (
            to_numpy(as_rows(array[(*rows, ...)])) for array in (self.draws, self.scores)
        )
        ends = range(0, len(draws) + 1, stop - start)
        chains = zip(range(first, last), repeat(start), ends, ends[1:], strict=False)
        return Block(draws, scores, weights, first, start, tuple(map(ChainRows._make, chains)))

    def __init_subclass__(cls) -> None:
        """A subclass that reads rows in its own way is asked for one chain at a time."""
        super().__init_subclass__()
        if "read" in cls.__dict__ and "read_chains" not in cls.__dict__:
            cls.read_chains = None  # type: ignore[assignment]

    def select(
        self,
        *,
        var_names: str | Sequence[str] | None = None,
        thin: int = 1,
        drop_first: int = 0,
        coords: Mapping[str, Any] | None = None,
    ) -> Sample:
        """Some of the coordinates and rows, as a sample of their own.

        Parameters
        ----------
        var_names : str or sequence of str, optional
            Names of variables (``"theta"``), of coordinates (``"theta[0]"``), or patterns with
            ``*`` and ``?``. A ``~`` before a name leaves it out.
        thin : int
            Keep every `thin`-th draw of each chain.
        drop_first : int
            Leave out this many draws at the start of each chain.
        coords : mapping, optional
            Labels, one or a list, by the names of axes, as in ``{"school": ["A", "B"]}``. Of
            variables with such an axis the other coordinates are left out. Draws of PyMC, nutpie
            and ArviZ have names of axes.

        Notes
        -----
        The scores of the kept coordinates are still those of the whole target, so that Stein's
        identity holds for functions of these coordinates. A log-density and a transform, which
        need all coordinates, are not kept when some are left out. Statistics of the sampler are
        those of the kept draws.

        Examples
        --------
        >>> import numpy as np
        >>> import polystein as ps
        >>> draws = np.random.default_rng(0).standard_normal((4, 500, 3))
        >>> sample = ps.Sample(draws, -draws, names=["mu", "theta[0]", "theta[1]"])
        >>> sample.select(var_names="theta", thin=5)
        Sample(4 chains of 100 draws, d=2)
        """
        return Sample(**selected_parts(self, Selection(var_names, thin, drop_first, coords)))

    @property
    def target(self) -> Target | None:
        """The target's log-density, and its score if that is known; None if neither is.

        It is lost when the sample is pickled and when some of its coordinates are selected.
        """
        target = self.facts.target
        return None if target is None or target.density is None else target

    def __repr__(self) -> str:
        return f"Sample({self.layout}{', weighted' if self.weighted else ''})"


def as_source(
    draws: Array | Source, scores: Array | ScoreFunction | None, model: object = None
) -> Source:
    """The source that was given (a `Sample` is one), or a `Sample` of draws and scores.

    Objects of other libraries that carry both are adapted; `model` is for those that do not.
    """
    if type(draws) is type(scores) is np.ndarray and model is None:
        return Sample(draws, scores)
    sample: Source | None = adapted(draws, scores, model)
    if sample is not None:
        return sample
    if is_source(draws):
        if scores is not None:
            raise InputError(
                f"`scores` must not be given with a {type(draws).__name__}, which has its own; "
                f"got {type(scores).__name__}"
            )
        return complete(draws)
    if scores is None:
        raise InputError(
            "`scores` must be an array of the shape of `draws` or a callable; got None beside a "
            f"{type_name(draws)}, which carries none. A `Sample` does, and an adapter makes one."
        )
    return Sample(draws, scores)


def validated_array(value: Array, argument: str) -> Array:
    """Return an array of real numbers, or raise an error that names the dtype."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    refuse_dask(value, argument)
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"`{argument}` must be a plain array; got a masked array")
    given = value = _unlabelled(value, argument)
    if not is_array(value) or isinstance(value, np.ndarray):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise InputError(f"`{argument}` must be an array of numbers; {error}") from error
    if not holds_real_numbers(value):
        listed = is_array(given) or isinstance(given, list | tuple)
        got = f"dtype {value.dtype}" if listed else f"a {type_name(given)}"
        raise InputError(
            f"`{argument}` must hold real numbers (a floating or integer dtype); got {got}"
        )
    return _as_floating(value, argument) if holds_integers(value) else value


def _unlabelled(value: Array, argument: str) -> Array:
    """The values of a pandas or xarray object, whose labels say what the axes are."""
    kind = type(value).__name__
    if library(value) == "pandas":
        return value.to_numpy()
    if library(value) != "xarray":
        return value
    if kind != "DataArray":
        raise InputError(
            f"`{argument}` must be an array; got an xarray {kind}. Pass one of its variables, or "
            "`ds.to_array().values` with the axes in the order (chain, draw, d)."
        )
    leading = tuple(name for name in value.dims if name in ("chain", "draw"))
    if value.dims[: len(leading)] not in ((), ("draw",), ("chain", "draw")):
        raise InputError(
            f"`{argument}` must have the dimensions ('chain', 'draw', ...); got {value.dims}. "
            "Pass `array.transpose('chain', 'draw', ...)`."
        )
    return value.values


def _as_floating(value: Array, argument: str) -> Array:
    """Integers in double precision: a score function of integers would wrap around."""
    if 0 not in tuple(value.shape):
        low, high = integer_range(value)
        if high > LARGEST_INTEGER or low < -LARGEST_INTEGER:
            raise InputError(
                f"`{argument}` must hold numbers that a float64 represents exactly; got "
                f"{value.dtype} values beyond 2**53. Convert them to float64 first."
            )
    if library(value) == "torch":
        return value.double()
    return value.astype(np.float64) if hasattr(value, "astype") else to_numpy(value)


def _validated_shape(draws: Array) -> tuple[int, ...]:
    shape = tuple(map(int, draws.shape))
    if len(shape) not in (2, 3):
        remedy = ". For one scalar parameter pass `draws[:, None]`." if len(shape) == 1 else ""
        raise InputError(
            f"`draws` must have the shape (n, d) or (chain, draw, d); got {shape}{remedy}"
        )
    if 0 in shape:
        raise InputError(f"`draws` must not be empty; got the shape {shape}")
    if len(shape) == 2 and shape[0] < 20 and shape[1] > shape[0]:
        raise InputError(
            f"`draws` must have one row for each draw; got {shape}, fewer than 20 rows and more "
            f"columns than rows. {_TRANSPOSED_HINT.format(*shape)}"
        )
    return shape


def _with_swapped_axes(facts: Facts, shape: tuple[int, ...]) -> Facts:
    """(draw, chain, d), as some ensemble samplers give it, looks like many short chains."""
    if len(shape) < 3 or not MANY_CHAINS <= shape[0] < LEAST_LENGTH or shape[0] <= shape[1]:
        return facts
    warning = DependenceWarning(
        f"`draws` have the shape (chain, draw, d) = {shape}, with more chains than draws in each. "
        "If the axes are (draw, chain, d), pass `draws.swapaxes(0, 1)`: in the wrong order "
        "autocorrelation goes unseen, and correct draws are rejected."
    )
    warn_caller(warning)
    return replace(facts, warnings=(*facts.warnings, str(warning)))


def _validated_scores(scores: Array | ScoreFunction, draws: Array, shape: tuple[int, ...]) -> Array:
    """The scores as an array of the shape of the draws."""
    if callable(scores) and not is_array(scores):
        return _evaluated(scores, draws, shape)
    result = validated_array(scores, "scores")
    if tuple(result.shape) != shape:
        raise InputError(
            f"`scores` must have the shape of `draws`, {shape}; got {tuple(result.shape)}."
            + rearranged("scores", tuple(result.shape), shape)
        )
    return result


def _evaluated(score: ScoreFunction, draws: Array, shape: tuple[int, ...]) -> FloatArray:
    """Call the score function on copies of blocks of rows."""
    parts = []
    for rows in _row_blocks(draws):
        block = independent_copy(rows)
        expected = tuple(int(size) for size in block.shape)
        part = validated_array(score(block), "scores")
        if tuple(part.shape) != expected:
            raise InputError(
                f"`scores` must return an array of the shape of its argument, {expected}; "
                f"the callable returned {tuple(part.shape)}"
            )
        parts.append(to_numpy(part))
    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).reshape(shape)


def _row_blocks(array: Array) -> Iterator[Array]:
    """The rows in blocks; the array API allows no slice beyond the end."""
    rows = as_rows(array)
    total = int(rows.shape[0])
    for low in range(0, total, ROWS_AT_ONCE):
        yield rows[low : min(low + ROWS_AT_ONCE, total), ...]


def _require_finite(array: Array, argument: str) -> None:
    """A sum is finite only if every term is; look closer only when it is not."""
    plain = type(array) is np.ndarray and array.dtype == np.float64
    # What is not in double precision is converted to be looked at.
    for block in [array] if plain else map(to_numpy, _row_blocks(array)):
        if not math.isfinite(block.sum()) and not np.isfinite(block).all():
            _report_not_finite(to_numpy(array), argument)


def _report_not_finite(values: FloatArray, argument: str) -> None:
    bad = ~np.isfinite(values)
    count = int(bad.sum())
    where = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), values.shape))
    raise InputError(
        f"`{argument}` must be finite; got {count} non-finite "
        f"value{'s' if count > 1 else ''}, the first at index {where}: {values[where]}"
    )


def _validated_log_weights(log_weights: Array, shape: tuple[int, ...]) -> tuple[FloatArray, float]:
    """Return the log-weights minus their maximum, so that none overflows, and the maximum."""
    values = to_numpy(validated_array(log_weights, "log_weights"))
    if values.shape != shape:
        raise InputError(
            f"`log_weights` must have the shape of `draws` without its last axis, {shape}; "
            f"got {values.shape}"
        )
    top = float(values.max())
    if not np.isfinite(top):
        raise InputError(
            "`log_weights` must be finite or -inf, with at least one finite value; "
            f"got a largest value of {top}"
        )
    with np.errstate(over="ignore"):  # a weight that is too small for a float64 is 0
        return np.subtract(values, top), top
