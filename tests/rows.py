"""Rows to test with, and the numbers of the rows that a split chose."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from polystein.data.source import Layout, Rows
from polystein.data.split import Partition, RandomSplit
from polystein.types import Role

Array = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def arbitrary_rows(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Draws with a mean and scores that are no function of them, so that nothing cancels."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.3, 1.2, (n, d)), rng.normal(-0.2, 1.0, (n, d))


@st.composite
def samples(draw: Any, most_rows: int = 40, most_dimensions: int = 4) -> tuple[Array, Array]:
    """Arbitrary rows of any shape; at least 2 rows."""
    d = draw(st.integers(1, most_dimensions))
    n = draw(st.integers(max(2, d), most_rows))
    return arbitrary_rows(n, d, draw(SEEDS))


def arbitrary_weights(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Log-weights on an arbitrary scale, and the normalised weights that they stand for."""
    log_weights = np.random.default_rng(seed).normal(700.0, 1.0, n)
    weights = np.exp(log_weights - log_weights.max())
    return log_weights, weights / weights.sum()


def row_numbers(stretches: Iterable[Rows]) -> NDArray[np.intp]:
    """Row numbers of stretches of one chain."""
    parts = []
    for _, start, stop, mask in stretches:
        every = np.arange(start, stop)
        parts.append(every if mask is None else every[mask])
    return np.concatenate(parts)


class RecordingSplit:
    """A split that remembers which rows it gave which role."""

    def __init__(self, *, respects_time: bool = False) -> None:
        self.split = RandomSplit(0.7)
        self.respects_time = respects_time
        self.rows: dict[Role, NDArray[np.intp]] = {}

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        partition = self.split.partition(layout, rng)
        roles: tuple[Role, ...] = ("witness", "weights", "test")
        self.rows = {role: row_numbers(partition.rows(role)) for role in roles}
        return partition

    @property
    def train(self) -> NDArray[np.intp]:
        """Rows of both training roles."""
        return np.concatenate([self.rows["witness"], self.rows["weights"]])
