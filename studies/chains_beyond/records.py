"""One group of replicates: draws, verdicts, and what is kept of each."""

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import polystein as ps
from polystein.errors import StudyError
from polystein.experiments.engine.cells import Replicate, Row
from studies.chains_beyond import GROUP
from studies.chains_beyond.lines import Array, Drawn, all_lines

#: A word of each arm's name, by which it is known in the tables.
ARMS = {"flips": "flip", "trained": "train", "agreement": "agree", "net": "net"}
CHILD = Path(__file__).with_name("earlier_check.py")


def arm_key(name: str) -> str:
    """The short name of an arm; a name that is not known is an error."""
    for key, word in ARMS.items():
        if word in name:
            return key
    raise ValueError(f"`name` must be that of an arm of `check`; got {name!r}")


def group_task(replicate: Replicate, earlier: str | None = None) -> Sequence[Row]:
    """All replicates of a group, one row each. With `earlier`, by the `check` found there."""
    line = all_lines()[replicate.cell["line"]]
    drawn = line.draw(replicate.generator("draws"), GROUP)
    seeds = [replicate.stream(f"check {position}") for position in range(GROUP)]
    if earlier is not None:
        return earlier_rows(drawn, seeds, line.iid, earlier)
    facts = drawn.facts or ({},) * GROUP
    return [
        record(draws, scores, seed, line.iid, fact)
        for draws, scores, seed, fact in zip(drawn.draws, drawn.scores, seeds, facts, strict=True)
    ]


def record(
    draws: Array,
    scores: Array,
    seed: np.random.SeedSequence,
    iid: bool,
    facts: Mapping[str, Any],
) -> Row:
    """What is kept of one replicate. An error of the package is a verdict of its own."""
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            # A warning concerns one set of draws; here many are tested on purpose.
            warnings.simplefilter("ignore", ps.PolysteinWarning)
            result = ps.check(draws, scores, iid=iid, rng=seed)
    except ps.PolysteinError as error:
        return {**error_row(error), "facts": json.dumps(dict(facts))}
    return {
        **result_row(result),
        "milliseconds": round(1e3 * (time.process_time() - started), 2),
        "facts": json.dumps(dict(facts)),
    }


def error_row(error: ps.PolysteinError) -> Row:
    """A verdict that was refused, and why."""
    return {
        "pvalue": None,
        "verdict": "error",
        "arms": "{}",
        "abstained": "{}",
        "warnings": 0,
        "message": f"{type(error).__name__}: {error}",
        "milliseconds": None,
    }


def result_row(result: ps.GofResult) -> Row:
    """The verdict, the p-values of the arms with their shares of the level, and who abstained."""
    return {
        "pvalue": result.pvalue,
        "verdict": result.verdict,
        "arms": json.dumps({arm_key(arm.name): arm.pvalue for arm in result.evidence.arms}),
        "abstained": json.dumps(abstentions(result)),
        "warnings": len(result.warnings),
        "message": " ".join(getattr(result, "reasons", ())),
    }


def abstentions(result: ps.GofResult) -> dict[str, str]:
    """The arms that abstained, with their reasons.

    A result without a list of its own (before there was one) shows it by the arms that it lacks.
    """
    named = getattr(result.evidence, "abstained", None)
    if named is not None:
        return {arm_key(name): reason for name, reason in named}
    there = {arm_key(arm.name) for arm in result.evidence.arms}
    return {key: "" for key in ("flips", "trained") if key not in there}


def earlier_rows(
    drawn: Drawn, seeds: Sequence[np.random.SeedSequence], iid: bool, source: str
) -> list[Row]:
    """The same draws and seeds by an earlier `check`, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "group.npz"
        keys = np.array([seed.spawn_key for seed in seeds], dtype=np.uint64)
        seed = np.uint64(seeds[0].entropy)
        np.savez(file, draws=drawn.draws, scores=drawn.scores, keys=keys, seed=seed, iid=iid)
        command = [sys.executable, str(CHILD), source, str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise StudyError(f"`{' '.join(command)}` failed:\n{done.stderr}")
    return [{**empty_row(), **row} for row in json.loads(done.stdout)]


def empty_row() -> Row:
    """The fields that an earlier result has no counterpart of."""
    return {
        "arms": "{}",
        "abstained": "{}",
        "warnings": 0,
        "message": "",
        "milliseconds": None,
        "facts": "{}",
    }
