"""The guard for rows: do the scores belong to the draws that they stand beside, or to others.

Scores that are one row late, or whose chains are in another order, are scores of other draws, and
the sampler would be blamed for them. A score is a function of its own draw: whatever law the draws
come from, they explain the scores of their own rows best. Rows are mismatched if a linear function
of the draws explains the scores of the next row, of the row before, or of another chain much
better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polystein.types import FloatArray

#: Most rows that are looked at. The work beside them takes a twentieth of a short check.
_MOST_ROWS = 1024
#: They are pieces of chains, at least this many in all and of each chain, whose means show how
#: uncertain a mean over all rows is.
_PIECES, _PIECES_OF_CHAIN = 16, 4
#: A fit has at least this many rows for each of its coefficients. If there are more coordinates,
#: some of them are looked at.
_ROWS_PER_COEFFICIENT = 8
#: Something is said only if at least this part of the variance of the scores is unexplained ...
_LEAST_LEFT = 0.01
#: ... and another alignment leaves at most this part of what the given one leaves ...
_MOST_LEFT = 0.7
#: ... by this many standard errors.
_CLEAR = 6.0
#: Added to the mean squares of standardised draws, so that collinear ones can be fitted.
_RIDGE = 1e-9


class Fit(NamedTuple):
    """Squares of scores, of shape (chain, piece, coordinate), and what a fit leaves of them."""

    squares: FloatArray
    left: FloatArray

    @property
    def unexplained(self) -> float:
        """1 - R^2, the mean over the coordinates; constant scores are not explained."""
        squares, left = (part.sum(axis=(0, 1)) for part in self)
        parts = np.divide(left, squares, out=np.ones_like(left), where=squares > 0.0)
        return float(parts.mean())


class Mismatch(NamedTuple):
    """Scores in another alignment: what they leave, in which chains they differ, and words."""

    fit: Fit
    chains: NDArray[np.intp]
    words: str

    def clearly_better(self, given: Fit) -> bool:
        """Whether much less is left of these scores than of those that are given."""
        scale = np.maximum(given.squares.sum(axis=(0, 1)), np.finfo(float).tiny)
        gain = ((given.left - self.fit.left)[self.chains] / scale).sum(axis=-1)
        error = gain.std(ddof=1) / gain.size**0.5
        much = self.fit.unexplained < _MOST_LEFT * given.unexplained > _MOST_LEFT * _LEAST_LEFT
        return bool(much and gain.mean() > _CLEAR * error)


def mismatch(
    draws: FloatArray, scores: FloatArray, chains: NDArray[np.intp], times: NDArray[np.intp]
) -> str | None:
    """What is wrong with the order of the scores' rows, in words; None if nothing is.

    The rows are those of one chain after the other, in time order. ``chains`` and ``times`` say
    which rows they are.
    """
    follows = (np.diff(chains) == 0) & (np.diff(times) == 1)
    between = np.flatnonzero(follows[1:] & follows[:-1]) + 1  # both neighbours are there
    numbers, first, counts = np.unique(chains[between], return_index=True, return_counts=True)
    rows = between[_pieces(first, counts)]
    most = rows.size // (2 * _ROWS_PER_COEFFICIENT) - 1
    if most < 1:
        return None
    kept = slice(None, None, -(-draws.shape[1] // most))
    own = _standardised(draws[:, kept][rows])
    same, after, before = (_standardised(scores[:, kept][rows + lag]) for lag in (0, 1, -1))
    given, late, early = fits(own, same, after, before)
    every = np.arange(numbers.size)
    others = [Mismatch(late, every, _LATE), Mismatch(early, every, _EARLY)]
    order = _order_of_chains(own, same)
    if order is not None:
        moved = np.flatnonzero(order != every)
        (reordered,) = fits(own, same[order])
        words = _words_of_chains(numbers[moved], numbers[order[moved]])
        others.append(Mismatch(reordered, moved, words))
    best = min(others, key=lambda other: other.fit.unexplained)
    if not best.clearly_better(given):
        return None
    return best.words.format(1.0 - given.unexplained, 1.0 - best.fit.unexplained)


def _pieces(first: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows, of shape (chain, piece, row), of chains that begin at ``first`` and have ``counts``.

    As many are taken of every chain, in pieces at equal distances.
    """
    chains = max(1, counts.size)
    pieces = max(_PIECES_OF_CHAIN, 2 * -(-_PIECES // (2 * chains)))
    step = int(counts.min(initial=_MOST_ROWS * pieces)) // pieces if counts.size else 0
    size = min(step, max(1, _MOST_ROWS // (chains * pieces)))
    starts = first[:, None] + step * np.arange(pieces)
    return np.asarray(starts[..., None] + np.arange(size))


def fits(draws: FloatArray, *alignments: FloatArray) -> list[Fit]:
    """What a linear function of the draws leaves of the scores, in each of several alignments.

    All are of shape (chain, piece, row, coordinate). The first half of every chain is explained
    by a function that was fitted to the second halves, and the other way round. A coordinate for
    which that is worse than nothing is not explained at all.
    """
    scores = np.concatenate(alignments, axis=-1)
    design = np.concatenate([np.ones((*draws.shape[:-1], 1)), draws], axis=-1)
    gram, cross = (design.swapaxes(-1, -2) @ part for part in (design, scores))
    squares = np.einsum("cprk,cprk->cpk", scores, scores)
    left, half = np.empty_like(squares), draws.shape[1] // 2
    ridge = _RIDGE * draws[:, :half, :, 0].size * np.eye(design.shape[-1])
    for judged, fitted in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        normal, right = (part[:, fitted].sum(axis=(0, 1)) for part in (gram, cross))
        slopes = np.linalg.solve(normal + ridge, right)
        explained = slopes * (2.0 * cross[:, judged] - gram[:, judged] @ slopes)
        left[:, judged] = squares[:, judged] - explained.sum(axis=-2)
    left = np.where(left.sum(axis=(0, 1)) < squares.sum(axis=(0, 1)), left, squares)
    parts = (np.split(part, len(alignments), axis=-1) for part in (squares, left))
    return [Fit(*own) for own in zip(*parts, strict=True)]


def _standardised(rows: FloatArray) -> FloatArray:
    """Rows of mean 0 and variance 1 in every coordinate; 0 where they are constant."""
    columns = rows.reshape(-1, rows.shape[-1])
    away = columns - columns.mean(axis=0)
    scale = np.sqrt(np.einsum("rk,rk->k", away, away) / len(away))
    return np.asarray(away / np.where(scale > 0.0, scale, 1.0)).reshape(rows.shape)


def _order_of_chains(draws: FloatArray, scores: FloatArray) -> NDArray[np.intp] | None:
    """The chain of scores that fits each chain of draws best, if both halves of the chains agree.

    None if every chain fits itself. Scores are correlated negatively with draws of their target.
    """
    found = []
    for x, s in zip(np.split(draws, 2, axis=1), np.split(scores, 2, axis=1), strict=True):
        correlations = _of_unit_length(x) @ _of_unit_length(s).swapaxes(-1, -2)
        found.append(linear_sum_assignment(np.nan_to_num(correlations.sum(axis=0)))[1])
    agree = np.array_equal(*found) and not np.array_equal(found[0], np.arange(len(draws)))
    return found[0] if agree else None


def _of_unit_length(rows: FloatArray) -> FloatArray:
    """Rows of chains as (coordinate, chain, row), centred and of length 1 in each chain."""
    columns = np.moveaxis(rows.reshape(len(rows), -1, rows.shape[-1]), -1, 0)
    away = columns - columns.mean(axis=-1, keepdims=True)
    length = np.sqrt(np.einsum("kcr,kcr->kc", away, away))[..., None]
    return np.asarray(away / np.where(length > 0.0, length, 1.0))


_EXPLAINED = (
    "A linear function of the draws explains {:.0%} of the variance of the scores as given, and "
    "{:.0%} "
)
_LATE = (
    f"`scores` look as if they were one row late. {_EXPLAINED}of those one row further down. Was "
    "the first draw dropped from `draws` alone, or is each score that of the state before? Pass "
    "the scores of the same rows."
)
_EARLY = (
    f"`scores` look as if they were one row early. {_EXPLAINED}of those one row further up. Was "
    "the first row dropped from `scores` alone, or is each score that of the next state? Pass the "
    "scores of the same rows."
)


def _words_of_chains(chains: NDArray[np.intp], fitting: NDArray[np.intp]) -> str:
    pairs = [
        f"chain {own} fits the scores of chain {other}"
        for own, other in zip(chains[:4].tolist(), fitting[:4].tolist(), strict=True)
    ]
    return (
        "`scores` look as if their chains were in another order than those of `draws`: "
        f"{'; '.join(pairs)}{', ...' if chains.size > 4 else ''}. {_EXPLAINED}of those in this "
        "order. Pass the scores of the same chains."
    )
