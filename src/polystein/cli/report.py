"""The command ``polystein report``: a page of draws, or of a result that --json printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import polystein
from polystein._lib.arguments import is_finite_number
from polystein._lib.files import writing
from polystein._lib.records import listed, stored
from polystein.cli.inputs import Input
from polystein.cli.many import worst_code
from polystein.cli.origin import origin_of
from polystein.cli.session import (
    Debug,
    ExitCode,
    Force,
    Model,
    Target,
    progress_bar,
    require_free,
    require_level,
    require_other_output,
    session,
)
from polystein.errors import InputError, printable
from polystein.explain.tolerance import checked_tolerance
from polystein.report.compare import samplers_headline
from polystein.report.compare_page import compare_page
from polystein.report.effects import effect_facts
from polystein.report.many import many_headline
from polystein.report.many_page import many_page
from polystein.report.page import Origin, write_document
from polystein.report.refinement import refinement_facts
from polystein.report.refinement_page import refinement_page
from polystein.report.result_page import result_page
from polystein.report.text import headline
from polystein.results.many import CheckTable
from polystein.results.refinement import Refinement
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.results.sampler_comparison import SamplerComparison

#: A stored result of a long run is a few megabytes; what is far larger is something else.
_LARGEST = 2**28


class _Told(NamedTuple):
    """What was found: a sentence and perhaps the tolerance, the exit code, and the page."""

    words: str
    code: ExitCode
    page: Callable[[Origin], str]


def run_report(
    file: Annotated[
        Path, typer.Argument(help="Draws, as for check, or a .json file that --json printed.")
    ],
    scores: Annotated[
        Path | None, typer.Argument(help="Scores, in the same shape, if FILE has none.")
    ] = None,
    target: Target = None,
    model: Model = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The page. Default: beside FILE, with .html, if that is new."),
    ] = None,
    iid: Annotated[
        bool, typer.Option("--iid", help="Rows are independent draws, not a chain in time order.")
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(help="How far off the draws may be: means by sds, sds by this fraction."),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Level of the test. Default: 0.05, or that of the file.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the test, for draws. Default: 0.")
    ] = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Write a page about draws, or about a stored result.

    Draws are checked first, as by check, which has more options and writes the same page with
    --html. The exit code is that of check.
    """
    with session(debug):
        if alpha is not None:
            require_level(alpha)
        checked_tolerance(tolerance, "--tolerance")
        chosen = Input(file, scores, target=target, model=model)
        require_other_output(chosen.files())
        page = _beside(file, force) if out is None else out
        require_free("--out", page, chosen.files(), force)
        if file.suffix.lower() == ".json":
            of_draws = (scores, target, model, tolerance, seed)
            if iid or any(one is not None for one in of_draws):
                raise InputError(
                    "SCORES, `--target`, `--model`, `--iid`, `--tolerance` and `--seed` are for "
                    f"draws; got a stored result, {file}, which has them already"
                )
            told, origin = _stored(file, alpha)
        else:
            with progress_bar("Checking") as progress:
                result = polystein.check(
                    chosen.load(), iid=iid, tolerance=tolerance, rng=seed or 0, progress=progress
                )
            told = _of_result(result, alpha or DEFAULT_LEVEL)
            origin = origin_of(chosen.files())
        words = told.page(origin)
        with writing("--out", page):
            write_document(words, page, overwrite=force)
        print(f"{told.words}\nPage: {printable(str(page))}", flush=True)
        raise typer.Exit(int(told.code))


def _beside(file: Path, force: bool) -> Path:
    """The page where none was named; what is there already may be the page of other draws."""
    named = file if file.name.strip(".") else file.resolve()  # a folder, as "." or ".."
    page = named.parent / f"{named.stem}.html"
    if page.exists() and not force:
        raise InputError(
            f"the page would be {page}, which exists. Name it by --out, or replace it with --force"
        )
    return page


def _stored(file: Path, alpha: float | None) -> tuple[_Told, Origin]:
    """What a file of `--json` says, and where that came from."""
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(f"FILE must be a stored result; got {file}, which is far too large")
        values = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"FILE must be readable; got {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"FILE must be JSON that --json printed; got {file}: {error}") from error
    if not isinstance(values, Mapping):
        raise InputError(f"FILE must be JSON that --json printed; got {file}, which is none")
    given: Any = values.get("alpha")
    known = is_finite_number(given) and 0.0 < given < 1.0
    level = alpha or (float(given) if known else DEFAULT_LEVEL)
    if "fits" in values:
        checks = CheckTable.from_dict(values)
        at_level = checks if alpha is None else replace(checks, alpha=alpha)
        return _of_checks(at_level), _stored_origin(values)
    if values.get("method") == "refine":
        return _of_refinement(Refinement.from_dict(values), level), _stored_origin(values)
    if values.get("method") == "compare":
        return _of_samplers(SamplerComparison.from_dict(values)), _stored_origin(values)
    return _of_result(GofResult.from_dict(values), level), _stored_origin(values)


def _stored_origin(values: Mapping[str, Any]) -> Origin:
    """Files, command and versions as they were stored, as far as they are there."""
    kept = ("files", "command", "polystein_version", "versions")
    with stored({key: values[key] for key in kept if key in values}) as content:
        files = listed(content.get("files", []), "files")
        digests = tuple((str(one["name"]), str(one["sha256"])) for one in files)
        version = content.get("polystein_version")  # earlier files have no other
        versions = content.get("versions", {} if version is None else {"polystein": version})
        command = content.get("command", "")
        if not all(isinstance(one, str) for one in (command, *versions.values())):
            raise TypeError("the command or a version is no text")
    return Origin(digests, command, versions)


def _of_result(result: GofResult, alpha: float) -> _Told:
    code = ExitCode.of(result.verdict_at(alpha), result.tolerance)
    words = _words(result, alpha, effect_facts(result, alpha))
    return _Told(words, code, lambda origin: result_page(result, alpha, origin))


def _of_refinement(refined: Refinement, alpha: float) -> _Told:
    code = ExitCode.of(refined.verdict_at(alpha), refined.tolerance)
    words = _words(refined, alpha, refinement_facts(refined, alpha))
    return _Told(words, code, lambda origin: refinement_page(refined, alpha, origin))


def _of_checks(checks: CheckTable) -> _Told:
    words = many_headline(checks)
    return _Told(words, worst_code(checks), lambda origin: many_page(checks, origin))


def _of_samplers(found: SamplerComparison) -> _Told:
    words = samplers_headline(found)
    return _Told(words, ExitCode.NOT_REJECTED, lambda origin: compare_page(found, origin))


def _words(result: GofResult | Refinement, alpha: float, facts: Sequence[tuple[str, str]]) -> str:
    """The verdict, and below it the tolerance, which the exit code goes by if there is one."""
    matters = [f"{label}: {words}" for label, words in facts if label == "Tolerance"]
    return "\n".join([" ".join(headline(result, alpha)), *matters])
