"""The page of a result: what it says, and in which order."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.report.page import Origin
from polystein.report.result_page import reproducing_code, result_page, write_page
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.result import GofResult
from tests.report.outline import Outline, outline
from tests.report.results import (
    EVERY_KIND,
    NASTY,
    REASONS,
    check_result,
    inconclusive_result,
    z_result,
)
from tests.results.real import TESTS, chains, normal_score, real, rows

WHEN = Origin(when=datetime(2026, 11, 18, tzinfo=UTC))


@pytest.fixture(params=[*EVERY_KIND, check_result(flips=0.5)])
def result(request: pytest.FixtureRequest) -> GofResult:
    return request.param  # type: ignore[no-any-return]


def seen(result: GofResult, alpha: float = 0.05) -> Outline:
    return outline(result_page(result, alpha, WHEN))


def section(result: GofResult, title: str) -> str:
    """The text of one section."""
    text = seen(result).text
    titles = [words for tag, words in seen(result).headings if tag == "h2"]
    after = titles[titles.index(title) + 1 :]
    start = text.index(f"\n{title}\n")
    return text[start : text.index(f"\n{after[0]}\n", start) if after else len(text)]


def test_a_stored_result_without_effects_says_so() -> None:
    draws = 1.4 * np.random.default_rng(0).standard_normal((4, 300, 2))
    values = ps.check(draws, -draws).to_dict()
    assert values["effects"] is None
    stored = ps.GofResult.from_dict(values)
    words = "they were not stored with the result. Check the draws again."
    assert f"Effects are not told: {words}" in result_page(stored)
    assert words in " ".join(str(stored).split())
    assert words not in result_page(replace(stored, pvalue=0.5))
    assert words not in result_page(replace(stored, method="psd"))


def test_elements_close_in_order_and_no_number_is_missing(result: GofResult) -> None:
    words = seen(result).text
    assert "nan" not in words
    assert "None" not in words


def test_the_order_is_that_of_questions(result: GofResult) -> None:
    titles = [words for tag, words in seen(result).headings if tag == "h2"]
    wanted = ["What is off", "Does it matter?", "What next", "What this cannot see"]
    assert [title for title in titles if title in wanted] == wanted
    assert titles[-1] == "How this was made"
    assert titles[0] == ("Why this is inconclusive" if result.reasons else "What is off")


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (z_result(), "Rejected"),
        (z_result(pvalue=0.5), "Not rejected"),
        (inconclusive_result(), "Inconclusive"),
    ],
)
def test_the_verdict_leads(one: GofResult, verdict: str) -> None:
    source = result_page(one)
    name = verdict.lower().replace(" ", "-")
    assert f'<h1 class="{name}">{verdict} at the level 0.05' in source
    assert f"<title>{verdict}: polystein" in source


def test_no_sentinels_on_a_passing_page() -> None:
    """A part with a p-value of 1 has no z of -8."""
    passing = ps.check(np.random.default_rng(1).standard_normal((500, 3)), lambda x: -x, iid=True)
    assert passing.verdict == "not rejected"
    words = seen(passing).text
    assert "-8." not in words
    assert "−8." not in words
    assert "z = " not in words


def test_a_rejected_check_has_a_forest_with_the_tolerance() -> None:
    draws = np.random.default_rng(0).standard_normal((2000, 3)) * [1.0, 1.0, 1.3]
    sample = ps.Sample(draws, -draws, names=["mu", "<b>", "tau"])
    result = ps.check(sample, iid=True, tolerance=0.1)
    source = result_page(result)
    off = section(result, "What is off")
    assert "sd of tau" in off
    assert result.effects.found[0].sentence.replace("`", "") in off
    assert "tolerance 0.1, of means and sds" in off
    assert 'class="band"' in source
    assert "Beyond 0.1" in section(result, "Does it matter?")
    assert "refined = ps.refine(draws" in section(result, "What next")
    assert result.effects.hint.rpartition(":")[2].strip() in section(result, "What next")
    table = section(result, "All effects")
    assert table.count("direction") + sum(table.count(f"\n{name}") for name in sample.names) > 6
    assert "mean of &lt;b&gt;" not in source
    assert "<code>&lt;b&gt;</code>" in source


def test_without_a_tolerance_the_page_says_how_to_ask() -> None:
    assert "polystein.check with tolerance=0.1" in section(z_result(), "Does it matter?")


def test_reasons_chains_and_abstentions_are_told() -> None:
    result = inconclusive_result()
    why = section(result, "Why this is inconclusive")
    assert all(reason in why for reason in REASONS)
    chains = section(result, "Chains")
    assert "R-hat at most 2.47 (draws of b), ESS at least 5 (scores of a)" in chains
    assert [one in chains for one in ("2.470", "300", "1.010", "900")] == [True] * 4
    assert "did not judge" not in section(result, "What this cannot see")
    rejected = inconclusive_result(pvalue=0.001)
    assert "trained witnesses did not judge" in section(rejected, "What this cannot see")
    assert "Why" not in seen(inconclusive_result(pvalue=0.001)).text


def test_parts_stand_beside_the_p_values_that_they_need() -> None:
    parts = section(check_result(), "Parts of the test")
    for words in ("x: max", "spread", "trained stack", "the test rows", "0.001", "0.02"):
        assert words in parts


def test_features_have_shares_only_where_something_was_found() -> None:
    assert "62 %" in section(z_result(), "What is off")
    assert "-12 %" in section(z_result(), "What is off")
    assert "%" not in section(z_result(pvalue=0.5), "Features of the test")
    assert "62 %" not in seen(z_result(), alpha=0.01).text


def test_long_names_are_not_cut() -> None:
    name = "log_sigma_of_the_whole_population"
    worst = Convergence((name, "b"), (2.47, 1.0), (4.0, 800.0))
    result = inconclusive_result(diagnostics=Diagnostics(worst, worst, None))
    assert f"R-hat at most 2.47 (draws of {name})" in seen(result).text


def test_everything_from_outside_is_escaped() -> None:
    result = z_result(
        shares={NASTY: 1.0},
        warnings=(NASTY,),
        method=NASTY,
        settings={"order": NASTY, NASTY: NASTY},
    )
    assert "<script" not in result_page(result)
    nasty = inconclusive_result(reasons=(NASTY,))
    assert "<script" not in result_page(nasty)
    assert NASTY in seen(nasty).text


def test_a_page_is_written_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "result.html"
    result = z_result(warnings=("λ",))
    write_page(result, path, origin=WHEN)
    assert path.read_bytes().decode("utf-8") == result_page(result, origin=WHEN)


def test_a_page_replaces_pages_and_other_files_only_if_told_to(tmp_path: Path) -> None:
    path = tmp_path / "result.html"
    assert z_result().to_html(str(path)) == path
    z_result(pvalue=0.5).to_html(path)
    assert "Not rejected" in path.read_text("utf-8")
    path.write_text("<!doctype html>the notes of a year")
    with pytest.raises(ps.InputError, match=r"`path` must be a new file .* `overwrite=True`"):
        z_result().to_html(path)
    assert path.read_text("utf-8") == "<!doctype html>the notes of a year"
    z_result().to_html(path, overwrite=True)
    assert "Rejected" in path.read_text("utf-8")


@pytest.mark.slow
def test_large_pages_are_small(tmp_path: Path) -> None:
    """200 parameters, all of them looked at: below 500 KB; the time is that of any machine."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 250, 200))
    draws[..., 3] *= 1.6
    result = ps.check(draws, -draws, tolerance=0.1)
    started = time.process_time()
    result.to_html(tmp_path / "wide.html")
    assert time.process_time() - started < 5.0
    assert (tmp_path / "wide.html").stat().st_size < 500_000
    assert "4 chains × 250 draws" in (tmp_path / "wide.html").read_text("utf-8")


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("name", TESTS)
def test_the_code_gives_the_settings_again(name: str) -> None:
    result = real(name)
    of_chains = result.n_chains or name.endswith("chains")
    again = printed_call(result, chains() if of_chains else rows())
    assert (again.settings, again.method) == (result.settings, result.method)


def printed_call(result: GofResult, draws: Any, **names: Any) -> GofResult:
    """What the code on the page gives for these draws."""
    assert "".join(reproducing_code(result).split()) in "".join(seen(result).text.split())
    names |= {"draws": draws, "scores": normal_score}
    exec(reproducing_code(result), names)
    again = names["result"]
    assert isinstance(again, GofResult)
    return again


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize(
    ("test", "options"),
    [
        (ps.check, {"iid": True}),
        (ps.check, {"iid": True, "tolerance": 0.1}),
        (ps.psd_test, {"order": 2}),
        (ps.lambda_psd_test, {"order": 2, "repeats": 3}),
        (ps.lambda_psd_test, {"order": 2, "standardise": True, "resolution": "coordinate"}),
        (ps.psd_bootstrap_test, {"order": 1}),
        (ps.ksd_test, {}),
        (ps.ksdagg_test, {"n_bootstrap": 99, "n_correction": 99}),
        (ps.nystrom_ksd_test, {}),
        (ps.psd_l2_test, {"order": 2}),
        (ps.fssd_test, {"n_locations": 2}),
        (ps.rfsd_test, {"n_features": 2}),
    ],
)
def test_the_code_gives_the_p_value_again(test: Any, options: dict[str, Any]) -> None:
    """Of two seeds that give different p-values, each is in the code of its own result."""
    draws = 1.1 * rows()
    first, second = (test(draws, normal_score, rng=seed, **options) for seed in (1, 2))
    assert first.pvalue != second.pvalue
    for result in (first, second):
        assert printed_call(result, draws) == result
        assert printed_call(ps.GofResult.from_dict(result.to_dict()), draws) == result


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
def test_what_no_code_can_say_of_the_seed_is_said_plainly() -> None:
    draws, spawned = rows(), np.random.SeedSequence(1).spawn(1)[0]

    def code(rng: Any) -> str:
        return reproducing_code(ps.check(draws, normal_score, iid=True, rng=rng))

    assert "rng=rng,\n)  # rng: the Generator of the first run" in code(np.random.default_rng(1))
    assert "rng=rng,\n)  # rng: the SeedSequence of the first run" in code(spawned)
    assert "rng=None,\n)  # rng=None takes new random numbers" in code(None)
    same = ps.check(draws, normal_score, iid=True, rng=np.random.SeedSequence(1))
    assert same == ps.check(draws, normal_score, iid=True, rng=np.int64(1))
    assert reproducing_code(same).endswith("rng=1,\n)")
    result = ps.check(draws, normal_score, iid=True, rng=spawned)
    assert printed_call(result, draws, rng=spawned) == result
    for read_back in ([1], {"a": 1}, 1.5, True, "odd"):
        odd = replace(result, settings={"iid": True, "rng": read_back})
        assert reproducing_code(odd).endswith("rng=rng,\n)  # rng: that of the first run")
    early = replace(result, settings={"iid": True})
    assert reproducing_code(early).endswith(")  # and the rng of the first run")


def test_the_code_has_the_alternative() -> None:
    draws = rows()
    options: dict[str, Any] = {"alternative": "greater", "basis": "bounded-hermite"}
    result = ps.psd_test(draws, -draws, order=1, standardise=True, rng=0, **options)
    names = {"draws": draws, "scores": -draws, "ps": ps}
    exec(reproducing_code(result), names)
    assert names["result"] == result


@pytest.mark.parametrize(
    ("changes", "has", "lacks"),
    [
        ({}, "Nothing has to be done", "warnings"),
        ({"warnings": ("the test is blind",)}, "Do what the warnings say first", "Nothing has"),
        ({"tolerance": "undecided", "settings": {"tolerance": 0.1}}, "is open", "Nothing has"),
        ({"tolerance": "beyond", "settings": {"tolerance": 0.1}}, "beyond the tol", "Nothing has"),
        ({"tolerance": "within", "settings": {"tolerance": 0.1}}, "Nothing has to be", "open"),
    ],
)
def test_what_next_follows_verdict_tolerance_and_warnings(
    changes: dict[str, Any], has: str, lacks: str
) -> None:
    passing = replace(check_result(flips=0.5), **changes)
    assert passing.verdict == "not rejected"
    assert has in section(passing, "What next")
    assert lacks not in section(passing, "What next")
    heading = next(words for tag, words in seen(passing).headings if tag == "h1")
    assert (", with 1 warning: " in heading) == bool(passing.warnings)


def test_faults_within_the_tolerance_need_no_advice() -> None:
    draws = np.random.default_rng(1).standard_normal((4, 8000, 1)) + 0.05
    result = ps.check(draws, -draws, tolerance=0.1)
    assert (result.verdict, result.tolerance) == ("rejected", "within")
    for words in (section(result, "What next"), str(result)):
        assert "good enough" in words
        assert "warm-up" not in words


def test_effects_that_the_test_does_not_reject_by_are_told_as_such() -> None:
    draws = np.random.default_rng(1).standard_normal((4, 500, 2)) + 0.15
    result = ps.check(draws, -draws)
    assert result.effects.found
    page = seen(result, result.pvalue / 2.0).text
    assert page.count("Found at 0.05 by the effects alone; the test as a whole does not ") == 1
    assert "Nothing has to be done" not in page
    assert "by the effects alone" not in seen(result).text
