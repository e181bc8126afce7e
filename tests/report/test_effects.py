"""Tables in text, and the lines that lead a report."""

import math
from dataclasses import replace

import numpy as np
import pytest

import polystein as ps
from polystein.report.effects import (
    effect_facts,
    nothing_found_words,
    reliability_words,
    tolerance_words,
    unsized_words,
)
from polystein.report.forest import forest_of
from polystein.report.page import effects_block, forest_block
from polystein.report.result_page import result_page
from polystein.results.effects import EffectTable
from polystein.results.tolerance import Tolerance
from tests.report.drawn import effect

DRAWS = np.random.default_rng(0).standard_normal((2000, 3))


def check(draws: np.ndarray, **options: object) -> ps.GofResult:
    return ps.check(draws, -draws, iid=True, rng=1, **options)  # type: ignore[arg-type]


def test_a_table_of_effects_has_a_line_between_found_and_not_found() -> None:
    draws = DRAWS * [1.3, 1.0, 1.0]
    lines = str(ps.effects(draws, -draws, iid=True)).splitlines()
    assert lines[0] == "Found at the level 0.05, allowing for all 17 properties looked at:"
    assert lines[1].startswith("  the sd of `x[0]` is")
    assert any(set(line) == {"-"} for line in lines)
    assert "nothing" in str(ps.effects(DRAWS, -DRAWS, iid=True)).splitlines()[1]


def test_long_tables_are_cut() -> None:
    draws = np.random.default_rng(0).standard_normal((500, 25))
    assert "more, in `rows`" in str(ps.expectations(draws, -draws, iid=True))
    assert "more, in `rows`" in str(ps.effects(2.0 * draws, -2.0 * draws, iid=True))


def test_a_rejected_result_leads_with_sentences_and_a_hint() -> None:
    draws = 1.2 * DRAWS
    labels = [label for label, _ in effect_facts(check(draws))]
    assert labels == ["Off", "", "", "", "Next"]
    text = str(check(draws))
    assert text.index("Rejected") < text.index("Off ") < text.index("Next") < text.index("Run ")


def test_what_has_no_size_has_a_line_of_its_own() -> None:
    result = check(1.2 * DRAWS)
    table = result.effects
    vague = tuple(
        row._replace(size=np.nan, lower=-np.inf, upper=np.inf, error=np.inf, name=name)
        for row, name in zip(table.rows[:2], ("tau", "b"), strict=True)
    )
    for rows, words in (
        (vague, "`tau`, `b` are off by an unknown amount, which may be the largest"),
        (vague[:1], "`tau` is off by an unknown amount, which may be the largest"),
        ((), ""),
    ):
        assert unsized_words(replace(table, rows=(*table.rows, *rows))) == words
    more = replace(result, effect_table=replace(table, rows=(*table.rows, *vague)))
    facts = effect_facts(more)
    assert [label for label, _ in facts] == ["Off", "", "", "", "Unsized", "Next"]
    assert unsized_words(replace(table, rows=vague)) == ""
    assert "Unsized: <code>tau</code>, <code>b</code> are off" in result_page(more)


def test_a_result_that_is_not_rejected_computes_nothing() -> None:
    result = check(DRAWS)
    assert effect_facts(result) == []
    assert result.effect_table is None


@pytest.mark.parametrize(
    ("error", "words"),
    [(ps.DegenerateError("no"), "not told: no"), (ZeroDivisionError("0"), "ZeroDivisionError: 0")],
)
def test_effects_that_fail_leave_the_verdict(error: Exception, words: str) -> None:
    result = check(1.2 * DRAWS)

    def fail() -> ps.EffectTable:
        raise error

    result.compute_effects_by(fail)
    ((label, told),) = effect_facts(result)
    assert label == "Effects"
    assert words in told
    assert "Rejected" in str(result)


def test_words_for_a_tolerance_say_what_they_rest_on() -> None:
    for scale, bound, words in (
        (1.0, 0.2, "within 0.2: all means within 0.2 posterior sd and sds within 20 %, as far"),
        (1.5, 0.2, "beyond 0.2: the sd of"),
        (
            1.1,
            0.1,
            "not decided whether all means are within 0.1 posterior sd and all sds within 10 %",
        ),
    ):
        table = ps.effects(scale * DRAWS, -scale * DRAWS, iid=True)
        assert tolerance_words(table.within(bound)).startswith(words)
    inside = Tolerance("within", 0.1, 1.0, None)
    words = tolerance_words(inside, unconstrained=True)
    assert "sds within 10 % on the unconstrained scale, as far as the draws have been" in words
    assert words.endswith("by simultaneous 95 % intervals")
    assert tolerance_words(inside._replace(reliability=0.9951)).endswith(" (R2 at least 0.995)")
    rng = np.random.default_rng(0)
    table = ps.effects(rng.laplace(size=(500, 2)), np.sign(rng.laplace(size=(500, 2))), iid=True)
    assert "0.99 is needed" in tolerance_words(table.within(0.1))
    found = Tolerance("undecided", 0.05, 0.992, None, unexplained=True)
    row = table.rows[0]._replace(what="sd", name="tau_log__")
    found = found._replace(looked_at=16, still_open=(row,) * 2)
    assert tolerance_words(found).endswith(
        "14 of the 16 means and sds are shown to be within; for 2, the sd of `tau_log__`, the sd "
        "of `tau_log__`, the gradients tell too little for this tolerance (R2 is 0.992); "
        "`ps.refine` can"
    )


def test_reliabilities_are_never_rounded_up() -> None:
    values = (0.0, 0.899, 0.98999, 0.9951, 0.99949, 0.99994, 1.0)
    words = ["0.00", "0.89", "0.98", "0.995", "0.9994", "0.9999", "1.0000"]
    assert [reliability_words(value) for value in values] == words


def test_pages_have_the_sentences_too() -> None:
    assert "the sd of" in check(1.2 * DRAWS)._repr_html_()


def test_a_line_break_in_a_name_breaks_no_line() -> None:
    sample = ps.Sample(1.5 * DRAWS, -1.5 * DRAWS, names=["a\nb", "c", "d"])
    table = ps.effects(sample, iid=True)
    assert all("\n" not in row.sentence for row in table)
    assert "`a\\nb`" in str(table)
    expected = ps.expectations(sample, ["mean"], iid=True)
    assert len(str(expected).splitlines()) == 4


def test_tables_have_a_short_repr_and_show_in_notebooks() -> None:
    draws = DRAWS * [1.3, 1.0, 1.0]
    sample = ps.Sample(draws, -draws, names=["<b>", "c", "d"])
    table = ps.effects(sample, iid=True)
    assert repr(table).startswith("EffectTable(")
    assert "of 17 properties off: the sd of `<b>` is" in repr(table)
    assert len(repr(table)) < 200
    assert "<b>" not in table._repr_html_()
    assert "&lt;b&gt;" in table._repr_html_()
    assert repr(ps.effects(DRAWS, -DRAWS, iid=True)) == "EffectTable(0 of 17 properties off)"
    expected = ps.expectations(sample, iid=True)
    assert repr(expected) == "ExpectationTable(6 rows: <b>, c, d)"
    assert "<b>" not in expected._repr_html_()
    assert expected._repr_html_().count("<tr>") == 7


def test_long_tables_are_cut_in_notebooks() -> None:
    draws = np.random.default_rng(0).standard_normal((300, 25))
    assert "... and 10 more" in ps.expectations(draws, -draws, iid=True)._repr_html_()


def test_what_cannot_be_judged_is_no_effect_of_0() -> None:
    unknown = effect(
        "b", "mean", 0.0, lower=-math.inf, upper=math.inf, error=math.inf, found=False,
        sentence="the mean of `b` cannot be judged: the scores do not explain it",
    )  # fmt: skip
    table = EffectTable((effect("a", "mean", 0.05, found=False, pvalue=0.5), unknown), 2)
    assert [line.row.name for line in forest_of(table, None, 20).lines] == ["a"]
    chance, _, rest = str(table).partition("Not judged, 1 of 2:")
    assert "`b`" not in chance
    assert "the mean of `b` cannot be judged" in rest
    assert "inf" not in table._repr_html_()
    drawn = forest_block(table, None)
    assert drawn is not None
    assert "Of 2 properties 1 cannot be judged: not drawn." in drawn.content["caption"]
    assert "inf" not in str(effects_block("all", table, ""))
    words = nothing_found_words(table, rejected=False)
    assert words == "none of the properties that can be judged, 1 of 2, is off beyond chance"
    alone = EffectTable((unknown,), 2)
    assert "no property" in nothing_found_words(alone, rejected=True)
    assert forest_block(alone, None) is None


def test_the_scale_of_a_tolerance_is_told_where_the_model_has_another() -> None:
    facts = {"transform": lambda rows: {"tau": np.exp(rows)}}
    for options, told in (({"facts": facts}, True), ({}, False)):
        result = ps.check(ps.Sample(DRAWS, -DRAWS, **options), iid=True, tolerance=0.2)
        assert ("unconstrained scale" in " ".join(str(result).split())) == told
        again = ps.GofResult.from_dict(result.to_dict())
        assert again.effects.unconstrained == told
