"""Experiment 2 (Section 5.2, Table 1): a restricted Boltzmann machine with a noisy B."""

from __future__ import annotations

from collections.abc import Sequence

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.paper.boltzmann import BoltzmannMachine
from polystein.experiments.paper.methods import LEVEL, Method, PublishedRFSD, judge

STUDY = "experiment2"
#: Standard deviations of the noise on B, though the heading of Table 1 says sigma^2.
PERTURBATIONS = (0.0, 0.02, 0.04, 0.06)
CHAINS, SWEEPS, DIMENSION = 1000, 2000, 50
REPLICATES, QUICK_REPLICATES = 200, 5
BY = ("perturbation", "n", "d", "method", "order")
#: The rows of Table 1. At order 0 lambda-PSD is PSD, and the table leaves it out.
METHODS = (
    PublishedRFSD(medians=100.0, degrees_of_freedom=2.6, fixed_level=0.1 * LEVEL),
    *(Method(name) for name in ("rfsd", "fssd_opt", "ksd_imq", "ksd_gauss")),
    *(Method("psd", order) for order in range(5)),
    *(Method("lambda_psd", order) for order in range(1, 5)),
    *(Method("lambda_psd_published", order) for order in range(1, 5)),
)


def cells(replicates: int, sweeps: int = SWEEPS) -> list[Cell]:
    """One cell for each perturbation."""
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=1.6 * sweeps + 400.0,
            perturbation=perturbation,
            n=CHAINS,
            d=DIMENSION,
            sweeps=sweeps,
        )
        for perturbation in PERTURBATIONS
    ]


def sample(replicate: Replicate) -> Sample:
    """Draw a machine, and draws from its perturbed copy, one from each Gibbs chain."""
    cell = replicate.cell
    target = BoltzmannMachine.random(replicate.generator("machine"), d=cell["d"])
    sampler = target.perturbed(cell["perturbation"], replicate.generator("noise"))
    draws = sampler.gibbs(replicate.generator("draws"), cell["n"], cell["sweeps"])
    return Sample(draws, target.score(draws))


def task(replicate: Replicate, methods: Sequence[Method] = METHODS) -> list[Row]:
    """Draw from the perturbed machine, and ask every method."""
    return judge(sample(replicate), methods, replicate)
