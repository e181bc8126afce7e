"""Peak memory beyond the input, measured in a process of its own: ``NAME ROWS DIMENSION``."""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from benchmarks.harness import peak_beyond

Array = NDArray[np.float64]
ORDER = 4

WORK: dict[str, Callable[[Array, Array], object]] = {
    'psd, "v"': lambda draws, scores: ps.psd(draws, scores, order=ORDER),
    'psd, "u"': lambda draws, scores: ps.psd(draws, scores, order=ORDER, estimator="u"),
    "psd_test": lambda draws, scores: ps.psd_test(draws, scores, order=ORDER, rng=0),
    "lambda_psd_test": lambda draws, scores: ps.lambda_psd_test(draws, scores, order=ORDER, rng=0),
}


def main(name: str, rows: str, dimension: str) -> None:
    draws = np.empty((int(rows), int(dimension)))
    np.random.default_rng(0).standard_normal(out=draws)
    scores = np.negative(draws)
    print(peak_beyond(lambda: WORK[name](draws, scores)))


if __name__ == "__main__":
    main(*sys.argv[1:])
