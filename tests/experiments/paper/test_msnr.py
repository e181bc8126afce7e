"""The published MSNR, compared in numbers."""

import math

import pytest
from scipy.stats import norm

from polystein.experiments.engine.cells import Row
from polystein.experiments.paper import msnr, published


def rows(shift: float, error: float = 0.1) -> list[Row]:
    """A run whose means are the published ones plus `shift`."""
    return [
        {
            "sampler": cell.sampler, "n": cell.n, "d": cell.dimension, "method": cell.method,
            "order": cell.order, "replicates": 200,
            "mean_log10_z2": None if cell.mean_log10_z2 is None else cell.mean_log10_z2 + shift,
            "mean_log10_z2_se": None if cell.mean_log10_z2 is None else error,
        }
        for cell in published.experiment1()
    ]  # fmt: skip


def test_the_standard_error_covers_both_sides() -> None:
    found = msnr.compare_msnr(rows(0.3))
    assert len(found) == 280
    # 200 replicates have the standard error 0.1, so the published 100 have 0.1 times root 2.
    expected = 2.0 * norm.sf(0.3 / math.hypot(0.1, 0.1 * math.sqrt(2.0)))
    assert all(one.pvalue == pytest.approx(expected, rel=1e-9) for one in found)


def test_the_section_counts_and_lists_what_differs() -> None:
    text = msnr.msnr_section(rows(-0.02))
    assert "| PSD | 140 | 140 (100.0%) | 0 (0.0%) | -0.020 | 0.020 |" in text
    assert "belongs to the axis of the text" in text
    assert "differs significantly" not in text
    text = msnr.msnr_section(rows(1.0))
    assert "| PSD | 140 | 0 (0.0%) | 140 (100.0%) | +1.000 | 1.000 |" in text
    assert "- gaussian, d=2, PSD (Q=0): published " in text


def test_one_replicate_has_no_standard_error_and_is_left_out() -> None:
    lone = [{**row, "mean_log10_z2_se": None} for row in rows(0.0)]
    assert msnr.compare_msnr(lone) == []
