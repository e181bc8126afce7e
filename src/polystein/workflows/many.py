"""Many fits, each checked by itself, with p-values that allow for all of them."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polystein._lib.arguments import boolean, is_finite_number, one_of, path_of, require_progress
from polystein._lib.arrays import is_array, to_numpy
from polystein._lib.files import MARK, write_whole, writing
from polystein._lib.notes import one_line
from polystein._lib.processes import Lost, spread
from polystein._lib.random import seed_sequence
from polystein._lib.threads import one_blas_thread
from polystein._version import __version__
from polystein.adapters.file import from_file
from polystein.data.passes import every_row, visit_blocks
from polystein.data.sample import as_source
from polystein.data.source import Block, Source, is_source
from polystein.errors import InputError, PolysteinError, PolysteinWarning
from polystein.explain.tolerance import checked_tolerance
from polystein.methods.check import flips, net
from polystein.methods.check.check import check
from polystein.methods.check.statistics import FLIPS, NET, SHARES_OF_CHAINS, SHARES_OF_ROWS
from polystein.report.effects import effect_facts
from polystein.results.many import CheckedFit, CheckTable, checked_mapping, stored_size
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.scale.threads import thread_count
from polystein.types import RNG, Adjustment, Progress

_LOST = "the process that checked it ended before it was done. Was there enough memory?"


def check_many(
    fits: Mapping[str, Any],
    /,
    *,
    adjust: Adjustment = "holm",
    alpha: float = DEFAULT_LEVEL,
    iid: bool = False,
    tolerance: float | None = None,
    n_jobs: int | None = None,
    rng: RNG = 0,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CheckTable:
    """Check many fits, with p-values that allow for all of them.

    Parameters
    ----------
    fits : mapping
        From names to fits. A fit is what `check` takes in one argument: a `Sample`, ArviZ data with
        gradients, and so on. It may also be a pair ``(draws, scores)``, the path of a file for
        `from_file`, or a function without arguments that returns any of these. Files are read and
        functions called when it is their turn, so that not all fits are in memory at once.
    adjust : {"holm", "benjamini-hochberg"}
        How p-values allow for each other. Holm's correction bounds the probability that any
        correct fit is rejected by `alpha`. That of Benjamini and Hochberg bounds the expected share
        of correct fits among the rejected ones; fits must be independent.
    alpha : float
        The level of the verdicts.
    iid, tolerance
        As for `check`. A tolerance is judged for each fit by itself.
    n_jobs : int, optional
        Number of processes; -1 takes one for each core. Results are the same for any number. In a
        script the call belongs under ``if __name__ == "__main__":``. A fit that cannot be sent to
        another process, such as a lambda, is checked in this one.
    rng : int, SeedSequence, Generator or None
        As for `check`. With an int every fit has this seed: ``check(sample, rng=rng)`` gives the
        result of its row. A Generator is advanced from fit to fit.
    store : str or path, optional
        Folder that keeps each result as a JSON file as soon as it is there. A run that was stopped,
        even killed, goes on from there. Results are kept under a hash of draws, scores, names,
        weights, options and the version: what has changed is checked again.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fit.

    Returns
    -------
    CheckTable
        A row for each fit. A fit that cannot be read or checked is a row with its error. Warnings
        are kept in ``row.result.warnings`` and not emitted. Effects are computed for fits with a
        p-value of at most `alpha`.

    Notes
    -----
    The sign flips of `check` give no p-value below 1 in the number of flips: 0.0024 for the usual
    500, after their share of the level. Holm's correction asks for smaller ones from 21 fits on, at
    the level 0.05. The trained witnesses can give them. If theirs is not small enough, and no flip
    was as far out as the draws, the fit is "inconclusive".

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.standard_normal((3, 4, 500, 2))
    >>> right, wide = (draws[0], -draws[0]), (1.3 * draws[1], -1.3 * draws[1])
    >>> table = ps.check_many({"right": right, "wide": wide, "lost": "no_such_file.npz"})
    >>> table
    CheckTable(3 fits: 1 error, 1 rejected, 1 not rejected)
    >>> table["wide"].adjusted < 0.01
    True
    """
    names = checked_mapping(fits, "fits", 1)
    one_of(adjust, Adjustment, "adjust")
    if not (is_finite_number(alpha) and 0.0 < alpha < 1.0):
        raise InputError(f"`alpha` must be a level strictly between 0 and 1; got {alpha!r}")
    boolean(iid, "iid")
    checked_tolerance(tolerance)
    require_progress(progress)
    jobs = thread_count(n_jobs)
    folder = None if store is None else _folder(store)
    tasks = [
        _Task(fit, bool(iid), tolerance, float(alpha), seed_sequence(rng), folder)
        for fit in fits.values()
    ]
    answers: dict[int, CheckedFit] = {}
    for number, answer in _answers(tasks, min(jobs, len(tasks))):
        if folder is not None and answer.key:
            with writing("store", folder):
                write_whole(folder / f"{answer.key}.json", json.dumps(answer.values).encode())
        answers[number] = _fit(names[number], answer)
        if progress is not None:
            progress(len(answers), len(tasks))
    return CheckTable(tuple(answers[number] for number in range(len(tasks))), adjust, float(alpha))


@dataclass(frozen=True)
class _Task:
    """One fit, and how it is checked."""

    fit: Any
    iid: bool
    tolerance: float | None
    alpha: float
    seed: np.random.SeedSequence
    folder: Path | None


@dataclass(frozen=True)
class _Answer:
    """What was found, in plain values, or why nothing was; the key under which to keep it."""

    values: Mapping[str, Any] | None
    error: str = ""
    key: str = ""


def _folder(store: str | os.PathLike[str]) -> Path:
    """The folder for results, which is made if it is not there."""
    folder = path_of(store, "store")
    with writing("store", folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _answers(tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[int, _Answer]]:
    """The answers to all tasks, in the order in which they are there."""
    if jobs == 1:
        yield from enumerate(map(_checked, tasks))
        return
    for number, answer in spread(_checked, tasks, jobs):
        yield number, _Answer(None, _LOST) if isinstance(answer, Lost) else answer


def _checked(task: _Task) -> _Answer:
    """Read a fit and check it, unless its result was kept by an earlier run.

    Whatever goes wrong is the fault of this fit alone.
    """
    try:
        with warnings.catch_warnings(), one_blas_thread():
            warnings.simplefilter("ignore", PolysteinWarning)
            source = loaded(task.fit)
            key = "" if task.folder is None else _key(source, task)
            if task.folder is not None and (kept := _kept(task.folder / f"{key}.json")):
                return _Answer(kept)
            result = check(source, iid=task.iid, tolerance=task.tolerance, rng=task.seed)
            effect_facts(result, task.alpha)  # computes the effects, which `to_dict` then holds
    except PolysteinError as error:
        return _Answer(None, str(error) or type(error).__name__)
    except Exception as error:
        return _Answer(None, f"{type(error).__name__}: {error}")
    values = {
        "written_by": f"{MARK} {__version__}",
        "chains": len(source.layout.lengths),
        "draws": max(source.layout.lengths),
        "result": result.to_dict(),
    }
    return _Answer(values, key=key)


def loaded(fit: Any) -> Source:
    """The source of a fit, whatever form it has."""
    if isinstance(fit, str | os.PathLike):
        return from_file(fit)
    if type(fit) is tuple and len(fit) == 2:
        return as_source(*fit)
    if callable(fit) and not (is_source(fit) or is_array(fit)):
        load: Callable[[], Any] = fit
        try:
            found = load()
        except SystemExit as end:  # caught here alone: handlers of signals raise it anywhere
            raise InputError(
                f"the function of a fit must return it; it ended with SystemExit: {end}"
            ) from end
        return loaded(found)
    return as_source(fit, None)


def _key(source: Source, task: _Task) -> str:
    """A hash of everything that the result depends on."""
    facts, seed = source.facts, task.seed
    draws, scores, weights = (hashlib.sha256() for _ in range(3))

    def take(block: Block) -> None:
        draws.update(np.ascontiguousarray(block.draws).data)
        scores.update(np.ascontiguousarray(block.scores).data)
        if block.weights is not None:
            weights.update(np.ascontiguousarray(block.weights).data)

    visit_blocks(source, every_row(source), take)
    statistics = [
        (name, array.shape, array.dtype.str, hashlib.sha256(array.tobytes()).hexdigest())
        for name, array in sorted(
            (name, np.asarray(to_numpy(value))) for name, value in facts.sampler_statistics.items()
        )
    ]
    options = (__version__, task.iid, task.tolerance, task.alpha, seed.entropy, seed.spawn_key)
    described: tuple[object, ...] = (*source.layout, source.names, source.log_scale)
    described += (facts.warnings, statistics, *(["minibatch"] if facts.minibatch else []))
    hashes = [one.hexdigest() for one in (draws, scores, weights)]
    return hashlib.sha256(repr((options, described, hashes)).encode()).hexdigest()


def _kept(file: Path) -> Mapping[str, Any] | None:
    """What an earlier run kept; None if there is nothing, or nothing that can be read."""
    try:
        values: Mapping[str, Any] = json.loads(file.read_bytes())
        _fit("", _Answer(values))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return values


def _fit(name: str, answer: _Answer) -> CheckedFit:
    """What is shown of an answer; results of this run and kept ones are read alike."""
    if answer.values is None:
        return CheckedFit(name, error=one_line(answer.error))
    result = GofResult.from_dict(answer.values["result"])
    size = stored_size(answer.values, name, least=1)
    return CheckedFit(name, *size, result, _is_coarse(result))


def _is_coarse(result: GofResult) -> bool:
    """Whether the draws were farther out than every flip: then more flips might say more."""
    shares = SHARES_OF_ROWS if result.settings.get("iid") else SHARES_OF_CHAINS
    patterns = {
        FLIPS: (flips.FIRST_PATTERNS, *flips.FURTHER_PATTERNS),
        NET: (net.FIRST_PATTERNS, *net.FURTHER_PATTERNS),
    }
    for arm in result.evidence.arms:
        least = 1.0 / np.array(patterns.get(arm.name, ()))
        if np.isclose(arm.pvalue * shares[arm.name], least, rtol=1e-9, atol=0.0).any():
            return True
    return False
