"""`polystein check` on several files: which are fits, exit codes, and a run that is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.cli import app as commands
from tests.cli.files import Run, save_pair


def save(name: str, scale: float = 1.0, seed: int = 0, draws: int = 150) -> str:
    chains = scale * np.random.default_rng(seed).standard_normal((4, draws, 2))
    np.savez(name, draws=chains, scores=-chains, names=["mu", "tau"])
    return name


def test_three_files_are_fits_with_one_exit_code(run: Run) -> None:
    right, other = save("right.npz"), save("other.npz", seed=5)
    wide, short = save("wide.npz", 1.5), save("short.npz", draws=12)
    broken = Path("broken.npz")
    broken.write_bytes(b"nothing")
    for files, code in (
        ((right, other, save("third.npz", seed=6)), 0),
        ((right, short, other), 4),
        ((right, short, wide), 1),
        ((right, wide, broken), 2),
    ):
        done = run("check", *files)
        assert (done.code, done.err) == (code, "")
        assert all(str(file) in done.out for file in files)
    assert "the sd of `" in done.out
    assert done.out.startswith("1 of 3 fits is rejected at the level 0.05 after Holm's correction")


def test_a_tolerance_has_exit_codes_of_its_own(run: Run) -> None:
    right, wide = save("right.npz", draws=1000), save("wide.npz", 1.5, draws=1000)
    files = ("check", "--many", "--tolerance", "0.2", right)
    assert run(*files).code == 0
    assert run(*files, wide).code == 5


def test_two_files_are_draws_and_scores_unless_told_otherwise(run: Run, good: np.ndarray) -> None:
    pair = save_pair(".npy", good)
    single = run("check", *pair)
    assert single.out.startswith(("Not rejected", "Inconclusive"))
    assert "Do these draws come from the target?" in single.out
    files = save("a.npz"), save("b.npz", seed=1)
    taken_for_a_pair = run("check", *files)
    assert taken_for_a_pair.code == 2
    assert "To check each as a fit of its own, add --many" in taken_for_a_pair.err
    done = run("check", "--many", *files)
    assert done.code == 0
    assert done.out.startswith("None of 2 fits is rejected")
    assert run("check", "--many", files[0]).out.startswith("The fit is not rejected")


def test_json_is_the_table(run: Run) -> None:
    files = [save("a.npz"), save("b.npz", 1.5), "gone.npz"]
    done = run("check", *files, "--json", "--adjust", "benjamini-hochberg", "--seed", "4")
    values = json.loads(done.out)
    table = ps.CheckTable.from_dict(values)
    expected = ps.check_many({name: name for name in files}, adjust="benjamini-hochberg", rng=4)
    assert table.to_dict() == expected.to_dict()
    assert (values["seed"], values["polystein_version"]) == (4, ps.__version__)
    assert done.code == 2


def test_options_of_the_input_are_those_of_every_file(run: Run) -> None:
    files = [save("a.npz"), save("b.npz"), save("c.npz")]
    options = ("--thin", "3", "--var-names", "tau", "--json")
    for fit in json.loads(run("check", *files, *options).out)["fits"]:
        assert (fit["chains"], fit["draws"], fit["dimension"]) == (4, 50, 1)


def test_the_page_and_the_store(run: Run) -> None:
    files = [save("a.npz"), save("b.npz", seed=1), save("c.npz", 1.5)]
    first = run("check", *files, "--html", "page.html", "--store", "kept")
    assert "Written by polystein" in Path("page.html").read_text("utf-8")
    assert first.out.endswith("\nPage: page.html\n")
    assert len(list(Path("kept").iterdir())) == 3
    assert first.out.startswith(run("check", *files, "--store", "kept").out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--many"], "`--many` must be given with files"),
        (["a.npz", "b.npz", "a.npz"], "every file must be given once; got a.npz twice"),
        (["a.npz", "b.npz", "c.npz", "--cmdstan", "x"], "`--cmdstan` must be given without DRAWS"),
        (["a.npz", "--store", "s"], "`--store` is for several fits"),
        (["a.npz", "--adjust", "holm"], "`--adjust` is for several fits"),
        (["a.npz", "b.npz", "c.npz", "--html", "a.npz"], "`--html` must not be an input"),
        (["a.npz", "b.npz", "c.npz", "--store", "a.npz"], "`store` must be where files can"),
        (["a.npz", "b.npz", "c.npz", "--jobs", "0"], "`n_jobs`"),
    ],
)
def test_2_for_what_makes_no_sense(run: Run, arguments: list[str], said: str) -> None:
    for seed, name in enumerate(("a.npz", "b.npz", "c.npz")):
        save(name, seed=seed, draws=30)
    done = run("check", *arguments)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_csv_files_of_cmdstan_may_be_chains_of_one_fit(run: Run) -> None:
    names = [f"chain_{number}.csv" for number in range(3)]
    for name in names:
        Path(name).write_text("# stan_version_major = 2\n# model = m\nlp__,mu,p_mu,g_mu\n")
    done = run("check", *names)
    assert done.code == 2
    assert "may be chains of one fit" in done.err
    assert "--cmdstan 'chain_*.csv'" in done.err
    each = run("check", "--many", *names)
    assert each.code == 2
    assert each.out.count("error\n") == 3


def test_the_help_says_which_files_are_fits(run: Run) -> None:
    text = " ".join(run("check", "--help").out.replace("│", " ").split())
    assert "Three or more files are fits of their own" in text
    assert "unless --many is given" in text


def test_the_bar_counts_fits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    class Bar:
        def __init__(self, description: str) -> None:
            self.description = description

        def __enter__(self) -> object:
            return lambda done, total: told.append((self.description, done, total))

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("polystein.cli.many.progress_bar", Bar)
    run("check", *[save(name) for name in ("a.npz", "b.npz", "c.npz")])
    assert told == [("Checking", number, 3) for number in (1, 2, 3)]
    assert commands.Adjust("holm")


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_is_killed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [save(f"{seed}.npz", seed=seed, draws=2000) for seed in range(12)]
    command = [sys.executable, "-m", "polystein", "check", *files, "--json", "--jobs", jobs]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    store = tmp_path / "store"
    with subprocess.Popen(
        [*command, "--store", "store"], env=environment, stdout=subprocess.DEVNULL
    ) as killed:
        while killed.poll() is None and len(list(store.glob("*.json"))) < 3:
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    kept = {file: file.stat().st_mtime_ns for file in store.glob("*.json")}
    assert 3 <= len(kept) < 12
    for file in kept:
        ps.GofResult.from_dict(json.loads(file.read_bytes())["result"])

    again = subprocess.run(
        [*command, "--store", "store"], env=environment, capture_output=True, check=True
    )
    alone = ps.check_many({file: file for file in files})
    assert ps.CheckTable.from_dict(json.loads(again.stdout)).to_dict() == alone.to_dict()
    assert len(list(store.glob("*.json"))) == 12
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
