"""Calls with names, the records that are kept of their answers, and how two records differ."""

import hashlib
import json
import math
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import polystein as ps

Options = dict[str, Any]
#: Positional arguments of a call, or what makes them in an empty folder.
Input = tuple[Any, ...] | Callable[[Path], tuple[Any, ...]]
#: What is kept of an answer: plain values, ready for JSON.
Record = dict[str, Any]

#: Numbers are stored with so many significant digits.
DIGITS = 13


class Tolerance(NamedTuple):
    """How far a number may be from the stored one: relative to the larger of the two, or at all."""

    relative: float = 1e-10
    absolute: float = 0.0


#: Tolerances that are not the default, by patterns of case and field; the first that fits counts.
#: "Seen" is the largest relative difference between four kernels of OpenBLAS, from Prescott to
#: Haswell. R-hat needs no entry: of an even number of rows two are equally far from the median, and
#: rounding could decide which has the higher rank, but these ties are exact for rounded draws.
TOLERANCES: dict[str, Tolerance] = {
    # Many sums are flipped in single precision, which rounds by 6e-8, and p-values come from a law
    # that is fitted to these flips: 7e-6 seen, at p = 5e-24.
    r"check: 40 coordinates/evidence\.arms\[sign flips\]\.parts\[.*\]\.pvalue": Tolerance(1e-4),
    # As above: 1e-7 seen.
    r".*/evidence\.arms\[sign flips\]\.parts\[trace of square: sum\]\.pvalue": Tolerance(1e-5),
    # All products s_l x_j explain functions, and they are collinear where the target is Gaussian:
    # 6e-8 seen.
    r"expectations: functions/rows\[.*\]\.(error|reduction|ess)": Tolerance(1e-6, 1e-13),
    # 1 - |change| / |correction|, and the change is a difference of two fits: 6e-9 seen on kernels
    # of BLAS for other processors (OPENBLAS_CORETYPE).
    r".*/(effects\.)?rows\[.*\]\.reliability": Tolerance(1e-7),
    # 0 but for rounding, where features explain a function exactly: 2e-16 seen, absolute.
    r"expectations: .*/rows\[.*\]\.(corrected|error)": Tolerance(absolute=1e-13),
}
#: Fields of `to_dict` that say nothing of a result, repeat the shape of the draws, or are computed
#: when they are asked for.
OMITTED = {"schema_version", "n_chains", "n_draws", "noticeable"}


class Call(NamedTuple):
    """A function, the name of its input (None without draws), and its options."""

    function: Callable[..., Any]
    data: str | None
    options: Options


def on(data: str | None = None, **options: Any) -> tuple[str | None, Options]:
    """One line of the table: an input, and what differs from the options of its section."""
    return data, options


def each(*data: str, **options: Any) -> dict[str, tuple[str | None, Options]]:
    """Lines of the table that have the name of their input, with the same options."""
    return {name: on(name, **options) for name in data}


def calls(
    function: Callable[..., Any],
    shared: Options,
    lines: Mapping[str, tuple[str | None, Options]],
) -> dict[str, Call]:
    """A section of the table: calls of one function, with the shared options and their own."""
    return {
        f"{function.__name__}: {name}": Call(function, data, {**shared, **options})
        for name, (data, options) in lines.items()
    }


def joined(*sections: dict[str, Call]) -> dict[str, Call]:
    """All sections; no two calls may have the same name."""
    table: dict[str, Call] = {}
    for section in sections:
        assert table.keys().isdisjoint(section), table.keys() & section.keys()
        table |= section
    return table


def record(call: Call, inputs: Mapping[str, Input]) -> Record:
    """Make the call, and keep its answer or error and the warnings that it emitted."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ps.PolysteinWarning)
        data: Any = () if call.data is None else inputs[call.data]
        data = data(Path(folder)) if callable(data) else data
        try:
            answer = _values(call.function(*data, **call.options))
        except ps.PolysteinError as error:
            answer = {"raised": f"{type(error).__name__}: {error}"}
    emitted = [f"{one.category.__name__}: {one.message}" for one in caught]
    found: Record = plain({**answer, "emitted": emitted})
    return found


def _values(answer: Any) -> dict[str, Any]:
    """What an answer says, by name: of a result `to_dict()`, of a number the number."""
    if hasattr(answer, "to_dict"):
        values = answer.to_dict()
        # Words are compared; their codes have tests of their own.
        if "reasons" in values:
            values["reasons"] = [reason["text"] for reason in values["reasons"]]
        for table in (values, values.get("effects") or {}):
            table.pop("action", None)
            table.pop("own_names", None)
            table.pop("unconstrained", None)
            for row in table.get("rows", ()):
                row.pop("pair", None)
        return {key: value for key, value in values.items() if key not in OMITTED}
    if hasattr(answer, "_asdict"):
        return dict(answer._asdict())
    return answer if isinstance(answer, dict) else {"value": answer}


def plain(value: Any) -> Any:
    """The value as JSON gives it back: lists, dicts and words, and numbers cut to `DIGITS`."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS - 1}e}") if math.isfinite(value) else str(value)
    return value


def digests(arrays: Mapping[str, tuple[NDArray[np.float64], ...]]) -> dict[str, str]:
    """A short digest of the bits of every input."""
    return {
        name: hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]
        for name, parts in arrays.items()
    }


def differences(case: str, stored: Any, found: Any, path: str = "") -> Iterator[str]:
    """Every field of a case that differs, as "path: stored -> found"."""
    if isinstance(stored, dict) and isinstance(found, dict):
        for key in [*stored, *(key for key in found if key not in stored)]:
            inner = f"{path}.{key}" if path else key
            if key in stored and key in found:
                yield from differences(case, stored[key], found[key], inner)
            else:
                yield f"{inner}: {'new' if key in found else 'gone'}"
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for place, (one, other) in enumerate(zip(stored, found, strict=True)):
            yield from differences(case, one, other, f"{path}[{_label(one, place)}]")
    elif not same(stored, found, tolerance_of(f"{case}/{path}")):
        yield f"{path}: {stored!r} -> {found!r}{relative(stored, found)}"


def _label(item: Any, place: int) -> str:
    """The name of what has one, for instance of an arm or an effect, or its place in the list."""
    if not isinstance(item, dict) or "name" not in item:
        return str(place)
    return ", ".join(str(item[key]) for key in ("name", "what") if key in item)


def tolerance_of(field: str) -> Tolerance:
    """The tolerance of a number, by its case and path."""
    fits = (value for pattern, value in TOLERANCES.items() if re.fullmatch(pattern, field))
    return next(fits, Tolerance())


def same(stored: Any, found: Any, tolerance: Tolerance) -> bool:
    """Whether two numbers agree to the tolerance, or anything else exactly."""
    if isinstance(stored, float) and isinstance(found, float):
        close = {"rel_tol": tolerance.relative, "abs_tol": tolerance.absolute}
        return math.isclose(stored, found, **close)
    return type(stored) is type(found) and bool(stored == found)


def relative(stored: Any, found: Any) -> str:
    """The relative difference of two numbers, in words."""
    if not (isinstance(stored, float) and isinstance(found, float)):
        return ""
    return f" (relative {abs(found - stored) / max(abs(stored), abs(found)):.1e})"


def load(path: Path) -> dict[str, Any]:
    """The stored digests and records."""
    stored: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return stored


def save(path: Path, content: Mapping[str, Mapping[str, Any]]) -> None:
    """Write digests and records, one line for every field, so that a diff shows which changed."""
    parts = []
    for title, entries in content.items():
        lines = []
        for name, entry in entries.items():
            if isinstance(entry, dict):
                fields = (f"  {json.dumps(key)}: {_short(entry[key])}" for key in entry)
                lines.append(f" {json.dumps(name)}: {{\n" + ",\n".join(fields) + "\n }")
            else:
                lines.append(f" {json.dumps(name)}: {_short(entry)}")
        parts.append(f"{json.dumps(title)}: {{\n" + ",\n".join(lines) + "\n}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
