"""Size of the rivals: ``python -m studies.rivals_size`` from the root of the repository.

Every cell is 1,000 sets of n draws from N(0, I), tested against N(0, I) at level 0.05. Runs the
cells that ``studies/rivals_size.csv`` does not hold yet, so that it may be stopped and started
again; remove the file, or a line of it, for a fresh start. All methods see the same draws in the
same replicate, and a second run gives the same table. ``--markdown`` prints the table of
``docs/rivals.md``; ``--only TEXT`` runs the cells whose name holds TEXT.

KSDAgg with its default number of replicates takes too long at n = 1000: there it has B1 = 500 and
B2 = 250 replicates, and at n = 300 it is measured with these, with the default ones, and with
those of ``tests/statistical/test_rivals.py``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper.samplers import EXPERIMENT_1, gaussian_score
from studies._command import ended, run_table
from studies._table import LEVEL, Study, decision, rejection_rate

REPLICATES, CHANCE = 1000, 0.001
DIMENSIONS = (2, 16)


class Method(NamedTuple):
    """A rival with its settings, its label on the page and its milliseconds by n."""

    label: str
    test: Callable[..., ps.GofResult]
    costs: dict[int, float]


METHODS = {
    "ksd_imq": Method("`ksd_test`, IMQ", ps.ksd_test, {300: 5, 1000: 22}),
    "ksd_gauss": Method(
        "`ksd_test`, Gaussian",
        partial(ps.ksd_test, kernel=ps.GaussianKernel()),
        {300: 6, 1000: 30},
    ),
    "nystrom": Method("`nystrom_ksd_test`", ps.nystrom_ksd_test, {300: 3, 1000: 14}),
    "fssd_opt": Method("`fssd_test`", ps.fssd_test, {300: 8, 1000: 14}),
    "fssd_rand": Method(
        "`fssd_test`, `optimise=False`", partial(ps.fssd_test, optimise=False), {300: 5, 1000: 14}
    ),
    "rfsd": Method("`rfsd_test`", ps.rfsd_test, {300: 3, 1000: 14}),
    "psd_l2": Method(
        "`psd_l2_test`, `order=2`", partial(ps.psd_l2_test, order=2), {300: 2, 1000: 5}
    ),
    "psd_l2_free": Method(
        "`psd_l2_test`, `order=3`, interaction-free",
        partial(ps.psd_l2_test, order=3, basis="interaction-free"),
        {300: 1, 1000: 3},
    ),
    "ksdagg_gauss": Method(
        "`ksdagg_test`, Gaussian, B1 = 500, B2 = 250",
        partial(ps.ksdagg_test, kernel="gaussian", n_bootstrap=500, n_correction=250),
        {300: 45, 1000: 330},
    ),
    "ksdagg_imq": Method("`ksdagg_test`, IMQ, B1 = 2000, B2 = 500", ps.ksdagg_test, {300: 90}),
    "ksdagg_imq_small": Method(
        "`ksdagg_test`, IMQ, B1 = 300, B2 = 150",
        partial(ps.ksdagg_test, n_bootstrap=300, n_correction=150),
        {300: 20},
    ),
}
CELLS = [
    Cell.of("rivals-size", replicates=REPLICATES, cost=cost, method=method, n=n, d=d)
    for method, (_, _, costs) in METHODS.items()
    for n, cost in costs.items()
    for d in DIMENSIONS
]


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['method']}, n={cell['n']}, d={cell['d']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one set of draws is rejected; seeded as in ``tests/statistical/test_rivals.py``."""
    cell = replicate.cell
    words = [int.from_bytes(b"gaussian"), cell["n"], cell["d"], replicate.index]
    for_draws, for_test = np.random.SeedSequence(words).spawn(2)
    draws = EXPERIMENT_1["gaussian"](np.random.default_rng(for_draws), cell["n"], cell["d"])
    return decision(METHODS[cell["method"]].test(draws, gaussian_score, rng=for_test))


def rates_of(cell: Cell, decisions: str) -> Row:
    """The rate, and the largest that a test of size 0.05 exceeds with a chance below 0.001."""
    replicates = len(decisions)
    highest = float(binom.ppf(1.0 - CHANCE, replicates, LEVEL)) / replicates
    return {**rejection_rate(cell, decisions), "highest": f"{highest:.4f}"}


STUDY = Study(Path(__file__).with_suffix(".csv"), CELLS, name, decide, rates=rates_of)


def markdown() -> list[str]:
    """The table of ``docs/rivals.md``, line by line."""
    rows = STUDY.stored()
    columns = [(n, d) for n in (300, 1000) for d in DIMENSIONS]
    lines = []
    for method, (label, _, _) in METHODS.items():
        found = (rows.get(f"{method}, n={n}, d={d}") for n, d in columns)
        rates = ["" if row is None else f"{float(row['rate']):.3f}" for row in found]
        lines.append([label, *rates])
    return markdown_table(["test", *(f"n = {n}, d = {d}" for n, d in columns)], lines)


if __name__ == "__main__":
    ended(lambda: run_table("rivals_size", __doc__, STUDY.run, markdown))
