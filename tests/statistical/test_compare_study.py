"""The study of `compare`: ranks of step sizes agree with true errors, and the table holds."""

import re
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from studies import compare
from studies._table import lines_by

PAGE = Path(__file__).parents[2] / "docs" / "compare.md"
TABLE = lines_by(compare.TABLE)


@pytest.mark.parametrize("sampler", compare.SAMPLERS)
def test_ranks_agree_with_true_errors(sampler: str) -> None:
    lines = [line for cell, line in TABLE.items() if cell.startswith(f"{sampler} ")]
    assert len(lines) == len(compare.STEPS)
    errors, distances = ([float(line[key]) for line in lines] for key in ("error", "discrepancy"))
    found = spearmanr(errors, distances).statistic
    # Distances of 0 are ties, which the squares behind the stored correlation do not have.
    assert found >= 0.9
    assert float(lines[0]["spearman"]) >= 0.9
    assert f"{float(lines[0]['spearman']):.3f} for {sampler}" in PAGE.read_text("utf-8")


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text("utf-8")
    for line in TABLE.values():
        assert "| " + " | ".join(list(line.values())[:5]) + " |" in text


def test_every_line_names_its_commit() -> None:
    assert all(re.fullmatch("[0-9a-f]{40}", line["commit"]) for line in TABLE.values())


@pytest.mark.slow
def test_a_part_comes_out_again() -> None:
    lines, correlation = compare.study("ULA")
    again = [{**line, "spearman": f"{correlation:.3f}"} for line in lines]
    for line in again:
        stored = TABLE[line["cell"]]
        assert float(line["discrepancy"]) == pytest.approx(float(stored["discrepancy"]), abs=0.002)
        assert float(line["error"]) == pytest.approx(float(stored["error"]), abs=0.0002)
    assert correlation >= 0.9
