"""The study of many fits: corrections keep their word, and the table holds and is on the page."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from scipy.stats import binom

from studies._command import on_page

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "many.md"


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.many")


def test_every_cell_is_there_and_its_rates_are_those_of_its_marks(study: ModuleType) -> None:
    rows = study.STUDY.stored()
    assert list(rows) == [study.name(cell) for cell in study.CELLS]
    for cell, row in zip(study.CELLS, rows.values(), strict=True):
        assert int(row["replicates"]) == len(row["decisions"]) == study.SETS * study.FITS
        found = study.rates(cell, row["decisions"])
        assert {key: "" if one is None else str(one) for key, one in found.items()} == {
            key: row[key] for key in found
        }


@pytest.mark.parametrize("way", ["holm", "bh"])
def test_correct_fits_are_rejected_as_rarely_as_a_binomial_test_allows(
    study: ModuleType, way: str
) -> None:
    most = binom.ppf(0.99, study.SETS, study.LEVEL)
    for cell in study.CELLS:
        row = study.STUDY.stored()[study.name(cell)]
        # With wrong fits Benjamini and Hochberg bound the share of false rejections alone.
        if way == "holm" or not study.wrong_fits(cell):
            assert int(row[f"false_{way}"]) <= most
        right = study.FITS - len(study.wrong_fits(cell))
        assert float(row[f"fdp_{way}"]) <= study.LEVEL * right / study.FITS + 0.02


def test_benjamini_and_hochberg_reject_whatever_holm_does(study: ModuleType) -> None:
    for cell in filter(study.wrong_fits, study.CELLS):
        row = study.STUDY.stored()[study.name(cell)]
        holm, bh, alone = (int(row[f"all_found_{way}"]) for way in ("holm", "bh", "alone"))
        assert 0 < holm <= bh <= alone


def test_every_cell_begins_as_published(study: ModuleType) -> None:
    for cell in study.CELLS:
        row = study.STUDY.stored()[study.name(cell)]
        again = study.STUDY.marks_of(cell, range(5))
        assert again == row["decisions"][: 5 * study.FITS]


def test_the_page_shows_the_table(study: ModuleType) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert on_page(text, PAGE, {"many": study.markdown()}) == text
    short, long = (study.STUDY.stored()[study.name(cell)] for cell in study.CELLS[:2])
    words = " ".join(text.split())
    rejected = short["correct_fits_alone"], long["correct_fits_alone"]
    assert (
        "Without a correction {} of the 2,000 fits with 250 draws a chain and {} of those with 500"
    ).format(*rejected) in words
    assert f"{short['inconclusive']} and {long['inconclusive']} more are inconclusive" in words
