"""`polystein reproduce` from the command line to the page, on very small runs."""

import csv
from contextlib import nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polystein.cli.app import app
from polystein.experiments.engine import store
from polystein.experiments.engine.cells import Cell, Row
from polystein.experiments.engine.runner import StudyError, TaskError
from polystein.experiments.paper import experiment2, figures, reproduce
from polystein.experiments.paper.methods import ALL_METHODS
from polystein.experiments.paper.reproduce import Options


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_experiment1_from_the_command_line(tmp_path: Path) -> None:
    arguments = ["--quick", "--replicates", "1", "--jobs", "2", "--seed", "1", "--debug"]
    done = CliRunner().invoke(app, ["reproduce", "experiment1", *arguments, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    summary = rows_of(tmp_path / "experiment1.csv")
    assert len(summary) == 4 * 3 * 15
    assert {row["replicates"] for row in summary} == {"1"}
    for name in ("figure1.png", "figure2.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "verdict.md").read_text("utf-8")
    for text in (
        "| λ-PSD | 60 |", "| All | 180 |", "- λ-PSD: at least 98 % agree after Holm: ",
        "1 replicate, seed 1, quick grid", "commit tested;", "Known causes",
        "on 200 repetitions is the paper's word", "| RFSD (published calibration) | 12 |",
        "| RFSD (wild bootstrap) | 12 |", "| 8 | 0.00 | 0.0208 | ",
    ):  # fmt: skip
        assert text in page
    assert "| λ-PSD | 60 |" in done.output
    assert f"Verdict: {tmp_path / 'verdict.md'}" in done.output


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


def test_the_page_says_what_other_code_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["reproduce", "snr", "--replicates", "1", "--jobs", "1", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "Warning" not in (tmp_path / "verdict.md").read_text("utf-8")
    monkeypatch.setattr(store, "package_commit", lambda: "new")
    second = CliRunner().invoke(app, arguments)
    assert second.exit_code == 0, second.output
    words = "1 cell comes from commit tested, this is new; remove "
    folder = tmp_path / "work" / "snr"
    warned = [line for line in second.output.splitlines() if "polystein: warning" in line]
    assert warned == [f"polystein: warning: {words}{folder} to rerun"]
    page = (tmp_path / "verdict.md").read_text("utf-8")
    assert f"**Warning:** {words}`work/snr` beside this page to rerun." in page


@pytest.mark.parametrize(
    ("error", "said", "unsaid"),
    [
        (StudyError("a worker process ended"), "polystein: error: a worker", "report it"),
        (
            TaskError("1 cells failed"),
            "internal error: TaskError: 1 cells failed",
            "polystein: err",
        ),
    ],
)
def test_want_of_memory_is_no_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str, unsaid: str
) -> None:
    def fails(*_: object, **__: object) -> list[Row]:
        raise error

    monkeypatch.setattr(reproduce, "run", fails)
    done = CliRunner().invoke(app, ["reproduce", "snr", "--out", str(tmp_path)])
    assert done.exit_code == 3
    assert said in done.output
    assert unsaid not in done.output


def test_figure_1_says_where_order_0_is() -> None:
    summary: list[Row] = [
        {
            "sampler": sampler, "d": 2, "method": method.name, "order": method.order,
            "rejection_rate": 0.5, "rejection_se": 0.1,
        }
        for sampler in figures.SAMPLERS
        for method in ALL_METHODS
    ]  # fmt: skip
    (legend,) = figures.figure1(summary).legends
    assert "λ-PSD (Q=0), which is PSD (Q=0), is in figure 2" in legend.get_title().get_text()
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {one.label for one in ALL_METHODS if one.name != "psd" and one.order != 0}


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


def test_runtime_figures(tmp_path: Path) -> None:
    summary: list[Row] = [
        {
            "sweep": sweep, "n": 100 * k, "d": 16 * k, "order": order, "weights": rule,
            "median_seconds": 0.01 * k, "published_median_seconds": 0.1 * k,
        }
        for sweep in ("vary_n", "vary_d")
        for k in (1, 2)
        for order in (0, 1)
        for rule in ("CrossEntropy", "ClosedForm")
    ]  # fmt: skip
    for sweep, label in (("vary_n", "n"), ("vary_d", "d")):
        figure = figures.runtime_figure(summary, sweep)
        assert [axes.get_xlabel() for axes in figure.axes] == [label] * 3
        assert all(len(axes.lines) == 2 for axes in figure.axes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["snr", "--replicates", "0"], "`--replicates` must be a positive integer; got 0"),
        (["snr", "--jobs", "0"], "`jobs` must be a positive integer; got 0"),
        (["snr", "--seed", "-1"], "`seed` must be a non-negative integer; got -1"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "new")])
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_way_of_the_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, ["reproduce", "snr", "--out", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert "`--out` must be" in done.output
