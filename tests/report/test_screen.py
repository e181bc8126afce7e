"""What the screen of a result tells where there is room, and how p-values are rounded."""

import numpy as np

import polystein as ps
from polystein.report.pvalues import p_words
from polystein.report.text import meaning, render
from tests.report.drawn import effect
from tests.report.results import check_result, inconclusive_result, z_result


def test_all_effects_are_told_where_there_is_room() -> None:
    words = "the sd of `theta[{}]` is 50 % too large"
    rows = tuple(effect(f"theta[{n}]", "sd", 1.5, sentence=words.format(n)) for n in range(54))
    result = inconclusive_result(pvalue=0.001, effect_table=ps.EffectTable(rows[:6], 6))
    text = render(result)
    assert all(row.sentence in text for row in rows[:6])
    assert "more in `result.effects`" not in text
    crowded = render(inconclusive_result(pvalue=0.001, effect_table=ps.EffectTable(rows, 54)))
    told = sum(row.sentence in crowded for row in rows)
    assert told >= 6
    assert f"... and {54 - told} more in `result.effects`" in crowded


def test_warnings_are_told_in_full_where_there_is_room() -> None:
    warnings = ("word " * 40, "end " * 40)
    text = render(z_result(pvalue=0.5, warnings=warnings))
    assert text.split().count("end") == 40


def test_a_p_value_is_not_rounded_over_the_level() -> None:
    above = check_result(flips=0.0502, trained=0.9)
    assert render(above).startswith("Not rejected at the level 0.05, p = 0.0502: ")
    assert p_words(0.0502) == "p = 0.0502"
    assert p_words(0.0498) == "p = 0.05"
    assert p_words(0.01003, 0.01) == "p = 0.01003"


def test_independent_rows_have_no_order_to_be_shuffled() -> None:
    assert "shuffled" in meaning(z_result(pvalue=0.5))
    independent = meaning(z_result(pvalue=0.5, settings={"iid": True}))
    assert "no draw visited or a wrong balance between distant modes shows" in independent


def test_what_to_run_takes_what_is_known() -> None:
    rows = (effect("a", "sd", 1.5),)
    known = ps.EffectTable(rows, 1, refine="ps.refine(sample)")
    draws = np.random.default_rng(0).standard_normal((4, 500, 2)) * [1.0, 1.4]
    unknown = ps.check(draws, -draws)
    assert "for better draws" not in " ".join(str(unknown).split())
    assert "model=model" not in str(unknown)
    object.__setattr__(unknown, "effect_table", known)
    assert "for better draws `ps.refine(sample)`" in " ".join(str(unknown).split())


def test_names_in_a_summary_are_cut_only_where_there_is_no_room() -> None:
    name = "an_intercept_of_districts[School of B]"
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    table = ps.check(ps.Sample(draws, -draws, names=[name, "b"]), iid=True).summary()
    assert len(str(table).splitlines()) == 4
    assert name in str(table)
    long = ps.check(ps.Sample(draws, -draws, names=[3 * name, "b"]), iid=True).summary()
    assert ".." in str(long)
    assert max(map(len, str(long).splitlines())) <= 90
