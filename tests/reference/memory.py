"""How long features remember, batch by batch and feature by feature.

``sums`` has one row for each batch and one column for each feature. ``sizes`` are the rows of the
batches, or the sums of their importance weights, and ``chains`` are the chains they belong to.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

Array = NDArray[np.float64]
#: The batches that are joined to each longer one.
Groups = list[list[int]]


class Rules(NamedTuple):
    """What counts as enough batches, as flat, as independent, as an error, and as slower."""

    fewest_a_chain: int
    flat: float
    most_independent: int
    lugsail_errors: float
    slower_by_chance: float


class Memory(NamedTuple):
    """The level, V_L/V there, and the memory in rows."""

    level: int
    deflation: float
    rows: float


def batches_by_chain(chains: Sequence[int]) -> Groups:
    """The numbers of the batches of each chain."""
    return [[k for k, own in enumerate(chains) if own == chain] for chain in sorted(set(chains))]


def joined(chains: Sequence[int], together: int) -> Groups:
    """So many neighbouring batches of a chain in each group; the rest goes to the last one."""
    result: Groups = []
    for batches in batches_by_chain(chains):
        count = max(1, len(batches) // together)
        own = [batches[together * k : together * (k + 1)] for k in range(count)]
        own[-1] += batches[together * count :]
        result += own
    return result


def levels(chains: Sequence[int], fewest_a_chain: int) -> list[Groups]:
    """One, two, four ... together, while a chain with the median number of batches has enough."""
    result, together = [joined(chains, 1)], 2
    lengths = [len(batches) for batches in batches_by_chain(chains)]
    while median(lengths) // together >= fewest_a_chain:
        result.append(joined(chains, together))
        together *= 2
    return result


def group_sums(column: Sequence[float], groups: Groups) -> list[float]:
    """The sum of each group."""
    return [math.fsum(column[k] for k in group) for group in groups]


def variance(
    column: Sequence[float], sizes: Sequence[float], chains: Sequence[int], groups: Groups
) -> float:
    """V_L: squared deviations from the chain's own mean, over what independent rows would have."""
    squares, expected = [], []
    for batches in batches_by_chain(chains):
        size = math.fsum(sizes[k] for k in batches)
        mean = math.fsum(column[k] for k in batches) / size
        for group in groups:
            if group[0] in batches:
                rows = math.fsum(sizes[k] for k in group)
                own = math.fsum(column[k] for k in group)
                squares.append((own - rows * mean) ** 2)
                expected.append(rows * (1.0 - rows / size))
    return math.fsum(squares) / math.fsum(expected)


def curves(
    sums: Array, sizes: Sequence[float], chains: Sequence[int], joinings: Sequence[Groups]
) -> Array:
    """V_L of every feature at every level."""
    return np.array(
        [[variance(column, sizes, chains, groups) for column in sums.T] for groups in joinings]
    )


def freedom(groups: Groups, chains: Sequence[int]) -> int:
    """Groups beyond one for each chain, at least 1."""
    return max(1, len(groups) - len(set(chains)))


def pooled(
    table: Array,
    joinings: Sequence[Groups],
    sizes: Sequence[float],
    chains: Sequence[int],
    rules: Rules,
    first: int = 0,
    careful: bool = False,
) -> Memory:
    """The first level that V_L is flat after, by the mean over features of V_L/V_first."""
    varying = [j for j in range(table.shape[1]) if table[first, j] > 0.0]
    if len(joinings) - first < 2 or not varying:
        return Memory(first, 1.0, 0.0)
    mean, error = [], []
    for row, groups in zip(table, joinings, strict=True):
        ratios = [float(row[j] / table[first, j]) for j in varying]
        mean.append(math.fsum(ratios) / len(varying))
        independent = min(len(varying), rules.most_independent)
        error.append(mean[-1] * math.sqrt(2.0 / freedom(groups, chains) / independent))
    return extrapolated(mean, error, joinings, sizes, rules, first, careful)


def extrapolated(
    mean: Sequence[float],
    error: Sequence[float],
    joinings: Sequence[Groups],
    sizes: Sequence[float],
    rules: Rules,
    first: int,
    careful: bool,
) -> Memory:
    """The first level that a curve is flat after, and what is beyond by the lugsail estimate.

    With care, flat is within half an error, and the next level's lugsail estimate counts, too.
    """
    tolerance = 0.5 if careful else 1.0
    flat = next(
        level
        for level in range(first, len(joinings))
        if all(
            mean[later] <= (1.0 + rules.flat) * mean[level] + tolerance * error[later]
            for later in range(level + 1, len(joinings))
        )
    )
    level = min(flat, len(joinings) - 2)
    short, long = mean[level], mean[level + 1]
    ends = [level, level + 1] if careful and level + 2 < len(joinings) else [level]
    larger = max(2.0 * (mean[k + 1] + rules.lugsail_errors * error[k + 1]) - mean[k] for k in ends)
    plain = 2.0 * long - short
    rows = [math.fsum(sizes[k] for k in group) for group in joinings[level]]
    share = min(1.0, short / plain) if plain > 0.0 else 1.0
    return Memory(
        level,
        min(1.0, short / larger) if larger > 0.0 else 1.0,
        math.fsum(rows) / len(rows) * (1.0 - share),
    )


def slower(
    table: Array, joinings: Sequence[Groups], chains: Sequence[int], rules: Rules, first: int
) -> list[int]:
    """Features whose V_L/V_first is above the others' median by more than flat and chance."""
    varying = [j for j in range(table.shape[1]) if table[first, j] > 0.0]
    found = set()
    for level in range(first + 1, len(joinings)):
        own = {j: float(table[level, j] / table[first, j]) for j in varying}
        df = freedom(joinings[level], chains)
        for j in varying:
            chance = float(chi2.isf(rules.slower_by_chance / len(varying), df)) / df
            if own[j] > (1.0 + rules.flat) * chance * median(own.values()):
                found.add(j)
    return sorted(found)


def speeds(
    table: Array,
    joinings: Sequence[Groups],
    sizes: Sequence[float],
    chains: Sequence[int],
    rules: Rules,
    *,
    careful: bool = False,
) -> list[tuple[list[int], Memory]]:
    """Features that remember equally long, the fast ones first, with the memory of each pool."""
    left, first = list(range(table.shape[1])), 0
    result = []
    while left:
        slow: list[int] = []
        if len(joinings) - first > 2:
            slow = [left[j] for j in slower(table[:, left], joinings, chains, rules, first)]
        pool = [j for j in left if j not in slow]
        memory = pooled(table[:, pool], joinings, sizes, chains, rules, first, careful=careful)
        result.append((pool, memory))
        left, first = slow, min(memory.level + 1, len(joinings) - 2)
    return result
