"""The committed reproduction of the paper: its first replicates are run again and decide alike."""

import csv
import warnings
from pathlib import Path

import pytest

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import decisions
from polystein.experiments.paper import experiment1, experiment2, sizes

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"
SEED = 0
STUDIES = {"experiment1": experiment1, "experiment2": experiment2, "sizes": sizes}
CELLS = [
    pytest.param(study, cell, id=cell.key)
    for study, module in STUDIES.items()
    for cell in module.cells(module.REPLICATES)
]
# A twentieth.
AGAIN = 10
# Of lambda-PSD on the Boltzmann machine, by the standard deviation of the noise: a set of draws
# takes seconds. All others have all of their replicates.
FEWER = {0.0: 100, 0.02: 100, 0.04: 40, 0.06: 40}


def stored(study: str) -> dict[tuple[str, ...], str]:
    """Decisions of the committed run, by settings and method."""
    with (FOLDER / f"{study}-decisions.csv").open(newline="", encoding="utf-8") as file:
        return {
            tuple(row[name] for name in STUDIES[study].BY): row["decisions"]
            for row in csv.DictReader(file)
        }


def again(study: str, cell: Cell) -> dict[tuple[str, ...], str]:
    """Decisions of the first replicates, made here."""
    by, rows = STUDIES[study].BY, list[Row]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        for index in range(AGAIN):
            made = STUDIES[study].task(Replicate(cell, index, SEED))
            rows += [{**dict(cell.settings), **row} for row in made]
    return {
        tuple("" if row[name] is None else str(row[name]) for name in by): str(row["decisions"])
        for row in decisions(rows, by)
    }


@pytest.mark.parametrize(("study", "cell"), CELLS)
def test_the_first_replicates_decide_as_committed(study: str, cell: Cell) -> None:
    committed = stored(study)
    made = again(study, cell)
    assert made
    for key, found in made.items():
        few = study == "experiment2" and key[-2].startswith("lambda_psd")
        replicates = FEWER[cell["perturbation"]] if few else cell.replicates
        assert len(committed[key]) == replicates, key
        assert found == committed[key][:AGAIN], key


@pytest.mark.parametrize("study", STUDIES)
def test_decisions_make_up_the_committed_rates(study: str) -> None:
    committed, by = stored(study), STUDIES[study].BY
    with (FOLDER / f"{study}.csv").open(newline="", encoding="utf-8") as file:
        rates = {tuple(row[name] for name in by): row["rejections"] for row in csv.DictReader(file)}
    assert {key: str(found.count("x")) for key, found in committed.items()} == rates


@pytest.mark.parametrize(
    ("study", "least", "cells"), [("experiment1", 27, 28), ("experiment2", 4, 4)]
)
def test_rfsd_as_published_has_the_published_rates(study: str, least: int, cells: int) -> None:
    """In the committed tables, after Holm's correction."""
    with (FOLDER / f"{study}-verdict.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "rfsd_published"]
    assert len(rows) == cells
    assert sum(float(row["holm_pvalue"]) > 0.05 for row in rows) >= least
