"""What a pass would have noticed, in words."""

import math
from dataclasses import replace

import numpy as np
import pytest

import polystein as ps
from polystein.report.noticed import MOST_NUMBERS, power_words, size_words
from polystein.report.result_page import result_page
from polystein.report.text import render
from polystein.results.noticeable import Noticeable

FOUND = (
    Noticeable("mean", 0.0912, ("tau",)),
    Noticeable("sd", 0.0581, ("mu",)),
    Noticeable("correlation", 0.08, ("mu", "tau")),
)


def passed(found: tuple[Noticeable, ...] | None = FOUND, **changes: object) -> ps.GofResult:
    result = ps.GofResult(0.0, 0.6, "greater", "check", 2, n_test=4000, noticeable_faults=found)
    return replace(result, **changes)


def test_a_pass_tells_three_sizes() -> None:
    assert power_words(passed()) == (
        "would have noticed, with probability 0.8 or more: a mean off by 0.091 sd, an sd by 5.8 %, "
        "a correlation by 0.08, each in one parameter alone"
    )
    assert "at the level 0.05" in power_words(passed(), 0.01)


@pytest.mark.parametrize(
    "result",
    [passed(pvalue=0.01), passed(reasons=("Too few draws.",)), passed(None), passed(())],
)
def test_nothing_is_told_of_others(result: ps.GofResult) -> None:
    assert power_words(result) == ""
    assert "Power" not in render(result)


def test_what_is_not_noticed_is_told() -> None:
    blind = tuple(one._replace(size=math.inf) for one in FOUND)
    assert power_words(passed((*FOUND[:2], blind[2]))).endswith(
        "an sd by 5.8 %, each in one parameter alone; not even a correlation off by 0.5"
    )
    assert power_words(passed(blind)).startswith("would not even have noticed, with probability")
    assert size_words(blind[1]) == "more than 50 %"


def test_the_least_visible_parameters_are_in_the_explanation_and_on_the_page() -> None:
    pytest.importorskip("jinja2")
    words = str(passed().explain())
    assert "- an sd off by 5.8 %: least visible in `mu`" in words
    assert "- a correlation off by 0.08: least visible in `mu` and `tau`" in words
    page = result_page(passed())
    assert "The test would have noticed, with probability 0.8 or more" in page


def test_many_draws_are_read_again_only_where_that_is_asked_for() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 100, 2))
    result = ps.check(draws, -draws)
    large = replace(result, n_test=MOST_NUMBERS)
    large.compute_noticeable_by(lambda: FOUND)
    assert large.verdict == "not rejected"
    assert power_words(large).startswith("`result.noticeable` tells")
    assert large.noticeable_faults is None
    assert large.noticeable == FOUND


def test_an_error_leaves_the_verdict() -> None:
    result = passed(None)

    def fails() -> tuple[Noticeable, ...]:
        raise OSError("the file is gone")

    result.compute_noticeable_by(fails)
    assert power_words(result) == "what would have been noticed is not known: the file is gone"
    assert "Not rejected" in str(result)


def test_numbers_stay_with_their_units() -> None:
    for size in (0.05, 0.0555, 0.5):
        sized = tuple(one._replace(size=size) for one in FOUND)
        for line in render(passed(sized)).splitlines():
            assert not line.strip().startswith("%")
            assert len(line) <= 88
