"""The study of minibatches: the level holds, shared batches are named, and the table holds."""

import re
from itertools import islice
from pathlib import Path

import pytest
from scipy.stats import binomtest

from studies import minibatch
from studies._table import lines_by

PAGE = Path(__file__).parents[2] / "docs" / "mcmc.md"
TABLE = lines_by(minibatch.TABLE)
SAMPLINGS = ("independent rows", "chains of MALA")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_fresh_batches_hold_the_level(sampling: str) -> None:
    line = TABLE[f"{sampling}, fresh"]
    runs, rejected = int(line["runs"]), int(line["rejected"])
    assert runs == 500
    assert rejected <= 0.07 * runs
    assert binomtest(rejected, runs, minibatch.LEVEL, alternative="greater").pvalue > 0.01
    assert line["said to share"] == "0"


def test_shared_batches_are_named() -> None:
    shared = ("one batch", "a pool", "of an epoch")
    lines = [line for cell, line in TABLE.items() if any(one in cell for one in shared)]
    assert len(lines) == 7
    assert all(line["said to share"] == line["runs"] == "50" for line in lines)


def test_step_sizes_are_ranked_by_their_errors() -> None:
    assert float(TABLE["ranks of SGLD"]["spearman"]) >= 0.9


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text("utf-8")
    for line in TABLE.values():
        if not line["spearman"]:
            assert "| " + " | ".join(list(line.values())[:4]) + " |" in text
    assert f"the true errors is\n{TABLE['ranks of SGLD']['spearman']}" in text


def test_every_line_names_its_commit() -> None:
    assert all(re.fullmatch("[0-9a-f]{40}", line["commit"]) for line in TABLE.values())


@pytest.mark.slow
def test_a_part_comes_out_again() -> None:
    ways = [cell for cell in TABLE if cell.startswith("independent rows")]
    # The first 50 of 500 runs are all of the lines of 50.
    for line in islice(minibatch.rates(50), 1, len(ways)):
        stored = TABLE[line["cell"]]
        assert line == {column: stored[column] for column in line}


@pytest.mark.slow
def test_the_ranks_come_out_again() -> None:
    assert minibatch.ranks()["spearman"] == TABLE["ranks of SGLD"]["spearman"]
