"""The committed page is what its tables give."""

from pathlib import Path

import pytest

from polystein.experiments.engine.cells import Row
from polystein.experiments.engine.store import read_csv
from polystein.experiments.paper.experiment2 import table1
from polystein.experiments.paper.reproduce import PAGE, STUDIES, page

FOLDER = Path(__file__).parents[3] / "docs" / "reproduction"


@pytest.fixture(scope="module")
def made() -> str:
    return page(FOLDER)


def test_the_committed_page_is_made_from_the_committed_tables(made: str) -> None:
    assert made == (FOLDER / PAGE).read_text("utf-8")


def test_every_study_has_a_section_in_the_committed_page() -> None:
    assert all((FOLDER / f"{study}.json").exists() for study in STUDIES)


def test_every_figure_has_a_caption_and_describes_itself(made: str) -> None:
    lines = made.splitlines()
    shown = [at for at, line in enumerate(lines) if line.startswith("![")]
    assert len(shown) == 7
    for at in shown:
        alt, name = lines[at][2:-1].split("](")
        assert len(alt.split()) > 10
        assert (FOLDER / name).exists()
        assert lines[at + 2].startswith("*")


def test_replicates_that_differ_between_columns_are_listed() -> None:
    rows: list[Row] = [
        {
            "perturbation": perturbation, "method": "lambda_psd", "order": 4,
            "rejection_rate": 0.5, "replicates": replicates,
        }
        for perturbation, replicates in ((0.0, 100), (0.02, 100), (0.04, 50))
    ]  # fmt: skip
    line = next(
        one for one in table1(rows).splitlines() if one.startswith("| λ-PSD, as printed (Q=4)")
    )
    assert line.endswith("| 0.04 / 0.50 | 0.83 / 0.50 | 1.00 / 0.50 | 1.00 / – | 100, 100, 50, – |")


def test_the_page_has_table_1(made: str) -> None:
    _, table = table1(read_csv(FOLDER / "experiment2.csv")).split("\n\n")
    assert f"\n\n{table}\n\n" in made
