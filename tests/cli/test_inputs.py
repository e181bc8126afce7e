"""Where the draws and scores of a command come from."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.adapters.arviz import NoGradientsError
from tests.cli.files import Run


@pytest.fixture(autouse=True)
def _score_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "my_target", raising=False)
    text = (
        "number = 3\ndef score(x):\n    return -x\nclass Model:\n    score = staticmethod(score)\n"
    )
    Path("my_target.py").write_text(text)


@pytest.mark.parametrize(
    "target", ["my_target:score", "my_target.py:score", "my_target:Model.score"]
)
def test_scores_by_a_function_of_the_user(run: Run, bad: np.ndarray, target: str) -> None:
    np.save("bad.npy", bad)
    np.save("scores.npy", -bad)
    done = [
        run("check", "bad.npy", "scores.npy", "--json"),
        run("check", "bad.npy", "--target", target, "--json"),
    ]
    of_files, of_function = (json.loads(one.out) for one in done)
    for values in (of_files, of_function):
        assert values.pop("files")[0]["name"] == "bad.npy"
        assert values.pop("command").startswith("polystein check bad.npy ")
    assert of_files == of_function
    assert [one.code for one in done] == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.npy", "--target", "my_target"], "must be module:function; got 'my_target'"),
        (["good.npy", "--target", "no_such:score"], "No module named 'no_such'"),
        (["good.npy", "--target", "my_target:other"], "'my_target:other', which is missing"),
        (["good.npy", "--target", "my_target:number"], "'my_target:number', which is int"),
        (["good.npy", "good.npy", "--target", "my_target:score"], "got SCORES and --target"),
        (["good.npy", "--model", "my_target"], "`--model` must be module:function"),
        (["good.npy", "--model", "my_target:other"], "'my_target:other', which is missing"),
        (["good.npy", "--model", "my_target:score"], "`--model` must be a PyMC model"),
        (["good.npy", "--model", "my_target:number"], "must be a PyMC or Bambi model; got a int"),
        (["good.npy", "good.npy", "--model", "my_target:f"], "got SCORES and --model"),
        (["good.npy", "--cmdstan", "x.csv"], "must be given without DRAWS"),
        (["--cmdstan", "x.csv"], "files that exist; got x.csv"),
        ([], "DRAWS must be given"),
        (["good.npy", "--scores-from", "no.npy"], "must be a file that exists; got no.npy"),
        (["good.npy", "good.npy", "--thin", "0"], "`thin` must be a positive integer; got 0"),
        (["good.npy", "good.npy", "--var-names", "mu"], "got 'mu', but there are x"),
    ],
)
def test_what_does_not_fit_is_refused(
    run: Run, good: np.ndarray, arguments: list[str], message: str
) -> None:
    np.save("good.npy", good)
    done = run("check", *arguments)
    assert done.code == 2
    assert message in done.err


def test_parameters_and_rows_are_chosen(run: Run) -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 500, 2))
    draws[..., 1] += 1.0
    np.savez("run.npz", draws=draws, scores=-draws, names=["mu", "tau"])
    assert run("check", "run.npz").code == 1
    assert run("check", "run.npz", "--var-names", "mu").code == 0
    draws[:, :100] += 5.0
    np.savez("run.npz", draws=draws, scores=-draws, names=["mu", "tau"])
    assert (
        run("check", "run.npz", "--var-names", "m*", "--drop-first", "100", "--thin", "2").code == 0
    )


def test_parameters_and_rows_of_a_test_are_chosen(run: Run) -> None:
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    draws[:, 1] += 1.0
    draws[:100] += 5.0
    np.savez("run.npz", draws=draws, scores=-draws, names=["mu", "tau"])
    assert run("test", "run.npz").code == 1
    chosen = ("--var-names", "m*", "--drop-first", "100", "--thin", "2")
    assert run("test", "run.npz", *chosen).code == 0


def test_scores_from_a_further_file(run: Run, bad: np.ndarray) -> None:
    np.save("bad.npy", bad)
    np.save("scores.npy", -bad)
    assert run("check", "bad.npy", "--scores-from", "scores.npy").code == 1


def test_arviz_files_without_gradients_are_told_of_the_model(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_gradients(*_: object, **__: object) -> None:
        raise NoGradientsError("`scores` must be given: advi.nc holds no gradients. With nutpie: x")

    monkeypatch.setattr("polystein.cli.inputs.from_file", no_gradients)
    for command in ("check", "test", "report"):
        done = run(command, "advi.nc")
        assert done.code == 2
        assert done.err.startswith("polystein: error: add `--model my_module:build`, a function")
        assert "PyMC model; advi.nc holds no gradients. With nutpie" in done.err


def test_all_commands_take_a_model(
    run: Run, bad: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sample(model: object, draws: Path, **_: object) -> ps.Sample:
        assert (model, draws) == (3, Path("advi.nc"))
        return ps.Sample(bad, -bad, facts={"log_density": lambda x: -0.5 * (x**2).sum(axis=1)})

    for module in ("inputs", "refine"):
        monkeypatch.setattr(f"polystein.cli.{module}.from_pymc", sample)
    given = ("advi.nc", "--model", "my_target:number")
    done = run("check", *given, "--iid")
    assert "add --html page.html for a page; polystein refine advi.nc --model" in done.out
    assert "add --html" not in run("check", *given, "--iid", "--html", "page.html").out
    small = ("--starts", "230", "--transitions", "8")
    codes = (run("report", *given, "--iid").code, run("refine", *given, *small).code)
    assert (done.code, run("test", *given).code, *codes) == (1, 1, 1, 1)


def test_the_command_for_better_draws_prints_no_control_characters(
    run: Run, bad: np.ndarray
) -> None:
    name = "red \x1b[31m.npy"
    np.save(name, bad)
    np.save("scores.npy", -bad)
    out = " ".join(run("check", name, "scores.npy", "--iid").out.split())
    assert r"polystein refine 'red \x1b[31m.npy' --target" in out


def test_completion_is_offered(run: Run) -> None:
    assert "--install-completion" in run("--help").out


#: What Bash asks the program for, after the script of `--install-completion` is read.
COMPLETE = """
import os, sys
from polystein.cli import main

os.environ["_POLYSTEIN_COMPLETE"] = "complete_bash"
for typed in sys.argv[1:]:
    sys.argv = ["polystein"]
    os.environ["COMP_WORDS"] = f"polystein {typed}"
    os.environ["COMP_CWORD"] = str(typed.count(" ") + 1)
    try:
        main()
    except SystemExit:
        print("end")
"""


@pytest.mark.slow
@pytest.mark.processes
def test_the_shell_completes_commands_and_options() -> None:
    command = [sys.executable, "-c", COMPLETE, "ch", "check --scores-f"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    commands, options, _ = done.stdout.split("end\n")
    assert "check" in commands
    assert "--scores-" in options


@pytest.mark.slow
@pytest.mark.processes
def test_python_m_runs_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "polystein", "--version"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.startswith("polystein ")


def test_two_complete_runs_are_refused(run: Run) -> None:
    for name, scale in (("run.npz", 1.3), ("good.npz", 1.0)):
        draws = scale * np.random.default_rng(0).standard_normal((4, 300, 2))
        np.savez(name, draws=draws, scores=-draws)
    for command in ("check", "test"):
        done = run(command, "run.npz", "good.npz")
        assert done.code == 2
        assert "file of scores alone; got good.npz, which holds draws of its own" in done.err
