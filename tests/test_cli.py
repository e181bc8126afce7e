"""The command line, from its entry point: exit codes, files, output."""

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import polystein
from polystein.cli import app as commands
from polystein.cli import main
from polystein.cli.session import progress_bar
from polystein.experiments.samplers import gaussian, laplace
from polystein.result import SCHEMA_VERSION


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the entry point in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    # Rich asks these for the width of the screen and for colours.
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["polystein", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def good() -> np.ndarray:
    return gaussian(np.random.default_rng(0), 400, 3)


@pytest.fixture
def bad() -> np.ndarray:
    return gaussian(np.random.default_rng(0), 400, 3) + 1.0


def save_csv(path: Path, array: np.ndarray, header: str = "") -> None:
    np.savetxt(path, array, delimiter=",", header=header, comments="")


def save_parquet(path: Path, array: np.ndarray) -> None:
    columns = {f"p{index}": column for index, column in enumerate(array.T)}
    pyarrow.parquet.write_table(pa.table(columns), path)


SAVERS: dict[str, Callable[[Path, np.ndarray], None]] = {
    ".npy": np.save,
    ".csv": save_csv,
    ".parquet": save_parquet,
}


def save_pair(suffix: str, draws: np.ndarray) -> tuple[str, str]:
    """Write draws and the scores of N(0, I) into the current directory."""
    SAVERS[suffix](Path(f"draws{suffix}"), draws)
    SAVERS[suffix](Path(f"scores{suffix}"), -draws)
    return f"draws{suffix}", f"scores{suffix}"


# Exit codes


def test_0_where_the_draws_are_not_rejected(run: Run, good: np.ndarray) -> None:
    done = run("test", *save_pair(".npy", good))
    assert (done.code, done.err) == (0, "")
    assert "no evidence against it" in done.out


def test_1_where_they_are(run: Run, bad: np.ndarray) -> None:
    done = run("test", *save_pair(".npy", bad))
    assert (done.code, done.err) == (1, "")
    assert "strong evidence against it" in done.out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--order", "-1"], "`order`"),
        (["--seed", "-1"], "`--seed`"),
        (["--alpha", "1.5"], "`--alpha`"),
        (["--alpha", "nan"], "`--alpha`"),
        (["--method", "psd-bootstrap", "--standardise"], "`--standardise`"),
        (["--method", "psd-bootstrap", "--alternative", "two-sided"], "`--alternative`"),
        (["--html", "missing/page.html"], "`--html`"),
        # From here on Typer answers, in a box of its own and perhaps in colours.
        (["--method", "nonsense"], "method"),
        (["--order", "two"], "order"),
        (["--nonsense"], "nonsense"),
    ],
)
def test_2_for_options_that_make_no_sense(
    run: Run, good: np.ndarray, options: list[str], named: str
) -> None:
    done = run("test", *save_pair(".npy", good), *options)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err


def test_2_for_data_without_variance(run: Run) -> None:
    done = run("test", *save_pair(".npy", np.zeros((100, 2))))
    assert done.code == 2
    assert done.err.startswith("polystein: error: ")


@pytest.mark.parametrize("debug", [False, True])
def test_3_for_a_fault_of_ours(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the roof leaks")

    monkeypatch.setattr(polystein, "lambda_psd_test", broken)
    done = run("test", *save_pair(".npy", good), *(["--debug"] if debug else []))
    assert done.code == 3
    assert "internal error: RuntimeError: the roof leaks" in done.err
    assert "Please report it" in done.err
    assert ("Traceback" in done.err) is debug


def test_130_where_the_user_interrupts(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        # What Ctrl-C does.
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(polystein, "lambda_psd_test", interrupted)
    done = run("test", *save_pair(".npy", good))
    assert (done.code, done.out, done.err) == (130, "", "polystein: interrupted\n")


def test_2_where_memory_runs_out(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def huge(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(polystein, "lambda_psd_test", huge)
    done = run("test", *save_pair(".npy", good))
    assert (done.code, done.err) == (2, "polystein: error: not enough memory for this input\n")


def test_a_user_error_has_its_traceback_with_debug(run: Run) -> None:
    done = run("test", "missing.npz", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err


def test_without_the_extra_one_line_names_it() -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom polystein.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        "polystein: the command line needs typer: pip install 'polystein[cli]'\n"
    )


# Files


@pytest.mark.parametrize("suffix", SAVERS)
def test_every_file_type_gives_the_same_result(run: Run, good: np.ndarray, suffix: str) -> None:
    expected = polystein.lambda_psd_test(good, -good, order=4, rng=3)
    done = run("test", *save_pair(suffix, good), "--seed", "3", "--json")
    # np.savetxt writes 18 digits after the point: nothing is lost.
    assert json.loads(done.out)["statistic"] == pytest.approx(expected.statistic, rel=1e-12)


def test_npz_holds_draws_and_scores(run: Run, bad: np.ndarray) -> None:
    np.savez("both.npz", draws=bad, scores=-bad)
    assert run("test", "both.npz").code == 1


def test_a_file_of_each_type_may_be_mixed(run: Run, bad: np.ndarray) -> None:
    np.savez("draws.npz", draws=bad)
    save_csv(Path("scores.csv"), -bad, header="a,b,c")
    assert run("test", "draws.npz", "scores.csv").code == 1


@pytest.mark.parametrize("start", ["a,b,c\n", '"a","b","c"\r\n', "\ufeffa,b,c\n", ""])
def test_csv_with_and_without_names(run: Run, bad: np.ndarray, start: str) -> None:
    np.save("scores.npy", -bad)
    body = io.StringIO()
    np.savetxt(body, bad, delimiter=",")
    Path("draws.csv").write_text(start + body.getvalue() + "\n\n", encoding="utf-8")
    assert run("test", "draws.csv", "scores.npy").code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3\n", "line 2 of draws.csv: expected 2 numbers, as on line 1; got 1"),
        ("a,b\n1,2\n3,4,5\n", "line 3 of draws.csv: expected 2 numbers, as on line 1; got 3"),
        ("a,b\n1,2\n3,x\n", "line 3 of draws.csv, column 2: expected a number; got 'x'"),
        ("a,b\n1,2\n3,\n", "line 3 of draws.csv, column 2: expected a number; got ''"),
        ("1,2\n\n3,4\n", "line 2 of draws.csv: expected numbers; got nothing"),
        ("a,b\n1,2\n3,nan\n", "`draws` must be finite; got 1 non-finite value"),
        (",a,b\n0,1,2\n1,3,4\n", "column 1 unnamed. Is it a row number?"),
        ("0,1\n1.5,2.5\n", "column numbers or a draw?"),
        ("a,b,c\n1,2\n3,4\n", "a name for each of 2 columns; got 3 names in draws.csv"),
        ("a\n1,2\n3,4\n", "a name for each of 2 columns; got 1 names in draws.csv"),
        ("1;2\n3;4\n", "line 2 of draws.csv, column 1: expected a number; got '3;4'"),
        ("a,b\n", "at least one line of numbers"),
        ("", "at least one line of numbers"),
    ],
)
def test_csv_errors_say_where(run: Run, text: str, message: str) -> None:
    Path("draws.csv").write_text(text, encoding="utf-8")
    np.save("scores.npy", np.zeros((2, 2)))
    done = run("test", "draws.csv", "scores.npy")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_csv_that_is_not_utf_8(run: Run, good: np.ndarray) -> None:
    np.save("scores.npy", -good)
    Path("draws.csv").write_bytes(b"\xff\xfe1,2\n")
    assert "must be UTF-8 text" in run("test", "draws.csv", "scores.npy").err


def test_columns_in_another_order_are_not_paired(run: Run, good: np.ndarray) -> None:
    save_csv(Path("draws.csv"), good, header="a,b,c")
    save_csv(Path("scores.csv"), -good, header="a,c,b")
    done = run("test", "draws.csv", "scores.csv")
    assert done.code == 2
    assert "in the order of `draws`, a, b, c; got a, c, b" in done.err


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, None], "b": [1.0, 2.0]}, "no missing values; got 1 in column 'a'"),
        ({"a": [1.0, 2.0], "b": ["u", "v"]}, "the type string in column 'b'"),
        ({"a": [1.0, 2.0], "__index_level_0__": [0, 1]}, "no row index among its columns"),
        ({}, "at least one column"),
    ],
)
def test_parquet_errors_name_the_column(
    run: Run, columns: dict[str, list[object]], message: str
) -> None:
    pyarrow.parquet.write_table(pa.table(columns), "draws.parquet")
    np.save("scores.npy", np.zeros((2, 2)))
    done = run("test", "draws.parquet", "scores.npy")
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_broken_files(run: Run, good: np.ndarray, suffix: str) -> None:
    path = Path(f"draws{suffix}")
    if suffix == ".npz":
        np.savez(path, draws=good, scores=-good)
    else:
        SAVERS[suffix](path, good)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    np.save("scores.npy", -good)
    done = run("test", path, "scores.npy")
    assert done.code == 2
    assert "`draws` must be" in done.err


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("name", ["bomb.pkl", "bomb.PICKLE", "bomb.pt", "bomb.joblib"])
def test_pickles_are_refused_by_name(run: Run, name: str) -> None:
    Path(name).write_bytes(pickle.dumps(Bomb()))
    done = run("test", name)
    assert done.code == 2
    assert "must not be a pickle" in done.err
    assert not Path("exploded").exists()


@pytest.mark.parametrize("kind", ["renamed.npy", "renamed.npz", "object.npy", "object.npz"])
def test_pickles_in_disguise_are_refused(run: Run, kind: str) -> None:
    objects = np.array([Bomb()], dtype=object)
    if kind.startswith("renamed"):
        Path(kind).write_bytes(pickle.dumps(Bomb()))
    elif kind.endswith("npy"):
        np.save(kind, objects, allow_pickle=True)
    else:
        np.savez(kind, draws=objects, scores=objects)
    done = run("test", kind, kind)
    assert done.code == 2
    assert "without pickled objects" in done.err
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.npy", "missing.npy"], "must be a file that exists; got missing.npy"),
        (["draws.txt"], "must be a file of type .npy, .npz, .csv, .parquet; got draws.txt"),
        (["draws.npy"], "`scores` are missing: give a second file"),
        (["half.npz"], "`scores` must be a key of half.npz; got the keys ['draws']"),
        (["folder.npy", "draws.npy"], "must be a file that exists; got folder.npy"),
        (["draws.npy", "short.npy"], "the shape of `draws`, (400, 3); got (399, 3)"),
        (["line.npy", "line.npy"], "For one scalar parameter pass `draws[:, None]`"),
    ],
)
def test_what_cannot_be_read_is_named(
    run: Run, good: np.ndarray, arguments: list[str], message: str
) -> None:
    Path("folder.npy").mkdir()
    np.save("draws.npy", good)
    np.save("short.npy", good[1:])
    np.save("line.npy", good[:, 0])
    np.savez("half.npz", draws=good)
    done = run("test", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


# Methods and output


@pytest.mark.parametrize("method", ["lambda-psd", "psd", "psd-bootstrap"])
def test_json_is_the_result_and_what_was_asked(run: Run, bad: np.ndarray, method: str) -> None:
    arguments = ["--method", method, "--order", "2", "--seed", "5", "--alpha", "0.01", "--json"]
    done = run("test", *save_pair(".npy", bad), *arguments)
    test = {
        "lambda-psd": polystein.lambda_psd_test,
        "psd": polystein.psd_test,
        "psd-bootstrap": polystein.psd_bootstrap_test,
    }[method]
    expected = test(bad, -bad, order=2, rng=5)  # type: ignore[operator]
    values = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert values["schema_version"] == SCHEMA_VERSION == 1
    assert (values["method"], values["seed"], values["alpha"]) == (method, 5, 0.01)
    assert values["rejected"] is True
    assert values["polystein_version"] == polystein.__version__
    assert values.keys() >= expected.to_dict().keys()
    assert (values["statistic"], values["pvalue"]) == (expected.statistic, expected.pvalue)
    assert done.code == 1


def test_json_has_null_for_nan(run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    result = polystein.GofResult(0.0, 1.0, "greater", "other", settings={"df": [float("inf")]})
    monkeypatch.setattr(polystein, "lambda_psd_test", lambda *_, **__: result)
    values = json.loads(run("test", *save_pair(".npy", good), "--json").out)
    assert values["ess"] is None
    assert values["settings"]["df"] == [None]


def test_options_reach_the_test(run: Run, bad: np.ndarray) -> None:
    pair = save_pair(".npy", bad)
    plain, greater, standardised = (
        json.loads(run("test", *pair, "--order", "1", "--json", *options).out)
        for options in ([], ["--alternative", "greater"], ["--standardise"])
    )
    assert greater["alternative"] == "greater"
    assert greater["pvalue"] == pytest.approx(plain["pvalue"] / 2.0)
    assert standardised["settings"]["standardise"] is True
    assert standardised["statistic"] != plain["statistic"]


def test_the_level_decides_the_exit_code(run: Run) -> None:
    draws = laplace(np.random.default_rng(4), 1000, 8)
    pair = save_pair(".npy", draws)
    pvalue = json.loads(run("test", *pair, "--order", "3", "--json").out)["pvalue"]
    assert 0.0 < pvalue < 1.0
    codes = [
        run("test", *pair, "--order", "3", "--alpha", repr(alpha)).code
        for alpha in (pvalue * 0.99, pvalue, pvalue + 0.01 * (1.0 - pvalue))
    ]
    assert codes == [0, 1, 1]


def test_html_is_written_beside_the_text(run: Run, bad: np.ndarray) -> None:
    done = run("test", *save_pair(".npy", bad), "--html", "page.html", "--alpha", "0.01")
    assert done.code == 1
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "evidence against it at the level 0.01" in page


def test_warnings_are_plain_lines(run: Run, good: np.ndarray) -> None:
    chains = good[:300].reshape(3, 100, 3)
    np.savez("chains.npz", draws=chains, scores=-chains)
    done = run("test", "chains.npz", "--order", "1", "--json")
    lines = done.err.splitlines()
    assert lines
    assert all(line.startswith("polystein: warning: ") for line in lines)
    assert "`draws` are 3 time-ordered chains" in done.err
    assert json.loads(done.out)["warnings"] == [
        line.removeprefix("polystein: warning: ") for line in lines
    ]


def test_other_warnings_are_left_alone(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noisy(*_: object, **__: object) -> polystein.GofResult:
        warnings.warn("not ours", UserWarning, stacklevel=1)
        return polystein.GofResult(0.0, 1.0, "greater", "other")

    monkeypatch.setattr(polystein, "lambda_psd_test", noisy)
    with pytest.warns(UserWarning, match="not ours"):
        done = run("test", *save_pair(".npy", good))
    assert "polystein: warning" not in done.err


def test_no_bar_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with progress_bar("Work") as progress:
        assert progress is None


def test_a_bar_on_a_terminal(run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    done = run("test", *save_pair(".npy", good), "--method", "psd-bootstrap", "--json")
    assert "Bootstrap" in done.err
    assert "100%" in done.err
    assert "Bootstrap" not in done.out


# The rest


def test_version(run: Run) -> None:
    assert run("--version") == Outcome(0, f"polystein {polystein.__version__}\n", "")


def test_demo_prints_a_table_and_writes_a_plot(run: Run) -> None:
    done = run("demo")
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "no evidence" in rows["exact"]
    for name, seen in [("shifted", "location"), ("mean-field", "correlation"), ("Laplace", "")]:
        assert "evidence against" in rows[name]
        assert seen in rows[name]
    assert "Plot: polystein-demo.png" in done.out
    assert Path("polystein-demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("out", "written"), [("new/folder", "new/folder/polystein-demo.png"), ("plot.svg", "plot.svg")]
)
def test_demo_writes_where_it_is_told(run: Run, out: str, written: str) -> None:
    done = run("demo", "--draws", "200", "--seed", "3", "--out", out)
    assert done.code == 0
    assert f"Plot: {Path(written)}" in done.out
    assert "200 draws from each sampler" in done.out
    assert Path(written).stat().st_size > 1000


@pytest.mark.parametrize(
    "options",
    [["--out", "plot.nonsense"], ["--out", "missing/plot.png"], ["--draws", "0"], ["--seed", "-1"]],
)
def test_demo_refuses_what_it_cannot_do(run: Run, options: list[str]) -> None:
    done = run("demo", *(["--draws", "200"] if "--draws" not in options else []), *options)
    assert done.code == 2
    assert f"`{options[0]}`" in done.err or f"`{options[0].lstrip('-')}`" in done.err


def test_every_command_explains_itself(run: Run) -> None:
    names = {"test", "check", "demo", "reproduce"}
    assert {command.name for command in commands.app.registered_commands} == names
    for name in sorted(names):
        done = run(name, "--help")
        assert done.code == 0
        assert "--seed" in done.out
