"""``polystein check`` on several files: one table, one page, one exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

import polystein
from polystein._lib.files import writing
from polystein.adapters.cmdstan import is_stan_csv
from polystein.cli.inputs import Input
from polystein.cli.origin import origin_of, origin_values
from polystein.cli.session import (
    ExitCode,
    progress_bar,
    require_free,
    require_other_output,
    tell_page,
)
from polystein.errors import InputError
from polystein.report.many import render_many
from polystein.report.many_page import many_page
from polystein.report.page import NOTHING_KNOWN, Origin, write_document
from polystein.results.many import CheckRow, CheckTable

#: What is added to an error about two files, which may have been meant as two fits.
TWO_FILES = "Two files are draws and their scores. To check each as a fit of its own, add --many"
#: The worst first: a fit that was not checked may hide anything.
_WORST_FIRST = (
    ExitCode.BAD_INPUT,
    ExitCode.REJECTED,
    ExitCode.BEYOND_TOLERANCE,
    ExitCode.INCONCLUSIVE,
    ExitCode.UNDECIDED,
    ExitCode.NOT_REJECTED,
)


class Adjust(StrEnum):
    """How p-values of several fits allow for each other."""

    HOLM = "holm"
    BENJAMINI_HOCHBERG = "benjamini-hochberg"


@dataclass(frozen=True)
class Outputs:
    """What is printed and written."""

    as_json: bool
    html: Path | None
    force: bool


def fits_of(inputs: Sequence[Input], many: bool) -> dict[str, Input]:
    """The fits by the names of their files, or an error where something else may be meant."""
    if not inputs:
        raise InputError("`--many` must be given with files, each a fit of its own; got none")
    if inputs[0].cmdstan is not None:
        raise InputError(
            f"`--cmdstan` must be given without DRAWS; got {inputs[0].draws}. Quote the pattern, "
            "as in --cmdstan 'chain_*.csv'"
        )
    files = [one.draws for one in inputs if one.draws is not None]
    if twice := [file for number, file in enumerate(files) if file in files[:number]]:
        raise InputError(f"every file must be given once; got {twice[0]} twice")
    chains = [file for file in files if file.suffix.lower() == ".csv" and _is_of_stan(file)]
    if len(chains) > 1 and not many:
        raise InputError(
            f"several files must be fits of their own; got {chains[0]} and {chains[1]}, which may "
            "be chains of one fit. Give these by --cmdstan 'chain_*.csv', in quotes. If each file "
            "is a fit, add --many"
        )
    return {str(one.draws): one for one in inputs}


def _is_of_stan(file: Path) -> bool:
    try:
        return file.is_file() and is_stan_csv(file)
    except OSError:
        return False  # its row will say so


def check_files(
    fits: Mapping[str, Input], outputs: Outputs, store: Path | None, seed: int, **options: Any
) -> None:
    """Check all fits, print the table, write the page, and exit with the worst of all verdicts."""
    files = [file for one in fits.values() for file in one.files()]
    require_other_output(files)
    if outputs.html is not None:
        require_free("--html", outputs.html, files, outputs.force)
    with progress_bar("Checking") as progress:
        table = polystein.check_many(
            {name: one.load for name, one in fits.items()},
            rng=seed,
            store=store,
            progress=progress,
            **options,
        )
    told = outputs.as_json or outputs.html is not None
    origin = origin_of(files) if told else NOTHING_KNOWN
    try:
        print(_as_json(table, seed, origin) if outputs.as_json else _as_text(table), flush=True)
    finally:
        if outputs.html is not None:
            with writing("--html", outputs.html):
                page = many_page(table, origin)
                write_document(page, outputs.html, overwrite=outputs.force)
    if outputs.html is not None:
        tell_page(outputs.html, outputs.as_json)
    raise typer.Exit(int(worst_code(table)))


def _as_text(table: CheckTable) -> str:
    return render_many(table, rows_in="`fits` of --json", warnings_in="`fits` of --json")


def _as_json(table: CheckTable, seed: int, origin: Origin) -> str:
    values = {**table.to_dict(), "seed": seed, **origin_values(origin)}
    return json.dumps(values, indent=2, allow_nan=False)


def worst_code(table: CheckTable) -> ExitCode:
    """The exit code of the worst fit."""
    return min(map(_exit_code, table), key=_WORST_FIRST.index)


def _exit_code(row: CheckRow) -> ExitCode:
    if row.result is None or row.verdict == "error":
        return ExitCode.BAD_INPUT
    return ExitCode.of(row.verdict, row.result.tolerance)
