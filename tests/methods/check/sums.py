"""Batch sums made by hand, and the families of their features written out."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from polystein.inference.memory import Joining, joinings
from polystein.methods.check.statistics import (
    BASIS,
    FEWEST_BATCHES,
    FEWEST_FOR_SPREADS,
    FEWEST_FOR_TRACES,
)
from tests.conftest import Array
from tests.reference import invariant

ORDERS = {"x pairs": 1, "G2 pairs": 3, "magnitude pairs": 0}
#: Each statistic's share of the level from eight coordinates on, before those that are left out
#: give theirs to the others: for uncorrelated coordinates, and for correlated ones.
SHARES = {
    "score: sum": (0.29, 0.005),
    "score: max": (0.005, 0.005),
    "x: sum": (0.01, 0.015),
    "x: max": (0.02, 0.005),
    "G1-4: sum": (0.095, 0.01),
    "G1-4: max": (0.005, 0.005),
    "tails: max": (0.02, 0.015),
    "waves: max": (0.03, 0.005),
    "trace: sum": (0.22, 0.28),
    "x pairs: max": (0.005, 0.01),
    "G2 pairs: max": (0.04, 0.005),
    "magnitude pairs: sum": (0.005, 0.005),
    "magnitude pairs: max": (0.01, 0.005),
    "Hotelling: sum": (0.005, 0.23),
    "trace of square: sum": (0.005, 0.165),
}


def shares_of(sums: Any, left_out: Any = (), *, hotelling: bool | None = None) -> dict[str, float]:
    """The shares by the total correlation of the scores. In few coordinates traces have less.

    The scores have the share of Hotelling's statistic if that is not judged.
    """
    kept = [j for j in range(sums.diagonal.shape[2]) if j not in left_out]
    rows = float(sum(sums.sizes))
    has_metric = len(kept) > 1 and rows >= 2 * len(kept)
    weight = 0.0
    if has_metric:
        moments = sums.score_products[np.ix_(kept, kept)]
        spread = np.sqrt(np.diagonal(moments))
        eigenvalues = np.linalg.eigvalsh(moments / np.outer(spread, spread))
        by_chance = len(kept) / (4 * rows)
        found = -float(np.mean(np.log(eigenvalues))) / 2 - by_chance
        weight = float(np.clip((found - 0.02) / 0.04, 0.0, 1.0))
    shares = {name: (1 - weight) * own[0] + weight * own[1] for name, own in SHARES.items()}
    for name in ("trace: sum", "trace of square: sum"):
        shares[name] *= min(1.0, len(kept) / 8)
    if not (has_metric if hotelling is None else hotelling):
        shares["score: sum"] += shares["Hotelling: sum"]
    return shares


def is_correlated(sums: Any, left_out: Any = ()) -> bool:
    """Whether the shares are not those of uncorrelated coordinates."""
    return shares_of(sums, left_out)["G2 pairs: max"] < SHARES["G2 pairs: max"][0] - 1e-12


class GivenSums:
    """Batch sums that are given, in the place of `BatchSums`; of independent rows unless chains
    are given, one for each batch."""

    keeps_pairs = True

    def __init__(
        self,
        diagonal: Array,
        pairs: dict[int, Array],
        chains: Any = None,
        tails: Any = None,
        waves: Any = None,
    ) -> None:
        self.count = diagonal.shape[0]
        self.sizes = np.full(self.count, 4.0)
        self.chains = np.arange(self.count) if chains is None else np.asarray(chains)
        self.basis = BASIS
        self.source = SimpleNamespace(layout=SimpleNamespace(dimension=diagonal.shape[2]))
        #: Kish's number of batches, if it is not their number.
        self.effective: float | None = None
        #: Score coordinates of pairs that come at once; all of them if it is None.
        self.at_once: int | None = None
        self._diagonal, self._pairs = diagonal, pairs
        self.judges_pairs = diagonal.shape[2] > 1
        #: Means of the draws far from each batch: any numbers will do.
        self.distant_means = 0.1 * diagonal[::-1, -1]
        self.tails = diagonal[:, 2:4] if tails is None else tails
        self.waves = 0.5 * diagonal[:, 2:5] if waves is None else waves
        self.score_products = diagonal[:, 0].T @ diagonal[:, 0] + np.diag(
            np.sum(diagonal[:, 0] ** 2, axis=0)
        )

    @property
    def memory_is_known(self) -> bool:
        return len(set(self.chains.tolist())) == self.count or len(self.joinings) > 1

    @property
    def joinings(self) -> list[Joining]:
        return joinings(self.sizes, self.chains)

    @property
    def effective_rows(self) -> float:
        return float(self.sizes.sum())

    def effective_count(self, joining: Joining) -> float:
        return float(joining.count) if self.effective is None else self.effective

    @property
    def diagonal(self) -> Array:
        return self._diagonal

    def pairs(self, order: int) -> Iterator[Array]:
        whole = self._pairs[order]
        step = self.at_once or whole.shape[1]
        for low in range(0, whole.shape[1], step):
            yield whole[:, low : low + step]

    def parts_of(self, family: str, features: int) -> Iterator[range]:
        """The places of the features of a family that come at once."""
        dimension = self.diagonal.shape[2]
        step = features
        if family in ORDERS and self.at_once is not None:
            step = self.at_once * dimension
        for low in range(0, features, step):
            yield range(low, min(low + step, features))


def random_sums(
    rng: np.random.Generator,
    batches: int,
    d: int,
    mean: float = 0.0,
    sign: Any = 1.0,
    chains: Any = None,
) -> Any:
    """Skewed and heavy-tailed sums, each batch's multiplied by its sign."""
    size = np.reshape(sign, (-1, 1, 1)) * np.exp(rng.standard_normal((batches, 1, 1)))
    diagonal = size * (mean + rng.exponential(size=(batches, 1 + BASIS.order, d)) - 0.7)
    own = np.eye(d, dtype=bool)
    pairs = {
        order: np.where(own, 0.0, size * (mean + rng.exponential(size=(batches, d, d)) - 0.7))
        for order in ORDERS.values()
    }
    tails = size * (mean + rng.exponential(size=(batches, 2, d)) - 0.7)
    waves = size * (mean + rng.exponential(size=(batches, 3, d)) - 0.7)
    return GivenSums(diagonal, pairs, chains, tails, waves)


def literal_products(sums: Any, left_out: Any = ()) -> dict[str, Array]:
    """The products of each quadratic form, by name."""
    kept = [j for j in range(sums.diagonal.shape[2]) if j not in left_out]
    if len(kept) < 2:
        return {}
    own = np.ix_(range(sums.count), kept)
    moments = sums.score_products[np.ix_(kept, kept)]
    found = {"Hotelling": invariant.hotelling(sums.diagonal[:, 0][own], moments)}
    parts = list(sums.pairs(ORDERS["x pairs"]))
    if len(parts) == 1:
        matrices = parts[0][np.ix_(range(sums.count), kept, kept)].copy()
        matrices[:, range(len(kept)), range(len(kept))] = sums.diagonal[:, 1][own]
        scores, means = sums.diagonal[:, 0][own], sums.distant_means[own]
        found["trace of square"] = invariant.trace_of_square(
            invariant.centred(matrices, scores, means)
        )
    return found


def literal_families(sums: Any, left_out: Any = ()) -> dict[str, Array]:
    """Every family's batch sums as columns, by name."""
    diagonal, batches = sums.diagonal, sums.count
    families = {"score": diagonal[:, 0], "x": diagonal[:, 1]}
    families["G1-4"] = diagonal[:, 2:].reshape(batches, -1)
    families["tails"] = sums.tails.reshape(batches, -1)
    families["waves"] = sums.waves.reshape(batches, -1)
    if diagonal.shape[2] > 1:
        kept = [j for j in range(diagonal.shape[2]) if j not in left_out]
        if len(kept) > 1:
            own = diagonal[:, 1] - diagonal[:, 0] * sums.distant_means
            families["trace"] = own[:, kept].sum(axis=1, keepdims=True)
        for name, order in ORDERS.items():
            families[name] = np.concatenate(list(sums.pairs(order)), axis=1).reshape(batches, -1)
    return families


def fewest_batches(family: str) -> int:
    """How many batches a family needs."""
    if family.startswith("trace"):
        return FEWEST_FOR_TRACES
    return FEWEST_FOR_SPREADS if family in ("x", "tails") else FEWEST_BATCHES
