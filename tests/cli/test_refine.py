"""The command ``polystein refine``."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.files import Outcome, Run

MODULE = """
import numpy as np

def density(x):
    return -0.5 * np.sum(x**2, axis=1)

def both(x):
    return density(x), -x

def fails(x):
    raise ValueError("on purpose")

def three(x):
    return density(x), -x, 3

def ragged(x):
    return [density(x), -x]

def as_list(x):
    return density(x).tolist()

calls = []

def counted(x):
    calls.append(len(x))
    return both(x)
"""


def refined(run: Run, tmp_path: Path, function: str, *more: str) -> Outcome:
    """Refine draws that are too narrow, by a function of a module beside them."""
    name = f"own_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    draws = np.random.default_rng(0).standard_normal((400, 2))
    draws[:, 1] *= 0.6
    np.save(tmp_path / "draws.npy", draws)
    small = ["--starts", "250", "--transitions", "20"]
    return run("refine", "draws.npy", "--target", f"{name}:{function}", *small, *more)


@pytest.mark.parametrize(
    ("function", "kernel"), [("both", "HMC"), ("density", "Metropolis"), ("as_list", "Metropolis")]
)
def test_wrong_draws_are_rejected(run: Run, tmp_path: Path, function: str, kernel: str) -> None:
    done = refined(run, tmp_path, function)
    assert done.code == 1
    assert done.out.startswith("Rejected at the level 0.05, p ")
    assert kernel in done.out
    assert "the sd of `x[1]`" in done.out


def test_json_holds_everything(run: Run, tmp_path: Path) -> None:
    done = refined(run, tmp_path, "both", "--json", "--tolerance", "0.1")
    assert done.code == 5
    values = json.loads(done.out)
    assert (values["verdict"], values["tolerance"], values["seed"]) == ("rejected", "beyond", 0)


def test_a_pair_costs_one_call(run: Run, tmp_path: Path) -> None:
    done = refined(run, tmp_path, "counted", "--json")
    rows = sum(sys.modules[f"own_{tmp_path.name}".replace("-", "_")].calls)
    # The rest is one row to begin with, rows that are asked again, and 240 of differences that
    # the scores are compared with.
    assert json.loads(done.out)["gradients"] < rows < json.loads(done.out)["gradients"] + 320


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("fails", "raised ValueError: on purpose"),
        ("three", "a pair of log-densities and scores; got a tuple of 3"),
        ("ragged", "`log_density` must return"),
        ("missing", "returns their log-density"),
    ],
)
def test_faults_of_the_users_function_are_named(
    run: Run, tmp_path: Path, function: str, words: str
) -> None:
    done = refined(run, tmp_path, function)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_log_densities_come_from_one_place(run: Run, tmp_path: Path) -> None:
    done = run("refine", "draws.npy")
    assert (done.code, "returns your PyMC model; got neither" in done.err) == (2, True)
    done = refined(run, tmp_path, "both", "--model", "a:b")
    assert (done.code, "returns your PyMC model; got both" in done.err) == (2, True)


def test_a_level_must_be_one(run: Run, tmp_path: Path) -> None:
    done = refined(run, tmp_path, "both", "--alpha", "2")
    assert done.code == 2
    assert "`--alpha`" in done.err
