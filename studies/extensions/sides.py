"""One-sided against two-sided tests: the trained test function knows the sign of its mean."""

from functools import partial

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from polystein.types import Alternative
from studies.extensions.comparison import Trial, comparison, drawn, rates

DRAWS = {
    **drawn("perturbed", 32),
    **drawn("perturbed", 64),
    **drawn("Laplace", 4),
    **drawn("one pair", 16),
    **drawn("N(0, I)", 4),
    **drawn("N(0, I)", 64),
}
SIDES: dict[str, Alternative] = {"two-sided": "two-sided", "one-sided": "greater"}
TESTS = {
    f"{label}, {side}": partial(test, order=3, alternative=alternative)
    for label, test in (("λ-PSD", ps.lambda_psd_test), ("PSD", ps.psd_test))
    for side, alternative in SIDES.items()
}
STUDY = comparison("sides", DRAWS, TESTS, [Trial(draws, test) for draws in DRAWS for test in TESTS])


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    return markdown_table(
        ["draws", *TESTS],
        [[draws, *rates(STUDY, [(draws, test) for test in TESTS])] for draws in DRAWS],
    )
