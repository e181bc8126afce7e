"""Families of features that sign flips judge together, by their batch sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.methods.check.forms import centred_spreads
from polystein.methods.check.statistics import (
    PAIR_ORDERS,
    TAILS,
    TRACE,
    WAVES,
    Statistic,
    of_family,
)
from polystein.methods.check.sums import MAGNITUDES, BatchSums
from polystein.types import FloatArray


class Family(NamedTuple):
    """Features judged together: batch sums in parts, of shape (batches, features) each.

    Features are counted order by order, or, for pairs, by score and other coordinate. A feature
    ``of_all`` is one of all coordinates together.
    """

    name: str
    orders: tuple[str, ...]
    parts: Callable[[], Iterator[FloatArray]]
    of_pairs: bool = False
    of_all: bool = False

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """Its rows of the table."""
        return of_family(self.name)

    def place(self, position: int, dimension: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Order and coordinates of a feature."""
        if self.of_all:
            return self.orders, ()
        first, second = divmod(position, dimension)
        if self.of_pairs:
            return self.orders, (first, second)
        return (self.orders[first],), (second,)


def families(sums: BatchSums, coordinates: NDArray[np.intp]) -> Iterator[Family]:
    """Each family of features with its batch sums; ``coordinates`` are those not left out."""
    (x, *bounded), diagonal = sums.basis.names, sums.diagonal
    for name, orders, values in (
        ("score", ("score",), diagonal[:, 0]),
        ("x", (x,), diagonal[:, 1]),
        ("G1-4", tuple(bounded), diagonal[:, 2:]),
        ("tails", TAILS.names, sums.tails),
        ("waves", WAVES.names, sums.waves),
    ):
        yield Family(name, orders, partial(iter, [values.reshape(sums.count, -1)]))
    if coordinates.size > 1:
        trace = centred_spreads(sums, coordinates).sum(axis=1, keepdims=True)
        yield Family(TRACE, (x,), partial(iter, [trace]), of_all=True)
    if sums.judges_pairs:
        for name, order in PAIR_ORDERS.items():
            yield Family(f"{name} pairs", (name,), partial(_pairs, sums, order), of_pairs=True)
        magnitudes = partial(_pairs, sums, MAGNITUDES)
        yield Family("magnitude pairs", ("magnitude",), magnitudes, of_pairs=True)


def _pairs(sums: BatchSums, order: int) -> Iterator[FloatArray]:
    for part in sums.pairs(order):
        yield part.reshape(sums.count, -1)
