"""The command ``polystein refine``: move draws by the target's own log-density, and compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import polystein
from polystein._lib.files import writing
from polystein.adapters.file import from_file
from polystein.adapters.pymc import from_pymc
from polystein.cli.inputs import Input, model_of, score_function
from polystein.cli.origin import origin_of, origin_values
from polystein.cli.session import (
    Debug,
    ExitCode,
    Force,
    Model,
    Seed,
    progress_bar,
    require_free,
    require_level,
    require_other_output,
    session,
    tell_page,
)
from polystein.data.sample import Sample
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.explain.tolerance import checked_tolerance
from polystein.report.page import NOTHING_KNOWN, write_document
from polystein.report.refinement import render_refinement
from polystein.report.refinement_page import refinement_page
from polystein.results.result import DEFAULT_LEVEL
from polystein.types import FloatArray

#: What the user's function returns.
GIVES = "log-density"


def run_refine(
    draws: Annotated[
        Path, typer.Argument(help="Draws on the unconstrained scale, as for check; no scores.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="Log-density, module:function, from (n, d) draws to n log-densities, or to a pair "
            "of them and (n, d) scores. That of check returns scores."
        ),
    ] = None,
    model: Model = None,
    thin: Annotated[int, typer.Option(help="Keep every THIN-th draw.")] = 1,
    drop_first: Annotated[
        int, typer.Option(help="Drop this many draws at the start of each chain.")
    ] = 0,
    transitions: Annotated[int, typer.Option(help="Transitions to begin with.")] = 20,
    starts: Annotated[int, typer.Option(help="Draws that are moved, at most.")] = 1000,
    tolerance: Annotated[
        float | None,
        typer.Option(help="How far off the draws may be: means by sds, sds by this fraction."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = DEFAULT_LEVEL,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML page to this file.")] = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Move draws by steps that leave the target invariant, and say what changed."""
    with session(debug):
        require_level(alpha)
        checked_tolerance(tolerance, "--tolerance")
        files = Input(draws, target=target, model=model).files()
        require_other_output(files)
        if html is not None:
            require_free("--html", html, files, force)
        if model is not None and target is None:
            sample = from_pymc(model_of(model), draws, thin=thin, drop_first=drop_first)
        elif target is None or model is not None:
            raise InputError(
                "`--target module:function` or `--model module:function` must be given: a function "
                "that returns log-densities, or one that returns your PyMC model; got "
                + ("neither" if target is None else "both")
            )
        else:
            found = score_function(target, GIVES)
            sample = from_file(
                draws, lambda rows: np.zeros(rows.shape), thin=thin, drop_first=drop_first
            )
            sample = copy(sample)
            sample.facts = replace(sample.facts, target=_target(found, sample))
        with progress_bar("Refining") as progress:
            refined = polystein.refine(
                sample,
                transitions=transitions,
                starts=starts,
                tolerance=tolerance,
                rng=seed,
                progress=progress,
            )
        verdict = refined.verdict_at(alpha)
        origin = origin_of(files) if as_json or html is not None else NOTHING_KNOWN
        if as_json:
            values = {**refined.to_dict(), "verdict": verdict, "alpha": alpha, "seed": seed}
            values |= origin_values(origin)
            print(json.dumps(values, indent=2, allow_nan=False), flush=True)
        else:
            print(render_refinement(refined, alpha), flush=True)
        if html is not None:
            with writing("--html", html):
                page = refinement_page(refined, alpha, origin)
                write_document(page, html, overwrite=force)
            tell_page(html, as_json)
        raise typer.Exit(int(ExitCode.of(verdict, refined.tolerance)))


def _target(function: Callable[[FloatArray], Any], sample: Sample) -> Target:
    """The target of the user's function, which is called once wherever both of its answers count.

    Only a tuple of two is a pair: a list of two may hold two log-densities.
    """

    def both(rows: FloatArray) -> tuple[Any, Any]:
        answer = function(rows)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InputError(
                "`--target` must return log-densities, or a pair of log-densities and scores; got "
                f"a {type(answer).__name__}"
                + (f" of {len(answer)}" if isinstance(answer, tuple) else "")
            )
        return answer

    known, first = sample.facts.transform, np.array(sample.read(0, 0, 1).draws)
    paired, d = isinstance(function(first), tuple), sample.layout.dimension
    if paired:
        return Target(d, lambda rows: both(rows)[0], both, sample.names, known)
    return Target(d, function, None, sample.names, known)
