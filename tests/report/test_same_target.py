"""A comparison of targets on one screen."""

from dataclasses import replace

import polystein as ps
from polystein.results.same_target import TargetDifference
from tests.workflows.models import HEIGHTS, MODELS, target

DRAWS = MODELS["normal"].draws(60)


def test_one_target() -> None:
    assert str(ps.same_target(target("normal"), target("normal"), draws=DRAWS)) == (
        "The targets are the same up to a constant, at the draws that were compared.\n"
        "  Constant        log-density of b less that of a: 0\n"
        "  Compared        log-densities and scores at 60 draws, d = 2, to rounding of double\n"
        "                  precision"
    )


def test_what_differs() -> None:
    edited = target("normal", data=HEIGHTS[1:])
    assert str(ps.same_target(target("normal"), edited, draws=DRAWS)) == (
        "The targets differ.\n"
        "  Observations    a smooth difference that touches `mu`, `log_sigma`: an observation, or\n"
        "                  another term of the likelihood, that differs or is in one of them\n"
        "                  alone. Normal observations: 1 fewer in b, with the sd exp(`log_sigma`)\n"
        "  Compared        scores at 60 draws, d = 2, to rounding of double precision"
    )


def test_parameters_with_the_same_words_share_a_line() -> None:
    found = ps.same_target(target("normal"), target("normal", times=2.0), draws=DRAWS)
    assert "Factor          `log_sigma`, `mu`: the likelihood counts 2 times" in str(found)


def test_many_differences_stay_on_one_screen() -> None:
    found = ps.same_target(target("normal"), target("normal", jacobian=0.0), draws=DRAWS)
    rows = tuple(
        TargetDifference(f"theta[{place}]", "prior scale", 1.0, f"{place} " * 50)
        for place in range(40)
    )
    text = str(replace(found, differences=rows))
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 88
    assert "more in `differences`" in text


def test_a_notebook_shows_the_same_words() -> None:
    edited = target("normal", prior_sd=3.0)
    page = ps.same_target(target("normal"), edited, draws=DRAWS)._repr_html_()
    assert '<p class="verdict rejected">The targets differ.</p>' in page
    assert '<th scope="row">Prior scale</th><td><code>mu</code>: a normal term about 0' in page
    right = ps.same_target(target("normal"), target("normal"), draws=DRAWS)._repr_html_()
    assert '<p class="verdict not-rejected">The targets are the same up to a constant' in right
