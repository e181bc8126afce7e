"""Batch sums made by hand, and the families of their features written out."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from polystein.methods.check.families import BASIS, FEWEST_FOR_SPREADS
from tests.conftest import Array

ORDERS = {"x pairs": 1, "G2 pairs": 3}
#: Each statistic's share of the level, before those that are left out give theirs to the others.
SHARES = {
    "score: sum": 0.45,
    "score: max": 0.03,
    "x: sum": 0.03,
    "x: max": 0.02,
    "G1-4: sum": 0.17,
    "G1-4: max": 0.12,
    "x pairs: sum": 0.03,
    "x pairs: max": 0.06,
    "G2 pairs: sum": 0.03,
    "G2 pairs: max": 0.06,
}


class GivenSums:
    """Batch sums that are given, in the place of `BatchSums`."""

    def __init__(self, diagonal: Array, pairs: dict[int, Array]) -> None:
        self.count = diagonal.shape[0]
        self.effective_count = float(self.count)
        self.neighbours = np.ones(self.count - 1, dtype=bool)
        self.basis = BASIS
        self.source = SimpleNamespace(layout=SimpleNamespace(dimension=diagonal.shape[2]))
        self._diagonal, self._pairs = diagonal, pairs

    @property
    def diagonal(self) -> Array:
        return self._diagonal

    def pairs(self, order: int) -> Iterator[Array]:
        yield self._pairs[order]


def random_sums(
    rng: np.random.Generator, batches: int, d: int, mean: float = 0.0, sign: Any = 1.0
) -> Any:
    """Skewed and heavy-tailed sums, each batch's multiplied by its sign."""
    size = np.reshape(sign, (-1, 1, 1)) * np.exp(rng.standard_normal((batches, 1, 1)))
    diagonal = size * (mean + rng.exponential(size=(batches, 1 + BASIS.order, d)) - 0.7)
    own = np.eye(d, dtype=bool)
    pairs = {
        order: np.where(own, 0.0, size * (mean + rng.exponential(size=(batches, d, d)) - 0.7))
        for order in ORDERS.values()
    }
    return GivenSums(diagonal, pairs)


def literal_families(sums: Any) -> dict[str, Array]:
    """Every family's batch sums as columns, by name."""
    diagonal, batches = sums.diagonal, sums.count
    families = {"score": diagonal[:, 0]}
    if batches >= FEWEST_FOR_SPREADS:
        families["x"] = diagonal[:, 1]
    families["G1-4"] = diagonal[:, 2:].reshape(batches, -1)
    if diagonal.shape[2] > 1:
        for name, order in ORDERS.items():
            families[name] = np.concatenate(list(sums.pairs(order)), axis=1).reshape(batches, -1)
    return families
