"""The commands: options, output, and help."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import polystein
from polystein.cli import app as commands
from polystein.cli.session import EXIT_CODES
from polystein.experiments.paper.samplers import laplace
from polystein.results.result import SCHEMA_VERSION
from tests.cli.files import Outcome, Run, save_pair


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
    assert values["schema_version"] == SCHEMA_VERSION == 4
    assert (values["method"], values["seed"], values["alpha"]) == (method, 5, 0.01)
    assert values["rejected"] is True
    assert values["polystein_version"] == polystein.__version__
    assert values.keys() >= expected.to_dict().keys()
    assert (values["statistic"], values["pvalue"]) == (expected.statistic, expected.pvalue)
    assert done.code == 1


def test_json_has_null_for_nan(run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    result = polystein.GofResult(
        0.0, 1.0, "greater", "other", dimension=3, settings={"df": [float("inf")]}
    )
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


def test_json_gives_the_verdict_at_the_level_asked_for(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = polystein.GofResult(2.2, 0.03, "two-sided", "other", dimension=3)
    monkeypatch.setattr(polystein, "lambda_psd_test", lambda *_, **__: result)
    pair = save_pair(".npy", good)
    for alpha, rejected, verdict in [("0.05", True, "rejected"), ("0.01", False, "not rejected")]:
        values = json.loads(run("test", *pair, "--alpha", alpha, "--json").out)
        assert (values["rejected"], values["verdict"]) == (rejected, verdict)


def test_4_where_the_question_stays_open(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = polystein.GofResult(
        0.5, 0.3, "greater", "check", dimension=3, reasons=("R-hat is 2.47. Run longer.",)
    )
    monkeypatch.setattr(polystein, "check", lambda *_, **__: result)
    pair = save_pair(".npy", good)
    done = run("check", *pair, "--html", "page.html")
    assert done.code == 4
    assert done.out.startswith("Inconclusive at the level 0.05, p = 0.3")
    assert "R-hat is 2.47. Run longer." in done.out
    assert '<h1 class="inconclusive">Inconclusive at' in Path("page.html").read_text("utf-8")
    done = run("check", *pair, "--json")
    values = json.loads(done.out)
    assert done.code == 4
    assert (values["verdict"], values["rejected"]) == ("inconclusive", False)
    assert values["reasons"] == [
        {"code": "other", "parameter": "", "text": "R-hat is 2.47. Run longer."}
    ]
    assert run("check", *pair, "--alpha", "0.4").code == 1


def test_html_is_written_beside_the_text(run: Run, bad: np.ndarray) -> None:
    done = run("test", *save_pair(".npy", bad), "--html", "page.html", "--alpha", "0.01")
    assert (done.code, done.out.endswith("\nPage: page.html\n")) == (1, True)
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "at the level 0.01, p &lt; 0.0001: strong evidence against the draws" in page


def test_version(run: Run) -> None:
    assert run("--version") == Outcome(0, f"polystein {polystein.__version__}\n", "")


def test_demo_prints_a_table_and_writes_a_plot(run: Run) -> None:
    done = run("demo")
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "not rejected" in rows["MALA"]
    for name in ("Langevin", "mean-field", "Laplace"):
        assert " rejected " in rows[name]
        assert "not rejected" not in rows[name]
    assert "The whole answer of `check` for Langevin:" in done.out
    assert "the sd of `dose` is" in done.out
    assert done.out.index("On your own draws:") < done.out.index("ps.check(idata, model=model)")
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
    names = {"test", "check", "compare", "refine", "report", "demo", "reproduce"}
    assert {command.name for command in commands.app.registered_commands} == names
    for name in sorted(names):
        done = run(name, "--help")
        assert done.code == 0
        # Comparisons draw nothing at random.
        assert ("--seed" in done.out) == (name != "compare")


@pytest.mark.parametrize("name", ["test", "check"])
def test_help_lists_the_exit_codes(run: Run, name: str) -> None:
    line = (
        "Exit codes: 0 not rejected, 1 rejected, 2 bad input, 3 internal error, 4 inconclusive, "
        "5 beyond tolerance, 6 undecided, 130 interrupted, 141 closed pipe."
    )
    assert line == EXIT_CODES
    assert line in " ".join(run(name, "--help").out.split())


def chains(rho: float, scale: float = 1.0) -> np.ndarray:
    """Four AR(1) chains of N(0, scale^2), which the paper's test takes for faulty."""
    rng = np.random.default_rng(5)
    draws = np.empty((4, 600, 2))
    draws[:, 0] = rng.standard_normal((4, 2))
    for t in range(1, 600):
        noise = rng.standard_normal((4, 2))
        draws[:, t] = rho * draws[:, t - 1] + (1.0 - rho**2) ** 0.5 * noise
    return scale * draws


def test_check_allows_for_autocorrelation(run: Run) -> None:
    np.savez("chains.npz", draws=chains(0.8), scores=-chains(0.8))
    assert run("check", "chains.npz").code == 0
    # The same rows as if they were independent.
    np.savez("rows.npz", draws=chains(0.8).reshape(-1, 2), scores=-chains(0.8).reshape(-1, 2))
    assert run("check", "rows.npz", "--iid").code == 1


def test_check_does_not_take_chains_for_independent_rows(run: Run) -> None:
    np.savez("chains.npz", draws=chains(0.8), scores=-chains(0.8))
    done = run("check", "chains.npz", "--iid")
    assert (done.code, done.out) == (2, "")
    assert "`iid=True` is for independent rows" in done.err
    assert "draws.reshape(-1, 2)" in done.err


def test_a_tolerance_decides_the_exit_code(run: Run) -> None:
    for scale, name in ((1.0, "right"), (1.5, "wide")):
        draws = np.random.default_rng(1).standard_normal((4000, 2)) * scale
        np.savez(f"{name}.npz", draws=draws, scores=-draws)
    done = run("check", "right.npz", "--iid", "--tolerance", "0.1")
    assert (done.code, "within 0.1" in done.out) == (0, True)
    done = run("check", "wide.npz", "--iid", "--tolerance", "0.1", "--json")
    values = json.loads(done.out)
    assert (done.code, values["tolerance"]) == (5, "beyond")
    assert values["effects"]["rows"][0]["what"] == "sd"
    assert run("check", "right.npz", "--iid", "--tolerance", "0.02").code == 6
    done = run("check", "right.npz", "--tolerance", "2")
    assert (done.code, "`--tolerance` must be" in done.err) == (2, True)


def test_check_rejects_a_faulty_sampler(run: Run) -> None:
    np.savez("wide.npz", draws=chains(0.8, 1.5), scores=-chains(0.8, 1.5))
    done = run("check", "wide.npz", "--json", "--html", "wide.html")
    assert (done.code, done.err) == (1, "Page: wide.html\n")
    expected = polystein.check(chains(0.8, 1.5), -chains(0.8, 1.5))
    assert json.loads(done.out)["pvalue"] == pytest.approx(expected.pvalue)
    assert Path("wide.html").is_file()


def test_the_text_says_where_the_command_line_has_the_rest(run: Run) -> None:
    draws = 1.5 * np.random.default_rng(0).standard_normal((2000, 12))
    np.savez("wide.npz", draws=draws, scores=-draws)
    text = run("check", "wide.npz", "--iid").out
    found = re.search(r"\.\.\. and (\d+) more in effects of --json\n", text)
    assert found is not None
    assert "`result." not in text
    rows = json.loads(run("check", "wide.npz", "--iid", "--json").out)["effects"]["rows"]
    told = sum(row["found"] and row["sentence"] in " ".join(text.split()) for row in rows)
    assert told >= 3
    assert sum(row["found"] for row in rows) == told + int(found[1])


@pytest.mark.parametrize("options", [[], ["--iid"]])
def test_check_shows_a_bar_on_a_terminal(
    run: Run, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = chains(0.5).reshape(-1, 2) if options else chains(0.5)
    np.savez("chains.npz", draws=draws, scores=-draws)
    plain = run("check", "chains.npz", "--json", *options)
    assert "Checking" not in plain.err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    done = run("check", "chains.npz", "--json", *options)
    assert "Checking" in done.err
    percent = [int(number) for number in re.findall(r"(\d+)%", done.err)]
    assert 50 <= max(percent) <= 100
    # The bar is no part of the answer.
    assert (done.code, done.out) == (plain.code, plain.out)


def test_check_refuses_a_level_that_is_none(run: Run, good: np.ndarray) -> None:
    np.savez("good.npz", draws=good, scores=-good)
    assert run("check", "good.npz", "--alpha", "1.5").code == 2
