"""Diagonal matrices A_i, which cost O(Q n d), against full ones, which cost O(Q n d^2)."""

from functools import partial

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from studies.extensions.comparison import Trial, comparison, drawn, rates

ORDER, DIMENSIONS = 3, (16, 64)
LABELS = {
    "perturbed": "one variance 1.7 (perturbed)",
    "Laplace": "Laplace",
    "one pair": "one pair correlated 0.35",
    "neighbours": "each coordinate correlated 0.1 with the next",
    "N(0, I)": "the target",
}
DRAWS = {
    label: draws
    for sampler in LABELS
    for d in DIMENSIONS
    for label, draws in drawn(sampler, d).items()
}
TESTS = {
    f"{label}, {structure}": partial(test, order=ORDER, structure=structure)
    for label, test in (("λ-PSD", ps.lambda_psd_test), ("PSD", ps.psd_test))
    for structure in ("full", "diagonal")
}
STUDY = comparison(
    "structures", DRAWS, TESTS, [Trial(draws, test) for draws in DRAWS for test in TESTS]
)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    return markdown_table(
        ["draws", "d", *TESTS],
        [
            [label, str(d), *rates(STUDY, [(f"{sampler}, d={d}", test) for test in TESTS])]
            for sampler, label in LABELS.items()
            for d in DIMENSIONS
        ],
    )
