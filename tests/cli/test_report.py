"""The command ``polystein report``: a page of draws, or of a stored result."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import polystein as ps
from polystein._lib.files import digest_of
from polystein.cli.origin import origin_of
from tests.cli.files import Outcome, Run


def save(name: str, draws: np.ndarray) -> str:
    np.savez(name, draws=draws, scores=-draws)
    return name


def seen(name: str) -> str:
    return Path(name).read_text("utf-8")


def test_draws_are_checked_and_the_page_names_the_file(run: Run, bad: np.ndarray) -> None:
    done = run("report", save("run.npz", bad), "--iid", "--tolerance", "0.1")
    assert done.code == 5
    assert done.out.startswith("Rejected at the level 0.05, p < 0.0001")
    assert "\nTolerance: beyond 0.1: " in done.out
    assert done.out.endswith("Page: run.html\n")
    digest = hashlib.sha256(Path("run.npz").read_bytes()).hexdigest()
    assert f"run.npz (SHA-256 {digest})" in seen("run.html")
    assert "polystein report run.npz --iid --tolerance 0.1" in seen("run.html")
    assert "polystein refine FILE --target" in seen("run.html")


def test_a_stored_result_gives_the_page_of_its_own_run(run: Run, bad: np.ndarray) -> None:
    stored = run("check", save("run.npz", bad), "--iid", "--alpha", "0.01", "--json")
    assert fits(ps.GofResult, stored.out)
    Path("stored.json").write_text(stored.out)
    values = json.loads(stored.out)
    assert values["files"][0]["name"] == "run.npz"
    assert values["command"] == "polystein check run.npz --iid --alpha 0.01 --json"
    done = run("report", "stored.json", "--out", "page.html")
    assert done.code == stored.code == 1
    assert "Rejected at the level 0.01" in seen("page.html")
    assert values["files"][0]["sha256"] in seen("page.html")
    assert values["command"] in seen("page.html")
    assert "Rejected at the level 0.2" in run("report", "stored.json", "--alpha", "0.2").out


def fits(kind: Any, text: str) -> bool:
    return Draft202012Validator(kind.schema()).is_valid(json.loads(text))


def test_many_fits_and_refinements_are_told_by_what_they_hold(
    run: Run, good: np.ndarray, bad: np.ndarray
) -> None:
    files = [save(f"{name}.npz", rows) for name, rows in (("a", good), ("b", good + 0.01))]
    many = run("check", *files, save("c.npz", bad), "--iid", "--json")
    assert fits(ps.CheckTable, many.out)
    Path("many.json").write_text(many.out)
    assert run("report", "many.json").code == many.code == 1
    assert "c.npz: rejected" in seen("many.html")
    assert run("report", "many.json", "--alpha", "1e-300", "--out", "strict.html").code == 4
    assert "c.npz: rejected" not in seen("strict.html")
    Path("own_density.py").write_text("def f(x):\n    return -0.5 * (x**2).sum(axis=1), -x\n")
    np.save("rows.npy", bad)
    small = ["--starts", "230", "--transitions", "8", "--target", "own_density:f"]
    moved = run("refine", "rows.npy", *small, "--json")
    assert fits(ps.Refinement, moved.out)
    Path("moved.json").write_text(moved.out)
    assert run("report", "moved.json").code == moved.code == 1
    assert "All means and sds" in seen("moved.html")
    done: Outcome = run("refine", "rows.npy", *small, "--html", "direct.html")
    assert (done.code, done.out.endswith("\nPage: direct.html\n")) == (1, True)
    assert "rows.npy (SHA-256" in seen("direct.html")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "FILE must be JSON that --json printed"),
        ("[1]", "FILE must be JSON that --json printed"),
        ("{}", "schema_version"),
        ('{"fits": 3}', "schema_version"),
        ('{"method": "refine"}', "must be what `to_dict` gave"),
        ("[" * 100_000, "FILE must be JSON that --json printed"),
    ],
)
def test_2_for_what_is_no_result(run: Run, content: str, words: str) -> None:
    Path("stored.json").write_text(content)
    done = run("report", "stored.json")
    assert done.code == 2
    assert words in done.err
    assert not Path("stored.html").exists()


def test_2_for_options_of_draws_beside_a_stored_result(run: Run, good: np.ndarray) -> None:
    Path("stored.json").write_text(run("check", save("a.npz", good), "--iid", "--json").out)
    for options in (["--iid"], *(["--model", "m:f"], ["--tolerance", "0.1"], ["--seed", "0"])):
        done = run("report", "stored.json", *options)
        assert (done.code, "are for draws" in done.err) == (2, True)
    assert run("report", "stored.json", "--alpha", "2").code == 2
    assert run("report", "missing.json").code == 2


def test_a_page_tells_the_versions_of_the_result_from_its_own(run: Run, good: np.ndarray) -> None:
    values = json.loads(run("check", save("a.npz", good), "--iid", "--json").out)
    assert values["versions"].keys() == {"polystein", "python", "numpy", "scipy"}
    values["versions"]["numpy"] = "1.0.0"
    Path("stored.json").write_text(json.dumps(values))
    assert run("report", "stored.json").code == 0
    assert "NumPy 1.0.0" in seen("stored.html").partition("page written with")[0]
    assert f"NumPy {np.__version__}" in seen("stored.html").partition("page written with")[2]
    del values["versions"]
    Path("older.json").write_text(json.dumps(values))
    assert run("report", "older.json").code == 0
    assert f"<td>polystein {ps.__version__}</td>" in seen("older.html")


def test_what_others_stored_is_cleaned(run: Run, good: np.ndarray) -> None:
    values = json.loads(run("check", save("a.npz", good), "--iid", "--json").out)
    evil = "a\x1b[31m\nb\u202ec"
    values |= {"command": evil, "files": [{"name": evil, "sha256": evil}]}
    values["versions"]["scipy"] = evil
    Path("evil.json").write_text(json.dumps(values))
    assert run("report", "evil.json").code == 0
    assert not {"\x1b", "\u202e"} & set(seen("evil.html"))
    assert seen("evil.html").count(r"a\x1b[31m\nb\u202ec") == 4
    for damage in ({"command": 3}, {"files": "a"}, {"files": [1]}, {"versions": [1]}):
        Path("evil.json").write_text(json.dumps(values | damage))
        done = run("report", "evil.json", "--force")
        assert (done.code, "must be what `to_dict` gave" in done.err) == (2, True)


def test_no_file_is_lost(run: Run, good: np.ndarray) -> None:
    save("a.npz", good)
    Path("a.html").write_text("the notes of a year")
    done = run("report", "a.npz", "--iid", "--out", "a.html")
    assert (done.code, "`--out` must be a new file" in done.err) == (2, True)
    assert run("report", "a.npz", "--iid").code == 2
    assert seen("a.html") == "the notes of a year"
    assert run("report", "a.npz", "--iid", "--out", "a.npz", "--force").code == 2
    assert run("report", "a.npz", "--iid", "--force").code == 0
    assert run("report", "a.npz", "--iid", "--out", "a.html").code == 0


def test_pages_stand_beside_their_files_and_do_not_replace_each_other(
    run: Run, good: np.ndarray
) -> None:
    for folder in ("a", "b"):
        Path(folder).mkdir()
        assert run("report", save(f"{folder}/draws.npz", good), "--iid").code == 0
        assert f"polystein report {folder}/draws.npz" in seen(f"{folder}/draws.html")
    assert not Path("draws.html").exists()
    before = seen("a/draws.html")
    np.save("a/draws.npy", good)
    np.save("scores.npy", -good)
    done = run("report", "a/draws.npy", "scores.npy", "--iid")
    assert (done.code, done.out) == (2, "")
    assert "the page would be a/draws.html, which exists. Name it by --out" in done.err
    assert seen("a/draws.html") == before
    assert run("report", "a/draws.npy", "scores.npy", "--iid", "--force").code == 0
    assert seen("a/draws.html") != before


def test_a_folder_has_one_digest(run: Run, good: np.ndarray) -> None:
    Path("folder/inner").mkdir(parents=True)
    Path("folder/a").write_text("1")
    Path("folder/inner/b").write_text("2")
    before = digest_of(Path("folder"))
    Path("folder/inner/b").write_text("3")
    assert digest_of(Path("folder")) != before
    Path("folder/inner/b").write_text("2")
    assert digest_of(Path("folder")) == before


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    missing = tmp_path / "missing"
    found = dict(origin_of([tmp_path / "pipe", missing]).files)
    assert found == {name: "not known: no ordinary file" for name in ("pipe", "missing")}
