"""The families of features that `check` looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.shares import Shares
from polystein.stein.basis import Basis, LinearAndBounded, SmoothTails
from polystein.types import FloatArray

#: x sees location, spread and correlation best; four bounded functions see the shape.
BASIS = LinearAndBounded(5)
#: The bounded functions fall off beyond two standard deviations; these do not.
TAILS = SmoothTails()
#: Fewer batches than this have too few patterns of signs for a p-value.
FEWEST_BATCHES = 8
#: The diagonal of order 1 is as skewed as a square: on fewer batches than this it rejects too
#: often (0.11 instead of 0.05 on 32), and bounded functions see the spread alone. Few rows lie in
#: the tails, whose functions need as many.
FEWEST_FOR_SPREADS = 120
#: Chains that remember visit a tail for several batches. For spreads and tails they must be worth
#: this many independent rows, twice as many as independent rows need: memory is not known exactly.
FEWEST_ROWS_FOR_SPREADS = 960.0
#: Overall spreads reject too often on fewer batches than this (0.08 on 12).
FEWEST_FOR_TRACES = 32
#: The autocorrelation of a quadratic form is known well enough if chains are worth this many
#: independent rows for each coordinate (Hotelling's rejects 0.10 instead of 0.05 on 3.3).
FEWEST_INDEPENDENT_A_COORDINATE = 8.0
#: Features of which this little of the variance is seen by the longest batches are not judged.
LEAST_DEFLATION = 0.3


#: The orders whose pairs of coordinates are looked at: x (correlation) and G2 (curved dependence).
PAIR_ORDERS = {"x": "correlation", "G2": "curved dependence"}


class Family(NamedTuple):
    """Features judged together: batch sums in parts, of shape (batches, features) each.

    Features are counted order by order, or, for pairs, by score and other coordinate.
    ``sum_share`` and ``max_share`` are the shares of the level of its two statistics, and
    ``fewest_batches`` is how many batches they need, and ``fewest_rows`` how many independent rows
    chains must be worth. A statistic without a share is none. A feature ``of_all`` is one of all
    coordinates together.
    """

    name: str
    words: str
    orders: tuple[str, ...]
    parts: Callable[[], Iterator[FloatArray]]
    sum_share: float
    max_share: float
    fewest_batches: int = FEWEST_BATCHES
    fewest_rows: float = 0.0
    of_pairs: bool = False
    of_all: bool = False

    def place(self, position: int, dimension: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Order and coordinates of a feature."""
        if self.of_all:
            return self.orders, ()
        first, second = divmod(position, dimension)
        if self.of_pairs:
            return self.orders, (first, second)
        return (self.orders[first],), (second,)


def families(sums: BatchSums, left_out: NDArray[np.bool_], shares: Shares) -> Iterator[Family]:
    """Each family of features with its batch sums.

    Coordinates that are left out have no part in features of all coordinates together.
    """
    diagonal, batches = sums.diagonal, sums.count
    x, *bounded = sums.basis.names

    def family(
        name: str, words: str, orders: tuple[str, ...], columns: FloatArray, fewest: int
    ) -> Family:
        part = partial(_one, columns.reshape(batches, -1))
        rows = FEWEST_ROWS_FOR_SPREADS if fewest == FEWEST_FOR_SPREADS else 0.0
        return Family(name, words, orders, part, *shares.of(name), fewest, rows)

    yield family("score", "location", ("score",), diagonal[:, 0], FEWEST_BATCHES)
    yield family("x", "spread", (x,), diagonal[:, 1], FEWEST_FOR_SPREADS)
    yield family("G1-4", "spread, shape", tuple(bounded), diagonal[:, 2:], FEWEST_BATCHES)
    yield family("tails", "tails", TAILS.names, sums.tails, FEWEST_FOR_SPREADS)
    kept = np.flatnonzero(~left_out)
    if kept.size > 1:
        trace = centred_spreads(sums, kept).sum(axis=1)
        alone = family("trace", "overall spread", (x,), trace, FEWEST_FOR_TRACES)
        yield alone._replace(of_all=True)
    if sums.judges_pairs:
        for name, words in PAIR_ORDERS.items():
            pairs, own = partial(_pairs, sums, order_of(sums.basis, name)), f"{name} pairs"
            yield Family(own, words, (name,), pairs, *shares.of(own), of_pairs=True)


def centred_spreads(sums: BatchSums, kept: NDArray[np.intp]) -> FloatArray:
    """Sums of s_l (x_l - m_l) + 1 for these coordinates, with m the mean of distant draws."""
    score, spreads = sums.diagonal[:, 0][:, kept], sums.diagonal[:, 1][:, kept]
    result: FloatArray = spreads - score * sums.distant_means[:, kept]
    return result


def _one(columns: FloatArray) -> Iterator[FloatArray]:
    yield columns


def _pairs(sums: BatchSums, order: int) -> Iterator[FloatArray]:
    for part in sums.pairs(order):
        yield part.reshape(sums.count, -1)


def order_of(basis: Basis, name: str) -> int:
    """The i of the function phi_i with this name."""
    return 1 + basis.names.index(name)
