"""The fragment for notebooks: well formed and escaped."""

import re

import numpy as np
import pytest

import polystein as ps
from polystein.report.html import fragment
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.result import GofResult
from tests.report.outline import outline
from tests.report.results import (
    EVERY_KIND,
    NASTY,
    REASONS,
    bootstrap_result,
    check_result,
    inconclusive_result,
    z_result,
)


@pytest.fixture(params=EVERY_KIND)
def result(request: pytest.FixtureRequest) -> GofResult:
    return request.param  # type: ignore[no-any-return]


def test_elements_close_in_order(result: GofResult) -> None:
    assert outline(fragment(result)).all("table")


def test_nothing_is_loaded_and_nothing_runs(result: GofResult) -> None:
    source = fragment(result)
    assert not re.search(r"//|\b(src|href|xlink|data|srcset|action)\s*=|url\(|@import", source)
    assert not re.search(r"<script|javascript:|\son\w+\s*=", source)


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


def test_a_bootstrap_result_has_no_features() -> None:
    seen = outline(fragment(bootstrap_result()))
    assert "feature" not in seen.text
    assert "nan" not in seen.text


def test_everything_from_outside_is_escaped() -> None:
    result = z_result(
        shares={NASTY: 1.0},
        warnings=(NASTY,),
        method=NASTY,
        statistic_name=NASTY,
        settings={"order": NASTY, NASTY: NASTY},
    )
    source = fragment(result)
    assert "<script" not in source
    # Method, order, statistic, feature and its words, warning.
    assert source.count("&lt;script&gt;") == 6
    assert outline(source).text.count(NASTY) == 6


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
    assert f'<p class="verdict {name}"><strong>{verdict}</strong>' in fragment(one)
    assert outline(fragment(one)).text.strip().startswith(verdict)


def test_reasons_chains_and_abstentions_are_told() -> None:
    seen = outline(fragment(inconclusive_result())).text
    assert all(reason in seen for reason in REASONS)
    assert "R-hat at most 2.47 (draws of b), ESS at least 5 (scores of a)" in seen
    assert "Abstained" not in seen
    rejected = outline(fragment(inconclusive_result(pvalue=0.001))).text
    assert "Why" not in rejected
    assert "Abstainedtrained witnesses: test rows would depend" in rejected.replace("\n", "")


def test_reasons_are_escaped() -> None:
    source = fragment(inconclusive_result(reasons=(NASTY,)))
    assert "<script" not in source
    assert NASTY in outline(source).text


# Shares and names


def test_names_of_coordinates_are_escaped() -> None:
    source = fragment(check_result(coordinates=(NASTY,)))
    assert "<script" not in source
    assert f"spread of {NASTY}" in outline(source).text


@pytest.mark.parametrize("one", [z_result(pvalue=0.5), check_result(flips=0.5)])
def test_where_nothing_is_rejected_nothing_has_a_share(one: GofResult) -> None:
    seen = outline(fragment(one))
    assert "%" not in seen.text
    assert "share" not in seen.text
    assert "Off" not in seen.text


def test_a_level_at_which_nothing_is_rejected_takes_the_shares_away() -> None:
    assert "62 %" in outline(fragment(z_result(), alpha=0.05)).text
    assert "%" not in outline(fragment(z_result(), alpha=0.01)).text


def test_a_fragment_tells_all_that_was_found_and_sets_names_as_names() -> None:
    draws = np.random.default_rng(0).standard_normal((2000, 3)) * 1.3
    sample = ps.Sample(draws, -draws, names=["<b>", "c", "d"])
    result = ps.check(sample, iid=True, rng=1)
    source = fragment(result)
    assert "the sd of <code>&lt;b&gt;</code> is" in source
    seen = outline(source).text
    assert all(row.sentence.replace("`", "") in seen for row in result.effects.found)
    assert "more in" not in seen


def test_long_names_are_not_cut_on_a_fragment() -> None:
    name = "log_sigma_of_the_whole_population"
    worst = Convergence((name, "b"), (2.47, 1.0), (4.0, 800.0))
    result = inconclusive_result(diagnostics=Diagnostics(worst, worst, None))
    assert f"R-hat at most 2.47 (draws of {name})" in outline(fragment(result)).text
    assert name in str(result)
    worst = Convergence((3 * name, "b"), (2.47, 1.0), (4.0, 800.0))
    longer = inconclusive_result(diagnostics=Diagnostics(worst, worst, None))
    assert f"(draws of {(3 * name)[:38]}..)" in " ".join(str(longer).split())
