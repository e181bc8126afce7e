"""The page of verdicts and the files beside it, on very small runs."""

import csv
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, partialmethod
from pathlib import Path

import pytest

from polystein.errors import InputError
from polystein.experiments.engine.cells import Cell, Row
from polystein.experiments.engine.store import METADATA, write_json
from polystein.experiments.paper import figures, methods, reproduce
from polystein.experiments.paper.reproduction import Options


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.filterwarnings("ignore::polystein.errors.HeavyTailWarning")
@pytest.mark.usefixtures("small_snr")
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
    assert len(rows_of(tmp_path / "appendix.csv")) == 4 * 9 * 3


def test_experiment2_shows_table_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Options, "run", _pretend)
    section = reproduce.reproduce("experiment2", Options(tmp_path, 0, lambda _: nullcontext()))
    assert "200 replicates, seed 0, commit pretended; 0.0 minutes" in section
    for name in ("RFSD (published calibration)", "RFSD (wild bootstrap)"):
        assert (
            f"| {name} | 0.01 / 0.50 | 0.28 / 0.50 | 0.91 / 0.50 | 0.99 / 0.50 | 200 |" in section
        )
    assert "| 50 | 0.01 | 0.0050 | 0.500 (100 of 200) | 0.0500 | 0.500 (100 of 200) |" in section
    assert (
        "| λ-PSD, as printed (Q=4) | 0.04 / 0.50 | 0.83 / 0.50 | 1.00 / 0.50 | 1.00 / 0.50 | 200 |"
        in section
    )
    assert "| PSD | 20 | 200 |" in section
    assert len(rows_of(tmp_path / "experiment2-verdict.csv")) == 72


def test_chosen_methods_replace_their_rows_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "run", _pretend)
    names = ("experiment2.csv", "experiment2-decisions.csv", "experiment2-verdict.csv")
    reproduce.reproduce("experiment2", Options(tmp_path, 0, lambda _: nullcontext()))
    before = {name: rows_of(tmp_path / name) for name in names}
    monkeypatch.setattr(Options, "run", partialmethod(_pretend, commit="later", odd=0))
    chosen = Options(
        tmp_path, 0, lambda _: nullcontext(), replicates=100, methods=("lambda_psd",)
    )  # fmt: skip
    section = reproduce.reproduce("experiment2", chosen)
    for name in names:
        after = rows_of(tmp_path / name)
        assert [row["method"] for row in after] == [row["method"] for row in before[name]]
        for new, old in zip(after, before[name], strict=True):
            assert (new == old) == (new["method"] != "lambda_psd")
    assert "100 and 200 replicates (column `replicates` of `experiment2.csv`), seed 0" in section
    assert "commit pretended, and for λ-PSD, as printed commit later; " in section
    assert "| λ-PSD, as printed | 16 | 100 |" in section
    section = reproduce.reproduce("experiment2", replace(chosen, replicates=200))
    assert "\n200 replicates, seed 0" in section


def test_the_quick_grid_has_all_replicates_of_the_z_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "run", _pretend)
    monkeypatch.setattr(figures, "figure1", lambda _: None)
    monkeypatch.setattr(figures, "figure2", lambda _: None)
    monkeypatch.setattr(Options, "draw", lambda *_: None)
    options = Options(tmp_path, 0, lambda _: nullcontext(), quick=True)
    section = reproduce.reproduce("experiment1", options)
    counts = {(row["method"], row["replicates"]) for row in rows_of(tmp_path / "experiment1.csv")}
    assert counts == {
        (one.name, "20" if one.order is None else "200") for one in methods.ALL_METHODS
    }
    assert "20 and 200 replicates" in section


@pytest.mark.parametrize(
    ("study", "chosen", "message"),
    [
        ("experiment1", ("psd", "ksd"), "`methods` must be among psd, lambda_psd, .*; got 'ksd'"),
        ("snr", ("psd",), "`methods` must be empty for snr; got psd"),
    ],
)
def test_methods_that_cannot_be_chosen_are_refused(
    tmp_path: Path, study: str, chosen: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        reproduce.reproduce(
            study, Options(tmp_path, 0, lambda _: nullcontext(), methods=chosen)
        )  # fmt: skip


def _pretend(
    options: Options,
    cells: list[Cell],
    task: partial[object],
    jobs: int | None = None,
    part: str = "",
    commit: str = "pretended",
    odd: int = 1,
) -> list[Row]:
    """Every method rejects every other replicate, or none."""
    study = cells[0].study
    write_json(
        options.folder(study, part) / METADATA,
        {
            "seed": 0, "replicates": [cells[0].replicates], "commits": [commit],
            "of_other_code": None, "processor_seconds": 0.0,
        },
    )  # fmt: skip
    return [
        {
            **dict(cell.settings),
            "replicate": index,
            "method": method.name,
            "order": method.order,
            "rejected": odd * (index % 2),
            "z": None if method.order is None else 1.0 + index % 2,
        }
        for cell in cells
        for index in range(cell.replicates)
        for method in task.keywords["methods"]
    ]
