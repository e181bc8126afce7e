"""A tolerance beside the verdict of `check`."""

import pickle

import numpy as np
import pytest

import polystein as ps
from polystein.report.text import render

DRAWS = np.random.default_rng(0).standard_normal((20_000, 3))


def test_rejected_within_the_tolerance() -> None:
    draws = 1.03 * DRAWS
    result = ps.check(draws, -draws, iid=True, tolerance=0.1, rng=1)
    assert (result.verdict, result.tolerance) == ("rejected", "within")
    assert result.settings["tolerance"] == 0.1
    assert "within 0.1" in str(result)


def test_beyond_and_undecided() -> None:
    draws = 1.2 * DRAWS
    result = ps.check(draws, -draws, iid=True, tolerance=0.1, rng=1)
    assert result.tolerance == "beyond"
    assert "beyond 0.1: the sd" in " ".join(str(result).split())
    few = ps.check(DRAWS[:100], -DRAWS[:100], iid=True, tolerance=0.1, rng=1)
    assert few.tolerance == "undecided"
    assert "not decided whether all means are within" in str(few)


def test_importance_weights_count() -> None:
    draws = 1.3 * DRAWS
    weights = 0.5 * (draws**2).sum(axis=1) * (1.0 / 1.69 - 1.0)
    sample = ps.Sample(draws, -draws, log_weights=weights)
    assert ps.check(sample, iid=True, tolerance=0.1, rng=1).tolerance == "within"
    assert ps.check(draws, -draws, iid=True, tolerance=0.1, rng=1).tolerance == "beyond"


def test_without_a_tolerance_there_is_no_verdict_on_it() -> None:
    assert ps.check(DRAWS[:500], -DRAWS[:500], iid=True, rng=1).tolerance is None


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, np.nan, "0.1", True])
def test_what_is_no_tolerance_is_refused(tolerance: object) -> None:
    with pytest.raises(ps.InputError, match="`tolerance`"):
        ps.check(DRAWS[:100], -DRAWS[:100], tolerance=tolerance)  # type: ignore[arg-type]


def test_effects_are_computed_when_asked_for() -> None:
    result = ps.check(1.2 * DRAWS[:1000], -1.2 * DRAWS[:1000], iid=True, rng=1)
    assert result.effect_table is None
    assert result.to_dict()["effects"] is None
    stored = pickle.loads(pickle.dumps(result))
    assert result.effects.rows[0].what == "sd"
    assert result.effects is result.effects
    assert ps.GofResult.from_dict(result.to_dict()).effects == result.effects
    with pytest.raises(ps.InputError, match="computed before"):
        stored.effects  # noqa: B018
    assert stored == result


def test_a_test_without_effects_says_so() -> None:
    result = ps.psd_test(DRAWS[:500], -DRAWS[:500], order=1, rng=1)
    assert not result.can_tell_effects
    with pytest.raises(ps.InputError, match=r"polystein\.effects"):
        result.effects  # noqa: B018


def test_an_inconclusive_verdict_leaves_the_tolerance_undecided() -> None:
    draws = np.random.default_rng(3).standard_normal((90, 2))
    result = ps.check(draws, -draws, iid=True, tolerance=0.9)
    assert result.verdict == "inconclusive"
    assert result.effects.within(0.9).verdict == "within"
    assert result.tolerance == "undecided"
    assert "no interval is to be trusted. " in " ".join(str(result).split())
    stored = ps.GofResult.from_dict(result.to_dict())
    assert stored.tolerance_reason == result.tolerance_reason
    early = {key: value for key, value in result.to_dict().items() if key != "tolerance_reason"}
    assert ps.GofResult.from_dict(early).tolerance_reason == ""


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_chains_that_disagree_leave_the_tolerance_undecided() -> None:
    """Also where they are rejected, and mean and sd look right beside their own intervals."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((4, 1000, 2))
    draws[:, :, 0] = np.sqrt(0.91) * draws[:, :, 0] + 0.3 * rng.standard_normal((4, 1))
    result = ps.check(draws, -draws, tolerance=0.1)
    assert (result.verdict, result.tolerance) == ("rejected", "undecided")
    draws = rng.standard_normal((4, 1000, 2))
    draws[2, :, 0] += 0.3
    result = ps.check(draws, -draws, tolerance=0.9)
    assert result.effects.within(0.9).verdict == "within"
    assert (result.verdict, result.tolerance) == ("rejected", "undecided")
    assert result.tolerance_reason == "look at chain 2: the chains disagree"
    assert "the chains disagree" in " ".join(str(result).split())


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.9])
def test_doubts_leave_the_tolerance_undecided_at_every_level(alpha: float) -> None:
    draws = 1.3 * np.random.default_rng(3).standard_normal((90, 2))
    result = ps.check(draws, -draws, iid=True, tolerance=0.9)
    assert result.reasons
    assert result.tolerance == "undecided"
    assert "no interval is to be trusted" in " ".join(render(result, alpha).split())


@pytest.mark.parametrize("rows", [10, 19])
def test_few_rows_leave_the_tolerance_undecided(rows: int) -> None:
    draws = DRAWS[:rows]
    result = ps.check(draws, -draws, iid=True, tolerance=0.1)
    assert (result.tolerance, result.effect_table) == ("undecided", None)
    assert result.verdict == ps.check(draws, -draws, iid=True).verdict
    assert "at least 20 rows" in " ".join(str(result).split())
    with pytest.raises(ps.DegenerateError, match="at least 20 rows"):
        result.effects  # noqa: B018
    assert ps.GofResult.from_dict(result.to_dict()) == result


@pytest.mark.filterwarnings("ignore::polystein.ScoreWarning")
def test_a_constant_score_leaves_the_tolerance_undecided() -> None:
    scores = -DRAWS[:1000]
    scores[:, 1] = -1.0
    result = ps.check(DRAWS[:1000], scores, iid=True, tolerance=0.1)
    assert result.tolerance == "undecided"
    assert " ".join(str(result).split()).count("`scores` must vary") == 1
