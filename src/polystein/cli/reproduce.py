"""``polystein reproduce``: the paper's experiments, tables, figures and the verdict."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polystein._lib.files import writing
from polystein.cli.session import Debug, Force, Seed, progress_bar, session
from polystein.errors import InputError, printable
from polystein.experiments.paper.reproduce import PAGE, STUDIES, holds_reproduction, reproduce
from polystein.experiments.paper.reproduction import Options
from polystein.experiments.paper.verdict import known_causes

OUT = Path("reproduction")


class Study(StrEnum):
    """What can be reproduced."""

    EXPERIMENT1 = "experiment1"
    EXPERIMENT2 = "experiment2"
    RUNTIME = "runtime"
    APPENDIX = "appendix"
    SIZES = "sizes"
    SNR = "snr"
    GAP = "gap"
    ALL = "all"


def run_reproduce(
    study: Annotated[Study, typer.Argument(help="Which part of the paper to reproduce.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer replicates and dimensions: minutes, not hours.")
    ] = False,
    replicates: Annotated[
        int | None, typer.Option(help="Replicates of each cell. Default: the paper's number.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Worker processes. Default: one for each core.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Directory for the results. A stopped run continues from there.")
    ] = OUT,
    seed: Seed = 0,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Run this method only and keep the rows of all others in the tables of --out. "
            "Repeatable; for experiment1, experiment2 and appendix. Default: all methods."
        ),
    ] = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Reproduce the paper's experiments and compare them with what was published.

    You can stop it at any time: the same command continues where it stopped, and finished cells
    are not run again.
    """
    with session(debug):
        if replicates is not None and replicates < 1:
            raise InputError(f"`--replicates` must be a positive integer; got {replicates}")
        with writing("--out", out):
            _require_own_directory(out, force)
        options = Options(out, seed, progress_bar, jobs, replicates, quick, tuple(method or ()))
        for name in STUDIES if study is Study.ALL else [study.value]:
            started = time.monotonic()
            with writing("--out", out):
                section = reproduce(name, options)
            print(f"{section}\n({name}: {time.monotonic() - started:.0f} s elapsed)\n")
        place = printable(str(out / PAGE))
        print(f"Known causes of differences:\n\n{known_causes()}\n\nVerdict: {place}")


def _require_own_directory(out: Path, force: bool) -> None:
    """Refuse, before hours of work, a directory whose files might be replaced by the results."""
    if force or not out.is_dir() or holds_reproduction(out):
        return
    others = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    if others:
        raise InputError(
            f"`--out` must be a new or empty directory, or that of an earlier run; got {out}, "
            f"which holds {others[0]}. Choose another, or add --force to replace files of the "
            "same names"
        )
