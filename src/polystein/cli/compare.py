"""The command ``polystein compare``: samplers or settings of one target, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import polystein
from polystein._lib.files import writing
from polystein.cli.inputs import Input
from polystein.cli.origin import origin_of, origin_values
from polystein.cli.session import (
    Alpha,
    Debug,
    DropFirst,
    Force,
    Html,
    Json,
    Model,
    ScoresFrom,
    Target,
    Thin,
    VarNames,
    progress_bar,
    require_free,
    require_level,
    require_other_output,
    session,
    tell_page,
)
from polystein.errors import InputError
from polystein.report.compare import render_samplers
from polystein.report.compare_page import compare_page
from polystein.report.page import NOTHING_KNOWN, write_document
from polystein.results.result import DEFAULT_LEVEL


def run_compare(
    files: Annotated[
        list[Path],
        typer.Argument(help="Two or more sets of draws of one target, each a file as for check."),
    ],
    scores_from: ScoresFrom = None,
    target: Target = None,
    model: Model = None,
    var_names: VarNames = None,
    thin: Thin = 1,
    drop_first: DropFirst = 0,
    cost: Annotated[
        list[str] | None,
        typer.Option(help="What a file's draws cost, as FILE=12.3, in any unit; may be repeated."),
    ] = None,
    order: Annotated[int, typer.Option(help="Order of the discrepancy.")] = 2,
    iid: Annotated[
        bool, typer.Option("--iid", help="Rows are independent draws, not a chain in time order.")
    ] = False,
    alpha: Alpha = DEFAULT_LEVEL,
    as_json: Json = False,
    html: Html = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Compare sets of draws of one target: which is nearest to it, and by how much.

    The exit code is 0 if the sets could be compared, whatever their ranks.
    """
    with session(debug):
        require_level(alpha)
        names = [str(file) for file in files]
        if len(set(names)) < max(2, len(names)):
            raise InputError(
                "FILES must be at least two, each given once; got " + (", ".join(names) or "none")
            )
        costs = dict(_cost(one) for one in cost or ())
        chosen = (scores_from, None, target, tuple(var_names or ()), thin, drop_first, None, model)
        inputs = {name: Input(Path(name), None, *chosen) for name in names}
        read = [file for one in inputs.values() for file in one.files()]
        require_other_output(read)
        if html is not None:
            require_free("--html", html, read, force)
        with progress_bar("Comparing") as progress:
            found = polystein.compare(
                {name: one.load for name, one in inputs.items()},
                cost=costs or None,
                order=order,
                alpha=alpha,
                iid=iid,
                progress=progress,
            )
        origin = origin_of(read) if as_json or html is not None else NOTHING_KNOWN
        if as_json:
            values = {**found.to_dict(), **origin_values(origin)}
            print(json.dumps(values, indent=2, allow_nan=False), flush=True)
        else:
            print(render_samplers(found, rest_in="`sets` of --json"), flush=True)
        if html is not None:
            with writing("--html", html):
                write_document(compare_page(found, origin), html, overwrite=force)
            tell_page(html, as_json)


def _cost(given: str) -> tuple[str, float]:
    """A file and what its draws cost."""
    name, _, value = given.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"`--cost` must be FILE=NUMBER; got {given!r}") from None
