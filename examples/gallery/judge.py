"""What `check` and `refine` say of a fault, and whether it is what the gallery expects."""

import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

import polystein as ps
from examples.gallery.faults import REFUSED

SEED = 1
#: Runs with other draws, of which the page says how often each verdict was given.
RUNS = 40
#: The line of a report that is the same for every fault.
LEFT_OUT = "Run "


class Judged(NamedTuple):
    """The result of the draws that are shown, in words, and the verdicts of other runs."""

    shown: np.ndarray
    verdict: str
    pvalue: float | None
    words: str
    counts: Counter
    refined: ps.Refinement | None


def checked(fault, seed):
    """The draws of a seed, and the result or the error of `check`."""
    draws = fault.draw(fault.target, np.random.default_rng(seed))
    scores = (fault.scores or fault.target.score)(draws.reshape(-1, draws.shape[-1]))
    weights = fault.log_weights(draws) if fault.log_weights else None
    try:
        sample = ps.Sample(draws, scores.reshape(draws.shape), log_weights=weights)
        return draws, ps.check(sample, iid=draws.ndim == 2)
    except ps.InputError as error:
        return draws, error


def verdict_of(result):
    return REFUSED if isinstance(result, ps.InputError) else result.verdict


def shortened(report):
    """A report without the line that is the same everywhere."""
    kept, leaving = [], False
    for line in report.splitlines():
        if not line.startswith(" "):
            leaving = line.startswith(LEFT_OUT)
        if not leaving:
            kept.append(line)
    return "\n".join(kept)


def judge(fault, runs=RUNS):
    """Judge a fault; a `ValueError` if the verdicts are not those that the page counts on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        shown, result = checked(fault, SEED)
        others = (checked(fault, seed)[1] for seed in range(SEED + 1, SEED + 1 + runs))
        counts = Counter(verdict_of(one) for one in others)
        refined = None
        if fault.refined:
            density, scores = fault.target.log_density, fault.target.score
            refined = ps.refine(shown, log_density=density, scores=scores)
    verdict, words = verdict_of(result), str(result)
    usual = counts.most_common(1)[0][0] if counts else verdict
    if (verdict, usual) != (fault.expected, fault.expected):
        raise ValueError(f"{fault.name}: {verdict}, and {dict(counts)}; not {fault.expected}")
    one_line = " ".join(words.split())
    if missing := [part for part in fault.says if part not in one_line]:
        raise ValueError(f"{fault.name}: {missing} not in this report:\n{words}")
    if refined is not None and refined.verdict != fault.refined:
        raise ValueError(f"{fault.name}: `refine` says {refined.verdict}, not {fault.refined}")
    return Judged(shown, verdict, getattr(result, "pvalue", None), words, counts, refined)
