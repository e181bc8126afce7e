"""Does `check_many` keep its word on sets of ten fits? ``python -m studies.many``.

Every replicate is a set of ten fits with 4 chains each in three dimensions. The posteriors are of
five laws, each twice, under linear maps that are drawn anew for every fit. Chains are stationary
AR(1) chains of coefficient 0.6, whose normal quantiles are those of the law, so that correct fits
are exactly right. Three fits of a set may be wrong: their chains have distances from the mean that
are 5 % too large, and so their sds are.

A mark stands for a fit: "x" if it is rejected under Holm's correction, "b" if it is under that of
Benjamini and Hochberg alone, "u" if only its own p-value is at most the level, "?" if it is
inconclusive, and "." else. Whatever Holm's correction rejects, the other one does, too.

Runs the cells that ``studies/many.csv`` does not hold yet. ``--markdown`` prints the table of
``docs/many.md``; ``--only TEXT`` runs the cells whose name holds TEXT.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaincinv, log_ndtr, ndtr, stdtrit

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.results.many import CheckRow
from studies._command import ended, run_table
from studies._table import LEVEL, Study
from tests.statistical.samplers import autoregressive

Array = NDArray[np.float64]
SETS, FITS, CHAINS, DIMENSION, MEMORY = 200, 10, 4, 3, 0.6
#: The fits of a set that may be wrong; they have three different laws.
WRONG = (0, 4, 8)
#: Standard deviation of the entries that mix coordinates: correlations are moderate.
MIXING = 0.3
#: Marks of fits that are rejected with each correction, or by themselves.
REJECTED = {"alone": "xbu", "holm": "x", "bh": "xb"}


class Law(NamedTuple):
    """A law of one coordinate: its quantiles, as a function of normal ones, its score and mean."""

    quantile: Callable[[Array], Array]
    score: Callable[[Array], Array]
    mean: float = 0.0


LAWS = (
    # Normal, logistic, Student t with 10 degrees of freedom.
    Law(lambda z: z, lambda u: -u),
    Law(lambda z: log_ndtr(z) - log_ndtr(-z), lambda u: -np.tanh(u / 2.0)),
    Law(lambda z: stdtrit(10.0, ndtr(z)), lambda u: -11.0 * u / (10.0 + u**2)),
    # The logarithms of gamma variables with shapes 2 and 1.
    Law(lambda z: np.log(gammaincinv(2.0, ndtr(z))), lambda u: 2.0 - np.exp(u), digamma(2.0)),
    Law(lambda z: np.log(-log_ndtr(-z)), lambda u: 1.0 - np.exp(u), digamma(1.0)),
)


def cell(draws: int, spread: float = 1.0) -> Cell:
    """One cell: the length of the chains, and by what wrong fits multiply distances."""
    return Cell.of("many", replicates=SETS, cost=400.0, draws=draws, spread=spread)


CELLS = [cell(250), cell(500), cell(500, 1.05)]


def wrong_fits(one: Cell) -> tuple[int, ...]:
    """The fits of each set that are wrong."""
    return () if one["spread"] == 1.0 else WRONG


def name(one: Cell) -> str:
    """The cell in the table."""
    kind = f"all {FITS} correct"
    if wrong := wrong_fits(one):
        kind = f"{len(wrong)} of {FITS} with sds {100.0 * (one['spread'] - 1.0):.0f} % too large"
    return f"{kind}; {CHAINS} x {one['draws']}"


def fit(law: Law, rng: np.random.Generator, draws: int, spread: float) -> ps.Sample:
    """Chains on a posterior whose coordinates are mixed and scaled at random."""
    mixed = np.eye(DIMENSION) + MIXING * rng.standard_normal((DIMENSION, DIMENSION))
    scales = np.exp(rng.standard_normal(DIMENSION))[:, None]
    factor = scales * mixed
    right = law.quantile(autoregressive(rng, CHAINS, draws, DIMENSION, MEMORY))
    u = law.mean + spread * (right - law.mean)
    return ps.Sample(u @ factor.T, law.score(u) @ np.linalg.inv(factor))


def decide(replicate: Replicate) -> Sequence[Row]:
    """A mark for each fit of a set."""
    one, rng = replicate.cell, replicate.generator("draws")
    fits = {
        str(k): fit(LAWS[k % len(LAWS)], rng, one["draws"], one["spread"] if k in WRONG else 1.0)
        for k in range(FITS)
    }
    holm = ps.check_many(fits, alpha=LEVEL)
    other = replace(holm, adjust="benjamini-hochberg")
    return [{"mark": _mark(*rows)} for rows in zip(holm, other, strict=True)]


def _mark(holm: CheckRow, other: CheckRow) -> str:
    if holm.pvalue is None:
        raise ValueError(f"a fit could not be checked: {holm.error}")
    if "rejected" in (holm.verdict, other.verdict):
        return "x" if holm.verdict == "rejected" else "b"
    if holm.pvalue <= LEVEL:
        return "u"
    return "?" if holm.verdict == "inconclusive" else "."


def mark(rows: Sequence[Row]) -> str:
    """The marks of all fits, set by set."""
    return "".join(str(row["mark"]) for row in rows)


def sets(one: Cell, decisions: str) -> Iterator[tuple[str, str]]:
    """The marks of each set's correct fits, and those of its wrong ones."""
    wrong = wrong_fits(one)
    for start in range(0, len(decisions), FITS):
        marks = decisions[start : start + FITS]
        right = "".join(marks[k] for k in range(FITS) if k not in wrong)
        yield right, "".join(marks[k] for k in wrong)


def rates(one: Cell, decisions: str) -> Row:
    """Sets with a correct fit rejected, wrong fits found, sets with all found, false discoveries.

    The false discovery proportion is the share of correct fits among those that are rejected, 0 if
    there are none; its mean over the sets is stored.
    """
    every = list(sets(one, decisions))
    row: Row = {
        "sets": len(every),
        "inconclusive": decisions.count("?"),
        "correct_fits_alone": sum(_count(right, "alone") for right, _ in every),
    }
    for way in REJECTED:
        row[f"false_{way}"] = sum(_count(right, way) > 0 for right, _ in every)
    for way in REJECTED:
        fits = sum(_count(wrong, way) for _, wrong in every)
        row[f"found_{way}"] = fits if wrong_fits(one) else None
    for way in REJECTED:
        found = sum(_count(wrong, way) == len(wrong) for _, wrong in every)
        row[f"all_found_{way}"] = found if wrong_fits(one) else None
    for way in REJECTED:
        shares = [_count(right, way) / max(1, _count(right + wrong, way)) for right, wrong in every]
        row[f"fdp_{way}"] = f"{np.mean(shares):.4f}"
    return row


def _count(marks: str, way: str) -> int:
    return sum(one in REJECTED[way] for one in marks)


STUDY = Study(Path(__file__).with_suffix(".csv"), CELLS, name, decide, mark=mark, rates=rates)


def markdown() -> list[str]:
    """The table of ``docs/many.md``, line by line."""
    ways = {"alone": "none", "holm": "Holm", "bh": "Benjamini-Hochberg"}
    rows = []
    for label, row in STUDY.stored().items():
        wrong = int(row["sets"]) * len(wrong_fits(STUDY.cell(label)))
        for way, title in ways.items():
            cells = [label, title, f"{row[f'false_{way}']} of {row['sets']}", "", ""]
            if wrong:
                cells[3] = f"{row[f'found_{way}']} of {wrong}"
                cells[4] = f"{row[f'all_found_{way}']} of {row['sets']}"
            rows.append([*cells, f"{float(row[f'fdp_{way}']):.3f}"])
    heads = ["fits; chains x draws", "correction", "sets with a correct fit rejected"]
    more = ["wrong fits rejected", "sets with all of them rejected", "false discovery proportion"]
    return markdown_table([*heads, *more], rows)


if __name__ == "__main__":
    ended(lambda: run_table("many", __doc__, STUDY.run, markdown))
