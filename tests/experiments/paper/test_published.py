"""The published figures: complete, consistent with themselves, and read without loss."""

import math
from collections import Counter
from itertools import product

import pytest

from polystein.experiments.paper import published

DIMENSIONS = (2, 4, 8, 16, 32, 64, 128)
SAMPLERS = {"gaussian": 1000, "perturbed": 1000, "student_t": 2000, "laplace": 1000}
WITH_ORDER = ("psd", "lambda_psd")
WITHOUT_ORDER = ("ksd_imq", "ksd_gauss", "fssd_opt", "rfsd")


def test_experiment1_has_every_cell_once() -> None:
    cells = Counter(
        (cell.sampler, cell.n, cell.dimension, cell.method, cell.order)
        for cell in published.experiment1()
    )
    methods = [*product(WITH_ORDER, range(5)), *product(WITHOUT_ORDER, [None])]
    expected = {
        (sampler, n, dimension, method, order)
        for (sampler, n), dimension, (method, order) in product(
            SAMPLERS.items(), DIMENSIONS, methods
        )
    }
    assert set(cells) == expected
    assert set(cells.values()) == {1}


def test_experiment1_rates_are_counts_with_their_standard_errors() -> None:
    for cell in published.experiment1():
        rate, replicates = cell.rejection_rate, cell.replicates
        assert rate == cell.rejections / replicates
        error = math.sqrt(rate * (1.0 - rate) / (replicates - 1))
        assert cell.standard_error == pytest.approx(error, rel=1e-3, abs=1e-12)


def test_experiment1_has_z_statistics_where_there_is_an_order() -> None:
    for cell in published.experiment1():
        assert (cell.mean_log10_z2 is None) == (cell.order is None)


def test_experiment1_agrees_at_order_0() -> None:
    """lambda-PSD with one feature is PSD in every published cell."""
    rates = {
        (cell.sampler, cell.dimension, cell.method): cell.rejection_rate
        for cell in published.experiment1()
        if cell.order == 0
    }
    for sampler, dimension in product(SAMPLERS, DIMENSIONS):
        assert rates[sampler, dimension, "psd"] == rates[sampler, dimension, "lambda_psd"]


def test_experiment2_has_every_cell_once() -> None:
    cells = Counter(
        (cell.perturbation, cell.method, cell.order) for cell in published.experiment2()
    )
    methods = [
        *product(["psd"], range(5)),
        *product(["lambda_psd"], range(1, 5)),
        *product(WITHOUT_ORDER, [None]),
    ]
    expected = {(level, *method) for level, method in product((0.0, 0.02, 0.04, 0.06), methods)}
    assert set(cells) == expected
    assert set(cells.values()) == {1}
    assert all(0.0 <= cell.rejection_rate <= 1.0 for cell in published.experiment2())


def test_runtimes_have_both_sweeps() -> None:
    points = published.runtimes()
    assert Counter(point.sweep for point in points) == {"vary_d": 50, "vary_n": 25}
    assert {point.dimension for point in points if point.sweep == "vary_n"} == {16}
    assert {point.n for point in points if point.sweep == "vary_d"} == {1000}
    assert {point.dimension for point in points if point.sweep == "vary_d"} == {
        2**k for k in range(1, 11)
    }
    assert all(point.median_seconds > 0.0 for point in points)
