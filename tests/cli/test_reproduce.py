"""`polystein reproduce` from the command line to the page, on very small runs."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polystein.cli import reproduce
from polystein.cli.app import app
from polystein.experiments.engine import store


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(autouse=True)
def _one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "package_commit", lambda: "tested")


@pytest.mark.slow
@pytest.mark.processes
def test_experiment1_from_the_command_line(tmp_path: Path) -> None:
    arguments = ["--quick", "--replicates", "1", "--jobs", "2", "--seed", "1", "--debug"]
    done = CliRunner().invoke(app, ["reproduce", "experiment1", *arguments, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    summary = rows_of(tmp_path / "experiment1.csv")
    assert len(summary) == 4 * 3 * 20
    assert {row["replicates"] for row in summary} == {"1"}
    for name in ("figure1.png", "figure2.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "verdict.md").read_text("utf-8")
    for text in (
        "| λ-PSD, as printed | 60 |", "| All | 240 |",
        "- λ-PSD, published settings: at least 98 % not significantly different after Holm: ",
        "1 replicate, seed 1, quick grid", "commit tested;", "Known causes",
        "on 200 repetitions is the paper's statement", "| RFSD (published calibration) | 12 |",
        "| RFSD (wild bootstrap) | 12 |", "| 8 | 0.00 | 0.0208 | ",
    ):  # fmt: skip
        assert text in page
    assert "| λ-PSD, as printed | 60 |" in done.output
    assert f"Verdict: {tmp_path / 'verdict.md'}" in done.output


@pytest.mark.usefixtures("small_snr")
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


def test_a_directory_with_other_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "snr.csv").write_text("the data of a year")
    (tmp_path / ".hidden").write_text("")
    arguments = ["reproduce", "snr", "--replicates", "1", "--jobs", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert f"got {tmp_path}, which holds snr.csv" in done.output
    assert (tmp_path / "snr.csv").read_text() == "the data of a year"
    begun: list[str] = []
    monkeypatch.setattr(reproduce, "reproduce", lambda name, _: begun.append(name))
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
    # A run that was stopped goes on without it.
    (tmp_path / "work" / "snr").mkdir(parents=True)
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert begun == ["snr", "snr"]
