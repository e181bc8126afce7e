"""Algorithm 2 against the closed form of Proposition 4.3, over the order Q."""

from functools import partial

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from polystein.weights.rules import Weights
from studies.extensions.comparison import Trial, comparison, drawn, rates

ORDERS = (2, 4, 6, 8)
DRAWS = {**drawn("perturbed", 16), **drawn("Student-t", 16), **drawn("Laplace", 16)}
RULES: dict[str, Weights] = {
    "`CrossEntropy()`": ps.CrossEntropy(),
    "`CrossEntropy.published()`": ps.CrossEntropy.published(),
    "`ClosedForm()`": ps.ClosedForm(),
}


def test_of(rule: str, order: int) -> str:
    """The test's name in the table."""
    return f"{rule}, Q={order}"


TESTS = {
    test_of(label, order): partial(ps.lambda_psd_test, order=order, weights=rule)
    for label, rule in RULES.items()
    for order in ORDERS
}
TESTS |= {test_of("PSD", order): partial(ps.psd_test, order=order) for order in ORDERS}
STUDY = comparison(
    "rules", DRAWS, TESTS, [Trial(draws, test, 7.0) for draws in DRAWS for test in TESTS]
)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    return markdown_table(
        ["draws", "weights", *(f"Q={order}" for order in ORDERS)],
        [
            [draws, rule, *rates(STUDY, [(draws, test_of(rule, order)) for order in ORDERS])]
            for draws in DRAWS
            for rule in (*RULES, "PSD")
        ],
    )
