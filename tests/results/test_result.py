"""What a test says, in a form that people and programs can read."""

import json
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.effects import EffectTable
from polystein.results.evidence import Component, Evidence, Explanation
from polystein.results.result import DEFAULT_LEVEL, GofResult
from tests.conftest import arbitrary_rows
from tests.results.parts import arm, part
from tests.results.real import TESTS, real

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
DRAWS, SCORES = arbitrary_rows(300, 2)


@pytest.fixture(scope="module")
def result() -> GofResult:
    return ps.lambda_psd_test(DRAWS, SCORES, order=3, weights=ps.ClosedForm(), rng=0)


def bare(pvalue: float = 0.3, **changes: Any) -> GofResult:
    return GofResult(1.0, pvalue, "two-sided", "psd", 2, **changes)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("statistic", "1", "a real number; got '1'"),
        ("alternative", "less", "'two-sided' or 'greater'; got 'less'"),
        ("method", len, "a string; got <built-in"),
        ("dimension", len, "a positive integer; got <built-in"),
    ],
)
def test_what_no_test_gives_is_refused(name: str, value: Any, expected: str) -> None:
    with pytest.raises(InputError, match=f"`{name}` must be {expected}"):
        replace(bare(), **{name: value})


def test_everything_that_led_to_the_verdict_is_told(result: GofResult) -> None:
    assert result.method == "lambda-psd"
    assert result.alternative == "two-sided"
    assert (result.n_train, result.n_gap, result.n_test) == (210, 0, 90)
    assert result.ess == pytest.approx(90.0, rel=1e-14)
    assert result.settings["order"] == 3
    assert result.dimension == 2
    assert result.settings["weights"] == "ClosedForm(ridge=0.01)"
    assert "RandomSplit" in result.settings["split"]
    assert result.settings["standardise"] is False
    assert result.warnings == ()


def test_weights_and_components_are_named(result: GofResult) -> None:
    names = ["x", "x^2", "x^3", "score"]
    assert result.weights is not None
    assert list(result.weights) == names
    assert [part.name for part in result.components] == names
    assert [part.weight for part in result.components] == list(result.weights.values())


def test_results_are_values(result: GofResult) -> None:
    with pytest.raises(AttributeError):
        result.pvalue = 0.5  # type: ignore[misc]
    again = ps.lambda_psd_test(DRAWS, SCORES, order=3, weights=ps.ClosedForm(), rng=0)
    assert again == result


# Verdicts


@pytest.mark.parametrize(
    ("pvalue", "verdict"),
    [(0.0, "rejected"), (0.05, "rejected"), (0.0500001, "not rejected"), (1.0, "not rejected")],
)
def test_the_verdict_is_that_at_the_level_of_five_per_cent(pvalue: float, verdict: str) -> None:
    assert DEFAULT_LEVEL == 0.05
    assert bare(pvalue).verdict == verdict
    assert bare(pvalue).rejected() is (verdict == "rejected")


@pytest.mark.parametrize("alpha", [0.02, np.float64(0.02), np.float32(0.5)])
def test_another_level_gives_another_verdict(alpha: Any) -> None:
    assert bare(0.02).rejected(alpha)
    assert not bare(0.02).rejected(alpha=0.01)
    assert not bare(0.6).rejected(alpha)


@pytest.mark.parametrize(
    "alpha", [0.0, 1.0, -0.1, 5, math.nan, math.inf, "0.05", None, True, np.array([0.05])]
)
def test_a_level_outside_of_0_and_1_is_refused(alpha: Any) -> None:
    with pytest.raises(InputError, match="`alpha` must be a level strictly between 0 and 1; got"):
        bare().rejected(alpha)


@pytest.mark.parametrize(
    ("pvalue", "reasons", "verdict"),
    [
        (0.05, (), "rejected"),
        (0.05, ("R-hat is 2.",), "rejected"),
        (0.06, ("R-hat is 2.",), "inconclusive"),
        (0.06, (), "not rejected"),
    ],
)
def test_reasons_make_a_large_p_value_inconclusive(
    pvalue: float, reasons: tuple[str, ...], verdict: str
) -> None:
    result = bare(pvalue, reasons=reasons)
    assert result.verdict == result.verdict_at(0.05) == verdict
    assert result.rejected() is (verdict == "rejected")
    assert result.verdict_at(0.5) == "rejected"
    assert f": {verdict}, p =" in repr(result)


# Explanations


def test_explanations_come_with_the_largest_share_first(result: GofResult) -> None:
    rows = result.explain()
    sizes = [abs(row.share) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == pytest.approx(1.0, rel=1e-12)
    assert {row.name for row in rows} == {"x", "x^2", "x^3", "score"}
    by_name = {part.name: part for part in result.components}
    for row in rows:
        assert isinstance(row, Explanation)
        assert (row.z, row.weight) == (by_name[row.name].z, by_name[row.name].weight)
        # A share has the sign of weight times mean, and z that of the mean.
        assert np.sign(row.share) == np.sign(row.weight * row.z)
        assert (row.words, row.share) == (by_name[row.name].words, by_name[row.name].share)
        assert row.level_share is None


def test_parts_are_explained_by_their_shares_in_the_evidence() -> None:
    """Adjusted p-values of 0.1, 0.01 and 1: one, two and no powers of ten."""
    parts = part(0.05, 0.5, "some"), part(0.0025, 0.25, "most"), part(0.9, 0.25, "none")
    rows = bare(evidence=Evidence((arm("flips", 0.01, *parts),))).explain()
    assert [row.name for row in rows] == ["most", "some", "none"]
    assert [row.share for row in rows] == pytest.approx([2 / 3, 1 / 3, 0.0], abs=1e-15)
    assert [row.level_share for row in rows] == [0.25, 0.5, 0.25]
    assert [row.weight for row in rows] == [None] * 3
    assert [row.z for row in rows] == [parts[index].z for index in (1, 0, 2)]


def test_a_result_without_shares_still_explains() -> None:
    one = bare(components=(Component("x", "spread", 1.0, 1.0, math.nan),))
    assert one.explain()[0].name == "x"
    assert one.to_dict()["weights"] is None
    assert bare().explain() == []


# As plain data


def with_diagnostics() -> GofResult:
    chains = np.random.default_rng(0).standard_normal((4, 50, 2))
    sample = ps.Sample(chains, -chains)
    both = Diagnostics(Convergence.of(sample, "draws"), Convergence.of(sample, "scores"))
    return bare(0.5, reasons=("R-hat is 2.",), diagnostics=both)


def test_reasons_and_diagnostics_come_back() -> None:
    given = with_diagnostics()
    again = GofResult.from_dict(json.loads(json.dumps(given.to_dict(), allow_nan=False)))
    assert again.reasons == given.reasons
    assert again.verdict == "inconclusive"
    assert again.diagnostics is not None
    assert given.diagnostics is not None
    assert again.diagnostics.draws.rhat == given.diagnostics.draws.rhat
    assert again.to_dict() == given.to_dict()
    assert str(again) == str(given)
    assert str(pickle.loads(pickle.dumps(given))) == str(given)


def test_results_of_version_2_are_read() -> None:
    values = {**bare().to_dict(), "schema_version": 2}
    del values["reasons"], values["diagnostics"], values["evidence"]["abstained"]
    again = GofResult.from_dict(values)
    assert (again.reasons, again.diagnostics, again.evidence.abstained) == ((), None, ())
    assert again.verdict == "not rejected"


def test_to_dict_is_json(result: GofResult) -> None:
    values = result.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["schema_version"] == 4
    assert values["verdict"] == result.verdict
    assert values["pvalue"] == result.pvalue
    assert values["weights"] == result.weights
    assert values["components"][0] == {
        "name": "x",
        "words": "spread, correlation",
        "z": result.components[0].z,
        "weight": result.components[0].weight,
        "share": result.components[0].share,
    }


@pytest.mark.parametrize("name", TESTS)
def test_every_result_comes_back_from_json(name: str) -> None:
    str(real(name))  # effects, which a report of a rejected result tells, are stored once computed
    values = real(name).to_dict()
    again = GofResult.from_dict(json.loads(json.dumps(values, allow_nan=False)))
    assert again.to_dict() == values
    assert again.explain() == real(name).explain()
    assert str(again) == str(real(name))
    if not math.isnan(real(name).ess):
        assert again == real(name)


@pytest.mark.parametrize("name", TESTS)
def test_every_result_can_be_pickled(name: str) -> None:
    again = pickle.loads(pickle.dumps(real(name)))
    assert isinstance(again, GofResult)
    assert again.to_dict() == real(name).to_dict()
    assert repr(again) == repr(real(name))


def test_an_effective_number_that_is_not_known_is_null() -> None:
    unknown = bare()
    assert math.isnan(unknown.ess)
    assert unknown.to_dict()["ess"] is None
    assert math.isnan(GofResult.from_dict(unknown.to_dict()).ess)


def test_arms_that_abstain_are_what_their_names_say() -> None:
    """So that results without some arms, or without any, are sent through all faces above."""
    judged = {
        name: [arm.name for arm in real(name).evidence.arms]
        for name in ("check flips alone", "check trained alone", "check without arms")
    }
    # The kernel net judges on the batches of the sign flips.
    assert list(judged.values()) == [["sign flips", "kernel net"], ["trained witnesses"], []]
    nobody = real("check without arms")
    assert (nobody.pvalue, nobody.verdict) == (1.0, "inconclusive")
    assert 0.0 < nobody.ess < 100.0


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, np.float64("nan")])
def test_what_json_does_not_have_is_null(value: Any) -> None:
    odd = bare(evidence=Evidence(estimates={"c": value, "more": [np.int64(3), value]}))
    assert odd.to_dict()["evidence"]["estimates"] == {"c": None, "more": [3, None]}
    assert json.dumps(odd.to_dict(), allow_nan=False)


def test_values_of_numpy_are_made_plain() -> None:
    values = bare(np.float64(0.25), settings={"length": np.int64(3), "c": np.ones(2)}).to_dict()
    assert type(values["pvalue"]) is float
    assert values["settings"] == {"length": 3, "c": [1.0, 1.0]}
    assert type(values["settings"]["length"]) is int


@pytest.mark.parametrize("version", [1, 5, "2", None])
def test_another_schema_is_refused_with_a_remedy(result: GofResult, version: Any) -> None:
    values = {**result.to_dict(), "schema_version": version}
    message = rf"schema_version 2 to 4; got schema_version {version!r}\. Run the test again"
    with pytest.raises(InputError, match=message):
        GofResult.from_dict(values)
    del values["schema_version"]
    with pytest.raises(InputError, match="got schema_version None"):
        GofResult.from_dict(values)


def test_keys_of_other_programs_are_ignored(result: GofResult) -> None:
    assert GofResult.from_dict({**result.to_dict(), "file": "draws.nc"}) == result


def crafted(**changes: Any) -> GofResult:
    """What comes back of a stored result with an arm and an effect, after others changed it."""
    one = real("check rejected")
    str(one)
    return GofResult.from_dict({**json.loads(json.dumps(one.to_dict())), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "not rejected"}, "the verdict 'not rejected', but a p-value of .* means 'rej"),
        ({"verdict": "not rejected", "alpha": 0.5}, "means 'rejected' at the level 0.5"),
        ({"verdict": 1}, "got the verdict 1"),
        ({"reasons": "none"}, "damaged: reasons must be a list, and are 'none'"),
        ({"warnings": {"a": "b"}}, "damaged: warnings must be a list"),
        ({"components": "x"}, "damaged: components must be a list"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(changes: Any, message: str) -> None:
    assert crafted().verdict == crafted(alpha="other").verdict == "rejected"
    with pytest.raises(InputError, match=f"^`values` must be what `to_dict` gave; .*{message}"):
        crafted(**changes)


def test_the_verdict_of_the_command_line_is_at_its_own_level() -> None:
    stored = {**bare(0.03).to_dict(), "alpha": 0.01, "verdict": "not rejected"}
    assert GofResult.from_dict(stored).to_dict() == bare(0.03).to_dict()


def test_an_arm_without_parts_is_refused() -> None:
    evidence = real("check rejected").to_dict()["evidence"]
    evidence["arms"][0]["parts"] = []
    with pytest.raises(InputError, match="damaged: the arm 'trained witnesses' has no parts"):
        crafted(evidence=evidence)
    evidence["arms"][0]["parts"] = "none"
    with pytest.raises(InputError, match="damaged: parts must be a list, and are 'none'"):
        crafted(evidence=evidence)


def test_a_part_without_a_share_of_the_level_is_refused() -> None:
    evidence = real("check rejected").to_dict()["evidence"]
    evidence["arms"][0]["parts"][0]["level_share"] = 0
    with pytest.raises(
        InputError, match="damaged: a part of the arm 'trained witnesses' has no share"
    ):
        crafted(evidence=evidence)


def test_what_others_wrote_stays_on_its_line() -> None:
    """A name of an effect cannot pretend to be another line of the report."""
    effects = crafted().effects.to_dict()
    for key in ("name", "sentence"):
        effects["rows"][0][key] = "x\nVerdict: not rejected\u2028\x1b[2J"
    found = crafted(effects=effects)
    assert found.effects.rows[0].name == r"x\nVerdict: not rejected\u2028\x1b[2J"
    for text in (str(found), str(found.effects), str(EffectTable.from_dict(effects))):
        assert not any(line.lstrip().startswith("Verdict") for line in text.splitlines())
        assert "\x1b" not in text


# In words


@pytest.mark.parametrize("name", TESTS)
def test_the_repr_is_one_line(name: str) -> None:
    one = real(name)
    found = repr(one)
    assert "\n" not in found
    assert len(found) < 120
    assert found.startswith(f"GofResult({one.method}: {one.verdict}, p ")


def test_the_repr_by_hand() -> None:
    assert repr(bare(0.0321)) == "GofResult(psd: rejected, p = 0.0321, z = 1)"
    other = replace(bare(0.4), statistic=1234.56, statistic_name="n times something")
    assert repr(other) == "GofResult(psd: not rejected, p = 0.4, n times something = 1235)"


@pytest.mark.parametrize("name", TESTS)
def test_shares_are_shown_only_where_something_was_found(name: str) -> None:
    one = real(name)
    shown = one.rejected() and bool(one.components)
    for text, words in ((str(one), "share of the"), (one._repr_html_(), ">share<")):
        assert (words in text) is shown
        assert one.rejected() or "100 %" not in text


def test_the_results_at_hand_are_of_both_verdicts() -> None:
    """Or the cases above would say less than they seem to."""
    verdicts = [real(name).verdict for name in TESTS]
    assert verdicts.count("not rejected") > 10
    assert real("check rejected").verdict == "rejected"
