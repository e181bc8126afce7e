"""The text of a result: its words, its order and its size."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import polystein as ps
from polystein.report.lines import percent
from polystein.report.pvalues import p_words
from polystein.report.text import (
    chains_words,
    found_words,
    headline,
    meaning,
    render,
)
from polystein.results.evidence import Abstention, Evidence
from polystein.results.result import GofResult
from tests.report.drawn import effect
from tests.report.results import (
    ABSTENTION,
    REASONS,
    bootstrap_result,
    check_result,
    diagnostics,
    inconclusive_result,
    z_result,
)


def lines_from(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_str_of_a_result_is_the_text() -> None:
    assert str(z_result()) == render(z_result())


def test_text_says_what_was_tested_and_how_it_came_out() -> None:
    text = " ".join(render(z_result()).split())
    for words in (
        "lambda-PSD z-test, order 2, dimension 4",
        "Rejected at the level 0.05, p = 0.012: evidence against the draws.",
        "about 1 in 100 tests",
        "z = 2.50 (two-sided)",
        "700 trained the test function, 300 tested it; 288 effective test draws",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("pvalue", "verdict", "words"),
    [
        (0.06, "Not rejected", "no evidence against the draws"),
        (0.05, "Rejected", "evidence against the draws"),
        (0.0005, "Rejected", "strong evidence against the draws"),
    ],
)
def test_the_verdict_comes_first(pvalue: float, verdict: str, words: str) -> None:
    result = z_result(pvalue=pvalue)
    assert headline(result) == (verdict, f"at the level 0.05, {p_words(pvalue)}: {words}.")
    assert render(result).startswith(f"{verdict} at the level 0.05")
    assert render(result).splitlines()[1].startswith("Do these draws come from the target?")


def test_a_level_changes_the_verdict() -> None:
    result = z_result(pvalue=0.02)
    assert result.rejected(0.05)
    assert not result.rejected(0.01)
    assert render(result, 0.01).startswith("Not rejected at the level 0.01, p = 0.02: no evidence")


# Inconclusive results


def test_an_inconclusive_verdict_comes_first_with_its_reasons() -> None:
    text = render(inconclusive_result())
    assert text.startswith("Inconclusive at the level 0.05, p = 0.42: nothing found, but faults")
    plain = " ".join(text.split())
    assert all(reason in plain for reason in REASONS)
    assert plain.index("Why") < plain.index("The chains disagree") < plain.index("Chains")
    assert "no evidence" not in plain


def test_what_is_rejected_stays_rejected_whatever_the_diagnostics_say() -> None:
    result = inconclusive_result(pvalue=0.001)
    text = render(result)
    assert text.startswith("Rejected")
    assert "Why" not in text
    assert render(result, 0.0001).startswith("Inconclusive at the level 0.0001")


def test_an_arm_that_abstains_is_always_said() -> None:
    said = "test rows would depend on training rows"
    for pvalue, reasons in ((0.4, REASONS), (0.4, ()), (0.4, REASONS[:1]), (0.01, REASONS)):
        text = " ".join(render(inconclusive_result(pvalue=pvalue, reasons=reasons)).split())
        assert text.count(said) == 1, (pvalue, reasons)


def test_an_arm_whose_reason_is_cut_off_is_said_elsewhere() -> None:
    reasons = (*["word " * 200] * 3, REASONS[1])
    text = render(inconclusive_result(reasons=reasons))
    assert "... (in full in `result.reasons`)" in text
    assert lines_from(text, "Abstained")[0].split()[1:3] == ["trained", "witnesses:"]
    both = Evidence(abstained=(ABSTENTION, Abstention("sign flips", "word " * 500)))
    assert "`result.evidence.abstained`" in render(inconclusive_result(evidence=both, reasons=()))


def test_the_printed_ess_is_that_of_draws_and_scores() -> None:
    text = render(inconclusive_result())
    assert "Chains     R-hat at most 2.47 (draws of b), ESS at least 5 (scores of a)" in text
    assert "effective test draws" not in str(inconclusive_result().explain())
    without = " ".join(str(inconclusive_result(diagnostics=None).explain()).split())
    assert "288 effective test draws" in without


def test_divergences_are_told() -> None:
    result = inconclusive_result(diagnostics=diagnostics(divergences=12))
    assert chains_words(result).endswith("; 12 of 4000 draws diverged (0.3 %)")
    assert chains_words(z_result()) == ""


def test_what_is_not_rejected_is_not_called_right() -> None:
    words = meaning(z_result(pvalue=0.5))
    assert "This is no proof" in words
    assert "shows in no score test" in words


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [(1e-9, "fewer than 1 in 1,000,000"), (0.0023, "about 1 in 430"), (0.034, "about 3 in 100")],
)
def test_how_often_chance_would_do_it(pvalue: float, words: str) -> None:
    assert words in meaning(z_result(pvalue=pvalue))


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [(0.0, "p < 0.0001"), (1e-4, "p = 0.0001"), (0.8765, "p = 0.88"), (0.996, "p > 0.99")],
)
def test_p_value(pvalue: float, words: str) -> None:
    assert p_words(pvalue) == words


def test_features_come_by_share_with_bars_of_their_length() -> None:
    rows = [line.split() for line in lines_from(render(z_result()), "x")]
    text = render(z_result())
    assert text.index("\nscore") < text.index("\nx  ") < text.index("\nx^2")
    assert [row[0] for row in rows] == ["x", "x^2"]
    # 22 columns are the whole: 0.625, 0.25 and -0.125 of them.
    assert lines_from(text, "score")[0].endswith("0.500     1.25    62 %  " + 14 * "#")
    assert lines_from(text, "x  ")[0].endswith("25 %  " + 6 * "#")
    assert lines_from(text, "x^2")[0].endswith("-12 %  " + 3 * "-")
    assert "pulled the statistic the other way" in text


def test_no_note_on_minus_signs_without_any() -> None:
    assert "other way" not in render(z_result(shares={"x": 0.999, "score": -0.001}))


def test_shares_have_no_sign_on_nothing() -> None:
    assert percent(-0.001) == "0 %"
    assert percent(math.nan) == ""


def test_features_stand_beside_what_they_look_at() -> None:
    text = render(z_result())
    assert lines_from(text, "score")[0].split()[1] == "location"
    assert lines_from(text, "x  ")[0].split()[1:3] == ["spread,", "correlation"]
    assert lines_from(text, "x^2")[0].split()[1] == "skewness"


def test_components_without_shares_have_no_bars() -> None:
    text = render(z_result(shares={"x": math.nan, "score": math.nan}))
    assert "#" not in text
    assert "%" not in text
    assert "nan" not in text


# Shares are of something that was found


@pytest.mark.parametrize("result", [z_result(pvalue=0.5), check_result(flips=0.5)])
def test_where_nothing_is_rejected_nothing_has_a_share(result: GofResult) -> None:
    text = render(result)
    assert "%" not in text
    assert "share" not in text
    assert "#" not in text
    assert "other way" not in text
    assert "Found" not in text


def test_a_level_at_which_nothing_is_rejected_takes_the_shares_away() -> None:
    assert "62 %" in render(z_result(), 0.05)
    assert "%" not in render(z_result(), 0.01)


def test_one_feature_alone_has_the_whole_share_only_of_what_was_found() -> None:
    assert "100 %" in render(z_result(shares={"score": 1.0}))
    assert "100 %" not in render(z_result(shares={"score": 1.0}, pvalue=0.5))


# Tests of several parts


def test_what_was_found_is_named_with_its_place() -> None:
    assert found_words(check_result()) == "spread of a"
    pair = check_result(coordinates=("a", "b"))
    assert found_words(pair) == "spread of a and b"
    everywhere = check_result(coordinates=())
    assert found_words(everywhere) == "spread of all coordinates together"


def test_the_arm_on_all_rows_speaks_wherever_it_found_something() -> None:
    both = check_result(flips=0.02, trained=0.001)
    assert both.evidence.arms[0].name == "trained witnesses"
    assert found_words(both) == "spread of a"
    trained = check_result(flips=0.3, trained=0.001)
    expected = "everything at once of all coordinates together"
    assert found_words(trained) == expected


def test_nothing_is_found_where_nothing_is_rejected() -> None:
    assert found_words(check_result(flips=0.06)) == ""
    assert found_words(check_result(flips=0.02), 0.01) == ""
    assert found_words(z_result()) == ""


def test_parts_levels_and_rows_are_in_the_explanation() -> None:
    assert "Part" not in render(check_result())
    text = str(check_result().explain())
    assert lines_from(text, "Part")[0].split() == ["Part", "looks", "at", "p", "needed", "evidence"]
    # -log of 0.0025, 0.2 and 1 over their sum, 7.6.
    assert lines_from(text, "x: max")[0].split()[2:] == ["spread", "0.001", "0.02", "79", "%"]
    assert "the sign flips used all; 700 trained the test function, 300 tested it" in " ".join(
        text.split()
    )


def test_every_arm_on_all_rows_is_said_to_use_them() -> None:
    flips, trained = check_result().evidence.arms
    evidence = Evidence((flips, trained, flips._replace(name="agreement of chains")))
    result = z_result(shares={}, method="check", evidence=evidence)
    text = " ".join(str(result.explain()).split())
    assert "the agreement of chains and the sign flips used all; 700 trained" in text


def test_rows_of_an_arm_that_abstained_tested_nothing() -> None:
    flips, trained = check_result().evidence.arms
    abstained = (Abstention(trained.name, "too slow"),)
    with_flips, nobody = Evidence((flips,), abstained=abstained), Evidence(abstained=abstained)
    for evidence, words in (
        (with_flips, "Rows: the sign flips used all 1000; 288 effective"),
        (nobody, "Rows: 1000, of which none were tested"),
    ):
        text = str(z_result(shares={}, method="check", evidence=evidence).explain())
        assert words in " ".join(text.split())
        assert "trained the test function" not in text
        assert "The trained witnesses did not judge: too slow." in text


def test_features_are_explained_with_their_weights() -> None:
    result = z_result()
    lines = str(result.explain()).splitlines()
    assert lines[0] == "lambda-PSD z-test, order 2, dimension 4: rejected, p = 0.012"
    assert lines[1] == "z = 2.50 (two-sided)"
    assert lines[3].split() == ["score", "location", "0.500", "1.25", "62", "%"]
    assert repr(result.explain()) == "Explanations(3 rows, first location)"
    assert "<pre>" in result.explain()._repr_html_()
    assert "score" in result.explain()._repr_html_()


# One screen for every verdict of `check`


def test_no_z_stands_beside_a_p_value_that_it_repeats() -> None:
    passing = check_result(flips=0.63, trained=0.9)
    assert "z =" not in render(passing)
    assert "z =" not in repr(passing)
    assert "p = 0.63" in render(passing)


def test_a_p_value_of_1_is_no_sign_of_a_fault() -> None:
    nothing = check_result(flips=1.0, trained=1.0)
    assert headline(nothing) == ("Not rejected", "at the level 0.05: no sign of a fault.")
    assert "p > 0.99" not in render(nothing)
    unknown = inconclusive_result(pvalue=0.999)
    assert headline(unknown)[1] == "at the level 0.05: nothing found, but faults may hide."


def test_what_to_run_stands_below_what_is_off() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 500, 3)) * [1.0, 1.0, 1.4]
    result = ps.check(draws, -draws, tolerance=0.1)
    text = render(result)
    order = [text.index(f"\n{label} ") for label in ("Off", "Tolerance", "Next", "Run", "Chains")]
    assert order == sorted(order)
    assert "`print(result.effects)`" in text
    assert "4 chains x 500 draws" in text.splitlines()[1]
    assert render(result, lines_to_run="polystein refine").count("polystein refine") == 1


@given(name=st.text(min_size=1, max_size=60), count=st.integers(2, 6))
@settings(max_examples=10)
def test_effects_of_long_names_fit_one_screen(name: str, count: int) -> None:
    rows = tuple(
        effect(name * 3, "sd", 1.5, sentence=f"the sd of `{name * 3}` is {'very ' * 30}large")
        for _ in range(count)
    )
    result = inconclusive_result(
        pvalue=0.001,
        tolerance="undecided",
        tolerance_reason="word " * 90,
        settings={"tolerance": 0.1},
        warnings=("word " * 90, "word " * 90),
        effect_table=ps.EffectTable(rows, count, hint="word " * 90),
    )
    lines = render(result).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 88


def test_a_bootstrap_result_has_no_features_and_no_z() -> None:
    text = render(bootstrap_result())
    assert "Feature" not in text
    assert "z =" not in text
    assert "nan" not in text
    assert "-1.5 (large values speak against the draws)" in text
    assert "all 1000 tested, none needed for training" in text


def test_rows_left_out_between_are_counted() -> None:
    assert "700 trained the test function, 20 left out between, 300" in render(z_result(n_gap=20))


def test_warnings_stand_at_the_end_and_are_announced() -> None:
    text = render(z_result(warnings=("too few draws",)))
    assert text.endswith("Warning: too few draws")
    assert text.startswith("Rejected at the level 0.05, p = 0.012, with 1 warning: evidence")
    assert ", with 2 warnings: " in headline(z_result(warnings=("few draws", "old")))[1]
    assert "warning" not in render(z_result())


def test_a_long_warning_is_cut_with_a_pointer() -> None:
    text = render(z_result(warnings=("word " * 200,)))
    assert text.endswith("... (in full in `result.warnings`)")
    on_the_command_line = render(z_result(warnings=("word " * 200,)), place="{} of --json")
    assert on_the_command_line.endswith("... (in full in warnings of --json)")


@given(
    names=st.lists(st.text(min_size=1), unique=True, max_size=30),
    warnings=st.lists(st.text(max_size=500), max_size=6),
    pvalue=st.floats(0.0, 1.0),
    large=st.sampled_from([0, 5, 10**12]),
    method=st.text(max_size=120),
    reasons=st.lists(st.text(min_size=1, max_size=300), max_size=5),
    abstained=st.lists(st.text(max_size=200), max_size=3),
)
@example(
    names=list("01234"),
    warnings=["0", "0", "0"],
    pvalue=0.0,
    large=10**12,
    method="",
    reasons=["0"],
    abstained=["a separator of records\x1e"],
)
@settings(max_examples=8)
def test_the_text_fits_one_screen(
    names: list[str],
    warnings: list[str],
    pvalue: float,
    large: int,
    method: str,
    reasons: list[str],
    abstained: list[str],
) -> None:
    result = z_result(
        pvalue=pvalue,
        shares={name: (-1.0) ** i / len(names) for i, name in enumerate(names)},
        warnings=tuple(warnings),
        method=method or "lambda-psd",
        statistic=1e9,
        n_train=large,
        n_gap=large,
        n_test=large,
        ess=float(large),
        reasons=tuple(reasons),
        diagnostics=diagnostics(divergences=large) if reasons else None,
        evidence=Evidence(abstained=tuple(Abstention("an arm", why) for why in abstained)),
    )
    lines = render(result).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 88
