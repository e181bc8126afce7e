"""Deprecated names warn once a call site, point at it, and are gone by their version."""

import inspect
import warnings

import pytest

import polystein as ps
from polystein._lib.deprecation import deprecated


@deprecated("polystein.old", since="0.2", removed_in="0.4", instead="polystein.new")
def old(x: int, *, factor: int = 2) -> int:
    """Twice the number."""
    return factor * x


class Old:
    @deprecated("polystein.Old", since="0.2", removed_in="0.4", instead="polystein.New")
    def __init__(self, x: int) -> None:
        self.x = x


def versions(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def outlived(names: dict[str, object], version: str) -> set[str]:
    """Names whose last version has passed; of a class its ``__init__`` is asked."""
    found = set()
    for name, value in names.items():
        called = value.__init__ if inspect.isclass(value) else value  # type: ignore[misc]
        removed_in = getattr(called, "removed_in", None)
        if removed_in is not None and versions(version) >= versions(removed_in):
            found.add(name)
    return found


def test_the_function_stays_what_it_was() -> None:
    with pytest.warns(ps.PolysteinDeprecationWarning):
        assert old(3, factor=5) == 15
    assert (old.__name__, old.__doc__) == ("old", "Twice the number.")
    assert str(inspect.signature(old)) == "(x: int, *, factor: int = 2) -> int"


def test_the_message_says_since_when_until_when_and_what_instead() -> None:
    expected = (
        "`polystein.old` is deprecated since polystein 0.2 and is removed in 0.4: "
        "use `polystein.new` instead"
    )
    with pytest.warns(ps.PolysteinDeprecationWarning) as caught:
        old(1)
    assert [str(item.message) for item in caught] == [expected]


def test_every_call_site_is_told_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            old(1)
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
        old(1)
        Old(1)
    assert [item.filename for item in caught] == [__file__] * 3
    assert [item.lineno for item in caught] == [line, line + 2, line + 3]


def test_it_is_shown_by_default_and_can_be_an_error() -> None:
    assert issubclass(ps.PolysteinDeprecationWarning, FutureWarning)
    assert not issubclass(ps.PolysteinDeprecationWarning, DeprecationWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ps.PolysteinDeprecationWarning)
        for _ in range(2):
            with pytest.raises(ps.PolysteinDeprecationWarning):
                old(1)


def test_no_public_name_outlives_its_last_version() -> None:
    assert outlived({name: getattr(ps, name) for name in ps.__all__}, ps.__version__) == set()


@pytest.mark.parametrize(
    ("version", "found"), [("0.3.9", set()), ("0.4.0", {"a", "b"}), ("0.10.0", {"a", "b"})]
)
def test_a_name_that_outlives_its_version_is_seen(version: str, found: set[str]) -> None:
    assert outlived({"a": old, "b": Old, "c": versions}, version) == found
