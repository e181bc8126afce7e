"""The study of false alarms of `assert_invariant`: its table holds and begins as published."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from scipy.stats import binom

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "gates.md"


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.invariant")


def test_false_alarms_are_what_a_binomial_test_allows(study: ModuleType) -> None:
    rows = study.STUDY.stored()
    assert list(rows) == [study.name(cell) for cell in study.CELLS]
    for name, row in rows.items():
        runs = study.STUDY.cell(name).replicates
        assert int(row["replicates"]) == len(row["decisions"]) == runs
        strict = row["decisions"].count("x")
        assert int(row["failed_0.01"]) == strict
        assert int(row["failed_0.05"]) == strict + row["decisions"].count("o")
        assert row["refused"] == "0"
        for rate in study.RATES:
            assert int(row[f"failed_{rate:g}"]) <= binom.ppf(0.99, runs, rate)


def test_every_cell_begins_as_published(study: ModuleType) -> None:
    for name, row in study.STUDY.stored().items():
        assert row["decisions"].startswith(study.STUDY.marks_of(study.STUDY.cell(name), range(20)))


def test_the_page_shows_the_table(study: ModuleType) -> None:
    assert "\n".join(study.markdown()) in PAGE.read_text(encoding="utf-8")
