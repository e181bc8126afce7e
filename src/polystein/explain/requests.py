"""What a caller of `expectations` asks for, validated: moments, correlations, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein._lib.notes import shown_name
from polystein.adapters.assemble import coordinate_labels
from polystein.data.passes import first_block
from polystein.data.selection import variable
from polystein.data.source import Source, coordinate_names
from polystein.data.target import user_code
from polystein.errors import InputError
from polystein.explain.designs import ValueFunction
from polystein.explain.estimates import Quantity
from polystein.explain.functionals import What
from polystein.types import Array, FloatArray

MOMENTS: tuple[What, ...] = ("mean", "sd", "skew", "tail")
DEFAULT: tuple[What, ...] = ("mean", "sd")
#: A function of (n, d) draws with one or several values for each.
DrawFunction: TypeAlias = Callable[[FloatArray], Array]
Functions: TypeAlias = Mapping[str, Any] | Iterable[Any] | Any | None


class Asked(NamedTuple):
    """Quantities with the names of their rows, and the functions that some of them need."""

    quantities: dict[Quantity, str]
    values: tuple[ValueFunction, ...]


def asked(source: Source, functions: Functions, names: Sequence[str] | None) -> Asked:
    """What is to be estimated: the default, or everything that was asked for."""
    request = _Request(source, _chosen(source, names))
    if functions is None:
        request.add_moments(DEFAULT)
        request.add_constrained(None)
    else:
        for name, item in _items(functions):
            request.add(name, item)
    return Asked(request.quantities, tuple(request.values))


def _chosen(source: Source, names: Sequence[str] | None) -> list[int]:
    """The coordinates that moments are asked of."""
    known = coordinate_names(source)
    if names is None:
        return list(range(len(known)))
    if not isinstance(names, Iterable):
        raise InputError(f"`names` must be names of coordinates; got {names!r}")
    listed = [names] if isinstance(names, str) else list(names)
    return [_index(known, name, "names") for name in listed]


def _index(known: Sequence[str], name: object, argument: str) -> int:
    name = shown_name(name) if isinstance(name, str) else name
    if name not in known:
        shown = ", ".join(repr(one) for one in known[:6]) + (", ..." if len(known) > 6 else "")
        raise InputError(f"`{argument}` must be names of coordinates, {shown}; got {name!r}")
    return list(known).index(str(name))


def _items(functions: Functions) -> list[tuple[str | None, Any]]:
    """Names, None where there is none, and what they stand for."""
    if isinstance(functions, Mapping):
        return list(functions.items())
    single = callable(functions) or isinstance(functions, str)
    listed = [functions] if single else functions
    if not isinstance(listed, Iterable):
        raise InputError(
            "`functions` must be a function of (n, d) draws, a mapping from names to functions, or "
            "a list of functions, 'mean', 'sd', 'skew', 'tail' and pairs of names; got "
            f"{functions!r}"
        )
    return [(None, item) for item in listed]


class _Request:
    """Gathers what is asked for, one item at a time."""

    def __init__(self, source: Source, chosen: list[int]) -> None:
        self._source, self._chosen = source, chosen
        self._names = coordinate_names(source)
        self.quantities: dict[Quantity, str] = {}
        self.values: list[ValueFunction] = []
        self._outputs = 0
        self._function_names: set[str] = set()

    def add(self, name: str | None, item: Any) -> None:
        """Add a moment of all coordinates, the correlation of a pair, or a function."""
        name = shown_name(name) if isinstance(name, str) else name
        if isinstance(item, str) and item in MOMENTS:
            self.add_moments([one for one in MOMENTS if one == item])
        elif isinstance(item, str):
            self.add_constrained(item)
        elif callable(item):
            self._add_function(name or self._name_of(item), item)
        elif isinstance(item, Sequence) and len(item) == 2:
            first, second = (_index(self._names, one, "functions") for one in item)
            if first == second:
                raise InputError(f"`functions` must have pairs of two coordinates; got {item!r}")
            pair = min(first, second), max(first, second)
            label = name or f"{self._names[pair[0]]}, {self._names[pair[1]]}"
            self.quantities[Quantity("correlation", pair)] = label
        else:
            raise InputError(
                "`functions` must hold functions of (n, d) draws, 'mean', 'sd', 'skew', 'tail', "
                f"names of constrained parameters and pairs of coordinates; got {item!r}"
            )

    def add_moments(self, whats: Iterable[What]) -> None:
        """Add moments of all coordinates that were chosen."""
        whats = list(whats)
        for index in self._chosen:
            for what in whats:
                self.quantities[Quantity(what, (index,))] = self._names[index]

    def add_constrained(self, name: str | None) -> None:
        """Add a parameter on its own scale, or (None) all that are no coordinates themselves."""
        transform = self._source.facts.transform
        if transform is None:
            if name is None:
                return
            raise InputError(
                "`functions` must hold 'mean', 'sd', 'skew', 'tail' or, where the sample has a "
                f"`transform` among its facts, names of constrained parameters; got {name!r}"
            )
        with user_code(*_TRANSFORM):
            parameters: object = transform(np.array(self._first_draws()))
        if not isinstance(parameters, Mapping):
            raise InputError(
                "`facts['transform']` must return a mapping from names of parameters to arrays; "
                f"got {type(parameters).__name__}"
            )
        known = list(parameters)
        if name is not None and name not in known:
            raise InputError(f"`functions` must name parameters among {known}; got {name!r}")
        coordinates = {variable(one) for one in self._names}
        for key in known if name is None else [name]:
            if name is not None or key not in coordinates:
                shape = np.shape(parameters[key])[1:]
                labels = coordinate_labels(shown_name(key), shape)
                self._add_function(shown_name(key), _Constrained(transform, key), labels)

    def _name_of(self, function: DrawFunction) -> str:
        """The function's own name; one without, or one that is taken, is numbered."""
        own = shown_name(str(getattr(function, "__name__", "<lambda>")))
        if own != "<lambda>" and own not in self._function_names:
            return own
        stem, number = "function" if own == "<lambda>" else own, 1
        while f"{stem} {number}" in self._function_names:
            number += 1
        return f"{stem} {number}"

    def _first_draws(self) -> FloatArray:
        return first_block(self._source).draws

    def _add_function(self, name: str, function: DrawFunction, labels: Sequence[str] = ()) -> None:
        self._function_names.add(name)
        checked = _Checked(name, function)
        first = checked(self._first_draws())
        # In units of the largest value, whose square need not be a number.
        unit = np.ldexp(1.0, np.frexp(np.abs(first).max(axis=0))[1] - 1)
        centre, scale = unit * (first / unit).mean(axis=0), unit * (first / unit).std(axis=0)
        scale = np.where(scale > 0.0, scale, np.maximum(np.abs(centre), 1.0))
        self.values.append(ValueFunction(checked, centre, scale))
        for number in range(first.shape[1]):
            label = name if first.shape[1] == 1 else f"{name}[{number}]"
            label = labels[number] if labels else label
            for what in DEFAULT:
                quantity = Quantity(what, (self._outputs + number,), of_function=True)
                self.quantities[quantity] = label
        self._outputs += first.shape[1]


#: Whose error it is if the transform raises one, and what to do.
_TRANSFORM = (
    "facts['transform']",
    "It must return a mapping of arrays, with a value for each draw",
)


class _Constrained:
    """One parameter of a transform, as a function of the draws."""

    def __init__(self, transform: Callable[[Array], Mapping[str, Array]], key: str) -> None:
        self._transform, self._key = transform, key

    def __call__(self, draws: FloatArray) -> Array:
        with user_code(*_TRANSFORM):
            return self._transform(draws)[self._key]


class _Checked:
    """A function whose values are finite numbers, in an array of shape (n, count)."""

    def __init__(self, name: str, function: DrawFunction) -> None:
        self._name, self._function = name, function

    def __call__(self, draws: FloatArray) -> FloatArray:
        # A copy: the draws are the caller's, and the function is not ours.
        found = self._function(np.array(draws))
        array = found if is_array(found) else np.asarray(found)
        # Complex numbers would lose a part in silence.
        if not holds_real_numbers(array) and "bool" not in str(array.dtype):
            raise InputError(
                f"`functions[{self._name!r}]` must return real numbers or booleans; got an array "
                f"of dtype {array.dtype}"
            )
        values = to_numpy(array)
        if values.ndim == 0 or values.shape[0] != len(draws) or values.size == 0:
            raise InputError(
                f"`functions[{self._name!r}]` must return one value, or one row, for each of "
                f"{len(draws)} draws; got the shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise InputError(
                f"`functions[{self._name!r}]` must return finite numbers; got "
                f"{values[~np.isfinite(values)][0]}"
            )
        return values.reshape(len(draws), -1)
