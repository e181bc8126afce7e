"""Drawings of a page: where things stand, in per cent of the width."""

import math
import re

import pytest

import polystein as ps
from polystein.report.forest import forest_of
from polystein.report.svg import Drawing, forest_axis, forest_line, share_bar, ticks
from tests.report.drawn import effect, effects_of


def numbers(drawing: str, tag: str, *names: str) -> list[tuple[float, ...]]:
    """The numbers of these attributes of every element of a kind."""
    found = re.findall(rf"<{tag} [^>]*>", drawing)
    return [
        tuple(
            float(re.search(rf' {name}="([\d.]+)%?"', one)[1])  # type: ignore[index]
            for name in names
        )
        for one in found
    ]


def test_sizes_and_intervals_stand_around_the_middle() -> None:
    table = ps.EffectTable((effect("a", "mean", 0.3), effect("a", "sd", 0.8)), 2)
    forest = forest_of(table, None, 20)
    # All is within 0.4 * 1.08, and the axis reaches 1.06 times as far.
    assert forest.reach == pytest.approx(1.06 * 1.08 * 0.4)
    high, low = (forest_line(forest, line) for line in forest.lines)
    assert numbers(high, "circle", "cx")[0][0] == pytest.approx(
        50.0 + 50.0 * 0.3 / forest.reach, abs=0.01
    )
    assert numbers(low, "circle", "cx")[0][0] == pytest.approx(
        50.0 - 50.0 * 0.2 / forest.reach, abs=0.01
    )
    interval = numbers(high, "line", "x1", "x2")[1]
    assert interval == pytest.approx(
        (50.0 + 50.0 * 0.2 / forest.reach, 50.0 + 50.0 * 0.4 / forest.reach), abs=0.01
    )


def test_the_tolerance_is_a_band_behind_means_and_sds_alone() -> None:
    rows = (effect("a", "mean", 0.3), effect("a, b", "correlation", 0.2))
    forest = forest_of(ps.EffectTable(rows, 2), 0.1, 20)
    mean, pair = (forest_line(forest, line) for line in forest.lines)
    start, width = numbers(mean, "rect", "x", "width")[0]
    assert start + width / 2.0 == pytest.approx(50.0, abs=0.01)
    assert width == pytest.approx(100.0 * 0.1 / forest.reach, abs=0.02)
    assert "band" not in pair


def test_what_was_found_and_what_is_not_reliable_is_told_by_classes() -> None:
    forest = forest_of(effects_of(2), None, 20)
    classes = [
        re.search(r'circle class="([^"]+)"', forest_line(forest, line)) for line in forest.lines
    ]
    assert [one and one[1] for one in classes] == ["found", "found hollow", "chance", "chance"]


def test_intervals_without_end_have_arrows_and_stay_inside() -> None:
    row = effect("a", "mean", 0.1, lower=-math.inf, upper=math.inf)
    forest = forest_of(ps.EffectTable((row, effect("b", "mean", 0.1)), 2), None, 20)
    endless, other = (forest_line(forest, line) for line in forest.lines)
    assert endless.count("<path") == 2
    assert "<path" not in other
    for low, high in numbers(endless, "line", "x1", "x2"):
        assert 0.0 <= low <= high <= 100.0
    assert "nan" not in endless
    assert "inf" not in endless


@pytest.mark.parametrize("size", [1e-3, 0.04, 0.3, 1.0, 7.0, 40.0, 2e5])
def test_ticks_are_round_and_inside(size: float) -> None:
    forest = forest_of(ps.EffectTable((effect("a", "mean", size),), 1), None, 20)
    found = ticks(forest)
    assert 0.0 in found
    assert [-tick for tick in reversed(found)] == found
    assert all(abs(tick) < forest.reach for tick in found)
    assert all(f"{abs(tick):e}"[0] in "0125" for tick in found)
    texts = numbers(forest_axis(forest), "text", "x")
    assert all(5.0 < place < 95.0 for (place,) in texts)


def test_large_sizes_are_on_a_logarithmic_scale() -> None:
    rows = tuple(
        effect(name, "mean", size) for name, size in (("a", 1.0), ("b", 10.0), ("c", 100.0))
    )
    forest = forest_of(ps.EffectTable(rows, 3), None, 20)
    one, ten, hundred = (
        numbers(forest_line(forest, line), "circle", "cx")[0][0] for line in forest.lines
    )
    assert hundred - ten == pytest.approx(ten - one, abs=0.02)


def test_shares_are_bars_from_the_middle() -> None:
    assert numbers(share_bar(0.5), "rect", "x", "width") == [(50.0, 25.0)]
    assert numbers(share_bar(-0.5), "rect", "x", "width") == [(25.0, 25.0)]
    assert 'rect class="found"' in share_bar(1.0)
    assert 'rect class="chance"' in share_bar(-0.1)
    assert share_bar(math.nan) == ""


def test_drawings_pass_through_templates_as_they_are() -> None:
    assert Drawing("<svg/>").__html__() == "<svg/>"


def test_the_same_rows_are_drawn_as_by_matplotlib() -> None:
    table = effects_of(20)
    axes = ps.plot_effects(table, tolerance=0.1)
    forest = forest_of(table, 0.1, 20)
    low, high = axes.get_xlim()
    points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    for point, line in zip(points, forest.lines, strict=True):
        (place,) = numbers(forest_line(forest, line), "circle", "cx")[0]
        assert place == pytest.approx(100.0 * (point - low) / (high - low), abs=0.01)
    assert forest.left_out == 20
