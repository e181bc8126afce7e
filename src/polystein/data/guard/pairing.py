"""Whether scores belong to the draws that they stand beside, or to others.

Labels tell first: those of pandas (columns, index) and xarray (dimensions, coordinates), and the
names of columns in files. What has no labels is paired as it stands, and the numbers tell. Scores
that are one row late, or whose chains are in another order, are scores of other draws, and the
sampler would be blamed for them. A score is a function of its own draw: whatever law the draws
come from, they explain the scores of their own rows best. Rows are mismatched if a linear function
of the draws explains the scores of the next row, of the row before, or of another chain much
better.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polystein._lib.arrays import library
from polystein.errors import InputError
from polystein.types import FloatArray

#: Most labels that a message shows.
_SHOWN = 8
#: Most rows that are looked at. The work beside them takes a twentieth of a short check.
_MOST_ROWS = 1024
#: They are summed in batches, at least this many in all and of each chain, whose means show how
#: uncertain a mean over all rows is.
_BATCHES, _BATCHES_OF_CHAIN = 16, 4
#: A fit has at least this many rows for each of its coefficients. If there are more coordinates,
#: some of them are looked at.
_ROWS_PER_COEFFICIENT = 8
#: Something is said only if at least this part of the variance of the scores is unexplained ...
_LEAST_LEFT = 0.01
#: ... and another alignment leaves at most this part of what the given one leaves ...
_MOST_LEFT = 0.7
#: ... by this many standard errors.
_CLEAR = 6.0


class _Axis(NamedTuple):
    """An axis of an array: the name of its dimension, its labels, and how to bring them in order.

    Axes of the same dimension must have the same labels. Labels of other axes may be entirely
    different, as ``grad_a`` beside ``a``.
    """

    dimension: Hashable
    #: An index of pandas, which xarray has, too.
    labels: Any
    called: str
    remedy: str


def require_same_names(draws: Sequence[Hashable], scores: Sequence[Hashable]) -> None:
    """Columns are the same in the same order, or have entirely different names.

    If their numbers differ, an error about the shapes says more.
    """
    if len(draws) != len(scores) or not _differ(draws, scores):
        return
    raise InputError(
        f"`scores` must have its columns in the order of `draws`, {_words(draws)}; got "
        f"{_words(scores)}. Bring them in the same order, or give them other names altogether."
    )


def require_same_labels(draws: Any, scores: Any) -> None:
    """Refuse draws and scores whose labels say that they do not belong together."""
    for left, right in zip(_arrays(draws), _arrays(scores), strict=False):
        first, second = _axes(left), _axes(right)
        _require_same_dimensions(first, second)
        for axis, other in zip(first, second, strict=False):
            _require_same_axis(axis, other)


def _arrays(value: Any) -> list[Any]:
    """The variables of a Dataset, or the array itself."""
    if library(value) == "xarray" and type(value).__name__ == "Dataset":
        return [value[name] for name in value.data_vars]
    return [value]


def _axes(value: Any) -> list[_Axis]:
    """The axes of what has labels; none for anything else."""
    kind, found = (library(value), type(value).__name__), []
    as_it_stands = "if they belong to the draws as they stand"
    if kind == ("pandas", "DataFrame"):
        values = f"`scores.to_numpy()` {as_it_stands}"
        for name, remedy in (
            ("index", f"`scores.loc[draws.index]`, or {values}"),
            ("columns", f"`scores[draws.columns]`, or {values}"),
        ):
            labels: Any = getattr(value, name, None)
            # 0, 1, 2, ... is what pandas gives to what has no labels.
            if type(labels).__name__ == "RangeIndex" and (labels.start, labels.step) == (0, 1):
                labels = None
            found.append(_Axis("index" if name == "index" else None, labels, name, remedy))
    elif kind == ("xarray", "DataArray"):
        indexes = getattr(value, "indexes", {})
        for dim in value.dims:
            unlabelled = f"`scores.drop_vars({dim!r})` {as_it_stands}"
            remedy = f"`scores.reindex_like(draws)`, or {unlabelled}"
            called = f"coordinates of the dimension {dim!r}"
            found.append(_Axis(dim, indexes.get(dim), called, remedy))
    return found


def _require_same_dimensions(draws: Sequence[_Axis], scores: Sequence[_Axis]) -> None:
    """A dimension that both have must be the same axis of both."""
    left, right = ([axis.dimension for axis in axes] for axes in (draws, scores))
    for place, dim in enumerate(left):
        if dim is not None and dim in right and right.index(dim) != place:
            raise InputError(
                f"`scores` must have its dimensions in the order of `draws`, {_words(left)}; got "
                f"{_words(right)}. Pass `scores.transpose(*draws.dims)`."
            )


def _require_same_axis(draws: _Axis, scores: _Axis) -> None:
    if draws.labels is None or scores.labels is None or draws.labels.equals(scores.labels):
        return
    same_dimension = draws.dimension is not None and draws.dimension == scores.dimension
    if same_dimension or _differ(draws.labels, scores.labels):
        raise InputError(
            f"`scores` must have the {scores.called} of `draws`, {_words(draws.labels)}, in that "
            f"order; got {_words(scores.labels)}{_first_difference(draws.labels, scores.labels)}. "
            f"Pass {scores.remedy}."
        )


def _differ(draws: Iterable[Hashable], scores: Iterable[Hashable]) -> bool:
    """Whether labels are neither the same in the same order nor entirely different."""
    left, right = list(draws), list(scores)
    return left != right and not set(left).isdisjoint(right)


def _first_difference(draws: Iterable[Hashable], scores: Iterable[Hashable]) -> str:
    """Where labels begin to differ, if it is not among those that are shown."""
    pairs = enumerate(zip(draws, scores, strict=False))
    found = next(((place, pair) for place, pair in pairs if pair[0] != pair[1]), None)
    if found is None or found[0] < _SHOWN:
        return ""
    place, (left, right) = found
    return f" (the first difference is at {place}: {left} against {right})"


def _words(labels: Iterable[Hashable]) -> str:
    shown = [str(label) for label in islice(labels, _SHOWN + 1)]
    return ", ".join([*shown[:_SHOWN], "..."] if len(shown) > _SHOWN else shown)


class Fit(NamedTuple):
    """Squares of scores, of shape (chain, batch, coordinate), and what a fit leaves of them."""

    squares: FloatArray
    left: FloatArray

    @property
    def unexplained(self) -> float:
        """1 - R^2, the mean over the coordinates; constant scores are not explained."""
        squares, left = (part.sum(axis=(0, 1)) for part in self)
        parts = np.divide(left, squares, out=np.ones_like(left), where=squares > 0.0)
        return float(parts.mean())


def mismatch(
    draws: FloatArray, scores: FloatArray, chains: NDArray[np.intp], times: NDArray[np.intp]
) -> str | None:
    """What is wrong with the order of the scores' rows, in words; None if nothing is.

    The rows are those of one chain after the other, in time order. ``chains`` and ``times`` say
    which rows they are.
    """
    follows = (np.diff(chains) == 0) & (np.diff(times) == 1)
    between = np.flatnonzero(follows[1:] & follows[:-1]) + 1  # both neighbours are there
    numbers, first, counts = np.unique(chains[between], return_index=True, return_counts=True)
    rows = between[_batches(first, counts)]
    most = rows.size // (2 * _ROWS_PER_COEFFICIENT) - 1
    if most < 1:
        return None
    kept = slice(None, None, -(-draws.shape[1] // most))
    own = _standardised(draws[:, kept][rows])
    same, after, before = (_standardised(scores[:, kept][rows + lag]) for lag in (0, 1, -1))
    given, late, early = fits(own, same, after, before)
    # Other alignments: what they leave, the chains that they change, and what is wrong then.
    every = np.arange(numbers.size)
    others = [(late, every, _LATE), (early, every, _EARLY)]
    order = _order_of_chains(own, same)
    if order is not None:
        moved = np.flatnonzero(order != every)
        (reordered,) = fits(own, same[order])
        others.append((reordered, moved, _words_of_chains(numbers[moved], numbers[order[moved]])))
    best, changed, words = min(others, key=lambda other: other[0].unexplained)
    # Much less is left, by many standard errors over the batches.
    scale = np.maximum(given.squares.sum(axis=(0, 1)), np.finfo(float).tiny)
    gain = ((given.left - best.left)[changed] / scale).sum(axis=-1)
    error = gain.std(ddof=1) / gain.size**0.5
    much = best.unexplained < _MOST_LEFT * given.unexplained > _MOST_LEFT * _LEAST_LEFT
    if not (much and gain.mean() > _CLEAR * error):
        return None
    return words.format(1.0 - given.unexplained, 1.0 - best.unexplained)


def _batches(first: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows, of shape (chain, batch, row), of chains that begin at ``first`` and have ``counts``.

    Equally many are taken of every chain, in batches at equal distances.
    """
    chains = max(1, counts.size)
    batches = max(_BATCHES_OF_CHAIN, 2 * -(-_BATCHES // (2 * chains)))
    step = int(counts.min(initial=_MOST_ROWS * batches)) // batches if counts.size else 0
    size = min(step, max(1, _MOST_ROWS // (chains * batches)))
    starts = first[:, None] + step * np.arange(batches)
    return np.asarray(starts[..., None] + np.arange(size))


def fits(draws: FloatArray, *alignments: FloatArray) -> list[Fit]:
    """What a linear function of the draws leaves of the scores, in each of several alignments.

    All are of shape (chain, batch, row, coordinate). The first half of every chain is explained
    by a function that was fitted to the second halves, and the other way round. A coordinate for
    which that is worse than nothing is not explained at all.
    """
    scores = np.concatenate(alignments, axis=-1)
    design = np.concatenate([np.ones((*draws.shape[:-1], 1)), draws], axis=-1)
    gram, cross = (design.swapaxes(-1, -2) @ part for part in (design, scores))
    squares = np.einsum("cbrk,cbrk->cbk", scores, scores)
    left, half = np.empty_like(squares), draws.shape[1] // 2
    # Added to the sums of squares of standardised draws, so that collinear ones can be fitted.
    ridge = 1e-9 * draws[:, :half, :, 0].size * np.eye(design.shape[-1])
    for judged, fitted in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        normal, right = (part[:, fitted].sum(axis=(0, 1)) for part in (gram, cross))
        slopes = np.linalg.solve(normal + ridge, right)
        explained = slopes * (2.0 * cross[:, judged] - gram[:, judged] @ slopes)
        left[:, judged] = squares[:, judged] - explained.sum(axis=-2)
    left = np.where(left.sum(axis=(0, 1)) < squares.sum(axis=(0, 1)), left, squares)
    parts = (np.split(part, len(alignments), axis=-1) for part in (squares, left))
    return [Fit(*own) for own in zip(*parts, strict=True)]


def _standardised(rows: FloatArray) -> FloatArray:
    """Rows of mean 0 and variance 1 in every coordinate; 0 where they are constant."""
    columns = rows.reshape(-1, rows.shape[-1])
    away = columns - columns.mean(axis=0)
    scale = np.sqrt(np.einsum("rk,rk->k", away, away) / len(away))
    return np.asarray(away / np.where(scale > 0.0, scale, 1.0)).reshape(rows.shape)


def _order_of_chains(draws: FloatArray, scores: FloatArray) -> NDArray[np.intp] | None:
    """The chain of scores that fits each chain of draws best, if both halves of the chains agree.

    None if every chain fits itself. Scores are correlated negatively with draws of their target.
    """
    found = []
    for x, s in zip(np.split(draws, 2, axis=1), np.split(scores, 2, axis=1), strict=True):
        correlations = _of_unit_length(x) @ _of_unit_length(s).swapaxes(-1, -2)
        found.append(linear_sum_assignment(np.nan_to_num(correlations.sum(axis=0)))[1])
    agree = np.array_equal(*found) and not np.array_equal(found[0], np.arange(len(draws)))
    return found[0] if agree else None


def _of_unit_length(rows: FloatArray) -> FloatArray:
    """Rows of chains as (coordinate, chain, row), centred and of length 1 in each chain."""
    columns = np.moveaxis(rows.reshape(len(rows), -1, rows.shape[-1]), -1, 0)
    away = columns - columns.mean(axis=-1, keepdims=True)
    length = np.sqrt(np.einsum("kcr,kcr->kc", away, away))[..., None]
    return np.asarray(away / np.where(length > 0.0, length, 1.0))


_EXPLAINED = (
    "A linear function of the draws explains {:.0%} of the variance of the scores as given, and "
    "{:.0%} "
)
_LATE = (
    f"`scores` look as if they were one row late. {_EXPLAINED}of those one row further down. Was "
    "the first draw dropped from `draws` alone, or is each score that of the state before? Pass "
    "the scores of the same rows."
)
_EARLY = (
    f"`scores` look as if they were one row early. {_EXPLAINED}of those one row further up. Was "
    "the first row dropped from `scores` alone, or is each score that of the next state? Pass the "
    "scores of the same rows."
)


def _words_of_chains(chains: NDArray[np.intp], fitting: NDArray[np.intp]) -> str:
    pairs = [
        f"chain {own} fits the scores of chain {other}"
        for own, other in zip(chains[:4].tolist(), fitting[:4].tolist(), strict=True)
    ]
    return (
        "`scores` look as if their chains were in another order than those of `draws`: "
        f"{'; '.join(pairs)}{', ...' if chains.size > 4 else ''}. {_EXPLAINED}of those in this "
        "order. Pass the scores of the same chains."
    )
