"""Tasks that worker processes can import, and a small study to be killed in the middle."""

import os
import sys
import time
from pathlib import Path

import numpy as np

from polystein.experiments.engine import store
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.runner import run

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def grid(replicates: int = 6) -> list[Cell]:
    # A cost above a thousand gives chunks of two replicates, so that cells are put together.
    return [
        Cell.of("toy", replicates=replicates, cost=1000.0 + d, sampler=sampler, d=d)
        for sampler in ("a", "b")
        for d in (1, 2, 3)
    ]


def numbers(replicate: Replicate) -> list[Row]:
    """Two rows from two streams; a product of matrices, so that BLAS has a part in it."""
    matrix = replicate.generator("matrix").standard_normal((60, 60))
    noise = replicate.generator("noise").standard_normal()
    product = float((matrix @ matrix.T).sum())
    return [
        {"method": "product", "order": None, "value": product},
        {"method": "noise", "order": replicate.cell["d"], "value": float(noise)},
    ]


def slow_numbers(replicate: Replicate) -> list[Row]:
    time.sleep(0.1)
    return numbers(replicate)


def threads(replicate: Replicate) -> list[Row]:
    return [{"process": os.getpid(), **{name: os.environ.get(name) for name in THREADS}}]


def fails_at_two(replicate: Replicate) -> list[Row]:
    if replicate.cell["sampler"] == "a" and replicate.cell["d"] == 2 and replicate.index == 4:
        raise ArithmeticError("the sky is falling")
    return numbers(replicate)


def not_a_number(replicate: Replicate) -> list[Row]:
    return [{"value": float(np.nan)}]


def dies(replicate: Replicate) -> list[Row]:
    if replicate.cell["sampler"] == "b":
        os._exit(9)
    return numbers(replicate)


def hungry(replicate: Replicate) -> list[Row]:
    raise MemoryError("Unable to allocate 1. EiB")


if __name__ == "__main__":
    store.package_commit = lambda: "tested"
    run(grid(), slow_numbers, out=Path(sys.argv[1]), seed=5, jobs=2)
