"""What all adapters share: checks, names of coordinates, gradients in blocks, the `Sample`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polystein._lib.arguments import require_progress
from polystein._lib.arrays import to_numpy
from polystein._lib.notes import first_of, warn_caller
from polystein.data.facts import Facts, known_statistics
from polystein.data.foreign import type_name
from polystein.data.sample import Sample, validated_array
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError, PolysteinWarning, ScoreWarning
from polystein.inference.pareto import psis_index
from polystein.types import Array, FloatArray, Progress

#: Most draws whose log-densities and gradients a library computes at a time.
ROWS_AT_ONCE = 1024
#: Most numbers in the draws of such a block, so that wide draws come in smaller blocks.
NUMBERS_AT_ONCE = 2**18
#: Stan's names: a variable and indices from 1 on, with dots between them.
_STAN = re.compile(r"(?P<name>[^.]+)\.(?P<indices>\d+(?:\.\d+)*)")


def require_members(value: object, argument: str, expected: str, *members: str) -> None:
    """Raise an error if the value lacks what objects of its library have."""
    missing = [member for member in members if not hasattr(value, member)]
    if missing:
        raise InputError(
            f"`{argument}` must be {expected}; got a {type_name(value)}, which has no {missing[0]}"
        )


def draws_array(draws: Array) -> Array:
    """Draws of shape (n, d) or (chain, draw, d), as an array of real numbers of any library."""
    array = validated_array(draws, "draws")
    if array.ndim not in (2, 3):
        raise InputError(
            f"`draws` must have the shape (n, d) or (chain, draw, d); got {tuple(array.shape)}"
        )
    return array


def blocks(rows: int, dimension: int) -> Iterator[slice]:
    """Slices of rows that bound the memory of batched gradients."""
    step = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // max(1, dimension)))
    for low in range(0, rows, step):
        yield slice(low, min(low + step, rows))


def batched(
    function: Callable[[Array], Array], rows: Array, progress: Progress | None = None
) -> FloatArray:
    """Apply a function of (n, d) rows block by block, in NumPy and double precision."""
    require_progress(progress)
    count, parts = int(rows.shape[0]), []
    for part in blocks(count, int(rows.shape[-1])):
        parts.append(to_numpy(function(rows[part])))
        if progress is not None:
            progress(part.stop, count)
    return np.concatenate(parts)


def pointwise(
    function: Callable[[Any], Any], rows: Sequence[Any] | Array, progress: Progress | None = None
) -> list[Any]:
    """Apply a function of one point to every row, with about 100 calls of `progress`."""
    require_progress(progress)
    step, found = max(1, len(rows) // 100), []
    for number, row in enumerate(rows, 1):
        found.append(function(row))
        if progress is not None and (number % step == 0 or number == len(rows)):
            progress(number, len(rows))
    return found


def single_precision_warnings(dtype: object, what: str, remedy: str) -> tuple[str, ...]:
    """Warn if numbers of this dtype, of any library, are not in double precision.

    Returns the messages for `Facts.warnings`.
    """
    if str(dtype).rpartition(".")[2] not in ("float32", "float16", "bfloat16"):
        return ()
    warning = ScoreWarning(
        f"{what} were computed in float32, with about seven digits: rounding may pass for a fault. "
        f"{remedy}"
    )
    warn_caller(warning)
    return (str(warning),)


def coordinate_labels(
    name: str, shape: Sequence[int], labels: Sequence[Sequence[Any]] | None = None
) -> list[str]:
    """``theta[0]``, ``theta[1]``, ... in the order of a flattened array; ``mu`` for a scalar.

    `labels` are those of each axis, instead of numbers.
    """
    if len(shape) == 0:
        return [name]
    axes = labels or [range(size) for size in shape]
    return [f"{name}[{', '.join(map(str, place))}]" for place in itertools.product(*axes)]


def axis_labels(axes: Sequence[tuple[str, Sequence[Any]]], count: int = 1) -> list[dict[str, Any]]:
    """For each coordinate, in the order of `coordinate_labels`, its labels by the names of axes.

    Without named axes there are `count` coordinates without labels.
    """
    if not axes:
        return [{} for _ in range(count)]
    names = [name for name, _ in axes]
    places = itertools.product(*(labels for _, labels in axes))
    return [dict(zip(names, place, strict=True)) for place in places]


def unseen_warnings(discrete: Sequence[str]) -> tuple[str, ...]:
    """Warn that discrete variables are not tested; returns the messages for `Facts.warnings`.

    Given their values, the scores of the continuous variables satisfy Stein's identity.
    """
    if not discrete:
        return ()
    one = len(discrete) == 1
    warning = PolysteinWarning(
        f"{first_of(list(discrete), 5)} {'is' if one else 'are'} discrete and "
        f"{'has' if one else 'have'} no score: the test does not see "
        f"{'it' if one else 'them'}. The continuous variables are tested given "
        f"{'its' if one else 'their'} draws."
    )
    warn_caller(warning)
    return (str(warning),)


def facts_of_fit(log_ratios: FloatArray | None = None) -> Facts:
    """Facts about independent draws of a fitted density q.

    `log_ratios` are log p - log q at the draws, up to a constant, where q is known.
    """
    pareto_k = math.inf if log_ratios is None else psis_index(log_ratios.reshape(-1))
    return Facts(independent=True, pareto_k=pareto_k if math.isfinite(pareto_k) else None)


def flat_draws(variables: Iterable[Array]) -> Array:
    """Arrays of shape (chain, draw, ...), each flattened, next to each other: (chain, draw, d)."""
    return np.concatenate([one.reshape(*one.shape[:2], -1) for one in variables], axis=2)


def stan_parts(label: str) -> tuple[str, tuple[int, ...]]:
    """A variable and the indices, from 0 on, of Stan's ``theta.1.2``."""
    found = _STAN.fullmatch(label)
    if found is None:
        return label, ()
    return found["name"], tuple(int(index) - 1 for index in found["indices"].split("."))


def stan_names(labels: Iterable[str]) -> list[str]:
    """Stan's own notation, from 1 on: ``theta[1, 2]`` for ``theta.1.2``."""
    names = []
    for label in labels:
        name, indices = stan_parts(label)
        inside = ", ".join(str(index + 1) for index in indices)
        names.append(f"{name}[{inside}]" if indices else name)
    return names


def assemble(
    draws: Array,
    scores: Array,
    names: Sequence[str] | None,
    selection: Selection,
    *,
    statistics: Mapping[str, Array] | None = None,
    target: Target | None = None,
    warnings: Sequence[str] = (),
    known: Facts | None = None,
    log_weights: FloatArray | None = None,
) -> Sample:
    """The sample of draws whose rows are chosen already; coordinates are chosen here.

    `statistics` are those of the chosen rows under any of the names that samplers use. `known` are
    further facts. Rows that these call independent lose the axis of chains.
    """
    facts = replace(
        known or Facts(),
        sampler_statistics=known_statistics(statistics or {}),
        target=target,
        warnings=tuple(warnings),
    )
    if facts.independent and not callable(scores):
        draws, scores = (array.reshape(-1, array.shape[-1]) for array in (draws, scores))
        facts = replace(facts, sampler_statistics={})
    sample = Sample(draws, scores, names=names, log_weights=log_weights, facts=facts)
    return sample if selection.var_names is None else sample.select(var_names=selection.var_names)
