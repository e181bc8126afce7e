"""Experiment 1: its grid, and that all methods share draws."""

import math
from collections.abc import Callable, Sequence

import pytest

import polystein
from polystein.experiments.engine.cells import Cell, Replicate
from polystein.experiments.paper import experiment1, experiment2, published
from polystein.experiments.paper.methods import (
    ALL_METHODS,
    RIVALS,
    Method,
    PublishedRFSD,
    published_as,
    z_tests,
)
from polystein.experiments.paper.samplers import laplace

# On purpose, draws are tested here that a warning is in place for.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


def small(sampler: str = "laplace", d: int = 4, n: int = 200) -> Replicate:
    return Replicate(Cell.of("experiment1", replicates=1, sampler=sampler, n=n, d=d), 0, seed=3)


def test_the_grid_is_the_papers() -> None:
    keys = {(cell["sampler"], cell["n"], cell["d"]) for cell in experiment1.cells(1)}
    assert keys == {(one.sampler, one.n, one.dimension) for one in published.experiment1()}
    methods = {(one.method, one.order) for one in published.experiment1()}
    assert {(published_as(one.name), one.order) for one in ALL_METHODS} == methods


TESTS: dict[str, tuple[Callable[..., polystein.GofResult], dict[str, polystein.CrossEntropy]]] = {
    "psd": (polystein.psd_test, {}),
    "lambda_psd": (polystein.lambda_psd_test, {}),
    "lambda_psd_published": (
        polystein.lambda_psd_test,
        {"weights": polystein.CrossEntropy.published()},
    ),
}


def test_z_tests_are_those_of_the_package_on_the_same_draws() -> None:
    replicate = small()
    rows = experiment1.task(replicate, z_tests(range(3)))
    draws = laplace(replicate.generator("draws"), 200, 4)
    for row in rows:
        test, options = TESTS[str(row["method"])]
        result = test(draws, -draws, order=row["order"], rng=replicate.stream("split"), **options)
        assert row["z"] == result.statistic
        assert row["rejected"] == int(result.pvalue <= 0.05)
    by_method = {(row["method"], row["order"]): row["z"] for row in rows}
    assert by_method["psd", 0] == by_method["lambda_psd", 0]
    assert by_method["lambda_psd", 2] != by_method["lambda_psd_published", 2]


@pytest.mark.parametrize(("pvalue", "decision"), [(0.05, 1), (math.nextafter(0.05, 1.0), 0)])
def test_a_p_value_at_the_level_rejects(
    monkeypatch: pytest.MonkeyPatch, pvalue: float, decision: int
) -> None:
    result = polystein.GofResult(1.0, pvalue, "greater", "other", dimension=4)
    monkeypatch.setattr(Method, "test", lambda *_: result)
    (row,) = experiment1.task(small(), [Method("ksd_imq")])
    assert row["rejected"] == decision


def tuned(methods: Sequence[Method]) -> PublishedRFSD:
    (found,) = (one for one in methods if isinstance(one, PublishedRFSD))
    return found


def test_published_levels_are_the_experiments_own() -> None:
    assert Method("rfsd").level(128) == 0.05
    levels = [tuned(ALL_METHODS).level(d) for d in (2, 8, 128)]
    assert levels == pytest.approx([0.05 / 1.2, 0.05 / 2.4, 0.05 / 26.4], rel=1e-12)
    assert tuned(experiment2.METHODS).level(50) == pytest.approx(0.005, rel=1e-12)


@pytest.mark.parametrize("methods", [ALL_METHODS, experiment2.METHODS])
def test_rfsd_as_published_is_the_package_s_at_its_own_level(methods: Sequence[Method]) -> None:
    method, replicate = tuned(methods), small()
    draws = laplace(replicate.generator("draws"), 200, 4)
    result = polystein.rfsd_test(
        draws, -draws, calibration="published", medians=method.medians,
        degrees_of_freedom=method.degrees_of_freedom, rng=replicate.stream("rfsd_published"),
    )  # fmt: skip
    assert method.test(polystein.Sample(draws, -draws), replicate) == result
    (row,) = experiment1.task(replicate, [method])
    assert row["rejected"] == int(result.pvalue <= method.level(4))


@pytest.mark.parametrize(("pvalue", "decision"), [(0.0019, 0), (0.0018, 1)])
def test_a_level_goes_with_the_dimension(
    monkeypatch: pytest.MonkeyPatch, pvalue: float, decision: int
) -> None:
    result = polystein.GofResult(1.0, pvalue, "greater", "other", dimension=128)
    monkeypatch.setattr(Method, "test", lambda *_: result)
    (row,) = experiment1.task(small(d=128, n=200), [tuned(ALL_METHODS)])
    assert row["rejected"] == decision


def test_a_method_does_not_depend_on_its_company() -> None:
    rows = experiment1.task(small(), ALL_METHODS)
    assert len(rows) == 20
    alone = [row for one in reversed(ALL_METHODS) for row in experiment1.task(small(), [one])]
    assert alone == rows[::-1]
    assert [row["z"] is None for row in rows] == [False] * 15 + [True] * 5


def test_rivals_see_a_gross_difference_and_not_nothing() -> None:
    far = experiment1.task(small("student_t", d=2, n=2000), RIVALS)
    assert [row["rejected"] for row in far[:2]] == [1, 1]
    near = [
        sum(int(row["rejected"] or 0) for row in experiment1.task(replicate, RIVALS))
        for replicate in (Replicate(small("gaussian", d=2).cell, i, seed=4) for i in range(3))
    ]
    assert sum(near) <= 4
