"""Input that is not what it says: rows that repeat, weights that are lost, a draw too large."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import DrawMoments
from polystein.data.guard.rows import (
    LargestDeviations,
    PositiveWeights,
    require_shared_weight,
)
from polystein.data.passes import every_row, run_pass
from polystein.data.split import Partition
from polystein.errors import DegenerateError, HeavyTailWarning, InputError
from tests.rows import Array, arbitrary_rows, arbitrary_weights

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")


# Weights


def weighted(*positive: int) -> ps.Sample:
    """Forty rows, of which all but these have no weight."""
    log_weights = np.full(40, -np.inf)
    log_weights[list(positive)] = 700.0
    return ps.Sample(*arbitrary_rows(40, 2), log_weights=log_weights)


def require_weight(sample: ps.Sample, partition: Partition) -> None:
    weights = PositiveWeights(partition)
    run_pass(sample, every_row(sample), weights)
    weights.require_enough()


@pytest.mark.parametrize(
    ("positive", "role", "least", "got"),
    [
        ([12, 13, 30, 31], "witness", 1, 0),
        ([0, 12, 30, 31], "weights", 2, 1),
        ([0, 12, 13, 30], "test", 2, 1),
    ],
)
def test_a_role_without_weight_is_refused(
    positive: list[int], role: str, least: int, got: int
) -> None:
    sample = weighted(*positive)
    partition = ps.BlockSplit(gap=0).partition(sample.layout, np.random.default_rng(0))
    message = f"at least {least} rows of positive weight for the role '{role}'; got {got}"
    with pytest.raises(InputError, match=message):
        require_weight(sample, partition)


def test_roles_with_weight_pass() -> None:
    rng = np.random.default_rng(0)
    for sample in (weighted(0, 12, 13, 30, 31), ps.Sample(*arbitrary_rows(40, 2))):
        require_weight(sample, ps.BlockSplit(gap=0).partition(sample.layout, rng))


def test_one_row_with_all_the_weight_is_refused() -> None:
    with pytest.raises(DegenerateError, match="at least two rows of positive weight"):
        require_shared_weight(weighted(7))
    require_shared_weight(weighted(7, 30))
    require_shared_weight(ps.Sample(*arbitrary_rows(1, 1)))


# One draw that outweighs the others


def outlier(sample: ps.Sample) -> HeavyTailWarning | None:
    """The warning, if any, after one pass for the frame and one for the largest deviations."""
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, every_row(sample), moments)
    largest = LargestDeviations(moments.standard_frame(), sample.layout.dimension)
    run_pass(sample, every_row(sample), largest)
    return largest.warning()


def test_a_draw_that_outweighs_all_others_is_warned_about() -> None:
    draws, scores = arbitrary_rows(500, 3)
    assert outlier(ps.Sample(draws, scores)) is None
    draws[123, 1] = 1e4
    share = np.max((draws[:, 1] - draws[:, 1].mean()) ** 2) / (500 * draws[:, 1].var())
    words = f"one row of `draws` makes up {share:.0%} of the variance of coordinate 1: "
    assert words in str(outlier(ps.Sample(draws, scores)))


def test_a_draw_needs_weight_to_outweigh_the_others() -> None:
    draws, scores = arbitrary_rows(500, 3)
    log_weights, _ = arbitrary_weights(500)
    draws[123, 1] = 1e4
    assert outlier(ps.Sample(draws, scores, log_weights=log_weights)) is not None
    log_weights[123] = -np.inf
    assert outlier(ps.Sample(draws, scores, log_weights=log_weights)) is None


def warning_of(draws: Array, log_weights: Array | None = None) -> HeavyTailWarning | None:
    return outlier(ps.Sample(draws, -draws, log_weights=log_weights))


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


@pytest.mark.parametrize("test", [ps.psd_test, ps.lambda_psd_test])
def test_weights_whose_squares_underflow_are_none(test: Any) -> None:
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    for place in (0, -1):
        log_weights = np.zeros(1000)
        log_weights[place] = 400.0
        sample = ps.Sample(draws, -draws, log_weights=log_weights)
        with pytest.raises(ps.InputError, match="`log_weights` must leave at least"):
            test(sample, order=1, rng=0)


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
