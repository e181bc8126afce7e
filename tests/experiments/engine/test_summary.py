"""Rejection rates and mean signal-to-noise ratios."""

import math

import numpy as np
import pytest

from polystein.experiments.engine.cells import Row
from polystein.experiments.engine.summary import PUBLISHED_LINE, TEXT_LINE, summarise
from polystein.experiments.paper import published


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
