"""Power of PSD and lambda-PSD, beside that of the paper's other methods and beside their time."""

import csv
from functools import partial
from pathlib import Path

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper.methods import RIVALS
from studies.extensions.comparison import Trial, comparison, drawn, rates

#: The names of the samplers here and in the tables of the reproduction.
SAMPLERS = {"perturbed": "perturbed", "Student-t": "student_t", "Laplace": "laplace"}
DIMENSIONS = (16, 64)
#: Student-t draws are 2000, as in Experiment 1.
BY_PLACE = {
    (sampler, d): drawn(sampler, d, 2000 if sampler == "Student-t" else 1000)
    for d in DIMENSIONS
    for sampler in SAMPLERS
}
DRAWS = {label: draws for one in BY_PLACE.values() for label, draws in one.items()}
TESTS = {
    "PSD (Q=4)": partial(ps.psd_test, order=4),
    "λ-PSD (Q=4)": partial(ps.lambda_psd_test, order=4),
    "λ-PSD (Q=4), closed form": partial(ps.lambda_psd_test, order=4, weights=ps.ClosedForm()),
}
STUDY = comparison(
    "methods", DRAWS, TESTS, [Trial(draws, test, 9.0) for draws in DRAWS for test in TESTS]
)
REPRODUCTION = Path(__file__).parents[2] / "docs" / "reproduction" / "experiment1.csv"


def reproduced(dimension: int) -> dict[str, list[str]]:
    """Rejection rates of the other methods in Experiment 1, by label, in the order of samplers."""
    with REPRODUCTION.open(newline="", encoding="utf-8") as file:
        found = {(row["sampler"], row["d"], row["method"]): row for row in csv.DictReader(file)}
    return {
        rival.label: [
            f"{float(found[sampler, str(dimension), rival.name]['rejection_rate']):.3f}"
            for sampler in SAMPLERS.values()
        ]
        for rival in RIVALS
    }


def powers(dimension: int) -> dict[str, list[str]]:
    """Rejection rates of every method, by label, in the order of samplers."""
    labels = [next(iter(BY_PLACE[sampler, dimension])) for sampler in SAMPLERS]
    ours = {test: rates(STUDY, [(draws, test) for draws in labels]) for test in TESTS}
    return ours | reproduced(dimension)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line, with the times of ``runtime``."""
    from studies.extensions import runtime

    return markdown_table(
        ["method", "d", "milliseconds", "times PSD", *SAMPLERS],
        [
            [label, str(d), *runtime.of_method(label, 1000, d), *shown]
            for d in DIMENSIONS
            for label, shown in powers(d).items()
        ],
    )
