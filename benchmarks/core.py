"""The core: moments against their products, tests against products and the literal algorithms."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from benchmarks import memory
from benchmarks.harness import Case, Target, compared, in_subprocess
from polystein.data.passes import block_rows, every_row
from polystein.stein.basis import Monomial
from polystein.stein.moments import stein_moments
from tests.reference import algorithms

Array = NDArray[np.float64]
Line = Iterator[list[str]]

ORDER = 4


def normal(rows: int, dimension: int) -> tuple[Array, Array]:
    """Draws from N(0, I) and their scores, two arrays."""
    draws = np.random.default_rng(20).standard_normal((rows, dimension))
    return draws, -draws


def moment_products(draws: Array, scores: Array) -> list[Array]:
    """The floor of the moments: the same blocks, the powers, the Q products, nothing else."""
    dimension = draws.shape[1]
    sums = [np.zeros((dimension, dimension)) for _ in range(ORDER)]
    size = block_rows(dimension)
    for low in range(0, draws.shape[0], size):
        block, weighted = draws[low : low + size], scores[low : low + size].T
        power = block
        for i in range(ORDER):
            if i:
                power = power * block
            sums[i] += weighted @ power
    return sums


def projection_products(draws: Array, scores: Array, matrices: list[Array]) -> Array:
    """The floor of a projection: the same blocks, the powers, the Q products s A_i."""
    size = block_rows(draws.shape[1])
    product = np.empty(0)
    for low in range(0, draws.shape[0], size):
        block, block_scores = draws[low : low + size], scores[low : low + size]
        power = block
        for i, matrix in enumerate(matrices):
            if i:
                power = power * block
            product = block_scores @ matrix
    return product


def moments(quick: bool) -> Line:
    """V- and U-moments at n = 10^6, d = 16, on a validated sample and through the door."""
    draws, scores = normal(100_000 if quick else 1_000_000, 16)
    sample, basis = ps.Sample(draws, scores), Monomial(ORDER)

    def floor(seed: int) -> object:
        return moment_products(draws, scores)

    def accumulate(norms: bool) -> Callable[[int], object]:
        return lambda seed: stein_moments(sample, every_row(sample), basis, norms=norms).finalise()

    def whole(estimator: str) -> Callable[[int], object]:
        return lambda seed: ps.psd(draws, scores, order=ORDER, estimator=estimator)

    where = f"n={len(draws):,}, d=16, order {ORDER}, against its products"
    v, u = Target("at most", 1.3), Target("at most", 3.0)
    yield compared(f"V-moments, {where}", accumulate(False), floor, v, quick=quick)
    yield compared(f"psd with the door, {where}", whole("v"), floor, None, quick=quick)
    yield compared(f"U-moments, {where}", accumulate(True), floor, u, quick=quick)
    yield compared(f'psd "u" with the door, {where}', whole("u"), floor, None, quick=quick)


def against_products(rows: int, dimension: int, target: Target | None, quick: bool) -> Line:
    """`lambda_psd_test` with the closed form against the products it cannot do without."""
    draws, scores = normal(rows, dimension)
    training = int(0.35 * rows)
    matrices = [
        np.random.default_rng(i).standard_normal((dimension, dimension)) for i in range(ORDER)
    ]

    def products(seed: int) -> None:
        moment_products(draws[:training], scores[:training])
        projection_products(draws[training:], scores[training:], matrices)

    def test(seed: int) -> object:
        return ps.lambda_psd_test(draws, scores, order=ORDER, weights=ps.ClosedForm(), rng=seed)

    title = f"lambda_psd_test, ClosedForm, n={rows:,}, d={dimension}, against its products"
    yield compared(title, test, products, target, quick=quick)


def high_dimension(quick: bool) -> Line:
    """n = 10^4, d = 1024."""
    return against_products(10_000, 1024, Target("at most", 1.5), quick)


def closed_form(quick: bool) -> Line:
    """n = 10^6, d = 16."""
    return against_products(100_000 if quick else 1_000_000, 16, None, quick)


def literal(name: str, weights: ps.ClosedForm | ps.CrossEntropy, target: Target) -> Case:
    """`lambda_psd_test` at n = 1000, d = 16 against Algorithm 3, line by line."""
    rows, dimension = 1000, 16

    def lines(quick: bool) -> Line:
        draws, scores = normal(rows, dimension)

        def fast(seed: int) -> object:
            return ps.lambda_psd_test(draws, scores, order=ORDER, weights=weights, rng=seed)

        def slow(seed: int) -> object:
            return algorithms.lambda_psd_z_test(
                draws, scores, ORDER, *split_rows(rows, seed), solver(weights, seed)
            )

        rule = type(weights).__name__
        title = f"lambda_psd_test, {rule}, n={rows:,}, d={dimension}, against the literal algorithm"
        yield compared(title, fast, slow, target, quick=quick)

    return Case(name, lines)


def split_rows(rows: int, seed: int) -> list[NDArray[np.int64]]:
    """Rows for the witness, the weights and the test, as many as `lambda_psd_test` takes."""
    shuffled = np.random.default_rng(seed).permutation(rows)
    return np.split(shuffled, [rows * 35 // 100, rows * 70 // 100])


def solver(weights: ps.ClosedForm | ps.CrossEntropy, seed: int) -> algorithms.Solve:
    """The literal counterpart of a weight rule."""
    if isinstance(weights, ps.ClosedForm):
        return lambda features: algorithms.closed_form(features, weights.ridge)
    return algorithms.cross_entropy_solver(np.random.default_rng(seed))


def peak_memory(quick: bool) -> Line:
    """Memory beyond the input at n = 10^6, d = 16, each in a fresh process."""
    rows, dimension = (100_000 if quick else 1_000_000), 16
    allowed = 64e6 + 16 * rows
    for name in memory.WORK:
        peak = int(in_subprocess("benchmarks.memory", name, str(rows), str(dimension)))
        yield [
            f"memory beyond the input, {name}, n={rows:,}, d={dimension}",
            f"{peak / 1e6:.1f} MB",
            f"{8e-6 * 2 * rows * dimension:.0f} MB of input",
            f"{peak / rows:.1f} bytes a row",
            f"≤ {allowed / 1e6:.1f} MB",
            "yes" if peak <= allowed else "no",
        ]


CASES = [
    Case("moments", moments),
    Case("high-dimension", high_dimension),
    Case("closed-form", closed_form),
    literal("literal-cross-entropy", ps.CrossEntropy(), Target("at least", 40.0)),
    literal("literal-closed-form", ps.ClosedForm(), Target("at least", 50.0)),
    Case("memory", peak_memory),
]
