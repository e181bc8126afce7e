"""The families of features that `check` looks at, each with its share of the level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from polystein.methods.check.batch_sums import MOST_PAIRED_DIMENSIONS, BatchSums
from polystein.stein.basis import Basis, LinearAndBounded
from polystein.types import FloatArray

#: x sees location, spread and correlation best; four bounded functions see the shape.
BASIS = LinearAndBounded(5)
#: Fewer batches than this have too few patterns of signs for a p-value.
FEWEST_BATCHES = 8
#: The diagonal of order 1 is as skewed as a square: on fewer batches than this it rejects too
#: often (0.11 instead of 0.05 on 32), and bounded functions see the spread alone.
FEWEST_FOR_SPREADS = 120


#: The orders whose pairs of coordinates are looked at: x (correlation) and G2 (curved dependence).
PAIR_ORDERS = {"x": "correlation", "G2": "curved dependence"}


class Family(NamedTuple):
    """Features judged together: batch sums in parts, of shape (batches, features) each.

    Features are counted order by order, or, for pairs, by score and other coordinate.
    ``sum_share`` and ``max_share`` are the shares of the level of its two statistics, and
    ``fewest_batches`` is how many batches they need.
    """

    name: str
    words: str
    orders: tuple[str, ...]
    parts: Callable[[], Iterator[FloatArray]]
    sum_share: float
    max_share: float
    fewest_batches: int = FEWEST_BATCHES
    of_pairs: bool = False

    def place(self, position: int, dimension: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Order and coordinates of a feature."""
        first, second = divmod(position, dimension)
        if self.of_pairs:
            return self.orders, (first, second)
        return (self.orders[first],), (second,)


def families(sums: BatchSums) -> Iterator[Family]:
    """Each family of features with its batch sums.

    The shares were chosen on seeds that appear in no table. A small shift of all coordinates
    shows in no other statistic than the sum over the scores, hence the large share of that
    sum. The largest of many spreads has twice the tail that flips give it (d = 128), hence
    its small share.
    """
    diagonal, batches = sums.diagonal, sums.count
    x, *bounded = sums.basis.names
    score, spreads = diagonal[:, 0], diagonal[:, 1]
    yield Family("score", "location", ("score",), partial(_one, score), 0.45, 0.03)
    yield Family("x", "spread", (x,), partial(_one, spreads), 0.03, 0.02, FEWEST_FOR_SPREADS)
    shapes = diagonal[:, 2:].reshape(batches, -1)
    yield Family("G1-4", "spread, shape", tuple(bounded), partial(_one, shapes), 0.17, 0.12)
    if 1 < diagonal.shape[2] <= MOST_PAIRED_DIMENSIONS:
        for name, words in PAIR_ORDERS.items():
            pairs = partial(_pairs, sums, order_of(sums.basis, name))
            yield Family(f"{name} pairs", words, (name,), pairs, 0.03, 0.06, of_pairs=True)


def _one(columns: FloatArray) -> Iterator[FloatArray]:
    yield columns


def _pairs(sums: BatchSums, order: int) -> Iterator[FloatArray]:
    for part in sums.pairs(order):
        yield part.reshape(sums.count, -1)


def order_of(basis: Basis, name: str) -> int:
    """The i of the function phi_i with this name."""
    return 1 + basis.names.index(name)
