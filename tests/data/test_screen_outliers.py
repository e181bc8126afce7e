"""One draw that makes up most of a coordinate's variance."""

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import standard_frame
from polystein.data.passes import every_row
from polystein.data.screen import outlier_warning
from polystein.errors import HeavyTailWarning
from tests.conftest import Array


def warning_of(draws: Array, log_weights: Array | None = None) -> HeavyTailWarning | None:
    sample = ps.Sample(draws, -draws, log_weights=log_weights)
    return outlier_warning(sample, standard_frame(sample, every_row(sample)))


def normal_draws(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape)


def one_spike(rows: int) -> Array:
    """All rows are 0 but one: its square is 1 - 1/n of the sum of squares about the mean."""
    draws = np.zeros((rows, 1))
    draws[1] = 1.0
    return draws


@pytest.mark.parametrize("shape", [(50, 1), (2000, 3), (4, 100, 2)])
def test_normal_draws_are_not_warned_about(shape: tuple[int, ...]) -> None:
    assert warning_of(normal_draws(*shape)) is None


@pytest.mark.parametrize(("rows", "percent"), [(4, 75), (20, 95), (1000, 100)])
def test_the_part_of_one_draw_by_hand(rows: int, percent: int) -> None:
    warning = warning_of(one_spike(rows))
    assert isinstance(warning, HeavyTailWarning)
    assert str(warning).startswith(
        f"one row of `draws` makes up {percent}% of the variance of coordinate 0: "
    )


def test_one_half_is_not_most() -> None:
    """Of two rows each is half of the variance."""
    assert warning_of(one_spike(2)) is None
    assert warning_of(one_spike(3)) is not None


@pytest.mark.parametrize("elements", [1, 10**6])
@pytest.mark.parametrize("place", [(0, 0), (201, 2), (399, 1)])
def test_the_coordinate_is_named(
    place: tuple[int, int], elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whichever row the draw is, and however rows are cut into blocks."""
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", elements)
    draws = normal_draws(400, 3)
    draws[place] = -100.0
    squares = (draws[:, place[1]] - draws[:, place[1]].mean()) ** 2
    part = squares[place[0]] / squares.sum()
    assert 0.9 < part < 0.99
    assert f"{part:.0%} of the variance of coordinate {place[1]}:" in str(warning_of(draws))


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e100), (1e6, 1.0), (-5.0, 1e-100)])
def test_neither_units_nor_location_matter(shift: float, scale: float) -> None:
    draws = normal_draws(400, 2)
    draws[7, 1] = 40.0
    assert str(warning_of(scale * (draws + shift))) == str(warning_of(draws))


def test_a_draw_of_no_weight_does_not_count() -> None:
    draws, log_weights = normal_draws(400, 2), np.zeros(400)
    draws[7, 1] = 1e6
    assert warning_of(draws, log_weights) is not None
    log_weights[7] = -np.inf
    assert warning_of(draws, log_weights) is None


def test_the_weight_of_a_draw_counts() -> None:
    """w (x - mean)^2 over its sum, whatever unit weights are in."""
    draws, log_weights = normal_draws(400, 1), np.full(400, 500.0)
    draws[7] = 4.0
    assert warning_of(draws, log_weights) is None
    log_weights[7] += np.log(100.0)
    weights = np.exp(log_weights - 500.0)
    squares = weights * (draws[:, 0] - np.average(draws[:, 0], weights=weights)) ** 2
    expected = f"{squares[7] / squares.sum():.0%} of the variance"
    assert expected in str(warning_of(draws, log_weights))
