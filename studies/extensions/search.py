"""T, M, K and the tolerance of Algorithm 2, one changed at a time."""

from functools import partial

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from studies.extensions.comparison import Trial, comparison, drawn, rates

ORDER = 8
DRAWS = {**drawn("Laplace", 16), **drawn("perturbed", 16)}
SETTINGS = {
    "as printed: T=100, M=1000, K=10, ε=1e-3": ps.CrossEntropy(),
    "T=3": ps.CrossEntropy(iterations=3),
    "T=10": ps.CrossEntropy(iterations=10),
    "M=100": ps.CrossEntropy(candidates=100),
    "M=300": ps.CrossEntropy(candidates=300),
    "M=3000": ps.CrossEntropy(candidates=3000),
    "K=3": ps.CrossEntropy(elites=3),
    "K=30": ps.CrossEntropy(elites=30),
    "K=100": ps.CrossEntropy(elites=100),
    "ε=1e-1": ps.CrossEntropy(tolerance=1e-1),
    "ε=1e-2": ps.CrossEntropy(tolerance=1e-2),
    "ε=1e-4": ps.CrossEntropy(tolerance=1e-4),
    "ε=1e-6": ps.CrossEntropy(tolerance=1e-6),
    "ε=1e-2, relative": ps.CrossEntropy(tolerance=1e-2, relative=True),
    "ε=1e-3, relative": ps.CrossEntropy(relative=True),
    "ε=1e-4, relative": ps.CrossEntropy(tolerance=1e-4, relative=True),
    "`CrossEntropy.published()`": ps.CrossEntropy.published(),
}
TESTS = {
    label: partial(ps.lambda_psd_test, order=ORDER, weights=rule)
    for label, rule in SETTINGS.items()
}
STUDY = comparison(
    "search", DRAWS, TESTS, [Trial(draws, test, 10.0) for draws in DRAWS for test in TESTS]
)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line, with rounds and times of ``runtime``."""
    from studies.extensions import runtime

    return markdown_table(
        ["Algorithm 2", *DRAWS, "rounds", "time"],
        [
            [label, *rates(STUDY, [(one, label) for one in DRAWS]), *runtime.of_search(label)]
            for label in SETTINGS
        ],
    )
