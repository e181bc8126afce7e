"""HTML: well formed, escaped, and sufficient unto itself."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.report.html import fragment, page, write_page
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.result import GofResult
from tests.report.results import (
    REASONS,
    bootstrap_result,
    check_result,
    inconclusive_result,
    z_result,
)

VOID = {"meta", "br", "rect", "line"}
NASTY = "<script>alert('x')</script> & \"quotes\""


class Outline(HTMLParser):
    """Checks that elements close in order, and keeps what was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.bars: list[float] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "rect":
            self.bars.append(float(dict(attrs)["width"] or "nan"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outline(source: str) -> Outline:
    parser = Outline()
    parser.feed(source)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture(
    params=[
        z_result(),
        z_result(shares={"x": math.nan, "score": math.nan}, settings={}),
        bootstrap_result(),
        check_result(),
        inconclusive_result(),
    ]
)
def result(request: pytest.FixtureRequest) -> GofResult:
    return request.param  # type: ignore[no-any-return]


def test_elements_close_in_order(result: GofResult) -> None:
    assert "table" in outline(fragment(result)).tags
    assert {"html", "head", "body", "title"} <= set(outline(page(result)).tags)


def test_nothing_is_loaded_and_nothing_runs(result: GofResult) -> None:
    source = page(result)
    assert not re.search(r"//|\b(src|href|xlink|data|srcset|action)\s*=|url\(|@import", source)
    assert not re.search(r"<script|javascript:|\son\w+\s*=", source)
    assert "default-src 'none'" in source


def test_notebooks_show_the_fragment() -> None:
    assert z_result()._repr_html_() == fragment(z_result())


def test_numbers_and_verdict_are_there() -> None:
    seen = outline(fragment(z_result()))
    for words in (
        "evidence against the draws",
        "p = 0.012",
        "z = 2.50",
        "700 trained",
        "-12 %",
        "0.500",
    ):
        assert words in seen.text
    # Weights 0.5, and shares 0.625, 0.25, -0.125, of a half width of 40, largest share first.
    assert seen.bars == [20.0, 25.0, 20.0, 10.0, 20.0, 5.0]


def test_a_bootstrap_result_has_no_bars() -> None:
    seen = outline(page(bootstrap_result()))
    assert seen.bars == []
    assert "nan" not in seen.text


def test_everything_from_outside_is_escaped() -> None:
    result = z_result(
        shares={NASTY: 1.0},
        warnings=(NASTY,),
        method=NASTY,
        statistic_name=NASTY,
        settings={"order": NASTY, NASTY: NASTY},
    )
    source = page(result)
    assert "<script" not in source
    # Method and order in title and table, statistic, feature and its words, warning, setting's
    # name, two values.
    assert source.count("&lt;script&gt;") == 11
    assert outline(source).text.count(NASTY) == 11


def test_page_is_written_as_utf_8_and_is_small(tmp_path: Path) -> None:
    path = tmp_path / "result.html"
    result = z_result(warnings=("λ",))
    result.to_html(path)
    assert path.read_bytes().decode("utf-8") == page(result)
    assert path.stat().st_size < 10_000


def test_a_page_replaces_pages_and_other_files_only_if_told_to(tmp_path: Path) -> None:
    path = tmp_path / "result.html"
    z_result().to_html(path)
    z_result(pvalue=0.5).to_html(path)
    assert "Not rejected" in path.read_text("utf-8")
    path.write_text("<!doctype html>the notes of a year")
    with pytest.raises(ps.InputError, match=r"`path` must be a new file .* `overwrite=True`"):
        z_result().to_html(path)
    assert path.read_text("utf-8") == "<!doctype html>the notes of a year"
    z_result().to_html(path, overwrite=True)
    assert "Rejected" in path.read_text("utf-8")


def test_the_level_reaches_the_page(tmp_path: Path) -> None:
    write_page(z_result(), tmp_path / "page.html", alpha=0.01)
    assert "at the level 0.01, p = 0.012: no evidence" in (tmp_path / "page.html").read_text(
        "utf-8"
    )


# Verdicts


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (z_result(), "Rejected"),
        (z_result(pvalue=0.5), "Not rejected"),
        (inconclusive_result(), "Inconclusive"),
    ],
)
def test_the_verdict_leads(one: GofResult, verdict: str) -> None:
    name = verdict.lower().replace(" ", "-")
    assert f'<h1 class="verdict {name}"><strong>{verdict}</strong>' in page(one)
    assert f'<p class="verdict {name}"><strong>{verdict}</strong>' in fragment(one)
    assert outline(fragment(one)).text.rpartition("}")[2].strip().startswith(verdict)
    assert f"<title>{verdict}: polystein" in page(one)


def test_reasons_chains_and_abstentions_are_told() -> None:
    seen = outline(page(inconclusive_result())).text
    assert all(reason in seen for reason in REASONS)
    assert "R-hat at most 2.47 (draws of b), ESS at least 5 (scores of a)" in seen
    assert "Abstained" not in seen
    rejected = outline(page(inconclusive_result(pvalue=0.001))).text
    assert "Reasons" not in rejected
    assert "Abstainedtrained witnesses: test rows would depend" in rejected.replace("\n", "")


def test_reasons_are_escaped() -> None:
    source = page(inconclusive_result(reasons=(NASTY,)))
    assert "<script" not in source
    assert NASTY in outline(source).text


# Parts and shares


def test_names_of_coordinates_are_escaped() -> None:
    source = page(check_result(coordinates=(NASTY,)))
    assert "<script" not in source
    assert f"spread of {NASTY} (x: max, all rows)" in outline(source).text


def test_parts_have_levels_and_shares_of_the_evidence() -> None:
    seen = outline(fragment(check_result()))
    for words in ("Part", "level", "share of the evidence", "Found", "everything at once"):
        assert words in seen.text
    assert "weight" not in seen.text.rpartition("}")[2]


@pytest.mark.parametrize("one", [z_result(pvalue=0.5), check_result(flips=0.5)])
def test_where_nothing_is_rejected_nothing_has_a_share(one: GofResult) -> None:
    seen = outline(page(one))
    assert "%" not in seen.text
    assert "share" not in seen.text
    assert "Found" not in seen.text
    # A bar for the weight, or the level, of every row.
    assert len(seen.bars) == 3


def test_a_level_at_which_nothing_is_rejected_takes_the_shares_away() -> None:
    assert "62 %" in outline(page(z_result(), alpha=0.05)).text
    assert "%" not in outline(page(z_result(), alpha=0.01)).text


def test_bars_of_parts_begin_at_the_left_and_the_largest_is_whole() -> None:
    seen = outline(fragment(check_result()))
    # Levels 0.4, 0.2 and 0.4; shares of 79, 21 and 0 per cent; largest share first.
    levels, shares = seen.bars[::2], seen.bars[1::2]
    assert levels == [56.0, 28.0, 56.0]
    assert shares[0] == 56.0
    assert shares[1] == pytest.approx(56.0 * 1.609 / 5.991, abs=0.1)
    assert shares[2] == 0.0
    assert set(re.findall(r'<rect x="([^"]+)"', fragment(check_result()))) == {"0.0"}


def test_a_page_tells_all_that_was_found_and_sets_names_as_names() -> None:
    draws = np.random.default_rng(0).standard_normal((2000, 3)) * 1.3
    sample = ps.Sample(draws, -draws, names=["<b>", "c", "d"])
    result = ps.check(sample, iid=True, rng=1)
    source = page(result)
    assert "the sd of <code>&lt;b&gt;</code> is" in source
    seen = outline(source).text
    assert all(row.sentence.replace("`", "") in seen for row in result.effects.found)
    assert "more in" not in seen


def test_long_names_are_not_cut_on_a_page() -> None:
    name = "log_sigma_of_the_whole_population"
    worst = Convergence((name, "b"), (2.47, 1.0), (4.0, 800.0))
    result = inconclusive_result(diagnostics=Diagnostics(worst, worst, None))
    assert f"R-hat at most 2.47 (draws of {name})" in outline(page(result)).text
    assert "log_sigma_of_the_w.." in str(result)
