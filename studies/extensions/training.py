"""The fraction of the rows that train; the paper's is 0.7."""

from functools import partial

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from studies.extensions.comparison import Trial, comparison, drawn, rates

FRACTIONS = (0.3, 0.5, 0.6, 0.7, 0.85)
#: Cells in which neither test always rejects.
DRAWS = {
    **drawn("perturbed", 32),
    **drawn("Laplace", 4),
    **drawn("N(0, I)", 32),
}
METHODS = {"λ-PSD": ps.lambda_psd_test, "PSD": ps.psd_test}


def test_of(method: str, fraction: float) -> str:
    """The test's name in the table."""
    return f"{method}, {fraction:g}"


TESTS = {
    test_of(label, fraction): partial(test, order=3, split=ps.RandomSplit(fraction))
    for label, test in METHODS.items()
    for fraction in FRACTIONS
}
STUDY = comparison(
    "training", DRAWS, TESTS, [Trial(draws, test, 6.0) for draws in DRAWS for test in TESTS]
)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    return markdown_table(
        ["draws", "test", *(f"{fraction:g}" for fraction in FRACTIONS)],
        [
            [draws, method, *rates(STUDY, [(draws, test_of(method, one)) for one in FRACTIONS])]
            for draws in DRAWS
            for method in METHODS
        ],
    )
