"""Size of lambda-PSD on AR(1) chains, with the variance of independent rows and with others."""

from functools import partial
from typing import Any

import numpy as np

import polystein as ps
from polystein.experiments.engine.summary import markdown_table
from polystein.types import FloatArray
from studies.extensions.comparison import SIZE_SETS, Draws, Trial, comparison, rates
from tests.statistical.samplers import autoregressive

MEMORIES = (0.0, 0.5, 0.9)
CHAINS, ROWS, DIMENSION, ORDER = 4, 1000, 4, 2


def parallel(rng: np.random.Generator, n: int, d: int, memory: float) -> FloatArray:
    """Stationary chains of N(0, I) with n draws each."""
    return autoregressive(rng, CHAINS, n, d, memory)


DRAWS = {
    f"AR(1) {memory:g}": Draws(partial(parallel, memory=memory), ROWS, DIMENSION, SIZE_SETS)
    for memory in MEMORIES
}
SETTINGS: dict[str, dict[str, Any]] = {
    "as printed: `RandomSplit`, `IID`": {},
    "`BlockSplit`, `IID`": {"split": ps.BlockSplit()},
    "`BlockSplit`, `InitialSequence`": {
        "split": ps.BlockSplit(),
        "variance": ps.InitialSequence(),
    },
    "`BlockSplit`, `BatchMeans`": {"split": ps.BlockSplit(), "variance": ps.BatchMeans()},
}
TESTS = {
    setting: partial(ps.lambda_psd_test, order=ORDER, **options)
    for setting, options in SETTINGS.items()
}
STUDY = comparison(
    "chains", DRAWS, TESTS, [Trial(draws, test, 10.0) for draws in DRAWS for test in TESTS]
)


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    return markdown_table(
        ["test", *DRAWS], [[test, *rates(STUDY, [(one, test) for one in DRAWS])] for test in TESTS]
    )
