"""Sizes of lambda-PSD and RFSD: what is run, what is shown, and what is committed."""

from pathlib import Path

import polystein
from polystein.experiments.engine.cells import Replicate, number
from polystein.experiments.engine.store import read_csv
from polystein.experiments.paper import sizes
from polystein.experiments.paper.samplers import gaussian

FOLDER = Path(__file__).parents[3] / "docs" / "reproduction"


def test_a_task_is_the_public_function_on_exact_draws() -> None:
    (cell,) = sizes.cells(1)
    replicate = Replicate(cell, 0, seed=0)
    draws = gaussian(replicate.generator("draws"), 1000, 16)
    for row in sizes.task(replicate):
        result = polystein.lambda_psd_test(
            draws, -draws, order=row["order"], rng=replicate.stream("split")
        )
        assert row["z"] == result.statistic


def test_committed_sizes_hold_the_level() -> None:
    rows = read_csv(FOLDER / "sizes.csv")
    assert [row["order"] for row in rows] == [2, 4, 6, 8]
    for row in rows:
        assert row["replicates"] == 2000
        assert number(row, "rejection_rate") <= 0.075


def test_the_table_has_exact_intervals() -> None:
    text = sizes.sizes_lambda_psd([{"order": 2, "rejections": 0, "replicates": 20}])
    # With no rejection of n the upper end is 1 - 0.025^(1/n).
    assert f"{1.0 - 0.025 ** (1.0 / 20.0):.3f}" == "0.168"
    assert "| 2 | 0 of 20 | 0.0000 | 0.000 to 0.168 |" in text
