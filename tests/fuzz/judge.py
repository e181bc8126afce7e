"""What must hold of every call: evaluate its source, and say what is wrong with the outcome."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import scipy.stats
from matplotlib.axes import Axes

import polystein as ps
from tests.fuzz import files, makers, scores
from tests.fuzz.calls import Call

#: Seconds of processor time that a call may take, so that a busy machine fails none.
SECONDS = 5.0
#: Bytes by which the process may grow while it runs.
GROWTH = 2**30
#: Answers in equal containers may differ by rounding: sums are taken in another order.
ROUNDING = 1e-9
#: `lambda_psd` without a ridge and `o_psd` invert correlations of any condition number up to 1/eps,
#: which multiplies the rounding of their sums.
ROUNDING_INVERTED = 1e-4
#: Numbers of a row that are missing where they cannot be told: of effects, then of expectations.
UNTOLD = {"size", "estimate", "corrected", "error", "bias", "reduction", "ess"}

NAMESPACE: dict[str, Any] = {
    **{name: value for room in (makers, scores, files) for name, value in vars(room).items()},
    "np": np,
    "ps": ps,
    "scipy": scipy,
}
_PACKAGE, _HERE = Path(ps.__file__).parent, Path(__file__).parent
#: Where the functions are that stand for the user's, whose warnings are the user's own.
_OF_USERS = ("<string>", *(str(room.__file__) for room in (makers, scores)))
_CONTAINER = re.compile(r", container='([\w -]+)'")
#: Lines of the package that call a function of the user.
_USERS_CALL = re.compile(r"\b_?(score|function|progress|log_density|transform|solve)\(")
#: Containers that may be refused, and integers, of which those beyond 2**53 are.
_ODD = {"dtype='i8'", *(f"container='{name}'" for name in makers.ODD)}


class TooLong(BaseException):
    """A call took more than its time. No handler of `Exception` catches it."""


@dataclass(frozen=True)
class Outcome:
    """The kind of an outcome, the answer if there is one, and everything that is wrong."""

    kind: str
    answer: Any = None
    faults: tuple[str, ...] = ()


def judge(call: Call) -> Outcome:
    """Evaluate a call, and once more with its numbers in plain arrays."""
    outcome = evaluate(call)
    if outcome.faults or not comparable(call):
        return outcome
    twin = Call(*(_plain(part) for part in (call.function, call.arguments, call.options)))
    other = evaluate(twin)
    if (difference := _difference(outcome, other, call)) is not None:
        fault = f"another answer with plain arrays: {difference}"
        return Outcome("unequal answers", outcome.answer, (fault,))
    return outcome


def comparable(call: Call) -> bool:
    """Whether the same numbers in plain arrays must give the same answer."""
    text = str(call)
    if call.function == "ps.from_store" or "file(" in text or any(odd in text for odd in _ODD):
        return False
    return _CONTAINER.search(text) is not None


def _plain(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_plain, part))
    return _CONTAINER.sub("", part)


def evaluate(call: Call) -> Outcome:
    """Evaluate a call under the limits, and examine what comes of it.

    It runs in a folder of its own, where a hostile file name leaves nothing behind.
    """
    before = _peak()
    with (
        tempfile.TemporaryDirectory(dir=makers.FOLDER.name) as folder,
        chdir(folder),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        outcome = _evaluated(call)
    faults = list(outcome.faults)
    faults += [
        f"{one.category.__name__}: {one.message} ({Path(one.filename).name}:{one.lineno})"
        for one in caught
        if not (
            issubclass(one.category, ps.PolysteinWarning)
            or one.filename in _OF_USERS
            or _is_deprecated_between_libraries(one)
        )
    ]
    grown = _peak() - before
    if grown * 1024 > GROWTH:
        faults.append(f"memory grew by {grown // 1024} MiB")
    kind = "warning" if faults and not outcome.faults else outcome.kind
    return Outcome(kind, outcome.answer, tuple(dict.fromkeys(faults)))


def _is_deprecated_between_libraries(warning: warnings.WarningMessage) -> bool:
    """Whether one library calls an old name of another, which Python shows to no user of ours."""
    return issubclass(warning.category, DeprecationWarning) and not (
        Path(warning.filename).is_relative_to(_PACKAGE)
    )


def _peak() -> int:
    """The most memory that this process has had so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _evaluated(call: Call) -> Outcome:
    try:
        with _limited(SECONDS):
            called = eval(call.function, dict(NAMESPACE))
            arguments = [eval(text, dict(NAMESPACE)) for text in call.arguments]
            options = {name: eval(text, dict(NAMESPACE)) for name, text in call.options}
            given = [*arguments, *options.values()]
            before = [_snapshot(value) for value in given]
            try:
                answer = called(*arguments, **options)
                faults = examine(answer, call)
            finally:
                changed = [_snapshot(value) for value in given] != before
    except TooLong:
        return Outcome("too long", None, (f"more than {SECONDS:g} s, at {_innermost()}",))
    except Exception as error:
        return _judged_error(error, call)
    faults += ["an input was changed"] if changed else []
    return Outcome("bad answer" if faults else "answer", answer, tuple(faults))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` when the process has used this much time of the processor."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _innermost() -> str:
    """Where in the package the exception that is being handled came from."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    return f"{ours[-1].filename}:{ours[-1].lineno}" if ours else "no line of the package"


def _judged_error(error: Exception, call: Call) -> Outcome:
    """An error of polystein, one that names the argument, or one of the user's own function."""
    if isinstance(error, ps.PolysteinError):
        return Outcome(type(error).__name__)
    if _is_of_the_user(error):
        return Outcome("error of the user's function")
    if isinstance(error, TypeError) and _names_an_argument(str(error), call):
        return Outcome("TypeError")
    text = f"{type(error).__name__}: {str(error)[:200]}, at {_innermost()}"
    return Outcome("unclean error", None, (text,))


def _is_of_the_user(error: Exception) -> bool:
    """Whether a function that the package was given raised, or could not be called at all."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [Path(frame.filename).is_relative_to(_PACKAGE) for frame in frames]
    if not any(inside):
        return False
    last = frames[-1]
    if inside[-1]:
        return _USERS_CALL.search(last.line or "") is not None
    return Path(last.filename).is_relative_to(_HERE) or last.filename == "<string>"


def _names_an_argument(message: str, call: Call) -> bool:
    called = eval(call.function, dict(NAMESPACE))
    names = inspect.signature(called).parameters
    return any(f"`{name}`" in message or f"'{name}'" in message for name in names)


def _snapshot(value: Any) -> bytes:
    """The bytes of a value that a call could change; nothing for what has none."""
    if isinstance(value, Path):  # pages are written
        return value.read_bytes() if value.is_file() and value.suffix != ".html" else b""
    if isinstance(value, memoryview):
        return value.tobytes()
    if isinstance(value, makers.Exported):
        value = value.numbers
    if isinstance(value, np.ndarray | list | tuple | dict):
        try:
            return pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError):
            return b""
    return b""


def examine(answer: Any, call: Call) -> list[str]:
    """What is wrong with an answer: a NaN, a p-value that is none, or no way to show it."""
    if isinstance(answer, float):
        # The chi-square divergence is infinite for some pairs; nothing else is.
        exact = math.isfinite(answer) or (answer == math.inf and "chi_square" in call.function)
        return [] if exact else [f"the answer is {answer}"]
    if isinstance(answer, files.Outcome):
        clean = answer.code in range(7) and answer.code != 3 and "Traceback" not in answer.err
        return [] if clean else [f"exit code {answer.code}: {answer.err[-300:]}"]
    if isinstance(answer, ps.GofResult):
        return _faults_of_result(answer, call)
    if isinstance(answer, ps.Refinement):
        again = ps.Refinement.from_dict(json.loads(json.dumps(answer.to_dict(), allow_nan=False)))
        same = again.to_dict() == answer.to_dict()
        faults = _faults_of_table(answer.effects)
        return faults if same else [*faults, "another result after to_dict and from_dict"]
    if isinstance(answer, ps.TargetComparison | ps.SamplerComparison):
        plain = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
        again = type(answer).from_dict(plain)
        _ = str(answer), repr(answer), answer._repr_html_()
        same = again.to_dict() == answer.to_dict()
        return [] if same else ["another comparison after to_dict and from_dict"]
    if isinstance(answer, ps.EffectTable | ps.ExpectationTable):
        return _faults_of_table(answer)
    if isinstance(answer, ps.CheckTable):
        return _faults_of_checks(answer, call)
    if isinstance(answer, Axes):
        answer.figure.savefig(BytesIO())  # what cannot be drawn raises, or warns
    str(answer)
    return []


def _faults_of_checks(table: ps.CheckTable, call: Call) -> list[str]:
    _ = str(table), repr(table), table._repr_html_()
    again = ps.CheckTable.from_dict(json.loads(json.dumps(table.to_dict(), allow_nan=False)))
    faults = [] if again.to_dict() == table.to_dict() else ["another table after from_dict"]
    for row in table:
        if row.result is None:
            faults += [] if row.error else [f"{row.name!r} has neither a result nor an error"]
        else:
            faults += _faults_of_result(row.result, call)
    return faults


def _faults_of_result(result: ps.GofResult, call: Call) -> list[str]:
    pvalues = [result.pvalue, *(part.pvalue for part in result.evidence.parts)]
    faults = [f"p = {p}" for p in pvalues if not 0.0 <= p <= 1.0]
    # `GofResult` and `from_dict` are told the statistic; null stands for NaN in a file.
    if math.isnan(result.statistic) and not call.function.startswith("ps.GofResult"):
        faults.append("the statistic is NaN")
    _ = str(result), repr(result), result.explain(), result.verdict
    again = ps.GofResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    if again.to_dict() != result.to_dict():
        faults.append("another result after to_dict and from_dict")
    if result.can_tell_effects:
        with suppress(ps.PolysteinError):
            faults += _faults_of_table(result.effects)
    return faults


def _faults_of_table(table: ps.EffectTable | ps.ExpectationTable) -> list[str]:
    str(table)
    json.dumps(table.to_dict(), allow_nan=False)
    faults = []
    for row in table:
        values = row._asdict()
        faults += [
            f"{row.name!r}, {row.what}: {key} is NaN"
            for key, value in values.items()
            if isinstance(value, float)
            and math.isnan(value)
            # What cannot be told has no interval, and none of these numbers.
            and not (key in UNTOLD and values["lower"] == -math.inf)
        ]
        if not 0.0 <= values.get("pvalue", 0.0) <= 1.0:
            faults.append(f"{row.name!r}, {row.what}: p = {values['pvalue']}")
    return faults


def _difference(one: Outcome, other: Outcome, call: Call) -> str | None:
    """How two outcomes differ that should be equal."""
    stored, of_user = "'memmap'" in str(call), "error of the user's function"
    ridged = any(name == "ridge" and value != "0.0" for name, value in call.options)
    inverted = call.function == "ps.o_psd" or (call.function == "ps.lambda_psd" and not ridged)
    rounding = ROUNDING_INVERTED if inverted else ROUNDING
    kinds = (one.kind, other.kind)
    if stored and of_user in kinds and "answer" not in kinds:
        return None  # of a memory map it is raised as an error that names the rows
    if one.kind != other.kind:
        return f"{one.kind} and {other.kind}"
    left, right = _comparable_form(one.answer), _comparable_form(other.answer)
    if stored and all(isinstance(form, dict) and "reasons" in form for form in (left, right)):
        # All rows are ranked for a record only if they are in memory.
        left, right = ({**form, "diagnostics": None} for form in (left, right))
    return None if _equal(left, right, rounding) else f"{str(left)[:200]} and {str(right)[:200]}"


def _comparable_form(answer: Any) -> Any:
    kinds = ps.GofResult | ps.EffectTable | ps.ExpectationTable | ps.CheckTable
    kinds |= ps.TargetComparison | ps.SamplerComparison
    if isinstance(answer, kinds):
        return answer.to_dict()
    return answer if isinstance(answer, float | str | tuple) else None


def _equal(one: Any, other: Any, rounding: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=rounding, abs_tol=1e-300) or one is other
    if isinstance(one, dict) and isinstance(other, dict):
        same = one.keys() == other.keys()
        return same and all(_equal(one[key], other[key], rounding) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_equal(*pair, rounding) for pair in pairs)
    return bool(one == other)
