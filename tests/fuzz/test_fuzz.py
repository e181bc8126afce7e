"""A few hostile calls of every public function; `python -m tests.fuzz` makes many."""

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from tests.fuzz import judge as judges
from tests.fuzz.__main__ import fuzz
from tests.fuzz.calls import ENTRIES, Call
from tests.fuzz.judge import NAMESPACE, evaluate, judge

#: Calls of each function here; `.ci/run fuzz` makes thousands.
CALLS = 2
#: Methods that the package calls with what it has validated.
SEAMS = {
    "accumulator",
    "add",
    "compute_effects_by",
    "compute_noticeable_by",
    "compute_summary_by",
    "empty",
    "long_run",
    "mean_in",
    "of_short_batches",
    "partition",
    "profile",
    "read",
    "read_chains",
    "solve",
    "zero",
}


#: Answers, which users do not put together.
ANSWERS = {"theory.MomentDifferences", "testing.SamplerTest"}


def public_callables() -> Iterator[str]:
    """Functions and classes, but for errors and records, and the methods of those classes."""
    places = [(ps, name, name) for name in ps.__all__]
    places += [(ps.theory, name, f"theory.{name}") for name in ps.theory.__all__]
    places += [(ps.testing, name, f"testing.{name}") for name in ps.testing.__all__]
    for place, name, path in places:
        found: Any = getattr(place, name)
        if (
            path in ANSWERS
            or not callable(found)
            or (inspect.isclass(found) and issubclass(found, BaseException | tuple))
        ):
            continue
        yield path
        if inspect.isclass(found):
            own = [one for one in found.__mro__ if one.__module__.startswith("polystein.")]
            methods = {method: value for one in own[::-1] for method, value in vars(one).items()}
            for method, value in methods.items():
                hidden = method.startswith("_") or method in SEAMS
                if not hidden and callable(getattr(found, method)) and not _is_field(value):
                    yield f"{path}.{method}"


def _is_field(value: object) -> bool:
    return not callable(value) and not isinstance(value, classmethod | staticmethod)


def test_every_public_function_has_an_entry() -> None:
    assert set(public_callables()) - set(ENTRIES) == set()
    assert set(ENTRIES) - set(public_callables()) == {"the command line"}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_few_calls_are_clean(name: str) -> None:
    record = fuzz(CALLS, 0, only=name)
    assert record.kinds.total() > 0
    assert not record.faults, record.examples


def faults_of(function: Any, *arguments: str) -> tuple[str, ...]:
    """What the judge says about a function that is not one of the package's."""
    NAMESPACE["function_under_test"] = function
    try:
        return evaluate(Call("function_under_test", arguments)).faults
    finally:
        del NAMESPACE["function_under_test"]


def warns(_: object) -> float:
    return float(np.float64(1e308) * np.float64(10.0) > 0.0)


def fills(array: np.ndarray) -> None:
    array[0] = 1.0


def spins() -> None:
    while True:
        pass


def wastes() -> int:
    return int(np.ones(2**27).sum())


@pytest.mark.parametrize(
    ("function", "arguments", "fault"),
    [
        (lambda: float("nan"), (), "the answer is nan"),
        (fills, ("rows((5, 2))",), "an input was changed"),
        (warns, ("1",), "RuntimeWarning: overflow"),
        (lambda x: x.shape, ("1",), "AttributeError"),
        (lambda: {}[1], (), "KeyError"),
        (lambda x: int(x), ("[]",), "TypeError"),
    ],
)
def test_what_is_unclean_is_found(function: Any, arguments: tuple[str, ...], fault: str) -> None:
    (found,) = faults_of(function, *arguments)
    assert fault in found


def test_files_stay_in_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = evaluate(Call("result().to_html", ("'\\x1b[31m'",)))
    assert outcome.kind == "answer"
    assert not list(tmp_path.iterdir())
    assert Path.cwd() == tmp_path


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "SECONDS", 0.05)
    (found,) = faults_of(spins)
    assert "more than 0.05 s" in found


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "GROWTH", 2**20)
    monkeypatch.setattr(judges, "_peak", iter((0, 2**11)).__next__)
    (found,) = faults_of(lambda: None)
    assert found == "memory grew by 2 MiB"


def test_containers_must_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMESPACE, "size", lambda array: float(array.strides[0]))
    assert not judge(Call("size", ("rows((5, 2))",))).faults
    (found,) = judge(Call("size", ("rows((5, 2), container='fortran')",))).faults
    assert found.startswith("another answer with plain arrays")


@pytest.mark.parametrize(
    "rows", ["(40, 2), seed=1, law='repeated'", "(150, 3), seed=6, shift=-1000.0, dtype='f2'"]
)
def test_a_memory_map_may_differ_in_ranks_alone(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (f"rows({rows}, container='memmap')", "minus")
    call = Call("ps.check", arguments, (("tolerance", "0.1"), ("rng", "1")))
    assert not judge(call).faults
    honest = ps.check
    monkeypatch.setattr(
        ps,
        "check",
        lambda draws, *rest, **options: dataclasses.replace(
            honest(draws, *rest, **options), statistic=float(isinstance(draws, np.memmap))
        ),
    )
    (found,) = judge(call).faults
    assert found.startswith("another answer with plain arrays")


@pytest.mark.parametrize("score", ["lambda x: -x * 1e300", "faulty['single precision']"])
def test_warnings_of_the_users_functions_are_their_own(score: str) -> None:
    draws = "rows((40, 2), scale=1e160)"
    assert not judge(Call("ps.psd", (draws, score), (("order", "1"),))).faults
