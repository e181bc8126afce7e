"""The paper's experiments on small grids: what is run, and that all methods share draws."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

import polystein
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import PUBLISHED_LINE, TEXT_LINE, summarise
from polystein.experiments.paper import appendix, experiment1, experiment2, published, runtime, snr
from polystein.experiments.paper.boltzmann import BoltzmannMachine
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


def test_the_grids_are_the_papers() -> None:
    keys = {(cell["sampler"], cell["n"], cell["d"]) for cell in experiment1.cells(1)}
    assert keys == {(one.sampler, one.n, one.dimension) for one in published.experiment1()}
    methods = {(one.method, one.order) for one in published.experiment1()}
    assert {(published_as(one.name), one.order) for one in ALL_METHODS} == methods
    table = {(one.method, one.order) for one in published.experiment2()}
    assert {(published_as(one.name), one.order) for one in experiment2.METHODS} == table
    assert set(experiment2.PERTURBATIONS) == {one.perturbation for one in published.experiment2()}
    points = {(one["sweep"], one["n"], one["d"], one["order"]) for one in runtime.cells(1)}
    assert points == {(one.sweep, one.n, one.dimension, one.order) for one in published.runtimes()}
    assert [cell["d"] for cell in appendix.cells(1)] == [16] * 4


def test_z_tests_are_those_of_the_package_on_the_same_draws() -> None:
    replicate = small()
    rows = experiment1.task(replicate, z_tests(range(3)))
    draws = laplace(replicate.generator("draws"), 200, 4)
    for row in rows:
        test = polystein.psd_test if row["method"] == "psd" else polystein.lambda_psd_test
        result = test(draws, -draws, order=row["order"], rng=replicate.stream("split"))
        assert row["z"] == result.statistic
        assert row["rejected"] == int(result.pvalue <= 0.05)
    by_method = {(row["method"], row["order"]): row["z"] for row in rows}
    assert by_method["psd", 0] == by_method["lambda_psd", 0]


@pytest.mark.parametrize(("pvalue", "decision"), [(0.05, 1), (math.nextafter(0.05, 1.0), 0)])
def test_a_p_value_at_the_level_rejects(
    monkeypatch: pytest.MonkeyPatch, pvalue: float, decision: int
) -> None:
    result = polystein.GofResult(1.0, pvalue, "greater", "other")
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
    result = polystein.GofResult(1.0, pvalue, "greater", "other")
    monkeypatch.setattr(Method, "test", lambda *_: result)
    (row,) = experiment1.task(small(d=128, n=200), [tuned(ALL_METHODS)])
    assert row["rejected"] == decision


def test_a_method_does_not_depend_on_its_company() -> None:
    rows = experiment1.task(small(), ALL_METHODS)
    assert len(rows) == 15
    alone = [row for one in reversed(ALL_METHODS) for row in experiment1.task(small(), [one])]
    assert alone == rows[::-1]
    assert [row["z"] is None for row in rows] == [False] * 10 + [True] * 5


def test_rivals_see_a_gross_difference_and_not_nothing() -> None:
    far = experiment1.task(small("student_t", d=2, n=2000), RIVALS)
    assert [row["rejected"] for row in far[:2]] == [1, 1]
    near = [
        sum(int(row["rejected"] or 0) for row in experiment1.task(replicate, RIVALS))
        for replicate in (Replicate(small("gaussian", d=2).cell, i, seed=4) for i in range(3))
    ]
    assert sum(near) <= 4


def test_experiment2_scores_belong_to_the_unperturbed_machine() -> None:
    cell = Cell.of("experiment2", replicates=1, perturbation=0.5, n=120, d=50, sweeps=5)
    replicate = Replicate(cell, 0, seed=1)
    rows = experiment2.task(replicate, [Method("psd", 1)])
    target = BoltzmannMachine.random(replicate.generator("machine"))
    sampler = target.perturbed(0.5, replicate.generator("noise"))
    draws = sampler.gibbs(replicate.generator("draws"), 120, 5)
    result = polystein.psd_test(draws, target.score, order=1, rng=replicate.stream("split"))
    assert rows[0]["z"] == pytest.approx(result.statistic, rel=1e-9)


def test_summary_has_both_mean_ratios() -> None:
    z = [0.5, -2.0, 4.0]
    rows: list[Row] = [
        {"d": 2, "method": "psd", "order": 1, "rejected": int(abs(one) > 1.96), "z": one}
        for one in z
    ]
    (row,) = summarise(rows, ("d", "method", "order"))
    assert row["rejections"] == 2
    assert row["rejection_rate"] == pytest.approx(2 / 3)
    assert row["rejection_se"] == pytest.approx(math.sqrt(2 / 9 / 2))
    assert row["mean_log10_z2"] == pytest.approx(np.mean([math.log10(one**2) for one in z]))
    assert row["mean_abs_z"] == pytest.approx(6.5 / 3)
    assert pytest.approx(0.585, abs=5e-4) == PUBLISHED_LINE
    assert pytest.approx(0.2923, abs=5e-5) == TEXT_LINE


def test_summary_of_one_replicate_and_of_a_rival() -> None:
    rows: list[Row] = [{"method": "rfsd", "order": None, "rejected": 1, "z": None}]
    (row,) = summarise(rows, ("method", "order"))
    assert (row["rejection_rate"], row["rejection_se"], row["mean_abs_z"]) == (1.0, None, None)


def test_standard_errors_are_the_published_ones() -> None:
    cell = published.experiment1()[0]
    decisions = [1] * cell.rejections + [0] * (cell.replicates - cell.rejections)
    rows: list[Row] = [{"method": "psd", "rejected": one, "z": None} for one in decisions]
    (row,) = summarise(rows, ("method",))
    assert row["rejection_se"] == pytest.approx(cell.standard_error, rel=1e-3)


def test_runtime_keeps_published_times_beside_its_own() -> None:
    cell = next(
        one
        for one in runtime.cells(1)
        if (one["sweep"], one["n"], one["order"]) == ("vary_n", 100, 1)
    )
    (timed,) = runtime.task(Replicate(cell, 0, seed=0))
    assert 0.0 < float(timed["seconds"] or 0.0) < 10.0
    rows: list[Row] = [{**dict(cell.settings), "seconds": one} for one in (3.0, 1.0, 2.0)]
    (row,) = runtime.summarise(rows)
    assert row["median_seconds"] == 2.0
    assert row["published_median_seconds"] == next(
        one.median_seconds
        for one in published.runtimes()
        if (one.sweep, one.n, one.order) == ("vary_n", 100, 1)
    )


def test_simulated_snr_agrees_with_the_exact_one() -> None:
    cell = snr.cells(1)[0]
    rows = [row for i in range(300) for row in snr.task(Replicate(cell, i, seed=2))]
    for row in snr.summarise(rows)[:4]:
        gap = math.log10(float(row["psd_u_simulated"] or 0.0) / float(row["psd_u_exact"] or 0.0))
        assert abs(gap) < 3.5 * float(row["psd_u_simulated_log10_se"] or 0.0)


def test_the_central_claim_holds_in_the_table() -> None:
    table = snr.summarise([])
    weighted = [float(row["lambda_psd_exact"] or 0.0) for row in table]
    assert all(later >= earlier for earlier, later in pairwise(weighted))
    assert weighted[-1] <= float(table[0]["chi_square_bound"] or 0.0)
    odd = [float(row["psd_z_exact"] or 0.0) for row in table if int(row["order"] or 0) % 2]
    assert all(later < earlier / 2 for earlier, later in pairwise(odd))
    slopes = snr.slopes()
    assert abs(slopes.corrected - slopes.exact) < 0.2 * abs(slopes.printed - slopes.exact)
