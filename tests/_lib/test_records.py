"""Content of files is compared with the annotations of what it becomes."""

from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

import polystein as ps
from polystein._lib.records import require_plain, require_types


class Inner(NamedTuple):
    name: str
    pvalue: float


class Outer(NamedTuple):
    inner: tuple[Inner, ...]
    count: int
    kind: Literal["a", "b"]
    maybe: float | None = None


GOOD = Outer((Inner("x", 0.5),), 3, "a")


@pytest.mark.parametrize(
    "record", [GOOD, GOOD._replace(maybe=1), GOOD._replace(inner=()), GOOD._replace(maybe=1.5)]
)
def test_what_is_annotated_fits(record: Outer) -> None:
    require_types(record)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (GOOD._replace(count="3"), "got '3' for count of a Outer"),
        (GOOD._replace(count=True), "got True for count"),
        (GOOD._replace(kind="c"), "got 'c' for kind"),
        (GOOD._replace(maybe="1"), "got '1' for maybe"),
        (GOOD._replace(maybe=10**400), "for maybe"),
        (GOOD._replace(inner=[Inner("x", 0.5)]), "for inner"),
        (GOOD._replace(inner=(("x", 0.5),)), "for inner"),
        (GOOD._replace(inner=(Inner(None, 0.5),)), "got None for name of a Inner"),
        (GOOD._replace(inner=(Inner("x", 1.5),)), "`pvalue` must be between 0 and 1; got 1.5"),
    ],
)
def test_what_is_of_another_kind_is_named(record: Outer, message: str) -> None:
    with pytest.raises(ps.InputError, match=message.replace("*", r"\*")):
        require_types(record)


def test_json_is_plain() -> None:
    require_plain({"a": [1, 2.5, None, True, "x", {"b": []}]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, b"x", {1}, object, {1: 2}])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(ps.InputError, match="`values` must be what `to_dict` gave; got"):
        require_plain({"a": [value]})


@pytest.mark.parametrize(
    ("part", "value"),
    [("components", [{"name": "x"}]), ("weights", {"x": "1"}), ("settings", 1), ("ess", "1e400x")],
)
def test_a_damaged_result_is_refused(part: str, value: Any) -> None:
    draws = np.random.default_rng(0).standard_normal((600, 2))
    content = ps.psd_test(draws, -draws, order=1, rng=0).to_dict()
    assert ps.GofResult.from_dict(content).to_dict() == content
    with pytest.raises(ps.InputError, match="`values` must be what `to_dict` gave"):
        ps.GofResult.from_dict({**content, part: value})
