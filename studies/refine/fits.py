"""Gaussian approximations of hierarchical posteriors: what is called, and how rightly?"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import polystein as ps
from polystein.experiments.engine.store import package_commit, write_csv
from polystein.experiments.engine.summary import markdown_table
from studies._table import lines_by
from studies.refine import SEED
from studies.refine.approximations import APPROXIMATIONS
from studies.refine.posteriors import (
    CENTRED,
    POSTERIORS,
    Array,
    posterior,
    reference,
    right_draws,
)

TABLE = Path(__file__).with_suffix(".csv")
DRAWS = 4000
#: Errors that have to be called, in sds and log sds, and errors whose signs count.
LARGE, SMALL = 0.25, 0.05


def errors(law: Array, truth: Array) -> Array:
    """Errors of means in sds of the target, and of log sds, of a law's means and sds."""
    return np.stack([(law[0] - truth[0]) / truth[1], np.log(law[1] / truth[1])])


def refined_fit(name: str, approximation: str, index: int) -> dict[str, object]:
    """One line: how many large errors, how many called, and how far off before and after."""
    target, truth = posterior(name), reference(name)
    rng = np.random.default_rng([SEED, index])
    if approximation == "right draws":
        draws, law = right_draws(name, rng, DRAWS), truth
    else:
        mean, factor = APPROXIMATIONS[approximation](target)
        draws = mean + rng.standard_normal((DRAWS, len(mean))) @ factor.T
        law = np.stack([mean, np.sqrt((factor**2).sum(axis=1))])
    before, started = errors(law, truth), time.process_time()
    refined = ps.refine(draws, log_density=target.log_density, scores=target.score)
    seconds = time.process_time() - started
    moved = np.asarray(refined.draws.draws)
    after = errors(np.stack([moved.mean(axis=0), moved.std(axis=0)]), truth)
    names = [f"x[{place}]" for place in range(len(truth[0]))]
    large = called = signs = right = sized = covered = 0
    for part, what in enumerate(("mean", "sd")):
        for place, label in enumerate(names):
            row, error = refined.effects[label, what], before[part, place]
            large += abs(error) > LARGE
            called += abs(error) > LARGE and row.found
            if row.found and refined.settled:
                size = np.expm1(error) + 1.0 if what == "sd" else error
                sized += 1
                covered += row.lower <= size <= row.upper
                if abs(error) > SMALL:
                    signs += 1
                    right += (row.estimate > 0.0) == (error > 0.0)
    return {
        "fit": f"{name}, {approximation}",
        "p": f"{refined.pvalue:.4g}",
        "found": len(refined.effects.found),
        "settled": "yes" if refined.settled else "no",
        "large": large,
        "called": called,
        "signs": signs,
        "right": right,
        "sized": sized,
        "covered": covered,
        "before": f"{np.abs(before).max():.3f}",
        "after": f"{np.abs(after).max():.3f}",
        "transitions": refined.transitions,
        "gradients": refined.gradients,
        "seconds": f"{seconds:.1f}",
        "seed": SEED,
        "commit": package_commit() or "unknown",
    }


class Fits:
    """The table, line by line; lines that are there stay."""

    def stored(self) -> dict[str, dict[str, str]]:
        """The lines by fit."""
        return lines_by(TABLE, "fit")

    def missing(self, only: str = "", *, anew: bool = False) -> list[tuple[str, str, int]]:
        """Fits that the table does not hold yet, each with its number."""
        kinds = (*APPROXIMATIONS, "right draws")
        every = [
            (name, kind, 10 * number + place)
            for number, name in enumerate(POSTERIORS)
            for place, kind in enumerate(kinds)
            if not (name == CENTRED and kind == "Laplace")
        ]
        there = {} if anew else self.stored()
        return [one for one in every if f"{one[0]}, {one[1]}" not in there and only in one[0]]

    def minutes(self, only: str = "", *, anew: bool = False) -> float:
        """About half a minute for each fit, most of it for the references."""
        return 0.5 * len(self.missing(only, anew=anew))

    def run(self, only: str = "", jobs: int = 1, *, anew: bool = False) -> None:
        """Fill in what the table does not hold."""
        for one in self.missing(only, anew=anew):
            line = refined_fit(*one)
            print(*line.values(), sep="  ", flush=True)
            rows = {**self.stored(), str(line["fit"]): line}
            write_csv(TABLE, list(rows.values()))  # type: ignore[arg-type]


STUDY = Fits()


def markdown() -> list[str]:
    """The table of ``docs/refine.md``, line by line."""
    columns = ("p", "settled", "found", "before", "after", "gradients", "seconds")
    rows: Sequence[Sequence[str]] = [
        [
            label,
            *(row[key] for key in columns[:3]),
            f"{row['called']} of {row['large']}",
            f"{row['right']} of {row['signs']}",
            f"{row['covered']} of {row['sized']}",
            *(row[key] for key in columns[3:]),
        ]
        for label, row in STUDY.stored().items()
    ]
    head = ["fit", "p", "settled", "found", "large errors called", "signs right"]
    head += ["intervals cover", "largest error before", "after", "gradients", "seconds"]
    return markdown_table(head, rows)
