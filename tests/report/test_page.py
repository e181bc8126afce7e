"""The page's template and its blocks: escaped, accessible, small and sufficient unto itself."""

import builtins
import re
from datetime import UTC, datetime
from typing import Any

import pytest

import polystein as ps
from polystein._lib.versions import versions
from polystein.errors import MissingExtraError
from polystein.report import page as pages
from polystein.report.page import (
    MOST_ROWS,
    Block,
    Origin,
    Page,
    Section,
    effects_block,
    forest_block,
    interval_words,
    listed,
    made_section,
    rendered,
    table,
    text,
)
from polystein.report.svg import Drawing
from tests.report.drawn import effect, effects_of
from tests.report.outline import outline
from tests.report.results import NASTY


def page_of(*blocks: Block, title: str = "a title", **changes: Any) -> str:
    values = ("t", "question?", "rejected", "Rejected `x`", "test", ())
    made = Page(*values, [Section(title, blocks)])
    return rendered(made._replace(**changes))


EVERY_BLOCK = (
    text(NASTY),
    Block("heading", NASTY),
    listed([NASTY]),
    Block("pairs", [(NASTY, NASTY)]),
    Block("code", NASTY),
    table(NASTY, [(NASTY, ""), ("n", "number")], [(NASTY, NASTY)]),
    forest_block(ps.EffectTable((effect(NASTY, "mean", 0.3),), 1), 0.1) or text(""),
)


def test_everything_from_outside_is_escaped() -> None:
    source = page_of(
        *EVERY_BLOCK, title=NASTY, heading=NASTY, test=NASTY, warnings=[NASTY], footer=NASTY
    )
    assert "<script" not in source
    # Five around the blocks; seven blocks, of which pairs have two, and the table a head, two cells
    # and a label, which is an attribute.
    assert outline(source).text.count(NASTY) == 5 + 7 + 1 + 2
    assert {"aria-label": f"Table: {NASTY}"}.items() <= outline(source).all("div")[0].items()


def test_nothing_is_loaded_and_nothing_runs() -> None:
    source = page_of(*EVERY_BLOCK)
    assert not re.search(r"//|\b(src|href|xlink|data|srcset|action)\s*=|url\(|@import", source)
    assert not re.search(r"<script|javascript:|\son\w+\s*=", source)
    assert "default-src 'none'" in source


def test_names_are_set_as_names() -> None:
    source = page_of(text("the mean of `<b>` is off"), listed(["`c`"]))
    assert "the mean of <code>&lt;b&gt;</code> is off" in source
    assert "<li><code>c</code></li>" in source
    assert '<h1 class="rejected">Rejected <code>x</code></h1>' in source


def test_tables_scroll_in_regions_that_take_the_focus_and_have_names() -> None:
    seen = outline(page_of(table("All effects", [("a", "")], [("1",)])))
    (region,) = seen.all("div")
    assert region == {
        "class": "scroll", "role": "region", "tabindex": "0", "aria-label": "Table: All effects"
    }  # fmt: skip
    assert [one.get("scope") for one in seen.all("th")] == ["col", "row"]


def test_sections_are_named_by_their_headings() -> None:
    seen = outline(page_of(text("x"), warnings=["w"]))
    ids = {one.get("id") for one in seen.all("h2")}
    assert {one["aria-labelledby"] for one in seen.all("section")} == ids
    assert len(seen.all("main")) == len(seen.all("h1")) == 1


def test_long_tables_are_cut_and_say_so() -> None:
    rows = [(str(place),) for place in range(MOST_ROWS + 3)]
    seen = outline(page_of(table("t", [("a", "")], rows, "`result.effects`")))
    assert len(seen.all("tr")) == 1 + MOST_ROWS
    assert "... and 3 more, in result.effects" in seen.text
    assert "more" not in outline(page_of(table("t", [("a", "")], rows[:MOST_ROWS]))).text


def test_drawings_in_tables_are_no_text() -> None:
    assert "<svg/>" in page_of(table("t", [("a", ""), ("b", "")], [("1", Drawing("<svg/>"))]))


def test_a_forest_has_the_numbers_beside_the_drawing() -> None:
    block = forest_block(effects_of(200), 0.1)
    assert block is not None
    seen = outline(page_of(block))
    assert len([one for one in seen.all("svg") if one.get("class") == "plot"]) == 20 + 1
    assert "mean of tau_log__[0]" in seen.text
    assert "+0.30 sd (+0.20 to +0.40)" in seen.text
    assert "× 1.40 (1.30 to 1.50)" in seen.text
    assert "The other 380 are in the table below." in seen.text
    assert "tolerance 0.1, of means and sds" in seen.text


def test_the_legend_has_no_colour_for_hollow_marks_which_may_have_both() -> None:
    block = forest_block(effects_of(2), None)
    assert block is not None
    mark = re.search(r"<li>\s*(<svg(?:(?!<li>).)*</svg>) hollow: R", page_of(block), re.DOTALL)
    assert mark is not None
    assert re.findall('class="([^"]+)"', mark[1]) == ["mark", "hollow", "hollow"]


def test_effects_without_a_size_have_no_forest_but_a_row() -> None:
    row = effect("a", "mean", float("nan"), lower=float("-inf"), upper=float("inf"))
    table_ = ps.EffectTable((row,), 1)
    assert forest_block(table_, None) is None
    assert "not known" in page_of(effects_block("e", table_, ""))
    assert "nan" not in outline(page_of(effects_block("e", table_, ""))).text


def test_intervals_in_words() -> None:
    assert interval_words(effect("a", "sd", 0.8)) == "× 0.80 (0.70 to 0.90)"
    assert interval_words(effect("a", "skew", -0.3)) == "−0.30 (−0.40 to −0.20)"
    small = effect("a", "mean", 0.004, lower=0.001, upper=0.00712)
    assert interval_words(small) == "+0.004 sd (+0.001 to +0.0071)"
    near = effect("a", "sd", 1.0041, lower=1.0, upper=1.02)
    assert interval_words(near) == "× 1.0041 (1.00 to 1.02)"
    assert interval_words(effect("a", "direction mean", 1.0)) == "+1.00 sd (+0.90 to +1.10)"


def test_how_it_was_made_has_files_versions_date_and_code() -> None:
    when = datetime(2026, 11, 18, 13, 5, tzinfo=UTC)
    origin = Origin((("draws.npz", "ab12"),), "", {"polystein": "1.2.3", "scipy": "0.9"}, when)
    section = made_section([("draws", "4 chains")], [("iid", True)], "ps.check(draws)", origin)
    seen = outline(page_of(*section.blocks)).text
    for words in (
        "4 chains",
        "setting: iid",
        "True",
        "draws.npz (SHA-256 ab12)",
        "versionspolystein 1.2.3, SciPy 0.9\n",
        f"page written withpolystein {ps.__version__}, Python 3.",
        "2026-11-18 13:05 UTC",
        "ps.check(draws)",
    ):
        assert words in seen
    of_command = made_section([], [], "ps.check(draws)", origin._replace(command="polystein check"))
    assert of_command.blocks[-1].content == "polystein check"
    here = made_section([], [], "", Origin(versions=versions()))
    assert [name for name, _ in here.blocks[0].content] == ["versions", "page written"]
    unknown = made_section([], [], "", Origin())
    assert [name for name, _ in unknown.blocks[0].content] == ["page written with", "page written"]


def test_without_jinja2_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "jinja2":
            raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
        return real(name, *rest, **more)

    pages._template.cache_clear()
    monkeypatch.setattr(
        "importlib.import_module", lambda name: missing(name) if name == "jinja2" else real(name)
    )
    with pytest.raises(
        MissingExtraError, match=r"writing a page needs jinja2: pip install 'polystein\[html\]'"
    ):
        page_of(text("x"))


def test_light_dark_and_print_have_styles() -> None:
    source = page_of(text("x"))
    assert "prefers-color-scheme: dark" in source
    assert "@media print" in source
    assert source.startswith("<!doctype html>")
