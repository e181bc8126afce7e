"""``polystein demo``: one posterior, samplers that are right and wrong, and what `check` says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from numpy.random import default_rng
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from polystein._lib.files import writing
from polystein.cli.session import Debug, Force, Seed, progress_bar, require_free, session
from polystein.errors import InputError, printable
from polystein.experiments import demo as demonstration
from polystein.report import canvas, side_by_side
from polystein.report.effects import effect_facts
from polystein.report.pvalues import p_words
from polystein.report.text import render
from polystein.results.result import DEFAULT_LEVEL

DEMO_PLOT = "polystein-demo.png"
#: Exact draws from which the picture takes the mean and covariance of the posterior.
_EXACT_DRAWS = 4000
YOUR_OWN_DRAWS = """\
On your own draws:

    ps.check(idata, model=model)        PyMC; docs/adapters.md has NumPyro, Stan, ...
    ps.check(advi, model=model)         a variational fit of PyMC, `pm.fit(...)`
    ps.check(draws, scores)             chains (chain, draw, d), and the gradients there
    ps.check(draws, scores, iid=True)   independent rows (n, d), as of variational fits
    polystein check run.npz             a file with `draws` and `scores`
    polystein check posterior.nc --model my_model:build"""


def run_demo(
    draws: Annotated[int, typer.Option(help="Number of draws from each sampler.")] = 2000,
    seed: Seed = 0,
    out: Annotated[
        Path, typer.Option(help="File for the plot (.png, .svg, .pdf), or a directory for it.")
    ] = Path(DEMO_PLOT),
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Check MCMC and variational fits of a small posterior, right and wrong. Takes seconds."""
    with session(debug):
        plot = out / DEMO_PLOT if out.is_dir() or not out.suffix else out
        require_free("--out", plot, force=force)
        with progress_bar("Sampling and testing") as progress:
            cases = demonstration.run(draws, seed, progress)
        console = Console(highlight=False)
        console.print(_demo_table(cases, draws))
        worst = next((case for case in cases if case.result.rejected()), cases[0])
        print(f"\nThe whole answer of `check` for {worst.name}:\n\n{render(worst.result)}")
        console.print(
            f"\nAt the level {DEFAULT_LEVEL:g} a correct sampler, too, is rejected "
            f"in about 1 run of {1 / DEFAULT_LEVEL:.0f}."
        )
        figure = side_by_side.plot_draws(
            {case.name: case.draws[:, demonstration.SHOWN] for case in cases},
            {case.name: case.result for case in cases},
            demonstration.exact(default_rng(seed), _EXACT_DRAWS)[:, demonstration.SHOWN],
            demonstration.NAMES_SHOWN,
        )
        with writing("--out", out):
            if plot != out:
                out.mkdir(parents=True, exist_ok=True)
            try:
                canvas.save(figure, plot)
            except ValueError as error:
                raise InputError(f"`--out` must name a picture; got {plot}: {error}") from error
        print(f"Plot: {printable(str(plot))}\n\n{YOUR_OWN_DRAWS}")


def _demo_table(cases: list[demonstration.Case], draws: int) -> Table:
    table = Table(
        title=f"Posterior of a logistic regression, {draws} draws from each sampler",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("Sampler", "What it does", "p-value", "Verdict", "Clearest fault"):
        table.add_column(heading)
    for case in cases:
        result = case.result
        off = [words for label, words in effect_facts(result, most=1) if label == "Off"]
        table.add_row(
            case.name,
            case.description,
            p_words(result.pvalue).removeprefix("p ").removeprefix("= "),
            f"[bold red]{result.verdict}[/]" if result.rejected() else result.verdict,
            off[0].partition(" (")[0].replace("`", "") if off else "",
        )
    return table
