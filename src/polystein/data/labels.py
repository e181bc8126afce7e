"""Labels of draws and of scores: what carries other labels must not be paired without a word.

Labels are those of pandas (columns, index) and xarray (dimensions, coordinates), and the names of
columns in files. Whatever has none is paired as it stands.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from polystein._lib.arrays import library
from polystein.errors import InputError

#: So many labels are shown.
_SHOWN = 8
_AS_IT_STANDS = "if they belong to the draws as they stand"


class _Axis(NamedTuple):
    """An axis of an array: the name of its dimension, its labels, and how to bring them in order.

    Axes of the same dimension must have the same labels. Labels of other axes may be others
    altogether, as ``grad_a`` beside ``a``.
    """

    dimension: Hashable
    #: An index of pandas, which xarray has, too.
    labels: Any
    called: str
    remedy: str


def require_same_names(draws: Sequence[Hashable], scores: Sequence[Hashable]) -> None:
    """Columns are the same in the same order, or have other names altogether.

    If they are not as many, an error about their number says more.
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
    kind = library(value), type(value).__name__
    if kind == ("pandas", "DataFrame"):
        index, columns = (_own(getattr(value, name, None)) for name in ("index", "columns"))
        values = f"`scores.to_numpy()` {_AS_IT_STANDS}"
        return [
            _Axis("index", index, "index", f"`scores.loc[draws.index]`, or {values}"),
            _Axis(None, columns, "columns", f"`scores[draws.columns]`, or {values}"),
        ]
    if kind == ("xarray", "DataArray"):
        indexes = getattr(value, "indexes", {})
        return [_labelled_axis(dim, indexes.get(dim)) for dim in value.dims]
    return []


def _labelled_axis(dim: Hashable, labels: Any) -> _Axis:
    unlabelled = f"`scores.drop_vars({dim!r})` {_AS_IT_STANDS}"
    remedy = f"`scores.reindex_like(draws)`, or {unlabelled}"
    return _Axis(dim, labels, f"coordinates of the dimension {dim!r}", remedy)


def _own(index: Any) -> Any:
    """An index that somebody chose: 0, 1, 2, ... is what pandas gives to what has none."""
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return None
    return index


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
    """Whether labels are neither the same ones in the same order nor others altogether."""
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
