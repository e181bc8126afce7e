"""The wealth of a monitor that looks at any time, by the book: every bet written out."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BETS, MEMORIES, RESERVE = (0.15, 0.3, 0.6), (math.inf, 16.0), 0.25


def batch_features(draws: Array, scores: Array, frame: tuple[Array, Array], order: int) -> Array:
    """Mean over rows of all components of Phi_1, ..., Phi_Q and s, standardised."""
    centre, scale = frame
    rows = []
    for x, s in zip((draws - centre) / scale, scores * scale, strict=True):
        parts = [np.outer(s, x**i) + i * np.diag(x ** (i - 1)) for i in range(1, order + 1)]
        rows.append(np.concatenate([*(part.ravel() for part in parts), s]))
    return np.mean(rows, axis=0)


def direction(earlier: list[Array], memory: float, groups: list[slice]) -> tuple[Array, Array]:
    """Slope and mean square of every component by earlier batches, of which old ones fade."""
    fade = [(1.0 - 1.0 / memory) ** (len(earlier) - 1 - k) for k in range(len(earlier))]
    weight = sum(fade)
    mean = sum(f * batch for f, batch in zip(fade, earlier, strict=True)) / weight
    squares = sum(f * batch**2 for f, batch in zip(fade, earlier, strict=True))
    variance = np.empty_like(mean)
    for group in groups:
        variance[group] = (squares[group] + squares[group].mean() / weight) / (weight + 1.0)
    return mean / variance, variance


def wealths(batches: list[tuple[int, Array]], sizes: list[int]) -> list[float]:
    """The wealth after every bet on batch means, each with the number of its chain."""
    ends = np.cumsum(sizes)
    groups = [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]
    sides = [*groups, slice(None)]
    held, found = 1.0, []
    wealth = {(m, g, c): 0.0 for m in MEMORIES for g in range(len(sides)) for c in BETS}
    z_squares = {(m, g): [1.0] for m in MEMORIES for g in range(len(sides))}
    for k, (_, batch) in enumerate(batches):
        # In the order in which they were learned: when the next batch of the same chain came.
        learned = []
        for later in range(k):
            before = [j for j in range(later) if batches[j][0] == batches[later][0]]
            if before:
                learned.append(batches[before[-1]][1])
        if not learned:
            continue
        share = 0.5 / (len(found) + 1)
        for bet in wealth:
            wealth[bet] += held * share / len(wealth)
        held *= 1.0 - share
        for memory in MEMORIES:
            slope, variance = direction(learned, memory, groups)
            for g, side in enumerate(sides):
                z = slope[side] @ batch[side] / math.sqrt(slope[side] ** 2 @ variance[side])
                spread = math.sqrt(float(np.mean(z_squares[memory, g])))
                z_squares[memory, g].append(z**2)
                for c in BETS:
                    t = math.tanh(c * z / spread)
                    wealth[memory, g, c] *= (1.0 + t) * (1.0 - RESERVE * t**2)
        found.append(held + sum(wealth.values()))
    return found


def anytime_pvalue(draws: Array, scores: Array, order: int, batch: int) -> float:
    """The p-value for chains, (chain, draw, d), that came side by side."""
    first = draws[:, :batch].reshape(-1, draws.shape[-1])
    frame = first.mean(axis=0), first.std(axis=0)
    means = [
        (chain, batch_features(x[start : start + batch], s[start : start + batch], frame, order))
        for start in range(batch, draws.shape[1] - batch + 1, batch)
        for chain, (x, s) in enumerate(zip(draws, scores, strict=True))
    ]
    d = draws.shape[-1]
    return 1.0 / max(1.0, *wealths(means, [d * d] * order + [d]))
