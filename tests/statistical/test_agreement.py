"""The arm that compares chains, alone: its size on correct chains, and the faults it finds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest
from scipy.stats import t as student

from polystein.data.passes import every_row, run_pass
from polystein.data.source import complete
from polystein.methods.check.agreement import AgreementSums, agreement_arm
from polystein.methods.check.look import bounds_of, kept_rows
from polystein.results.evidence import Arm
from tests.sources import MinimalSource
from tests.statistical.samplers import Array, Generator, autoregressive
from tests.statistical.samplers_faults import far_start, frozen_chain, late_start, shifted_chain
from tests.statistical.samplers_memory import generalised_hmc, rotating, sticky, two_scale

pytestmark = pytest.mark.slow

REPLICATES = 400
#: The arm's level alone, and what it has as one of the arms of `check`.
LEVELS = (0.05, 0.0025)
# What a correct test fails by chance: one seed in a thousand.
CHANCE = 0.001

Draw = Callable[[Generator], Array]


class Line(NamedTuple):
    """Chains, (chain, draw, d), and their score."""

    draw: Draw
    score: Callable[[Array], Array] = np.negative


def student_chains(rng: Generator, degrees: float) -> Array:
    """AR(.5) chains whose coordinates are mapped to a t law."""
    draws: Array = student.ppf(ndtr(autoregressive(rng, 4, 1000, 5, 0.5)), degrees)
    return draws


def log_gamma(rng: Generator, chains: int, rows: int) -> Array:
    """Independent draws of log Gamma(.3), a skewed law with skewed scores."""
    return np.log(rng.gamma(0.3, size=(chains, rows, 5)))


CORRECT: dict[str, Line] = {
    "white": Line(lambda rng: autoregressive(rng, 4, 1000, 5, 0.0)),
    "AR(.5)": Line(lambda rng: autoregressive(rng, 4, 1000, 5, 0.5)),
    "AR(.9), d=16": Line(lambda rng: autoregressive(rng, 4, 1000, 16, 0.9)),
    "AR(.97)": Line(lambda rng: autoregressive(rng, 4, 1000, 5, 0.97)),
    "two-scale, d=4": Line(lambda rng: two_scale(rng, 4, 1000, 4, share=0.1)),
    "two-scale, d=16": Line(lambda rng: two_scale(rng, 4, 1000, 16, share=0.1)),
    "sticky": Line(lambda rng: sticky(rng, 4, 1000, 5, rate=0.004, stay=50)),
    "rare sticky": Line(lambda rng: sticky(rng, 4, 1000, 5, rate=0.0003, stay=100)),
    "rotating": Line(lambda rng: rotating(rng, 4, 1000, 4, memory=0.97, angle=0.3)),
    "generalised HMC": Line(
        lambda rng: generalised_hmc(rng, 4, 1000, 4, angle=0.3, persistence=0.95)
    ),
    "t(3)": Line(lambda rng: student_chains(rng, 3.0), lambda x: -4.0 * x / (3.0 + x**2)),
    "Cauchy": Line(lambda rng: student_chains(rng, 1.0), lambda x: -2.0 * x / (1.0 + x**2)),
    "log Gamma(.3)": Line(lambda rng: log_gamma(rng, 4, 1000), lambda x: 0.3 - np.exp(x)),
    "4x100": Line(lambda rng: autoregressive(rng, 4, 100, 5, 0.5)),
    "100x50": Line(lambda rng: autoregressive(rng, 100, 50, 5, 0.9)),
    "100x50 log Gamma(.3)": Line(lambda rng: log_gamma(rng, 100, 50), lambda x: 0.3 - np.exp(x)),
    "one chain": Line(lambda rng: autoregressive(rng, 1, 4000, 5, 0.9)),
}

FIRST = slice(1)


def half_memory(rng: Generator) -> Array:
    return autoregressive(rng, 4, 1000, 5, 0.5)


#: Planted faults, and what the arm must call them.
FAULTS: dict[str, tuple[Draw, str]] = {
    "first 200 draws": (
        lambda rng: late_start(half_memory(rng), 200, 8.0, FIRST),
        "the first 200 draws of every chain: ",
    ),
    "far start": (
        lambda rng: far_start(half_memory(rng), 0.5, 20.0, slice(None)),
        "the first 5 draws of every chain: ",
    ),
    "chain off by 1": (lambda rng: shifted_chain(half_memory(rng), 2, 1.0, FIRST), "chain 2: "),
    "chain off by 3": (lambda rng: shifted_chain(half_memory(rng), 2, 3.0, FIRST), "chain 2: "),
    "chain far away": (lambda rng: shifted_chain(half_memory(rng), 2, 9e3, FIRST), "chain 2: "),
    "frozen chain": (
        lambda rng: frozen_chain(half_memory(rng), 2),
        "chain 2, which does not move: ",
    ),
}
FAULTY_REPLICATES = 100
#: Every fault is found at the smaller level, and named rightly, at least so often.
LEAST_POWER = 0.9


def arms(line: Line, replicates: int) -> list[Arm]:
    """The arm of each replicate in which it does not abstain."""
    found = []
    for replicate in range(replicates):
        draws = line.draw(np.random.default_rng([20, replicate]))
        rows = list(zip(draws, line.score(draws), strict=True))
        source = complete(MinimalSource(rows, time_ordered=True))
        thinned = kept_rows(source.layout)
        run_pass(source, every_row(source), thinned)
        sums = AgreementSums(source.layout, bounds_of(thinned))
        run_pass(source, every_row(source), sums)
        arm = agreement_arm(sums, [f"x[{k}]" for k in range(source.layout.dimension)])
        found += [arm] if isinstance(arm, Arm) else []
    return found


@pytest.mark.parametrize("name", CORRECT)
def test_size_alone_is_at_most_the_level(name: str) -> None:
    pvalues = np.array([arm.pvalue for arm in arms(CORRECT[name], REPLICATES)])
    for level in LEVELS:
        rejected = int((pvalues <= level).sum())
        above = binomtest(rejected, REPLICATES, level, alternative="greater")
        assert above.pvalue > CHANCE, (level, rejected / REPLICATES)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found_and_named(name: str) -> None:
    draw, words = FAULTS[name]
    found = [arm for arm in arms(Line(draw), FAULTY_REPLICATES) if arm.pvalue <= LEVELS[1]]
    named = sum(arm.leading.words.startswith(words) for arm in found)
    below = binomtest(named, FAULTY_REPLICATES, LEAST_POWER, alternative="less")
    assert below.pvalue > CHANCE, (len(found), named)
