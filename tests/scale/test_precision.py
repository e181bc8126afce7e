"""Single precision: rows are converted when they are read, and z hardly moves."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import polystein as ps


def laplace(rng: Any, n: int, d: int) -> Any:
    return rng.laplace(scale=0.5**0.5, size=(n, d))


def perturbed(rng: Any, n: int, d: int) -> Any:
    draws = rng.standard_normal((n, d))
    draws[:, 0] += rng.uniform(-1.0, 1.0, n)
    return draws


def student(rng: Any, n: int, d: int) -> Any:
    return rng.standard_t(5, size=(n, d)) * (3.0 / 5.0) ** 0.5


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("sampler", [laplace, perturbed, student])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("dimension", [2, 16, 64])
def test_z_of_the_papers_cells_moves_by_less_than_a_thousandth(
    sampler: Any, order: int, dimension: int
) -> None:
    draws = sampler(np.random.default_rng(dimension), 1000, dimension)
    single = draws.astype(np.float32)
    for test, options in (
        (ps.psd_test, {}),
        (ps.lambda_psd_test, {"weights": ps.ClosedForm()}),
        (ps.lambda_psd_test, {"weights": ps.CrossEntropy()}),
    ):
        one, two = (test(x, -x, order=order, rng=1, **options).statistic for x in (draws, single))
        assert one == pytest.approx(two, abs=1e-3)


def test_single_precision_is_not_converted_as_a_whole() -> None:
    draws = np.random.default_rng(0).standard_normal((400_000, 8)).astype(np.float32)
    scores = -draws
    tracemalloc.start()
    ps.psd(draws, scores, order=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All rows of one of them in double precision would be 25.6 MB.
    assert peak < 12e6
