"""The table of many checks: verdicts after a correction, and to_dict and back."""

import json
import math
from typing import Any

import pytest

import polystein as ps
from polystein.results.many import CheckedFit
from polystein.results.result import GofResult


def fit(name: str, pvalue: float, *, coarse: bool = False, **changes: Any) -> CheckedFit:
    result = GofResult(1.0, pvalue, "greater", "check", dimension=3, **changes)
    return CheckedFit(name, 4, 100, result, coarse)


LOST = CheckedFit("lost", error="no such file")


def test_verdicts_allow_for_the_other_fits() -> None:
    fits = (fit("a", 0.02), fit("b", 0.9), fit("c", 0.03), fit("d", 0.001))
    table = ps.CheckTable(fits)
    assert [row.adjusted for row in table] == pytest.approx([0.06, 0.9, 0.06, 0.004])
    assert [row.verdict for row in table] == [*["not rejected"] * 3, "rejected"]
    found = ps.CheckTable(fits, "benjamini-hochberg")
    assert [row.adjusted for row in found] == pytest.approx([0.04, 0.9, 0.04, 0.004])
    assert [row.verdict for row in found] == ["rejected", "not rejected", "rejected", "rejected"]
    assert ps.CheckTable(fits, alpha=0.1).count("rejected") == 3


def test_a_fit_with_an_error_has_no_p_value_and_does_not_count() -> None:
    table = ps.CheckTable((LOST, fit("a", 0.03)))
    assert table["a"].adjusted == 0.03
    assert (table["lost"].verdict, table["lost"].pvalue, table["lost"].adjusted) == (
        *("error", None, None),
    )
    assert ps.CheckTable((LOST,)).verdict == "error"


def test_reasons_leave_the_question_open_unless_the_fit_is_rejected() -> None:
    short = fit("short", 0.4, reasons=("Too few draws.",))
    wrong = fit("wrong", 1e-6, reasons=("Too few draws.",))
    table = ps.CheckTable((short, wrong))
    assert (table["short"].verdict, table["short"].reasons) == ("inconclusive", ("Too few draws.",))
    assert (table["wrong"].verdict, table["wrong"].reasons) == ("rejected", ())


def test_flips_at_their_limit_do_not_pass_among_many_fits() -> None:
    """1/500 over its share of the level is 0.0024: times 22 it is above 0.05."""
    least = 1.0 / 500 / 0.85
    for count, verdict in ((21, "rejected"), (22, "inconclusive")):
        others = [fit(str(number), 0.5) for number in range(count - 1)]
        table = ps.CheckTable((fit("wrong", least, coarse=True), *others))
        assert table["wrong"].verdict == verdict
        assert table.verdict == verdict
    assert "too few to allow for 22 fits" in table["wrong"].reasons[0]
    with_error = ps.CheckTable((*table.fits, LOST))
    assert with_error["wrong"].reasons == table["wrong"].reasons
    alone = ps.CheckTable((fit("wrong", least, coarse=True), LOST), alpha=0.001)
    assert alone["wrong"].reasons == (
        "No sign flip was as far out as the draws, but flips are too few for the level 0.001. "
        "Take more draws.",
    )


def test_the_worst_comes_first() -> None:
    fits = (fit("a", 0.9), fit("b", 1e-4), fit("c", 0.5, reasons=("why",)), LOST, fit("d", 1e-5))
    table = ps.CheckTable(fits)
    assert [row.name for row in table.worst_first] == ["lost", "d", "b", "c", "a"]
    assert [row.name for row in table.rows] == ["a", "b", "c", "lost", "d"]
    assert table.verdict == "error"
    assert repr(table) == "CheckTable(5 fits: 1 error, 2 rejected, 1 inconclusive, 1 not rejected)"
    assert repr(ps.CheckTable((LOST,))) == "CheckTable(1 fit: 1 error)"


TABLE = ps.CheckTable((fit("a", 0.2, ess=math.inf), fit("b", 0.001, coarse=True), LOST))


def test_to_dict_is_json_and_comes_back() -> None:
    text = json.dumps(TABLE.to_dict(), allow_nan=False)
    again = ps.CheckTable.from_dict(json.loads(text))
    assert again.to_dict() == TABLE.to_dict()
    assert again["b"].result.to_dict() == TABLE["b"].result.to_dict()
    assert json.loads(text)["schema_version"] == 2


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("schema_version",), 3, "schema_version 3"),
        (("adjust",), "none", "`adjust`"),
        (("alpha",), 1.0, "`alpha`"),
        (("fits",), [], "at least one checked fit"),
        (("fits",), "ab", "a list"),
        (("fits", 0, "verdict"), "rejected", "verdict of 'a', which is 'not rejected'"),
        (("fits", 1, "adjusted"), 0.5, "adjusted of 'b'"),
        (("fits", 0, "pvalue"), 0.001, "pvalue of 'a'"),
        (("fits", 0, "name"), 3, "strings as names"),
        (("fits", 1, "name"), "a", "a name of its own for each fit; got 'a' twice"),
        (("fits", 0, "chains"), -1, "chains of 'a'"),
        (("fits", 0, "draws"), 0, "draws of 'a'"),
        (("fits", 0, "error"), "why", "either a result or an error"),
        (("fits", 2, "error"), "", "either a result or an error"),
        (("fits", 1, "coarse"), "yes", "'b'"),
        (("fits", 0, "result"), {}, "schema_version"),
        (("fits", 0, "result", "pvalue"), 0.5, "'a'"),
    ],
)
def test_damaged_tables_are_refused(place: tuple[Any, ...], value: Any, said: str) -> None:
    values = TABLE.to_dict()
    inner: Any = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ps.InputError, match=said):
        ps.CheckTable.from_dict(values)


def test_names_and_verdicts_that_there_are_not() -> None:
    with pytest.raises(ps.InputError, match="the name of a fit, 'a', 'b', 'lost'"):
        TABLE["c"]
    with pytest.raises(ps.InputError, match="`verdict`"):
        TABLE.count("wrong")
    with pytest.raises(ps.InputError, match="`fits`"):
        ps.CheckTable((1, 2))  # type: ignore[arg-type]
    with pytest.raises(ps.InputError, match="'lost' twice"):
        ps.CheckTable((LOST, LOST))
