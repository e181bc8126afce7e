"""No output overwrites an input, and another file only with --force."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import polystein
from tests.cli.files import Run, save_csv, save_parquet

MODULE = "def score(x):\n    return -x\n"


@pytest.fixture(autouse=True)
def files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, good: np.ndarray
) -> dict[Path, bytes | str]:
    """Inputs, links to them and other files, in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "my_target", raising=False)
    np.savez("ok.npz", draws=good, scores=-good)
    np.save("draws.npy", good)
    np.save("scores.npy", -good)
    Path("my_target.py").write_text(MODULE)
    Path("folder").mkdir()
    save_parquet(Path("folder/part.parquet"), good)
    save_csv(Path("chain_1.csv"), good)
    Path("soft.html").symlink_to("ok.npz")
    os.link("ok.npz", "hard.html")
    Path("notes.html").write_text("the notes of a year")
    return contents()


def contents() -> dict[Path, bytes | str]:
    """What every file holds, and where every link leads."""
    return {
        path: os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in Path().rglob("*")
        if (path.is_file() or path.is_symlink()) and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("command", ["check", "test"])
@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    "page", ["ok.npz", "./folder/../ok.npz", "soft.html", "hard.html", "absolute"]
)
def test_an_input_is_never_replaced(
    run: Run, files: dict[Path, bytes | str], command: str, force: list[str], page: str
) -> None:
    page = str(Path("ok.npz").absolute()) if page == "absolute" else page
    done = run(command, "ok.npz", "--html", page, *force)
    assert (done.code, done.out) == (2, "")
    assert f"`--html` must not be an input, which is never replaced; got {Path(page)}" in done.err
    assert contents() == files


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        ("check draws.npy scores.npy", "scores.npy"),
        ("check draws.npy --scores-from scores.npy", "scores.npy"),
        ("check draws.npy --target my_target:score", "my_target.py"),
        ("check draws.npy --target my_target.py:score", "my_target.py"),
        ("check folder --target my_target:score", "folder/part.parquet"),
        ("check --cmdstan chain_?.csv", "chain_1.csv"),
    ],
)
def test_whatever_is_read_is_an_input(
    run: Run, files: dict[Path, bytes | str], arguments: str, page: str
) -> None:
    done = run(*arguments.split(), "--html", page, "--force")
    assert done.code == 2
    assert "`--html` must not be an input" in done.err
    assert contents() == files


def test_other_files_are_replaced_only_if_told_to(
    run: Run, files: dict[Path, bytes | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = polystein.GofResult(0.0, 1.0, "greater", "check", dimension=3)
    monkeypatch.setattr(polystein, "check", lambda *_, **__: result)
    done = run("check", "ok.npz", "--html", "notes.html")
    assert (done.code, done.out) == (2, "")
    assert "`--html` must be a new file or one that polystein wrote; got notes.html" in done.err
    assert "--force" in done.err
    assert contents() == files
    assert run("check", "ok.npz", "--html", "notes.html", "--force").code == 0
    # Now it is a page of ours, and so is one within a folder that is read.
    for page in ("notes.html", "folder/page.html", "folder/page.html"):
        arguments = (
            ["ok.npz"] if page == "notes.html" else ["folder", "--target", "my_target:score"]
        )
        assert run("check", *arguments, "--html", page).code == 0
        assert Path(page).read_text("utf-8").startswith("<!doctype html>")


def test_a_link_given_as_output_stays_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    result = polystein.GofResult(0.0, 1.0, "greater", "check", dimension=3)
    monkeypatch.setattr(polystein, "check", lambda *_, **__: result)
    Path("latest.html").symlink_to("folder/page.html")
    assert run("check", "ok.npz", "--html", "latest.html").code == 0
    assert run("check", "ok.npz", "--html", "latest.html").code == 0
    assert os.readlink("latest.html") == "folder/page.html"
    assert Path("folder/page.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("out", ["notes.png", "folder"])
def test_the_plot_of_the_demo_replaces_plots_only(run: Run, out: str) -> None:
    plot = Path(out) if out == "notes.png" else Path(out) / "polystein-demo.png"
    plot.parent.mkdir(exist_ok=True)
    plot.write_text("the notes of a year")
    done = run("demo", "--draws", "200", "--out", out)
    assert (done.code, done.out) == (2, "")
    assert f"`--out` must be a new file or one that polystein wrote; got {plot}" in done.err
    assert plot.read_text() == "the notes of a year"
    if out == "notes.png":
        assert run("demo", "--draws", "200", "--out", out, "--force").code == 0
        assert run("demo", "--draws", "200", "--out", out).code == 0


def test_nothing_is_printed_into_an_input(
    run: Run, files: dict[Path, bytes | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("ok.npz").open("a") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        done = run("check", "ok.npz", "--json")
    assert (done.code, done.err) == (
        2,
        "polystein: error: standard output must not be an input; got ok.npz\n",
    )
    assert contents() == files
