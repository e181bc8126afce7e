"""Faults that `check` finds and places, and rows that are out of all proportion."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, ScaleError
from polystein.report.text import found_words
from tests.conftest import Array
from tests.methods.check.answers import (
    FLIPS,
    NET,
    TRAINED,
    arm_names,
    chains,
    normal_score,
)


@pytest.mark.parametrize("iid", [False, True])
def test_a_constant_coordinate_is_refused(iid: bool) -> None:
    draws = chains(1, 400)[0] if iid else chains(4, 100)
    draws[..., 1] = 2.5
    with pytest.raises(DegenerateError, match="coordinate 1 is constant"):
        ps.check(draws, normal_score, iid=iid)


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("size", [1e20, 1e80])
def test_one_huge_score_does_not_make_the_p_value_0(size: float) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    scores = -draws
    scores[5] *= size
    for iid in (True, False):
        assert 1.0 / 500.0 <= ps.check(draws, scores, iid=iid, rng=0).pvalue <= 1.0


@pytest.mark.parametrize("iid", [False, True])
@pytest.mark.parametrize("row", [0, 201, 399])
def test_one_huge_draw_is_warned_about(row: int, iid: bool) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 1))
    draws[row] = 1e6
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = ps.check(draws, normal_score, iid=iid, rng=1)
    assert "one row of `draws` makes up 100% of the variance" in result.warnings[0]
    assert result.pvalue > 0.0


@pytest.mark.parametrize("row", [5, 201, 399])
def test_draws_beyond_the_range_of_their_features_are_refused(row: int) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 1))
    draws[row] = 1e160
    with pytest.raises(ScaleError):
        ps.check(draws, normal_score, rng=1)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            lambda draws: draws * np.array([1.0, 1.0, 1.2]),
            "spread along a direction, mainly `c`",
        ),
        (
            lambda draws: draws + 0.5 * draws[:, [1, 0, 0]] * [1.0, 0.0, 0.0] / 1.25**0.5,
            "spread along a direction, mainly `a` + 0.8 `b`",
        ),
        (lambda draws: draws + 0.15, "location of all coordinates together"),
    ],
)
def test_a_fault_is_found_and_placed(fault: Callable[[Array], Array], words: str) -> None:
    draws = fault(chains(1, 2000, memory=0.0)[0])
    result = ps.check(ps.Sample(draws, -draws, names=["a", "b", "c"]), iid=True, rng=0)
    assert result.pvalue < 0.01
    assert result.statistic > 2.0
    assert found_words(result) == words
    assert set(arm_names(result)) == {FLIPS, NET, TRAINED}


def test_a_fault_of_chains_is_found() -> None:
    result = ps.check(1.3 * chains(memory=0.9, rows=2000), normal_score, rng=0)
    assert result.pvalue < 1e-2


def test_a_score_that_is_constant_is_judged() -> None:
    """Exp(1) on its own scale: the score is -1, and no density on the line has that."""
    draws = np.random.default_rng(0).exponential(size=(2, 500, 2))
    with pytest.warns(ps.ScoreWarning, match="the same at all draws"):
        result = ps.check(draws, -np.ones_like(draws), rng=0)
    assert result.pvalue < 0.01
