"""The families of features that `check` looks at, each with its share of the level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.methods.check.batch_sums import BatchSums
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
#: Overall spreads reject too often on fewer batches than this (0.08 on 12).
FEWEST_FOR_TRACES = 32
#: Hotelling's statistic needs so many rows for each coordinate.
FEWEST_ROWS_A_COORDINATE = 2.0
HOTELLING_SHARE = 0.25
#: Traces have their whole share of the level from so many coordinates on.
MANY_COORDINATES = 8
#: Features of which this little of the variance is seen by the longest batches are not judged.
LEAST_DEFLATION = 0.3


#: The orders whose pairs of coordinates are looked at: x (correlation) and G2 (curved dependence).
PAIR_ORDERS = {"x": "correlation", "G2": "curved dependence"}
#: Shares of the level of the sum and of the largest, for the pairs of each order.
_PAIR_SHARES = {"x": (0.005, 0.025), "G2": (0.005, 0.055)}


class Family(NamedTuple):
    """Features judged together: batch sums in parts, of shape (batches, features) each.

    Features are counted order by order, or, for pairs, by score and other coordinate.
    ``sum_share`` and ``max_share`` are the shares of the level of its two statistics, and
    ``fewest_batches`` is how many batches they need. A statistic without a share is none. A
    feature ``of_all`` is one of all coordinates together. A sum ``of_rare_rows`` comes from few
    rows of many, and needs as many batches of independent rows.
    """

    name: str
    words: str
    orders: tuple[str, ...]
    parts: Callable[[], Iterator[FloatArray]]
    sum_share: float
    max_share: float
    fewest_batches: int = FEWEST_BATCHES
    of_pairs: bool = False
    of_all: bool = False
    of_rare_rows: bool = False

    def place(self, position: int, dimension: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Order and coordinates of a feature."""
        if self.of_all:
            return self.orders, ()
        first, second = divmod(position, dimension)
        if self.of_pairs:
            return self.orders, (first, second)
        return (self.orders[first],), (second,)


def families(sums: BatchSums, left_out: NDArray[np.bool_]) -> Iterator[Family]:
    """Each family of features with its batch sums.

    Coordinates that are left out have no part in features of all coordinates together.

    The shares were chosen on seeds that appear in no table. A small shift of all coordinates
    shows in no other statistic than Hotelling's and the sum over the scores, hence their large
    share. That sum has both shares where Hotelling's statistic is not to be had. The largest of
    many spreads has twice the tail that flips give it (d = 128), hence its small share.
    """
    diagonal, batches = sums.diagonal, sums.count
    x, *bounded = sums.basis.names
    score, spreads = diagonal[:, 0], diagonal[:, 1]
    whole = 0.05 if has_metric(sums, left_out) else 0.05 + HOTELLING_SHARE
    yield Family("score", "location", ("score",), partial(_one, score), whole, 0.02)
    fewest, rare = FEWEST_FOR_SPREADS, partial(Family, of_rare_rows=True)
    yield rare("x", "spread", (x,), partial(_one, spreads), 0.005, 0.01, fewest)
    shapes = diagonal[:, 2:].reshape(batches, -1)
    yield Family("G1-4", "spread, shape", tuple(bounded), partial(_one, shapes), 0.13, 0.04)
    tails = sums.tails.reshape(batches, -1)
    yield rare("tails", "tails", TAILS.names, partial(_one, tails), 0.005, 0.02, fewest)
    kept = np.flatnonzero(~left_out)
    if kept.size > 1:
        trace = centred_spreads(sums, kept).sum(axis=1, keepdims=True)
        share, fewest = share_of_trace(0.24, kept.size), FEWEST_FOR_TRACES
        part = partial(_one, trace)
        yield Family("trace", "overall spread", (x,), part, share, 0.0, fewest, of_all=True)
    if sums.judges_pairs:
        for name, words in PAIR_ORDERS.items():
            pairs = partial(_pairs, sums, order_of(sums.basis, name))
            shares = _PAIR_SHARES[name]
            yield Family(f"{name} pairs", words, (name,), pairs, *shares, of_pairs=True)


def has_metric(sums: BatchSums, left_out: NDArray[np.bool_]) -> bool:
    """Whether scores have second moments that tell directions apart: enough rows for them."""
    kept = int(np.count_nonzero(~left_out))
    if kept < 2 or not sums.score_products.size:
        return False
    return float(sums.sizes.sum()) >= FEWEST_ROWS_A_COORDINATE * kept


def centred_spreads(sums: BatchSums, kept: NDArray[np.intp]) -> FloatArray:
    """Sums of s_l (x_l - m_l) + 1 for these coordinates, with m the mean of distant draws."""
    score, spreads = sums.diagonal[:, 0][:, kept], sums.diagonal[:, 1][:, kept]
    result: FloatArray = spreads - score * sums.distant_means[:, kept]
    return result


def share_of_trace(share: float, dimension: int) -> float:
    """The share of a trace: all of it from eight coordinates on, a quarter of it in two.

    A trace adds up what all coordinates have in common. Of a few there is less to add up, and
    single coordinates show as much.
    """
    return share * min(1.0, dimension / MANY_COORDINATES)


def _one(columns: FloatArray) -> Iterator[FloatArray]:
    yield columns


def _pairs(sums: BatchSums, order: int) -> Iterator[FloatArray]:
    for part in sums.pairs(order):
        yield part.reshape(sums.count, -1)


def order_of(basis: Basis, name: str) -> int:
    """The i of the function phi_i with this name."""
    return 1 + basis.names.index(name)
