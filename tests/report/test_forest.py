"""The forest plot of effects: what is drawn, not how it looks."""

import math
from dataclasses import replace
from typing import Any

import pytest

import polystein as ps
from polystein.report.canvas import AGAINST, NOT_AGAINST
from tests.report.drawn import assert_legible, effect, effects_of, labels, legend, notes
from tests.report.results import check_result


def points(axes: Any) -> list[Any]:
    """The markers of the sizes."""
    return [line for line in axes.lines if line.get_marker() == "o"]


@pytest.mark.parametrize(("dimension", "rows", "more"), [(2, 4, 0), (20, 20, 20), (200, 20, 380)])
def test_the_first_rows_are_drawn_and_the_others_counted(
    dimension: int, rows: int, more: int
) -> None:
    axes = ps.plot_effects(effects_of(dimension))
    found = labels(axes)
    assert found[:2] == ["tau_log__[0]  mean", "tau_log__[0]  sd"]
    assert found[2] == "a_$b$1  mean"
    assert found[rows:] == ([f"and {more} more"] if more else [])
    assert len(points(axes)) == len(notes(axes)) == rows
    assert_legible(axes)


def test_sizes_stand_in_their_units_around_zero() -> None:
    axes = ps.plot_effects(effects_of(2))
    assert [line.get_xdata()[0] for line in points(axes)] == pytest.approx([0.3, 0.4, 0.05, -0.02])
    assert notes(axes) == ["+0.30 sd", "× 1.40", "+0.05 sd", "× 0.98"]
    intervals = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2][1:]
    assert intervals[1] == pytest.approx([0.3, 0.5])


def test_colours_tell_what_was_found_and_hollow_ones_what_is_not_reliable() -> None:
    axes = ps.plot_effects(effects_of(2))
    edges = [line.get_markeredgecolor() for line in points(axes)]
    faces = [line.get_markerfacecolor() for line in points(axes)]
    assert edges == [AGAINST, AGAINST, NOT_AGAINST, NOT_AGAINST]
    assert faces == [AGAINST, "white", NOT_AGAINST, NOT_AGAINST]
    assert legend(axes) == [
        "found at the level 0.05, all together",
        "not found: may be chance",
        "hollow: R² below 0.99, may be off by more than the interval says",
    ]


def test_the_legend_explains_nothing_that_is_not_there() -> None:
    table = ps.EffectTable((effect("a", "mean", 0.3),), 1)
    assert legend(ps.plot_effects(table)) == ["found at the level 0.05, all together"]


def test_the_tolerance_is_a_band_behind_means_and_sds() -> None:
    rows = (effect("a", "mean", 0.3), effect("a, b", "correlation", 0.2), effect("b", "sd", 1.4))
    table = ps.EffectTable(rows, 3)
    axes = ps.plot_effects(table, tolerance=0.1)
    bands = [(one.get_x(), one.get_width(), one.get_y() + 0.5) for one in axes.patches]
    assert bands == [(-0.1, 0.2, 0.0), (-0.1, 0.2, 2.0)]
    assert "tolerance 0.1, of means and sds" in legend(axes)
    assert not ps.plot_effects(table).patches


def test_a_result_brings_its_tolerance_and_its_verdict() -> None:
    result = replace(
        check_result(), effect_table=effects_of(2), tolerance="beyond", settings={"tolerance": 0.2}
    )
    axes = ps.plot_effects(result)
    assert axes.patches[0].get_width() == 0.4
    assert axes.get_title(loc="left") == "Rejected (check, dimension 4)"
    assert ps.plot_effects(result, tolerance=0.1).patches[0].get_width() == 0.2


def test_intervals_without_bounds_end_in_arrows() -> None:
    wide = effect("a", "mean", 0.3, lower=-math.inf, upper=math.inf)
    axes = ps.plot_effects(ps.EffectTable((wide, effect("b", "sd", 1.2)), 2))
    assert [line.get_marker() for line in axes.lines if line.get_marker() in "<>"] == ["<", ">"]
    assert axes.get_xlim()[1] < 2.0
    assert_legible(axes)


def test_huge_effects_leave_room_for_small_ones() -> None:
    rows = (effect("a", "mean", 1e6), effect("b", "mean", 0.3))
    axes = ps.plot_effects(ps.EffectTable(rows, 2))
    assert axes.get_xscale() == "symlog"
    assert_legible(axes)


def test_long_names_are_cut() -> None:
    rows = (
        effect("n" * 50 + "[7]", "mean", 0.3),
        effect(f"{'p' * 30}[1], {'q' * 30}[2]", "correlation", 0.3),
        effect("0.71 alpha + 0.69 beta + 0.12 gamma", "direction sd", 1.3, direction=(0.7,)),
    )
    axes = ps.plot_effects(ps.EffectTable(rows, 3))
    first, pair, direction = labels(axes)
    assert first.endswith("n[7]  mean")
    assert pair.startswith("pppp")
    assert "[1], qqqq" in pair
    assert pair.endswith("[2]  correlation")
    assert direction == "sd along 0.71 alpha + 0.69 beta + ..."
    assert_legible(axes)


@pytest.mark.parametrize("wrong", [None, 3, "effects", [1.0], ()])
def test_what_has_no_effects_is_refused(wrong: Any) -> None:
    with pytest.raises(ps.InputError, match="`effects` must be what"):
        ps.plot_effects(wrong)


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ps.InputError, match="at least one row"):
        ps.plot_effects(ps.EffectTable((), 0))


def test_a_tolerance_is_a_share() -> None:
    with pytest.raises(ps.InputError, match="`tolerance` must be"):
        ps.plot_effects(effects_of(2), tolerance=2.0)
