"""`compare`: distances of sampler's laws, differences beyond chance, and ranks with ties."""

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.workflows import compare as workflow
from tests.reference.squared_length import features, u_statistic
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive


def pair(seed: int, scale: float = 1.0, shift: float = 0.0, shape: Any = (4, 300, 2)) -> Any:
    draws = shift + scale * np.random.default_rng(seed).standard_normal(shape)
    return draws, -draws


def test_of_independent_rows_the_discrepancy_is_the_literal_u_statistic() -> None:
    sets = {"one": pair(0, shape=(60, 2)), "wide": pair(1, 1.5, shape=(80, 2))}
    found = ps.compare(sets, iid=True, order=2)
    moments = [ps.expectations(*sets[name], iid=True) for name in sets]
    names = ("x[0]", "x[1]")
    centre = np.median([[m[j, "mean"].corrected for j in names] for m in moments], axis=0)
    logs = [[math.log(m[j, "sd"].corrected) for j in names] for m in moments]
    scale = np.exp(np.median(logs, axis=0))
    for name, (draws, scores) in sets.items():
        rows = [
            features(x, s, 2) for x, s in zip((draws - centre) / scale, scores * scale, strict=True)
        ]
        expected = u_statistic(np.array(rows))
        assert found[name].discrepancy.square == pytest.approx(expected, rel=1e-8)


def test_errors_of_means_and_sds_are_those_of_expectations() -> None:
    sets = {"shifted": pair(0, shift=0.4), "wide": pair(1, 1.3)}
    found = ps.compare(sets)
    for name, given in sets.items():
        rows = ps.expectations(*given)
        sd = [rows[j, "sd"] for j in ("x[0]", "x[1]")]
        mean = [rows[j, "mean"] for j in ("x[0]", "x[1]")]
        units = np.array([one.corrected for one in sd])
        off = np.array([one.bias for one in mean]) / units
        ratio = np.log([one.plain / one.corrected for one in sd])
        one = found[name]
        assert one.means is not None
        assert one.sds is not None
        # What is subtracted is the noise of an average.
        assert one.means.square == pytest.approx(np.mean(off**2), abs=0.005)
        assert one.sds.square == pytest.approx(np.mean(ratio**2), abs=0.005)
        mcse = np.array([one.mcse for one in mean]) / units
        assert one.mcse == pytest.approx(math.sqrt(np.mean(mcse**2)))
        assert one.ess == pytest.approx(1.0 / np.mean(mcse**2))
    assert found["shifted"].largest_effect.startswith("the mean of")
    assert found["wide"].largest_effect.startswith("the sd of")


def test_ranks_have_ties_where_the_draws_do_not_tell() -> None:
    sets = {"wide": pair(2, 1.4), "right": pair(0), "too": pair(1), "wider": pair(3, 2.0)}
    found = ps.compare(sets, cost={"right": 4.0})
    assert {one.name: one.rank for one in found} == {
        "right": (1, 2), "too": (1, 2), "wide": (3, 3), "wider": (4, 4),
    }  # fmt: skip
    assert [one.name for one in found][2:] == ["wide", "wider"]
    right = found["right"]
    assert right.ess is not None
    assert (right.cost, right.ess_per_cost) == (4.0, right.ess / 4.0)
    assert (found["wide"].cost, found["wide"].ess_per_cost) == (None, None)
    one, back = found.difference("wide", "right"), found.difference("right", "wide")
    assert one.lower > 0.0
    assert (one.value, one.lower, one.upper) == (-back.value, -back.upper, -back.lower)
    assert one.pvalue == back.pvalue < 0.05
    assert len(found.differences) == 3 * 6


def test_numbers_of_draws_and_units_do_not_matter() -> None:
    short, long = pair(0, 1.3, shape=(4, 250, 2)), pair(1, 1.3, shape=(4, 4000, 2))
    found = ps.compare({"short": short, "long": long})
    assert found.difference("short", "long").pvalue > 0.01
    units = np.array([1e6, 1e-3])
    moved = {
        "short": (5.0 + units * short[0], short[1] / units),
        "long": (5.0 + units * long[0], long[1] / units),
    }
    again = ps.compare(moved)
    for one in found:
        assert again[one.name].discrepancy.square == pytest.approx(one.discrepancy.square, rel=1e-6)


def test_any_source_gives_the_same() -> None:
    draws, scores = pair(0, 1.2)
    lazy = MinimalSource(list(zip(draws, scores, strict=True)), time_ordered=True)
    other = pair(1)
    one = ps.compare({"a": (draws, scores), "b": other})
    two = ps.compare({"a": lazy, "b": lambda: other})
    assert two["a"].discrepancy.square == pytest.approx(one["a"].discrepancy.square, rel=1e-9)


def test_importance_weights_count() -> None:
    draws, scores = pair(0, 1.5, shape=(2000, 1))
    log_weights = -0.5 * draws[:, 0] ** 2 * (1.0 - 1.0 / 1.5**2)
    weighted = ps.Sample(draws, scores, log_weights=log_weights)
    found = ps.compare({"weighted": weighted, "plain": (draws, scores)}, iid=True)
    assert found["weighted"].rank == (1, 1)


def test_many_dimensions_take_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "MOST_NUMBERS", 256 * 9)
    found = ps.compare({"a": pair(0), "b": pair(1, 1.5)})
    assert found.structure == "diagonal"
    assert found["b"].rank == (2, 2)


def test_rows_that_are_known_to_be_independent() -> None:
    sets = {"chains": pair(0), "advi": pair(1, 0.7, shape=(500, 2))}
    one, two = ps.compare(sets, iid=["advi"]), ps.compare(sets)
    assert one["advi"].discrepancy.square == pytest.approx(two["advi"].discrepancy.square, rel=0.05)
    with pytest.raises(ps.InputError, match=r"the set 'chains' of `sets`.*`iid=True`"):
        ps.compare(sets, iid=True)


def test_another_target_is_told() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    with pytest.warns(ps.PolysteinWarning, match="do not agree on the mean of `x\\[0\\]`"):
        found = ps.compare({"a": (draws, -draws), "b": (draws, [1.0, 0.0] - draws)})
    assert len(found.warnings) == 1


def test_errors_that_scores_do_not_explain_are_not_known() -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((400, 1))
    sets = {"a": (draws, rng.standard_normal((400, 1))), "b": pair(1, shape=(400, 1))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        found = ps.compare(sets, iid=True)
    assert not found["a"].reliable
    assert str(found)
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_progress_counts_two_steps_for_each_set() -> None:
    told: list[Any] = []
    ps.compare({"a": pair(0), "b": pair(1)}, progress=lambda *step: told.append(step))
    assert told == [(number, 4) for number in range(1, 5)]


NAMED = ps.Sample(*pair(0), names=["mu", "tau"])


@pytest.mark.parametrize(
    ("sets", "options", "said"),
    [
        ({"a": pair(0)}, {}, "`sets` must be a mapping from names to at least two sets"),
        ({}, {}, "at least two sets; got none"),
        ({"a b": pair(0)}, {}, "at least two sets; got 'a b'$"),
        ([pair(0), pair(1)], {}, "`sets` must be a mapping .* got a list$"),
        (NAMED, {}, "`sets` must be a mapping .* got a Sample$"),
        ({"": pair(0), "b": pair(1)}, {}, "none of them empty; got ''"),
        ({"a b": pair(0, shape=(3, 2)), "b": pair(1)}, {}, "the set 'a b' .* 20 rows"),
        (
            {1: pair(0), "b": pair(1)},
            {},
            "`sets` must have strings as names.*; got 1",
        ),
        ({"a": pair(0), "b": "gone.npz"}, {}, "the set 'b' of `sets` cannot be compared: .*exists"),
        ({"a": pair(0), "b": pair(1, shape=(50, 3))}, {}, "'a' has 2 coordinates and 'b' has 3"),
        (
            {"a": NAMED, "b": pair(1), "c": ps.Sample(*pair(1), names=["mu", "nu"])},
            {},
            "coordinate 1 is 'tau' in 'a' and 'nu' in 'c'",
        ),
        ({"a": pair(0), "b": pair(1)}, {"cost": {"c": 1.0}}, "`cost` must have the names of sets"),
        ({"a": pair(0), "b": pair(1)}, {"cost": {"a": 0.0}}, "`cost` must hold positive numbers"),
        ({"a": pair(0), "b": pair(1)}, {"cost": 3.0}, "`cost` must be a mapping"),
        ({"a": pair(0), "b": pair(1)}, {"iid": "a"}, "`iid` must be True, False or a list"),
        ({"a": pair(0), "b": pair(1)}, {"iid": ["c"]}, "`iid` must hold names of sets"),
        ({"a": pair(0), "b": pair(1)}, {"alpha": 1.0}, "`alpha` must be a level"),
        ({"a": pair(0), "b": pair(1)}, {"order": 0}, "`order` must be"),
        ({"a": pair(0), "b": pair(1)}, {"progress": 3}, "`progress` must be"),
    ],
)
def test_what_makes_no_sense_is_refused(sets: Any, options: Any, said: str) -> None:
    with pytest.raises(ps.InputError, match=said):
        ps.compare(sets, **options)


def test_names_with_spaces_are_kept_and_shown() -> None:
    found = ps.compare({" step 0.1, ": pair(0), "mean field  advi": pair(1)})
    assert {row.name for row in found} == {" step 0.1, ", "mean field  advi"}
    assert "mean field  advi" in str(found)


def test_an_error_of_a_function_names_its_set() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as error:
        ps.compare({"a b": broken, "c": pair(0)})
    assert error.value.__notes__ == ["It was raised by the set 'a b' of `sets`."]


def test_inputs_are_left_alone() -> None:
    draws, scores = pair(0)
    before = draws.copy(), scores.copy()
    ps.compare({"a": (draws, scores), "b": pair(1)})
    np.testing.assert_array_equal(draws, before[0])
    np.testing.assert_array_equal(scores, before[1])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.15])
def test_equal_samplers_are_told_apart_no_more_often_than_the_level_allows(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Effects take most of the time, and ranks do not rest on them.
    monkeypatch.setattr(workflow, "effects_of", lambda source: ps.EffectTable((), 0))
    rng, runs, wrong = np.random.default_rng(3), 100, 0
    for _ in range(runs):
        rows = scale * autoregressive(rng, 12, 400, 2, 0.5).reshape(3, 4, 400, 2)
        found = ps.compare({str(k): (x, -x) for k, x in enumerate(rows)})
        wrong += any(one.rank != (1, 3) for one in found)
    assert binomtest(wrong, runs, 0.05, alternative="greater").pvalue > 1e-3


def test_a_set_that_says_nothing_about_the_target_does_not_spoil_the_scale() -> None:
    """Draws that all but coincide: their scores do not explain the target's means and sds."""
    draws = np.random.default_rng(11).standard_normal((4, 400, 2))
    sets = {"right": (draws, -draws), "point": (1e-4 * draws, -1e-4 * draws)}
    with pytest.warns(ps.PolysteinWarning, match="'point' do not explain the sd"):
        found = ps.compare(sets)
    assert found["right"].rank == (1, 1)
    assert found["point"].rank == (2, 2)
    # All products of scores and powers vanish at the mean, and d/dx_j x_j = 1 is left.
    assert found["point"].discrepancy.value == pytest.approx(np.sqrt(2.0), rel=0.2)
