"""Effects and corrected expectations: beside the products of their features, and beside `check`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from benchmarks.harness import Case, Target, compared
from polystein.data.passes import block_rows

Array = NDArray[np.float64]


def products(draws: Array, scores: Array, powers: bool) -> Array:
    """Sums of products of the columns (1, s, x), in the blocks that a pass reads.

    They are the floor of corrected means. With `powers` the columns are (1, s, s x_j) for each
    coordinate j in turn, the floor of all sds.
    """
    rows, d = draws.shape
    size = block_rows(d)
    columns, sums = np.ones((size, 1 + 2 * d)), np.zeros((1 + 2 * d, 1 + 2 * d))
    for low in range(0, rows, size):
        part = columns[: min(size, rows - low)]
        part[:, 1 : 1 + d] = scores[low : low + size]
        if not powers:
            part[:, 1 + d :] = draws[low : low + size]
            sums += part.T @ part
        for j in range(d if powers else 0):
            np.multiply(part[:, 1 : 1 + d], draws[low : low + size, j, None], out=part[:, 1 + d :])
            sums += part.T @ part
    return sums


def means(quick: bool) -> Iterator[list[str]]:
    """Corrected means of many rows."""
    rows = 100_000 if quick else 1_000_000
    draws = np.random.default_rng(20).standard_normal((rows, 16))
    sample = ps.Sample(draws, -draws)
    scores = -draws

    def ours(seed: int) -> object:
        return ps.expectations(sample, ["mean"], iid=True)

    def theirs(seed: int) -> object:
        return products(draws, scores, powers=False)

    title = f"expectations, means, n={rows:,}, d=16, against its products"
    yield compared(title, ours, theirs, Target("at most", 3.0), quick=quick)


def many_sds(quick: bool) -> Iterator[list[str]]:
    """Effects in fifty dimensions; the bound stands for five seconds on one core."""
    rows = 10_000 if quick else 100_000
    draws = np.random.default_rng(20).standard_normal((rows, 50))
    sample, scores = ps.Sample(draws, -draws), -draws

    def ours(seed: int) -> object:
        return ps.effects(sample, iid=True)

    def theirs(seed: int) -> object:
        return products(draws, scores, powers=True)

    title = f"effects, n={rows:,}, d=50, against the products of all sds"
    yield compared(title, ours, theirs, Target("at most", 5.0), quick=quick)


def short_chains(quick: bool) -> Iterator[list[str]]:
    """What a report of rejected draws costs beyond the test."""
    chains = np.random.default_rng(20).standard_normal((4, 1000, 16))
    sample = ps.Sample(chains, -chains)

    def ours(seed: int) -> object:
        return ps.effects(sample)

    def theirs(seed: int) -> object:
        return ps.check(sample, rng=seed)

    title = "effects, 4 chains of 1,000, d=16, against check"
    yield compared(title, ours, theirs, Target("at most", 5.0), quick=quick)


CASES = [
    Case("effects-means", means),
    Case("effects-50", many_sds),
    Case("effects-chains", short_chains),
]
