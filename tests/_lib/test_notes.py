"""Warnings that are gathered, and the line of the caller that they point at."""

import linecache
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein._lib.notes import Notes, first_of, shown_name, warn_caller
from polystein.errors import HeavyTailWarning, LowESSWarning, PolysteinWarning

FIRST = LowESSWarning("the test rows hold 12 effective draws")
SECOND = HeavyTailWarning("one row of `draws` makes up 90% of the variance")


def emitted(function: Callable[..., Any], *arguments: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments)
    return caught


def test_messages_keep_their_order() -> None:
    notes = Notes()
    assert notes.messages == ()
    notes.add(SECOND)
    notes.add(FIRST)
    assert notes.messages == (str(SECOND), str(FIRST))


def test_what_was_said_earlier_comes_first_and_is_not_emitted_again() -> None:
    notes = Notes(message for message in ("an earlier one", "another"))
    notes.add(FIRST)
    assert notes.messages == notes.messages == ("an earlier one", "another", str(FIRST))
    assert [item.message for item in emitted(notes.emit)] == [FIRST]


def test_everything_is_emitted_with_its_own_category() -> None:
    notes = Notes()
    notes.add(FIRST)
    notes.add(SECOND)
    caught = emitted(notes.emit)
    assert [item.message for item in caught] == [FIRST, SECOND]
    assert [item.category for item in caught] == [LowESSWarning, HeavyTailWarning]


def test_nothing_is_emitted_where_there_is_nothing() -> None:
    assert emitted(Notes(["an earlier one"]).emit) == []


def test_what_several_splits_say_on_one_subject_is_kept_once() -> None:
    """The first warning of each class and subject; without a subject the message decides."""
    notes = Notes()
    for size in (12, 15):
        notes.add(LowESSWarning(f"{size} effective draws", subject="effective draws"))
        notes.add(HeavyTailWarning(f"{size} heavy draws", subject="effective draws"))
    notes.add(LowESSWarning("12 effective rows"), LowESSWarning("15 effective rows"))
    notes.add(LowESSWarning("12 effective rows"), None)
    assert notes.messages == (
        "12 effective draws",
        "12 heavy draws",
        "12 effective rows",
        "15 effective rows",
    )


def test_subjects_survive_pickling() -> None:
    copied = pickle.loads(pickle.dumps(LowESSWarning("few draws", subject="draws")))
    assert (str(copied), copied.subject) == ("few draws", "draws")


# The line


def line_of(item: warnings.WarningMessage) -> str:
    """The text of the line that a warning points at."""
    return linecache.getline(item.filename, item.lineno).strip()


def inside(module: str) -> Callable[[PolysteinWarning], None]:
    """A function three frames deep in a module of this name, which warns."""
    source = (
        "def first(warning): second(warning)\n"
        "def second(warning): third(warning)\n"
        "def third(warning): warn_caller(warning)\n"
    )
    names: dict[str, Any] = {"__name__": module, "warn_caller": warn_caller}
    exec(compile(source, f"<{module}>", "exec"), names)
    function: Callable[[PolysteinWarning], None] = names["first"]
    return function


def test_a_warning_points_at_the_line_that_called() -> None:
    with pytest.warns(LowESSWarning) as caught:
        warn_caller(FIRST)
    assert caught[0].filename == __file__
    assert line_of(caught[0]) == "warn_caller(FIRST)"


@pytest.mark.parametrize("module", ["polystein", "polystein.methods.made_up"])
def test_frames_of_the_package_are_left_out(module: str) -> None:
    function = inside(module)
    with pytest.warns(LowESSWarning) as caught:
        function(FIRST)
    assert caught[0].filename == __file__
    assert line_of(caught[0]) == "function(FIRST)"


@pytest.mark.parametrize("module", ["polysteins", "my.polystein.project"])
def test_modules_of_like_names_are_outside(module: str) -> None:
    caught = emitted(inside(module), FIRST)
    assert (caught[0].filename, caught[0].lineno) == (f"<{module}>", 3)


def test_a_public_function_warns_at_the_line_of_its_caller() -> None:
    draws = np.random.default_rng(0).standard_normal((200, 2))
    split = ps.BlockSplit(0.5)
    with pytest.warns(ps.DependenceWarning) as caught:
        ps.psd_test(draws, -draws, order=1, split=split, rng=0)
    assert caught[0].filename == __file__
    assert line_of(caught[0]) == "ps.psd_test(draws, -draws, order=1, split=split, rng=0)"


@pytest.mark.slow
@pytest.mark.processes
def test_the_stack_may_end_inside() -> None:
    """As where a module of the package is what was run: there is no caller outside."""
    program = (
        "from polystein._lib.notes import warn_caller\n"
        "from polystein.errors import LowESSWarning\n"
        "__name__ = 'polystein.made_up'\n"
        "warn_caller(LowESSWarning('few draws'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "<string>:4: LowESSWarning: few draws" in done.stderr


# Names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("beta[0]", "beta[0]"),
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\x1b[31m"),
        ("σ", "σ"),
        ("", "''"),
        ("  ", "'  '"),
        (" a", " a"),
    ],
)
def test_names_stay_on_one_line(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_lists_of_names_end_in_dots() -> None:
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(["a", "b", "c"], 2) == "a, b, ..."
