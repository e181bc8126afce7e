"""The commands of ``polystein``."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import polystein
from polystein._lib.files import writing
from polystein.cli.compare import run_compare
from polystein.cli.demo import run_demo
from polystein.cli.inputs import Input
from polystein.cli.many import TWO_FILES, Adjust, Outputs, check_files, fits_of
from polystein.cli.origin import origin_of, origin_values
from polystein.cli.refine import run_refine
from polystein.cli.report import run_report
from polystein.cli.reproduce import run_reproduce
from polystein.cli.session import (
    EXIT_CODES,
    Alpha,
    Debug,
    DropFirst,
    ExitCode,
    Force,
    Html,
    Json,
    Model,
    ScoresFrom,
    Seed,
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
from polystein.errors import InputError, printable
from polystein.explain.tolerance import checked_tolerance
from polystein.report.noticed import compute_what_is_told
from polystein.report.page import NOTHING_KNOWN, Origin
from polystein.report.result_page import write_page
from polystein.report.text import render
from polystein.results.result import DEFAULT_LEVEL, GofResult

app = typer.Typer(
    help="Do these draws come from that target? Polynomial Stein discrepancy tests.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


class Method(StrEnum):
    """The tests that can be asked for."""

    LAMBDA_PSD = "lambda-psd"
    PSD = "psd"
    PSD_BOOTSTRAP = "psd-bootstrap"


class Alternative(StrEnum):
    """What speaks against the draws: a statistic far out on both sides, or above."""

    TWO_SIDED = "two-sided"
    GREATER = "greater"


DRAWS_HELP = (
    "Draws: .npz (keys draws, scores and perhaps names and log_weights), .npy, .csv, .parquet; "
    ".nc or .zarr of ArviZ, with stored gradients; or a diagnostic CSV file of CmdStan. Large .npy "
    "and .parquet files, folders of .parquet files, and .zarr or .h5 with arrays draws and scores "
    "are read in blocks."
)
Draws = Annotated[Path, typer.Argument(help=DRAWS_HELP)]
DrawsIfAny = Annotated[Path | None, typer.Argument(help=DRAWS_HELP)]
Scores = Annotated[
    Path | None,
    typer.Argument(help="Scores (gradients of log p), in the same shape, if DRAWS has none."),
]
MoreFits = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Three or more files are fits of their own, each with its scores: p-values are "
        "adjusted for their number, and one table shows all. Two files are draws and scores, "
        "unless --many is given."
    ),
]
CmdStan = Annotated[
    str | None,
    typer.Option(help="Diagnostic CSV files of CmdStan, one for each chain: 'chain_*_diag.csv'."),
]
Cache = Annotated[
    Path | None,
    typer.Option(help="Folder for scores of --target, which are then evaluated once for a draw."),
]
Jobs = Annotated[int, typer.Option(help="Number of cores to use; -1 for all.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"polystein {polystein.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Options that come before the command."""


@app.command("test", epilog=EXIT_CODES)
def run_test(
    draws: Draws,
    scores: Scores = None,
    model: Model = None,
    var_names: VarNames = None,
    thin: Thin = 1,
    drop_first: DropFirst = 0,
    order: Annotated[int, typer.Option(help="Highest power in the test function.")] = 4,
    method: Annotated[Method, typer.Option(help="Which test to run.")] = Method.LAMBDA_PSD,
    alpha: Alpha = DEFAULT_LEVEL,
    seed: Seed = 0,
    alternative: Annotated[
        Alternative | None,
        typer.Option(help="Default: two-sided. psd-bootstrap is always one-sided (greater)."),
    ] = None,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="First centre and scale by the training draws.")
    ] = False,
    as_json: Json = False,
    html: Html = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Test whether draws come from the target that their scores belong to.

    Rows are taken as independent draws.
    """
    with session(debug):
        _check_level_and_seed(alpha, seed)
        bootstrap = method is Method.PSD_BOOTSTRAP
        if bootstrap and standardise:
            raise InputError(f"`--standardise` needs training draws, which {method} does not have")
        if bootstrap and alternative is Alternative.TWO_SIDED:
            raise InputError(f"`--alternative` must be 'greater' for {method}; got '{alternative}'")
        names = tuple(var_names or ())
        chosen = Input(
            draws, scores, var_names=names, thin=thin, drop_first=drop_first, model=model
        )
        _check_outputs(chosen, html, force)
        sample = chosen.load()
        with progress_bar("Bootstrap" if bootstrap else "Testing") as progress:
            if bootstrap:
                result = polystein.psd_bootstrap_test(
                    sample, order=order, rng=seed, progress=progress
                )
            else:
                test = polystein.psd_test if method is Method.PSD else polystein.lambda_psd_test
                result = test(
                    sample,
                    order=order,
                    alternative="greater" if alternative is Alternative.GREATER else "two-sided",
                    standardise=standardise,
                    rng=seed,
                    progress=progress,
                )
        _conclude(result, chosen, alpha, seed, as_json, html, force)


@app.command("check", epilog=EXIT_CODES)
def run_check(
    draws: DrawsIfAny = None,
    scores: Scores = None,
    more: MoreFits = None,
    scores_from: ScoresFrom = None,
    cmdstan: CmdStan = None,
    target: Target = None,
    model: Model = None,
    cache: Cache = None,
    jobs: Jobs = 1,
    var_names: VarNames = None,
    thin: Thin = 1,
    drop_first: DropFirst = 0,
    iid: Annotated[
        bool, typer.Option("--iid", help="Rows are independent draws, not a chain in time order.")
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="How far off the draws may be: means by this many sd, sds by this fraction. Exit "
            "codes then say whether they are within it."
        ),
    ] = None,
    alpha: Alpha = DEFAULT_LEVEL,
    seed: Seed = 0,
    many: Annotated[
        bool, typer.Option("--many", help="Every file is a fit of its own, also if there are two.")
    ] = False,
    adjust: Annotated[
        Adjust | None,
        typer.Option(help="How p-values of several fits allow for each other. Default: holm."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder for results of several fits. A stopped run goes on from there."),
    ] = None,
    as_json: Json = False,
    html: Html = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Check draws: safe for autocorrelated chains, nothing to tune.

    Draws of shape (chain, draw, d) are chains in time order, (draw, d) is one chain. Several files,
    as in check *.nc, are fits of their own. The exit code is then that of the worst fit: 2, else 1,
    5, 4, 6 or 0, in this order.
    """
    with session(debug):
        _check_level_and_seed(alpha, seed)
        checked_tolerance(tolerance, "--tolerance")
        names = tuple(var_names or ())
        further = (scores_from, cmdstan, target, names, thin, drop_first, cache, model)
        if many or more:
            files = [file for file in (draws, scores, *(more or ())) if file is not None]
            fits = fits_of([Input(file, None, *further) for file in files], many)
            check_files(
                fits,
                Outputs(as_json, html, force),
                store,
                seed,
                adjust=(adjust or Adjust.HOLM).value,
                alpha=alpha,
                iid=iid,
                tolerance=tolerance,
                n_jobs=jobs,
            )
        for option, value in (("--adjust", adjust), ("--store", store)):
            if value is not None:
                raise InputError(f"`{option}` is for several fits; add --many if these are some")
        chosen = Input(draws, scores, *further)
        _check_outputs(chosen, html, force)
        try:
            sample = chosen.load()
        except InputError as error:
            remark = f"{str(error).removesuffix('.')}. {TWO_FILES}"
            raise InputError(remark if draws and scores else error) from error
        with progress_bar("Checking") as progress:
            result = polystein.check(
                sample, iid=iid, tolerance=tolerance, n_jobs=jobs, rng=seed, progress=progress
            )
        _conclude(result, chosen, alpha, seed, as_json, html, force)


app.command("compare")(run_compare)
app.command("demo")(run_demo)
app.command("refine", epilog=EXIT_CODES)(run_refine)
app.command("report", epilog=EXIT_CODES)(run_report)
app.command("reproduce")(run_reproduce)


def _conclude(
    result: GofResult,
    chosen: Input,
    alpha: float,
    seed: int,
    as_json: bool,
    html: Path | None,
    force: bool,
) -> None:
    """Print the result, write the page, and exit with the verdict.

    The result is printed before the page is written. A failure of one does not prevent the other.
    """
    target = "--target module:log_density" if chosen.model is None else f"--model {chosen.model}"
    page = "add --html page.html for a page; " if html is None else ""
    file = "FILE" if chosen.draws is None else shlex.quote(printable(str(chosen.draws)))
    run = f"{page}polystein refine {file} {target} to see what better draws change"
    place = "{} of --json"  # where a reader of the terminal finds what the text leaves out
    # Files are read once more for their digests, where these are told.
    origin = origin_of(chosen.files()) if as_json or html is not None else NOTHING_KNOWN
    text = (
        _as_json(result, alpha, seed, origin)
        if as_json
        else render(result, alpha, place=place, lines_to_run=run)
    )
    try:
        print(text, flush=True)
    finally:
        if html is not None:
            with writing("--html", html):
                write_page(result, html, alpha, origin=origin, overwrite=force)
    if html is not None:
        tell_page(html, as_json)
    raise typer.Exit(int(ExitCode.of(result.verdict_at(alpha), result.tolerance)))


def _check_level_and_seed(alpha: float, seed: int) -> None:
    """Refuse before files are read what no test can use."""
    require_level(alpha)
    if seed < 0:
        raise InputError(f"`--seed` must be a non-negative integer; got {seed}")


def _check_outputs(chosen: Input, html: Path | None, force: bool) -> None:
    """Refuse before files are read what would overwrite them, or other files."""
    inputs = chosen.files()
    require_other_output(inputs)
    if html is not None:
        require_free("--html", html, inputs, force)


def _as_json(result: GofResult, alpha: float, seed: int, origin: Origin) -> str:
    """All of the result, and what only the command line knows."""
    compute_what_is_told(result, alpha)
    values = {
        **result.to_dict(),
        "verdict": result.verdict_at(alpha),
        "alpha": alpha,
        "rejected": result.rejected(alpha),
        "seed": seed,
        **origin_values(origin),
    }
    return json.dumps(values, indent=2, allow_nan=False)
