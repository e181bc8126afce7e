"""Pooled tests and detectable differences against their literal definitions."""

import math

import numpy as np
import pytest

from polystein.experiments.paper.pooled import Counts, detectable, detectable_range, pool
from tests.reference.pooling import literal_cmh, literal_common_difference, literal_power


def some_cells(seed: int) -> list[Counts]:
    rng = np.random.default_rng(seed)
    rates = rng.random(4)
    return [
        Counts(int(rng.binomial(30, rate)), 30, int(rng.binomial(50, rate)), 50) for rate in rates
    ]


@pytest.mark.parametrize("seed", range(5))
def test_pooling_is_the_cochran_mantel_haenszel_test(seed: int) -> None:
    cells = some_cells(seed)
    found = pool(cells)
    literal = [tuple(cell) for cell in cells]
    assert found.cells == 4
    assert found.pvalue == pytest.approx(literal_cmh(literal), rel=1e-10)
    assert found.difference == pytest.approx(literal_common_difference(literal), rel=1e-10)


def test_cells_without_variance_decide_nothing() -> None:
    sure = Counts(100, 100, 200, 200)
    assert pool([sure, sure]) == (2, 0.0, 1.0, 0.0)
    cells = some_cells(1)
    assert pool([*cells, sure]).pvalue == pytest.approx(pool(cells).pvalue, rel=1e-12)


def test_small_differences_add_up_and_opposite_ones_do_not() -> None:
    up, down = Counts(50, 100, 112, 200), Counts(50, 100, 88, 200)
    assert pool([up]).pvalue > 0.3
    assert pool([up] * 10).pvalue < 0.01
    assert pool([up, down] * 10).pvalue == pytest.approx(1.0)
    assert pool([up] * 10).difference == pytest.approx(0.06)


def test_the_detectable_common_difference_is_found_with_probability_08() -> None:
    """Simulated: 400 poolings of ten cells whose rates differ by just as much."""
    rng = np.random.default_rng(1)
    rates = np.linspace(0.2, 0.7, 10)
    wanted = pool([Counts(round(100 * rate), 100, round(200 * rate), 200) for rate in rates])
    found = 0
    for _ in range(400):
        published = rng.binomial(100, rates)
        measured = rng.binomial(200, rates + wanted.detectable)
        pairs = zip(published, measured, strict=True)
        found += pool([Counts(int(a), 100, int(b), 200) for a, b in pairs]).pvalue <= 0.05
    # Three standard errors of a rate of 0.8 over 400.
    assert abs(found / 400 - 0.8) < 0.06


@pytest.mark.parametrize(("rate", "first", "second"), [(0.0, 12, 20), (0.5, 20, 25), (1.0, 20, 8)])
def test_the_detectable_difference_is_the_smallest_with_power_08(
    rate: float, first: int, second: int
) -> None:
    found = detectable(rate, first, second)
    towards = 1.0 if rate < 0.5 else -1.0
    assert literal_power(rate, rate + towards * found, first, second) >= 0.8
    assert literal_power(rate, rate + towards * (found - 0.005), first, second) < 0.8


def test_too_few_replicates_find_nothing() -> None:
    assert detectable(0.5, 100, 1) == math.inf


def test_the_range_is_over_rates_and_sizes() -> None:
    cells = [Counts(0, 12, 3, 20), Counts(6, 12, 3, 20)]
    assert detectable_range(cells) == (detectable(0.0, 12, 20), detectable(0.5, 12, 20))
