"""Faults in one parameter alone, and what they move: see `polystein.methods.check.noticed`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein.data.spread import KeptRows
from polystein.methods.check.statistics import BASIS, PAIR_ORDERS, TAILS, TRACE, WAVES
from polystein.methods.check.sums import BatchSums
from polystein.stein.basis import magnitude_functions
from polystein.stein.operator import diagonal_entries
from polystein.types import FloatArray

#: Faults whose own feature is least visible, of each kind: one of them is the least visible.
CANDIDATES = 3


class Fault(NamedTuple):
    """What is wrong, with which coordinates: x_l alone, or x_l beside x_m.

    ``strength`` is by how many standard errors a fault of size 1 moves its own feature.
    """

    what: str
    places: tuple[int, ...]
    strength: float


class Seen(NamedTuple):
    """Rows in the frame that standardises and in the robust one, with weights that sum to 1."""

    draws: FloatArray
    scores: FloatArray
    robust_draws: FloatArray
    robust_scores: FloatArray
    weights: FloatArray


def seen_rows(kept: KeptRows, sums: BatchSums) -> Seen:
    """Rows as the sums see them."""
    plain = kept.draws_and_scores
    robust = sums.frame if sums.robust is None else sums.robust
    return Seen(*sums.frame.apply(*plain), *robust.apply(*plain), kept.weights / kept.weights.sum())


def least_visible(rows: Seen, sums: BatchSums, coordinates: NDArray[np.intp]) -> list[Fault]:
    """Faults that move their own feature least, of these coordinates.

    A fault moves the mean of its own feature F by E[F^2].
    """
    middle = sums.joinings[len(sums.joinings) // 2]

    total = float(sums.sizes.sum()) / sums.weight_scale

    def faintest(features: FloatArray, means: FloatArray) -> list[tuple[int, float]]:
        joined = middle.joined(features)
        squares = np.einsum("bj,bj->j", joined, joined, dtype=np.float64)
        strength = means * total / np.sqrt(np.maximum(squares, TINY))
        chosen = np.argsort(strength, kind="stable")[:CANDIDATES]
        return [(int(one), float(strength[one])) for one in chosen if np.isfinite(strength[one])]

    x, s, weights = rows.draws[:, coordinates], rows.scores[:, coordinates], rows.weights
    means, spreads = weights @ s**2, weights @ (s * x + 1.0) ** 2
    faults = [
        Fault(what, (int(coordinates[place]),), strength)
        for what, order, own in (("mean", 0, means), ("sd", 1, spreads))
        for place, strength in faintest(sums.diagonal[:, order][:, coordinates], own)
    ]
    if sums.judges_pairs and coordinates.size > 1:
        products = (weights[:, None] * s**2).T @ x**2
        whole = np.concatenate(list(sums.pairs(PAIR_ORDERS["x"])), axis=1)[
            :, coordinates[:, None], coordinates
        ]
        np.fill_diagonal(products, np.inf)  # no pair of a coordinate with itself
        for one, strength in faintest(whole.reshape(len(whole), -1), products.ravel()):
            pair = (
                int(coordinates[one // coordinates.size]),
                int(coordinates[one % coordinates.size]),
            )
            faults.append(Fault("correlation", pair, strength))
    return faults


def factors(rows: Seen, faults: Sequence[Fault]) -> FloatArray:
    """v of every fault in every row, times the row's weight; of shape (faults, rows)."""
    return np.stack([rows.weights * _factor(rows, fault) for fault in faults])


def _factor(rows: Seen, fault: Fault) -> FloatArray:
    first, second = fault.places[0], fault.places[-1]
    x, score = rows.draws[:, first], rows.scores[:, first]
    if fault.what == "mean":
        return score
    if fault.what == "sd":
        return score * x + 1.0
    other = rows.draws[:, second]
    rho = float(np.clip(rows.weights @ (x * other), -0.99, 0.99))
    result: FloatArray = (score * (other - rho * x) - rho) / (1.0 - rho**2)
    return result


class Shift(NamedTuple):
    """By how much a fault of size 1 moves the mean of each feature, and grows its variance."""

    means: FloatArray
    growths: FloatArray


def shifts_and_growths(
    name: str, v: FloatArray, rows: Seen, sums: BatchSums, coordinates: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """-E[v F] and abs(E[v F^2])/E[F^2], for every fault and every feature F of a family."""
    robust = name in {"waves", "magnitude pairs"}  # whose sums are over some of the rows
    means = -_expected(name, v, rows, coordinates) / (sums.stride if robust else 1)
    *moved, squares = _expected(name, np.vstack([v, rows.weights]), rows, coordinates, power=2)
    growths: FloatArray = np.abs(moved) / np.maximum(squares, TINY)
    return means, growths


def _expected(
    name: str, v: FloatArray, rows: Seen, coordinates: NDArray[np.intp], power: int = 1
) -> FloatArray:
    """E[v F^power] for every factor v and every feature F of a family, in the family's order."""
    x, s = rows.draws, rows.scores
    if name.endswith("pairs"):
        if name == "magnitude pairs":
            odd, values = magnitude_functions(rows.robust_draws)
            _, entry = diagonal_entries(rows.robust_scores, [odd])
        else:
            terms = list(BASIS.terms(x))
            entry, values = s, terms[PAIR_ORDERS[name.removesuffix(" pairs")] - 1].values
        entry, values = entry**power, values**power
        found = np.stack([(entry * one[:, None]).T @ values for one in v])
        found[:, range(x.shape[1]), range(x.shape[1])] = 0.0
        return found.reshape(len(v), -1)
    if name == "waves":
        entries = diagonal_entries(rows.robust_scores, WAVES.terms(rows.robust_draws))
        next(entries)
        return np.concatenate([v @ entry**power for entry in entries], axis=1)
    diagonal = diagonal_entries(s, chain(BASIS.terms(x), TAILS.terms(x)))
    last = 1 + BASIS.order
    first, end = {
        "score": (0, 1),
        "x": (1, 2),
        TRACE: (1, 2),
        "G1-4": (2, last),
        "tails": (last, None),
    }[name]
    own: Iterator[FloatArray] = islice(diagonal, first, end)
    if name == TRACE:
        own = (entry[:, coordinates].sum(axis=1, keepdims=True) for entry in own)
    return np.concatenate([v @ entry**power for entry in own], axis=1)


def matrix_shift(factor: FloatArray, rows: Seen, coordinates: NDArray[np.intp]) -> FloatArray:
    """The shift of s x' + I."""
    weighted = rows.scores[:, coordinates] * factor[:, None]
    matrix = weighted.T @ rows.draws[:, coordinates]
    result: FloatArray = -(matrix + float(factor.sum()) * np.eye(coordinates.size))
    return result
