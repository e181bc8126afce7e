"""Numbers in many containers, names, and stored results: the vocabulary of the calls."""

from __future__ import annotations

import atexit
import copy
import functools
import importlib
import itertools
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
from matplotlib.figure import Figure

import polystein as ps

#: Files and memory maps of this process; the folder goes when the process ends.
_COUNT = itertools.count()
FOLDER = tempfile.TemporaryDirectory(prefix="polystein-fuzz-")
atexit.register(FOLDER.cleanup)

#: The laws of rows before they are scaled and shifted.
LAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "walk": lambda rng, shape: np.cumsum(rng.standard_normal(shape), axis=-2),
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "integers": lambda rng, shape: rng.integers(-2, 3, shape).astype(float),
    "rare": lambda rng, shape: (rng.random(shape) < 0.05).astype(float),
    "zeros": lambda rng, shape: np.zeros(shape),
    "ones": lambda rng, shape: np.ones(shape),
    "nearly constant": lambda rng, shape: 1.0 + 1e-16 * rng.integers(0, 5, shape),
    "repeated": lambda rng, shape: np.round(rng.standard_normal(shape)),
    "all magnitudes": lambda rng, shape: 10.0 ** rng.uniform(-320, 308, shape),
    "one column": lambda rng, shape: rng.standard_normal((*shape[:-1], 1)) * np.ones(shape[-1]),
}


def rows(
    shape: tuple[int, ...],
    *,
    seed: int = 0,
    law: str = "normal",
    scale: float = 1.0,
    shift: float = 0.0,
    spoilt: float | None = None,
    factor: float = 1.0,
    dtype: str = "f8",
    container: str = "array",
) -> Any:
    """Numbers of a law in a container; `spoilt` replaces one of them, `factor` multiplies all."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = LAWS[law](rng, shape if len(shape) > 1 else (*shape, 1)).reshape(shape)
        numbers = numbers * scale + shift
        if spoilt is not None and numbers.size:
            numbers.flat[rng.integers(numbers.size)] = spoilt
        numbers = (numbers.astype(dtype) * np.array(factor).astype(dtype)).astype(dtype)
    return CONTAINERS[container](numbers)


def _strided(numbers: np.ndarray) -> np.ndarray:
    wide = np.ones((*numbers.shape, 3), numbers.dtype)
    wide[..., 1] = numbers
    return wide[..., 1]


def _read_only(numbers: np.ndarray) -> np.ndarray:
    numbers = np.asarray(numbers)
    numbers.flags.writeable = False
    return numbers


def _mapped(numbers: np.ndarray) -> Any:
    if not numbers.size:
        return numbers
    # A file that is replaced stays what it was for those who have it open.
    path = place(f"{next(_COUNT) % 64}.dat")
    path.unlink(missing_ok=True)
    mapped = np.memmap(path, mode="w+", dtype=numbers.dtype, shape=numbers.shape)
    mapped[...] = numbers
    return mapped


def _frame(numbers: np.ndarray) -> Any:
    """A DataFrame if pandas is installed, which holds tables only."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return numbers
    return pandas.DataFrame(numbers) if numbers.ndim == 2 else numbers


def _standard(numbers: np.ndarray) -> Any:
    known = numbers.dtype.kind in "fiu" and numbers.dtype.itemsize in (4, 8)
    return array_api_strict.asarray(numbers) if known else numbers


class Exported:
    """An object that only knows how to become an array."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numbers, dtype=dtype)


class Labelled(np.ndarray):
    """A subclass of NumPy's array."""


#: Containers that hold the same numbers, and must give the same answer.
EQUAL: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda numbers: numbers,
    "list": lambda numbers: numbers.tolist(),
    "tuple": lambda numbers: tuple(map(tuple, numbers)) if numbers.ndim == 2 else numbers,
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda numbers: np.flip(np.flip(numbers).copy()),
    "read-only": _read_only,
    "memmap": _mapped,
    "big-endian": lambda numbers: numbers.astype(numbers.dtype.newbyteorder(">")),
    "double": lambda numbers: numbers.astype("f8"),
    "long double": lambda numbers: numbers.astype("g"),
    "exported": Exported,
    "subclass": lambda numbers: numbers.view(Labelled),
    "array-api": _standard,
    "frame": _frame,
}
#: Containers that may be refused.
ODD: dict[str, Callable[[np.ndarray], Any]] = {
    "masked": lambda numbers: np.ma.masked_array(numbers, mask=numbers > 1.0),
    "unmasked": np.ma.masked_array,
    "objects": lambda numbers: numbers.astype(object),
    "text": lambda numbers: numbers.astype(str),
    "complex": lambda numbers: numbers.astype(complex),
    "booleans": lambda numbers: numbers > 0,
    "dates": lambda numbers: np.zeros(numbers.shape, "M8[s]"),
    "ragged": lambda numbers: [*np.atleast_1d(numbers).tolist(), [1.0]],
    "record": lambda numbers: np.zeros(numbers.shape, [("a", "f8")]),
    "generator": lambda numbers: iter(np.atleast_1d(numbers).tolist()),
    "dictionary": lambda numbers: {"draws": numbers},
    "bytes": lambda numbers: numbers.tobytes(),
    "transposed": lambda numbers: numbers.T,
    "memoryview": lambda numbers: memoryview(np.ascontiguousarray(numbers)),
    "huge integers": lambda numbers: [[2**70 + int(i) for i in range(3)] for _ in range(30)],
}
CONTAINERS = EQUAL | ODD


def blocks(*parts: Any) -> Callable[[], Iterator[Any]]:
    """A function that walks over the same blocks in every pass."""
    return lambda: iter(parts)


def no_progress(done: int, total: int) -> None:
    """A progress function that does nothing."""


def minus(x: Any) -> Any:
    """The score of N(0, I)."""
    return -x


def half_square(x: Any) -> Any:
    """The log-density of N(0, I), up to a constant."""
    return -0.5 * (np.asarray(x) ** 2).sum(axis=-1)


class Raised(Exception):
    """What a user's function raises; it may come through as it is."""


def stops(*_: Any) -> Any:
    """A user's function that raises, whatever it is given."""
    raise Raised("a fault of the user's function")


class Strange:
    """An object of which nothing is known, and which cannot be shown in more than one word."""

    def __repr__(self) -> str:
        return "Strange()"


class Rule:
    """A user's rule for weights, which returns what it should not."""

    needs_covariance = False
    draws_numbers = False

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def solve(self, moments: Any, rng: Any) -> Any:
        """Weights of the wrong length, of the wrong kind, or none."""
        size = len(moments.mean)
        answers: dict[str, Any] = {
            "wrong length": np.ones(size + 1),
            "NaN": np.full(size, np.nan),
            "zeros": np.zeros(size),
            "text": "weights",
        }
        return answers[self.fault] if self.fault in answers else stops()


def monitor(chains: int, score: Any = minus, structure: str = "full") -> ps.Monitor:
    """A monitor that is about to take its first look, or its second."""
    made = ps.Monitor(score, 2, looks=(160, 240, 400), chains=chains, structure=structure)
    draws = np.random.default_rng(5).standard_normal((chains, 159, 2))
    made.update(draws, None if score else -draws)
    return made


@functools.cache
def _stored(kind: str) -> dict[str, Any]:
    draws = np.random.default_rng(5).standard_normal((2, 60, 2)) * 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "state":
            return monitor(2).state_dict()
        if kind == "effects":
            return ps.effects(draws, -draws).to_dict()
        if kind == "refinement":
            return refinement().to_dict()
        if kind == "test":
            return ps.psd_test(draws, -draws, order=2, rng=1).to_dict()
        if kind == "comparison":
            return ps.same_target(minus, lambda x: -x / [1.0, 4.0], draws=draws).to_dict()
        if kind == "samplers":
            return ps.compare({"a": (draws, -draws), "b": (2.0 * draws, -2.0 * draws)}).to_dict()
        if kind == "many":
            return ps.check_many({"a": (draws, -draws), "b": 3}).to_dict()
        result = ps.check(draws, -draws, tolerance=0.1)
        assert result.effects is not None
        return result.to_dict()


def stored(kind: str, place: int | None = None, value: Any = None) -> Any:
    """What `to_dict` or `state_dict` gave, with what is found at one place replaced.

    Places are counted through all nested dictionaries and lists; `...` removes what is there.
    """
    values = copy.deepcopy(_stored(kind))
    if place is None:
        return values
    places = list(_places(values))
    inside, key = places[place % len(places)]
    if value is ...:
        del inside[key]
    else:
        inside[key] = value
    return values


def _places(values: Any) -> Iterator[tuple[Any, Any]]:
    keys = values if isinstance(values, dict) else range(len(values))
    for key in list(keys):
        yield values, key
        if isinstance(values[key], dict | list):
            yield from _places(values[key])


def result(pvalue: float = 0.5, **more: Any) -> ps.GofResult:
    """A result that was put together by hand."""
    values = {"statistic": 1.0, "alternative": "greater", "method": "fuzz", "dimension": 2}
    return ps.GofResult(**{**values, "pvalue": pvalue, **more})  # type: ignore[arg-type]


@functools.cache
def refinement() -> ps.Refinement:
    """A refinement of draws that are too wide."""
    draws = np.random.default_rng(5).standard_normal((80, 2)) * 1.5
    return ps.refine(draws, log_density=half_square, scores=minus, transitions=2, starts=40)


def new_axes() -> Any:
    """Axes to draw on."""
    return Figure().subplots()


def place(name: str) -> Path:
    """A path in the folder of this process."""
    return Path(FOLDER.name) / name


inf, nan = math.inf, math.nan
