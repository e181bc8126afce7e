"""The page of a refinement, whether its runs have settled or not."""

import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.report.page import Origin
from polystein.report.refinement import refine_call
from polystein.report.refinement_page import refinement_page
from tests.report.drawn import effect, effects_of
from tests.report.outline import outline


def refinement(**changes: Any) -> ps.Refinement:
    values: dict[str, Any] = {
        "pvalue": 0.001,
        "statistic": 5.0,
        "leading": "the sd of x[1]",
        "effects": effects_of(2),
        "settled": True,
        "still_moving": (),
        "tolerance": None,
        "tolerance_reason": "",
        "kernel": "HMC",
        "acceptance": 0.8,
        "gradients": 12000,
        "transitions": 20,
        "starts": 500,
        "pilots": 100,
        "groups": 1,
        "dimension": 2,
        "settings": {"transitions": 20, "starts": 1000, "tolerance": None},
    }
    return ps.Refinement(**{**values, **changes})


def test_what_moved_comes_first() -> None:
    seen = outline(refinement_page(refinement()))
    assert seen.headings[0][1].startswith("Rejected at the level 0.05, p = 0.001")
    titles = [words for tag, words in seen.headings if tag == "h2"]
    assert titles == [
        "What is off",
        "Does it matter?",
        "What next",
        "What this cannot see",
        "All means and sds",
        "How this was made",
    ]
    for words in ("+0.30 sd (+0.20 to +0.40)", "ps.check(refined.draws)", "12,000 gradients"):
        assert words in seen.text
    call = "ps.refine(draws, log_density=log_density, scores=scores, transitions=20, starts=1000"
    assert call in seen.text


def test_the_code_gives_the_p_value_again() -> None:
    draws = np.random.default_rng(0).standard_normal((400, 2)) * [1.0, 1.1]

    def log_density(x: Any) -> Any:
        return -0.5 * np.sum(x**2, axis=1)

    functions: dict[str, Any] = {"log_density": log_density, "scores": lambda x: -x}
    first, second = (ps.refine(draws, **functions, transitions=2, rng=seed) for seed in (1, 2))
    assert first.pvalue != second.pvalue
    for result in (first, second):
        code = refine_call(result, result.settings)
        assert code in outline(refinement_page(result)).text
        names = {**functions, "draws": draws, "ps": ps}
        exec(code, names)
        again: Any = names["refined"]
        assert (again.pvalue, again.settings) == (result.pvalue, result.settings)
    spawned = np.random.SeedSequence(1).spawn(1)[0]
    caller_s = refinement_page(ps.refine(draws, **functions, transitions=2, rng=spawned))
    assert "rng=rng)" in caller_s
    assert "# rng: the SeedSequence of the first run" in caller_s


def test_the_command_line_keeps_no_draws() -> None:
    origin = Origin((), "polystein refine draws.npz --target m:f")
    seen = outline(refinement_page(refinement(), origin=origin)).text
    assert "refined = ps.refine(draws, log_density=log_density" in seen
    longer = outline(refinement_page(refinement(settled=False), origin=origin)).text
    assert "--transitions 80" in longer


def test_the_tolerance_is_told() -> None:
    settings = {"tolerance": 0.1}
    refined = refinement(tolerance="beyond", tolerance_reason="the mean is off", settings=settings)
    seen = outline(refinement_page(refined)).text
    assert "Beyond: the mean is off" in seen
    assert "tolerance 0.1, of means and sds" in seen


def test_runs_that_have_not_settled_tell_no_sizes() -> None:
    row = effect("a", "mean", math.nan, lower=-math.inf, upper=math.inf)
    refined = refinement(
        settled=False, still_moving=("a",), effects=ps.EffectTable((row,), 1), pvalue=0.4,
        reasons=("Steps are hardly accepted.",),
    )  # fmt: skip
    seen = outline(refinement_page(refined)).text
    assert "The runs have not settled: a are still moving" in seen
    assert "transitions=80" in seen
    for words in (seen, str(refined)):
        assert "Let the runs go on" in words or "let the runs go on" in words
        assert "refined.draws" not in words
    assert "Steps are hardly accepted." in seen
    assert "nan" not in seen


def test_pages_replace_no_files_of_others(tmp_path: Path) -> None:
    assert refinement().to_html(tmp_path / "page.html") == tmp_path / "page.html"
    refinement().to_html(tmp_path / "page.html")
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(ps.InputError, match="overwrite=True"):
        refinement().to_html(tmp_path / "mine.html")


@pytest.mark.parametrize("kernel", ["HMC", "Metropolis"])
def test_the_code_runs(kernel: str) -> None:
    draws = 1.4 * np.random.default_rng(3).standard_normal((300, 2))
    scores = (lambda x: -x) if kernel == "HMC" else None
    known = {"draws": draws, "log_density": lambda x: -0.5 * (x**2).sum(axis=1), "scores": scores}
    refined = ps.refine(draws, log_density=known["log_density"], scores=scores, starts=150)
    assert refined.kernel == kernel
    page = refinement_page(refined)
    code = re.findall(r"<pre><code>(.*?)</code></pre>", page, flags=re.DOTALL)[-1]
    exec(unescape(code), known)
    assert known["refined"].pvalue == refined.pvalue
