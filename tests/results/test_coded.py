"""Sentences with codes: strings in every respect, and stored with their codes."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import polystein as ps
from polystein.results.coded import ACTIONS, REASONS, CodedText, coded, coded_from
from polystein.results.effects import EffectTable
from polystein.results.result import GofResult

REASON = CodedText("R-hat is 2.", "chains-disagree", "tau")


def test_they_are_strings() -> None:
    assert REASON == "R-hat is 2."
    assert f"{REASON}" == str(REASON) == REASON.text == "R-hat is 2."
    assert type(REASON.text) is str
    assert REASON.to_dict() == {
        "code": "chains-disagree",
        "parameter": "tau",
        "text": "R-hat is 2.",
    }


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_keep_their_codes(copied: Any) -> None:
    again = copied(REASON)
    assert (again, again.code, again.parameter) == (REASON, "chains-disagree", "tau")


def test_plain_sentences_have_no_code() -> None:
    assert coded(["a", REASON])[0].code == "other"
    assert coded(["a", REASON])[1] is REASON


def test_results_store_codes_and_read_them_back() -> None:
    result = GofResult(0.5, 0.3, "greater", "check", dimension=3, reasons=(REASON, "another"))
    values = result.to_dict()
    assert [one["code"] for one in values["reasons"]] == ["chains-disagree", "other"]
    again = GofResult.from_dict(values)
    assert [(one, one.code) for one in coded(again.reasons)] == [
        ("R-hat is 2.", "chains-disagree"),
        ("another", "other"),
    ]
    assert again.to_dict() == values  # an unknown ESS, NaN, is equal to none


def test_results_of_earlier_versions_have_plain_reasons() -> None:
    values = GofResult(0.5, 0.3, "greater", "check", dimension=3).to_dict()
    old = {**values, "schema_version": 3, "reasons": ["R-hat is 2."], "verdict": "inconclusive"}
    assert coded(GofResult.from_dict(old).reasons)[0].code == "other"


def test_a_code_of_a_later_version_is_another() -> None:
    values = GofResult(0.5, 0.3, "greater", "check", dimension=3, reasons=(REASON,)).to_dict()
    values["reasons"][0]["code"] = "bogus"
    again = GofResult.from_dict(values)
    assert again.to_dict()["reasons"] == [{**REASON.to_dict(), "code": "other"}]
    effects = EffectTable((), 3, "Look at it.", action="look-at-chain").to_dict()
    assert EffectTable.from_dict(effects).action == "look-at-chain"
    assert EffectTable.from_dict({**effects, "action": "bogus"}).action == ""
    with pytest.raises(ps.InputError, match="for action of a EffectTable"):
        EffectTable.from_dict({**effects, "action": ["look-at-chain"]})


def test_one_sentence_is_no_list_of_reasons() -> None:
    with pytest.raises(ps.InputError, match="`reasons` must be a tuple of sentences; got 'abc'"):
        GofResult(0.5, 0.3, "greater", "check", dimension=3, reasons="abc")  # type: ignore[arg-type]


@pytest.mark.parametrize("reasons", ["R-hat", [3], [{"code": 1}], [{"text": "a"}], [["a"]]])
def test_damaged_reasons_are_refused(reasons: Any) -> None:
    values = GofResult(0.5, 0.3, "greater", "check", dimension=3).to_dict()
    with pytest.raises(ps.InputError, match="must be what `to_dict` gave"):
        GofResult.from_dict({**values, "reasons": reasons})
    with pytest.raises((TypeError, KeyError)):
        coded_from(reasons)


def test_the_page_lists_every_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page, re.MULTILINE) == [*REASONS.items()]
    assert [code for code in ACTIONS if f"`{code}`" not in page] == []
