"""Deprecated names warn once a call site, point at it, and are gone by their version."""

import inspect
import warnings

import pytest

import polystein as ps
from polystein._lib.deprecation import deprecated, deprecated_argument


@deprecated("polystein.old", since="0.2", removed_in="0.4", instead="polystein.new")
def old(x: int, *, factor: int = 2) -> int:
    """Twice the number."""
    return factor * x


class Old:
    @deprecated("polystein.Old", since="0.2", removed_in="0.4", instead="polystein.New")
    def __init__(self, x: int) -> None:
        self.x = x


@deprecated_argument("size", since="0.2", removed_in="0.4", instead="order")
@deprecated_argument("fast", since="0.2", removed_in="0.5", advice="it is always fast")
def power(x: int, *, order: int = 2) -> int:
    """A power of the number."""
    return x**order


def versions(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def outlived(names: dict[str, object], version: str) -> set[str]:
    """Names and arguments whose last version has passed; of a class its ``__init__`` is asked."""
    found = set()
    for name, value in names.items():
        called = value.__init__ if inspect.isclass(value) else value  # type: ignore[misc]
        last = {name: getattr(called, "removed_in", None)}
        last |= {
            f"{name}({one}=)": at for one, at in getattr(called, "removed_arguments", {}).items()
        }
        found |= {one for one, at in last.items() if at and versions(version) >= versions(at)}
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
    ("version", "found"),
    [
        ("0.3.9", set()),
        ("0.4.0", {"a", "b", "d(size=)"}),
        ("0.10.0", {"a", "b", "d(size=)", "d(fast=)"}),
    ],
)
def test_what_outlives_its_version_is_seen(version: str, found: set[str]) -> None:
    assert outlived({"a": old, "b": Old, "c": versions, "d": power}, version) == found


def test_a_renamed_argument_goes_to_its_new_name() -> None:
    with pytest.warns(ps.PolysteinDeprecationWarning, match="in 0.4: use `order` instead$"):
        assert power(3, size=3) == 27  # type: ignore[call-arg]
    assert str(inspect.signature(power)) == "(x: int, *, order: int = 2) -> int"


def test_a_removed_argument_is_dropped_with_advice() -> None:
    with pytest.warns(ps.PolysteinDeprecationWarning, match="`fast` .* 0.5: it is always fast$"):
        assert power(3, fast=True) == 9  # type: ignore[call-arg]


def test_old_and_new_name_together_are_an_error() -> None:
    with pytest.raises(ps.InputError, match="`size` is the old name of `order`; got both"):
        power(3, size=3, order=3)  # type: ignore[call-arg]


def test_who_does_not_use_the_old_argument_is_told_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert power(3, order=3) == 27


def test_the_line_that_uses_an_old_argument_is_named() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        power(3, fast=True, size=3)  # type: ignore[call-arg]
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert [(item.filename, item.lineno) for item in caught] == [(__file__, line)] * 2
