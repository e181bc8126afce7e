"""A table of many checks as text and as a page."""

import re
from pathlib import Path

import pytest

import polystein as ps
from polystein.report.many import render_many
from polystein.report.many_page import many_page
from polystein.results.effect_rows import EffectRow
from polystein.results.effects import EffectTable
from polystein.results.many import CheckedFit
from tests.results.test_many import LOST, fit

SD = EffectRow(
    "mu", "sd", 1.2, 1.1, 1.3, 1e-9, True, 1.0, "the sd of `mu` is 20 % too large", 0.2, 0.01, 99.0
)
FOUND = EffectTable((SD,), 6)
WRONG = fit("wrong", 1e-7, effect_table=FOUND)
SHORT = fit("short", 0.3, reasons=("R-hat is 1.4. Run longer.", "Few draws."), warnings=("w",))


def test_a_line_for_each_fit_and_what_was_found_below_it() -> None:
    text = str(ps.CheckTable((fit("right", 0.5), WRONG, SHORT, LOST)))
    assert text.splitlines() == [
        "1 of 4 fits is rejected at the level 0.05 after Holm's correction; 1 is inconclusive; 1",
        "could not be checked.",
        "Do the draws of each fit come from its target? check, the worst fits first",
        "",
        "fit    verdict              p  adjusted  chains x draws x d",
        "lost   error",
        "    no such file",
        "wrong  rejected      < 0.0001  < 0.0001  4 x 100 x 3",
        "    the sd of `mu` is 20 % too large",
        "short  inconclusive       0.3       0.6  4 x 100 x 3",
        "    R-hat is 1.4. Run longer.",
        "right  not rejected       0.5       0.6  4 x 100 x 3",
        "",
        "Read the warnings about short in `table[name].result.warnings`.",
    ]


@pytest.mark.parametrize("count", [1, 15, 40])
def test_it_fits_on_one_screen(count: int) -> None:
    long = [
        CheckedFit("a/long/path/" * 9 + f"{number}/posterior.nc", error="wrong " * 100)
        for number in range(3)
    ]
    rights = [fit(f"fit {number}", 0.5, warnings=("w",)) for number in range(count)]
    lines = str(ps.CheckTable((*long, WRONG, *rights), "benjamini-hochberg")).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 88
    assert lines[0].startswith("1 of ")
    assert any(line.startswith("..") and "posterior.nc" in line for line in lines)
    shown = sum(line.startswith("fit ") for line in lines[5:])
    left = re.search(r"\.\.\. and (\d+) more \(not rejected\), in `table.rows`", "\n".join(lines))
    assert shown + (int(left[1]) if left else 0) == count


@pytest.mark.parametrize(
    ("fits", "start"),
    [
        ([fit("a", 0.5)], "The fit is not rejected at the level 0.05 after Holm's correction.\n"),
        ([WRONG], "The fit is rejected at the level 0.05 after Holm's correction.\n"),
        (
            [SHORT],
            "The fit is not rejected at the level 0.05 after Holm's correction; it is "
            "inconclusive.\n",
        ),
        ([LOST], "The fit could not be checked.\n"),
        ([LOST, LOST._replace(name="b")], "None of 2 fits could be checked.\n"),
        ([fit("a", 0.5), fit("b", 0.5)], "None of 2 fits is rejected"),
        ([WRONG, WRONG._replace(name="b")], "2 of 2 fits are rejected"),
    ],
)
def test_the_headline_counts(fits: list[CheckedFit], start: str) -> None:
    assert str(ps.CheckTable(tuple(fits))).startswith(start)


def test_names_are_escaped_where_they_are_shown() -> None:
    names = ("a\nb", " ", "\x1b[31m", "\udcff")
    table = ps.CheckTable(tuple(fit(name, 1e-6, warnings=("w",)) for name in names))
    for text in (str(table), many_page(table)):
        assert "\x1b" not in text
        assert "a\nb" not in text
        text.encode()
    assert [line.split("  ")[0] for line in str(table).splitlines() if "rejected  " in line] == [
        *(r"a\nb", "' '", r"\x1b[31m", r"\udcff")
    ]
    assert r"Read the warnings about a\nb, ' ', \x1b[31m, ... in" in str(table)
    assert r">a\nb: rejected</h2>" in many_page(table)
    assert r'<th scope="row">a\nb</th>' in many_page(table)


def test_the_title_counts() -> None:
    assert "<title>polystein, 1 fit: rejected</title>" in many_page(ps.CheckTable((WRONG,)))
    assert "<title>polystein, 2 fits: error</title>" in many_page(ps.CheckTable((WRONG, LOST)))


def test_a_tolerance_has_a_column() -> None:
    within = fit("a", 0.5, tolerance="within", settings={"tolerance": 0.1})
    lines = render_many(ps.CheckTable((within, LOST))).splitlines()
    assert next(line for line in lines if line.startswith("fit")).endswith("  tolerance")
    assert next(line for line in lines if line.startswith("a ")).endswith("  within")


def test_the_page_is_self_contained_and_escapes_names(tmp_path: Path) -> None:
    evil = CheckedFit("<script>alert(1)</script>", error="<b>")
    table = ps.CheckTable((evil, WRONG, SHORT, fit("right", 0.5)))
    page = many_page(table)
    assert "<script" not in page
    assert "<b>" not in page
    assert "default-src 'none'" in page
    assert "the sd of <code>mu</code> is 20 % too large" in page
    # Those that are rejected or inconclusive are shown by themselves, too.
    assert re.findall(r">(\w+): \w+</h2>", page) == ["wrong", "short"]
    labels = re.findall(r'aria-label="([^"]+)"', page)
    assert len(labels) == len(set(labels))
    assert table.to_html(tmp_path / "page.html") == tmp_path / "page.html"
    assert "<script" not in (tmp_path / "page.html").read_text("utf-8")
    assert "<table>" in table._repr_html_()


def test_a_file_of_others_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(ps.InputError, match="overwrite=True"):
        ps.CheckTable((WRONG,)).to_html(tmp_path / "mine.html")
    ps.CheckTable((WRONG,)).to_html(tmp_path / "mine.html", overwrite=True)
    assert "Written by polystein" in (tmp_path / "mine.html").read_text("utf-8")
