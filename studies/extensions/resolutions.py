"""One weight for each order, each coordinate or each entry (Section 4.4)."""

from functools import partial

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from polystein.types import Resolution
from studies.extensions.comparison import POWER_SETS, Trial, comparison, drawn, rates

DIMENSIONS = (16, 64, 128)
RESOLUTIONS: tuple[Resolution, ...] = ("order", "hierarchical", "coordinate", "entry")
#: Draws, in d dimensions, and the order Q of the tests. Laplace draws differ in every coordinate.
PLACES = [
    *(("perturbed", d, 2) for d in DIMENSIONS),
    ("Laplace", 64, 3),
    *(("N(0, I)", d, 2) for d in DIMENSIONS),
]
DRAWS = {label: one for sampler, d, _ in PLACES for label, one in drawn(sampler, d).items()}
# These take the longest.
DRAWS["N(0, I), d=128"] = DRAWS["N(0, I), d=128"]._replace(sets=POWER_SETS)


def test_of(resolution: str, order: int) -> str:
    """The test's name in the table."""
    return f"Q={order}, {resolution}"


TESTS = {
    test_of(resolution, order): partial(
        ps.lambda_psd_test, order=order, resolution=resolution, standardise=True
    )
    for order in (2, 3)
    for resolution in RESOLUTIONS
}
TESTS |= {
    test_of("order, as printed", order): partial(ps.lambda_psd_test, order=order)
    for order in (2, 3)
}
#: Milliseconds; in d = 16 the hierarchical weights are searched for, order by order.
COSTS = {16: 6.0, 64: 8.0, 128: 17.0}
ROWS = ("order, as printed", *RESOLUTIONS)
STUDY = comparison(
    "resolutions",
    DRAWS,
    TESTS,
    [
        Trial(
            f"{sampler}, d={d}",
            test_of(resolution, order),
            40.0 if (resolution, d) == ("hierarchical", 16) else COSTS[d],
        )
        for sampler, d, order in PLACES
        for resolution in ROWS
    ],
)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    columns = [(f"{sampler}, d={d}", order) for sampler, d, order in PLACES]
    return markdown_table(
        ["resolution", *(f"{draws}, Q={order}" for draws, order in columns)],
        [
            [one, *rates(STUDY, [(draws, test_of(one, order)) for draws, order in columns])]
            for one in ROWS
        ],
    )
