"""Faults of the size that a pass tells are found, and smaller ones are not told as found."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest

pytestmark = pytest.mark.slow

REPLICATES = 24


def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.check.noticed")


@pytest.mark.parametrize("label", ["N(0, I)", "AR(.9) chains of N(0, I)"])
def test_faults_are_found_at_the_size_told_and_rarely_below(label: str) -> None:
    noticed = study()
    marks = noticed.STUDY.marks_of(noticed.STUDY.cell(label), range(REPLICATES))
    rates = {
        name: float(rate) for name, rate in noticed.rates(noticed.STUDY.cell(label), marks).items()
    }
    whole = np.mean([rate for name, rate in rates.items() if name.endswith("whole")])
    part = np.mean([rate for name, rate in rates.items() if name.endswith("two_thirds")])
    count = 3 * REPLICATES
    assert binomtest(round(whole * count), count, 0.7, alternative="less").pvalue > 0.01, rates
    assert binomtest(round(part * count), count, 0.6, alternative="greater").pvalue > 0.01, rates
    assert whole > part + 0.2


def test_published_rates_hold() -> None:
    noticed = study()
    assert Path(noticed.__file__).exists()
    for label, row in noticed.STUDY.stored().items():
        assert len(row["decisions"]) == int(row["replicates"]) == 200
        rates = noticed.rates(noticed.STUDY.cell(label), row["decisions"])
        for name, rate in rates.items():
            assert row[name] == rate
            found, wanted = round(200 * float(rate)), 0.7 if name.endswith("whole") else 0.6
            side = "less" if name.endswith("whole") else "greater"
            assert binomtest(found, 200, wanted, alternative=side).pvalue > 0.01, (label, name)
