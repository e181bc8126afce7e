"""The study of false alarms of `assert_draws_from`: its table holds and begins as published."""

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
    return importlib.import_module("studies.gates")


def test_false_alarms_are_what_a_binomial_test_allows(study: ModuleType) -> None:
    rows = study.STUDY.stored()
    assert list(rows) == [study.name(cell) for cell in study.CELLS]
    for name, row in rows.items():
        cell = study.STUDY.cell(name)
        assert int(row["replicates"]) == len(row["decisions"]) == study.RUNS
        assert int(row["rejections"]) == row["decisions"].count("x")
        assert int(row["rejections"]) <= binom.ppf(0.99, study.RUNS, cell["rate"])


def test_correct_samplers_take_at_most_three_times_the_draws_of_a_fixed_test(
    study: ModuleType,
) -> None:
    for row in study.STUDY.stored().values():
        assert float(row["draws"]) <= 3.0


def test_every_cell_begins_as_published(study: ModuleType) -> None:
    for name, row in study.STUDY.stored().items():
        assert study.STUDY.marks_of(study.STUDY.cell(name), range(250)) == row["decisions"][:250]


def test_the_page_shows_the_table(study: ModuleType) -> None:
    assert "\n".join(study.markdown()) in PAGE.read_text(encoding="utf-8")
