"""The page of verdicts and the files beside it, on very small runs."""

import csv
from contextlib import nullcontext
from pathlib import Path

import pytest

from polystein.experiments.engine.cells import Cell, Row
from polystein.experiments.paper import (
    experiment2,
    reproduce,
)
from polystein.experiments.paper.reproduce import Options


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.processes
def test_snr_and_appendix_share_a_page(tmp_path: Path) -> None:
    options = Options(tmp_path, 0, lambda _: nullcontext(), jobs=2, replicates=2)
    first = reproduce.reproduce("snr", options)
    second = reproduce.reproduce("appendix", options)
    page = (tmp_path / "verdict.md").read_text("utf-8")
    assert first in page
    assert second in page
    assert page.index(second) < page.index(first)
    assert {path.name for path in tmp_path.iterdir()} == {
        "appendix.csv", "appendix.json", "appendix.png", "snr.csv", "snr.json",
        "snr.png", "verdict.md", "work",
    }  # fmt: skip
    assert len(rows_of(tmp_path / "appendix.csv")) == 4 * 9 * 2


def test_experiment2_shows_table_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce.Options, "run", _pretend)
    monkeypatch.setattr(reproduce, "_how", lambda *_: "as pretended")
    section = reproduce.experiment2(Options(tmp_path, 0, lambda _: nullcontext()))
    for name in ("RFSD (published calibration)", "RFSD (wild bootstrap)"):
        assert f"| {name} | 0.01 / 0.50 | 0.28 / 0.50 | 0.91 / 0.50 | 0.99 / 0.50 |" in section
    assert "| 50 | 0.01 | 0.0050 | 0.500 (100 of 200) | 0.0500 | 0.500 (100 of 200) |" in section
    assert "| λ-PSD (Q=4) | 0.04 / 0.50 | 0.83 / 0.50 | 1.00 / 0.50 | 1.00 / 0.50 |" in section
    assert "| PSD | 20 |" in section
    assert len(rows_of(tmp_path / "experiment2-verdict.csv")) == 56


def _pretend(
    options: Options, cells: list[Cell], task: object, jobs: int | None = None
) -> list[Row]:
    """Every method rejects every other replicate."""
    return [
        {
            **dict(cell.settings),
            "replicate": index,
            "method": method.name,
            "order": method.order,
            "rejected": index % 2,
            "z": None if method.order is None else 1.0 + index % 2,
        }
        for cell in cells
        for index in range(cell.replicates)
        for method in experiment2.METHODS
    ]
