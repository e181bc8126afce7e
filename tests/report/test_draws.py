"""Plots of draws: moments of order 1 by parameter, and discrepancies of growing chains."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from tests.report.drawn import assert_legible, labels, legend, names_of, shifted


def sample(dimension: int) -> ps.Sample:
    draws = shifted(dimension, np.random.default_rng(0))
    return ps.Sample(draws, -draws, names=names_of(dimension))


def dots(axes: Any) -> list[tuple[int, int]]:
    """Row and column of the marked moments."""
    (points,) = axes.collections
    return [(int(row), int(column)) for column, row in points.get_offsets()]


@pytest.mark.parametrize("dimension", [2, 20, 200])
def test_moments_have_names_on_both_axes(dimension: int) -> None:
    axes = ps.plot_moments(sample(dimension))
    rows, columns, shown = labels(axes), labels(axes, "x"), min(dimension, 20)
    assert columns == ["score alone", *rows]
    assert axes.images[0].get_array().shape == (shown, shown + 1)
    # The parameter at fault: in its place, or first among many.
    place = 1 if dimension <= 20 else 0
    assert rows[place] == "a_$b$1"
    assert dots(axes) == [(place, place + 1)]
    assert rows == names_of(dimension) if dimension <= 20 else len(set(rows)) == 20
    assert ("180 more parameters" in axes.get_ylabel()) == (dimension == 200)
    assert_legible(axes)


def test_colours_are_symmetric_and_pale_for_right_draws() -> None:
    image = ps.plot_moments(sample(3)).images[0]
    low, high = image.get_clim()
    assert low == -high == pytest.approx(-np.abs(image.get_array()).max())
    draws = np.random.default_rng(0).standard_normal((4, 1000, 3))
    assert ps.plot_moments(draws, -draws).images[0].get_clim() == (-0.2, 0.2)


def test_few_rows_have_no_dots() -> None:
    draws = np.random.default_rng(0).standard_normal((10, 2))
    assert not ps.plot_moments(draws, -draws).collections


def test_more_moments_than_can_be_read_are_refused() -> None:
    with pytest.raises(ps.InputError, match="`most` must be at most 40"):
        ps.plot_moments(sample(2), most=41)


@pytest.mark.parametrize("dimension", [2, 20, 200])
def test_every_chain_has_a_line(dimension: int) -> None:
    axes = ps.plot_chains(sample(dimension))
    assert sorted(legend(axes)[:4]) == [f"chain {chain}" for chain in range(4)]
    assert legend(axes)[4:] == ["right, independent\ndraws (about)"]
    assert len(axes.lines) == 5
    assert [line.get_xdata()[-1] for line in axes.lines] == [250] * 5
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert_legible(axes)


def test_of_many_chains_the_worst_are_drawn() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 120, 2))
    draws[17] += 1.0
    axes = ps.plot_chains(draws, -draws)
    assert len(axes.lines) == 7
    assert legend(axes)[0] == "chain 17"
    assert legend(axes)[6] == "and 94 more, with less"
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines[:6]}
    assert len(looks) == 6
    assert_legible(axes)


def test_a_discrepancy_of_zero_is_drawn_on_a_linear_scale() -> None:
    draws = np.array([[-1.0], [1.0]])
    axes = ps.plot_chains(draws, -draws)
    assert axes.lines[0].get_ydata()[-1] == 0.0
    assert axes.get_yscale() == "linear"
    assert_legible(axes)


@pytest.mark.parametrize(
    ("option", "value"), [("order", -1), ("order", "1"), ("structure", "none")]
)
def test_options_are_those_of_psd(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(ps.InputError, match=f"`{option}` must be"):
        ps.plot_chains(sample(2), **options)


@pytest.mark.parametrize("plot", [ps.plot_moments, ps.plot_chains])
def test_one_row_is_refused(plot: Any) -> None:
    with pytest.raises(ps.InputError, match="at least 2 rows"):
        plot(np.ones((1, 1)), -np.ones((1, 1)))
