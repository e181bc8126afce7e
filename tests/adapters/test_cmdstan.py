"""Diagnostic files of CmdStan, written by hand."""

from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.adapters.cmdstan import is_stan_csv
from tests.cli.files import Run

HEAD = """# stan_version_major = 2
# model = demo_model
#     num_samples = {n}
#     num_warmup = 10
#     save_warmup = {warm_up} (Default)
#     thin = {thin}
#             max_depth = 3 (Default)
lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,{names}
"""
NAMES = "mu,theta.1,theta.2,p_mu,p_theta.1,p_theta.2,g_mu,g_theta.1,g_theta.2"
TAIL = "# \n#  Elapsed Time: 0.1 seconds (Sampling)\nException: a message of the model\n"


def write(
    path: Path,
    draws: np.ndarray,
    *,
    warm_up: str = "false",
    digits: int = 17,
    thin: int = 1,
    names: str = NAMES,
) -> None:
    lines = [HEAD.format(n=len(draws), warm_up=warm_up, thin=thin, names=names)]
    for number, row in enumerate(draws):
        cells = [-1.5, 0.9, 0.1, 3 if number == 0 else 2, 7, int(number == 1), 4.25]
        values = [*cells, *row, *np.zeros(3), *row]
        lines.append(",".join(f"{value:.{digits}g}" for value in values) + "\n")
        if number == 2:
            lines.append("# Adaptation terminated\n")
    path.write_text("".join(lines) + TAIL)


def chains(rows: int = 30) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, rows, 3))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for number, chain in enumerate(chains()):
        write(tmp_path / f"diagnostic_{number}.csv", chain)
    return tmp_path


@pytest.mark.parametrize("pattern", [True, False])
def test_chains_names_and_the_sign(files: Path, pattern: bool) -> None:
    given = str(files / "diagnostic_*.csv") if pattern else sorted(files.iterdir())
    sample = ps.from_cmdstan(given)
    assert np.array_equal(sample.draws, chains())
    assert np.array_equal(sample.scores, -chains())
    assert sample.names == ("mu", "theta[1]", "theta[2]")
    statistics = sample.facts.sampler_statistics
    assert statistics["diverging"].sum() == 2
    assert statistics["reached_max_treedepth"].sum() == 2
    assert statistics["energy"].shape == (2, 30)


def test_parameters_and_rows_are_chosen(files: Path) -> None:
    sample = ps.from_cmdstan(str(files / "*.csv"), var_names="theta", thin=2, drop_first=4)
    assert np.array_equal(sample.draws, chains()[:, 4::2, 1:])


@pytest.mark.parametrize(("thin", "saved"), [(1, 10), (3, 4)])
def test_the_warm_up_is_left_out(tmp_path: Path, thin: int, saved: int) -> None:
    write(tmp_path / "one.csv", chains()[0], warm_up="true", thin=thin)
    assert np.array_equal(ps.from_cmdstan(tmp_path / "one.csv").draws[0], chains()[0, saved:])


def test_few_digits_are_noticed(tmp_path: Path) -> None:
    write(tmp_path / "one.csv", chains()[0], digits=6)
    with pytest.warns(ps.ScoreWarning, match="with 6 digits"):
        sample = ps.from_cmdstan(tmp_path / "one.csv")
    assert "sig_figs=18" in sample.facts.warnings[0]


def test_ordinary_output_is_recognised(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "out.csv", chains()[0], names=NAMES.replace("g_", "x_"))
    assert is_stan_csv(tmp_path / "out.csv")
    with pytest.raises(ps.InputError, match="got Stan's ordinary output"):
        ps.from_cmdstan(tmp_path / "out.csv")
    done = run("check", tmp_path / "out.csv")
    assert done.code == 2
    assert "save_latent_dynamics=True" in done.err


def test_the_command_line_reads_them(tmp_path: Path, run: Run) -> None:
    for number, chain in enumerate(chains(300)):
        write(tmp_path / f"chain_{number}.csv", chain)
    done = run("check", "--cmdstan", tmp_path / "chain_*.csv")
    assert "2 of 600 draws diverged" in done.out
    assert run("check", tmp_path / "chain_0.csv").code in (0, 4)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: text.index("# \n") - 30] + "\n", "Is the file complete?"),
        (lambda text: text[: text.index("\n-1.5")] + "\n", "must hold draws"),
        (lambda text: text.replace("mu", "nu"), "file 2 has other columns"),
        (lambda text: text.replace("-1.5,", "# ", 3), "chains of one length; got 30 and 27"),
        (lambda text: text.replace("4.25", "4.2.5", 1), "must hold numbers"),
        (lambda text: text.replace("-1.5", "-1.5x", 1), "must hold numbers"),
        (lambda text: text.replace("\n# Adapt", "x\n# Adapt"), "must hold numbers"),
        (lambda text: text[: text.index("\n# \n") - 9], "line break at the end; got the end of"),
        (lambda text: text.replace("warmup = false", "warmup = 1"), "got 30 and 20"),
        (
            lambda text: text.replace("warmup = false", "warmup = 1").replace(
                "thin = 1", "thin = I"
            ),
            "whole number for thin",
        ),
    ],
)
def test_damaged_files_are_refused(files: Path, damage: object, message: str) -> None:
    path = files / "diagnostic_1.csv"
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    with pytest.raises(ps.InputError, match=message.replace("?", r"\?")):
        ps.from_cmdstan(str(files / "*.csv"))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ps.InputError, match="files that exist"):
        ps.from_cmdstan(str(tmp_path / "no_*.csv"))
    with pytest.raises(ps.InputError, match="must be paths"):
        ps.from_cmdstan(3)
    write(tmp_path / "short.csv", chains()[0][:5], warm_up="1")
    with pytest.raises(ps.InputError, match="5 rows, of which 10 are warm-up"):
        ps.from_cmdstan(tmp_path / "short.csv")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "draws.npy", chains())
    with pytest.raises(ps.InputError, match=r"CSV files in UTF-8; got .*draws\.npy"):
        ps.from_cmdstan(tmp_path / "draws.npy")
