"""Experiment 2: its grid, and whose scores are tested."""

import pytest

import polystein
from polystein.experiments.engine.cells import Cell, Replicate
from polystein.experiments.paper import experiment2, published
from polystein.experiments.paper.methods import Method, published_as
from polystein.experiments.paper.samplers import BoltzmannMachine

# On purpose, draws are tested here that a warning is in place for.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


def test_the_grid_is_the_papers() -> None:
    table = {(one.method, one.order) for one in published.experiment2()}
    assert {(published_as(one.name), one.order) for one in experiment2.METHODS} == table
    assert set(experiment2.PERTURBATIONS) == {one.perturbation for one in published.experiment2()}


def test_scores_belong_to_the_unperturbed_machine() -> None:
    cell = Cell.of("experiment2", replicates=1, perturbation=0.5, n=120, d=50, sweeps=5)
    replicate = Replicate(cell, 0, seed=1)
    rows = experiment2.task(replicate, [Method("psd", 1)])
    target = BoltzmannMachine.random(replicate.generator("machine"))
    sampler = target.perturbed(0.5, replicate.generator("noise"))
    draws = sampler.gibbs(replicate.generator("draws"), 120, 5)
    result = polystein.psd_test(draws, target.score, order=1, rng=replicate.stream("split"))
    assert rows[0]["z"] == pytest.approx(result.statistic, rel=1e-9)
