"""The comparisons of chains and their starts, written out column by column and window by window.

``chains`` is a list of arrays (rows, columns), one for each chain, that are bounded already.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]
WINDOWS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)
FIRST_HALF = (0.0, 0.005, 0.02, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2, 0.3, 0.4, 0.5)
LATE = 6


def first_rows(rows: int, part: float) -> int:
    """How many rows the first part of a chain has; halves are rounded to even."""
    return round(part * rows)


def late_edges(rows: int) -> list[int]:
    half = first_rows(rows, 0.5)
    return [half + (rows - half) * k // LATE for k in range(LATE + 1)]


def batch_variance(values: Array, edges: Sequence[int]) -> float:
    """Rows times the variance of their mean, by batches between the edges."""
    batches = [values[low:high] for low, high in pairwise(edges) if low < high]
    mean = float(np.mean(np.concatenate(batches)))
    scatter = sum(len(batch) * (float(np.mean(batch)) - mean) ** 2 for batch in batches)
    return scatter / max(1, len(batches) - 1)


def late_variance(columns: Sequence[Array], together: int) -> float:
    """V_L or V_2L of one column, the mean over the chains."""
    return float(
        np.mean([batch_variance(one, late_edges(len(one))[::together]) for one in columns])
    )


def memory_ratio(families: Sequence[Sequence[Array]], marginal: Sequence[float]) -> float:
    """max(1, exp(2 (V_2L/V_L - 1))) of the columns of one family, in units of their variances."""
    single = sum(late_variance(one, 1) / m for one, m in zip(families, marginal, strict=True))
    double = sum(late_variance(one, 2) / m for one, m in zip(families, marginal, strict=True))
    return max(1.0, math.exp(2.0 * (double / single - 1.0)))


def still_share(values: Array, edges: Sequence[int]) -> float:
    """The part of the rows that lie in stretches, of two rows or more, without a change."""
    still = sum(
        high - low
        for low, high in pairwise(edges)
        if high - low > 1 and np.ptp(values[low:high]) == 0.0
    )
    return still / (edges[-1] - edges[0])


def windows(lengths: Sequence[int]) -> list[float]:
    kept: list[float] = []
    for window in WINDOWS:
        held = [first_rows(rows, window) for rows in lengths]
        if min(held) >= 1 and all(
            held != [first_rows(rows, other) for rows in lengths] for other in kept
        ):
            kept.append(window)
    return kept


def start_error(
    values: Array, raw: Array, window: float, ratio: float, variance: float, marginal: float
) -> float:
    """The variance of the mean over the start of one chain."""
    total = len(values)
    rows = first_rows(total, window)
    stretches = [first_rows(total, part) for part in FIRST_HALF if part <= window]
    errors = [variance / rows, still_share(raw, stretches) ** 2 * max(1.0, marginal)]
    if window <= 0.05:
        errors.append(0.5 * marginal)
    else:
        edges = [first_rows(total, window * k / 5) for k in range(6)]
        errors.append(ratio * batch_variance(values, edges) / rows)
    return max(errors)


def two_sided(difference: float, variance: float, freedom: float) -> float:
    if variance == 0.0:
        return 0.0 if difference else 1.0
    return 2.0 * float(student.sf(abs(difference) / math.sqrt(variance), freedom))


def variance_of_pooled(rows: Sequence[int], errors: Sequence[float]) -> float:
    """The variance of the mean over all rows, from those of the means of its parts."""
    return sum(n**2 * error for n, error in zip(rows, errors, strict=True)) / sum(rows) ** 2


def few_chains(
    chains: Sequence[Array], raw: Sequence[Array], marginal: Array, families: Sequence[slice]
) -> dict[str, float]:
    """Bonferroni's p-value of each kind, for fewer than 32 chains."""
    lengths = [len(one) for one in chains]
    late = [rows - first_rows(rows, 0.5) for rows in lengths]
    freedom = 5.0 * len(chains)
    tails: dict[str, list[float]] = {
        "chains": [],
        "starts of all chains": [],
        "start of a chain": [],
    }
    for family in families:
        index = range(marginal.size)[family]
        columns = {j: [one[:, j] for one in chains] for j in index}
        ratio = memory_ratio([columns[j] for j in index], [float(marginal[j]) for j in index])
        for j in index:
            variance = ratio * late_variance(columns[j], 1)
            single = float(marginal[j]) + variance / float(np.mean(late))
            if 2.0 * variance > single * float(np.mean(late)) / LATE:
                count = len(chains) * (1 + len(windows(lengths))) if len(chains) > 1 else 0
                tails["chains"] += [1.0] * (len(chains) if count else 0)
                tails["start of a chain"] += [1.0] * (count - len(chains) if count else 0)
                tails["starts of all chains"] += [1.0] * len(windows(lengths))
                continue
            tested = [one[first_rows(len(one), 0.5) :] for one in columns[j]]
            pooled = float(np.mean(np.concatenate(tested)))
            late_errors = [
                max(
                    variance / rows,
                    still_share(raw[k][:, j], late_edges(lengths[k])) ** 2 * max(1.0, single),
                )
                for k, rows in enumerate(late)
            ]
            whole = variance_of_pooled(late, late_errors)
            for k in range(len(chains) if len(chains) > 1 else 0):
                rest = np.concatenate([one for i, one in enumerate(tested) if i != k])
                difference = float(np.mean(tested[k]) - np.mean(rest))
                error = late_errors[k] + variance_of_pooled(
                    late[:k] + late[k + 1 :], late_errors[:k] + late_errors[k + 1 :]
                )
                tails["chains"].append(two_sided(difference, error, freedom))
            for window in windows(lengths):
                starts = [one[: first_rows(len(one), window)] for one in columns[j]]
                errors = [
                    start_error(columns[j][k], raw[k][:, j], window, ratio, variance, single)
                    for k in range(len(chains))
                ]
                error = variance_of_pooled([one.size for one in starts], errors)
                difference = float(np.mean(np.concatenate(starts))) - pooled
                tails["starts of all chains"].append(two_sided(difference, error + whole, freedom))
                for one, own in zip(starts, errors, strict=True):
                    if len(chains) > 1:
                        away = max(-2.5, min(2.5, float(np.mean(one)) - pooled))
                        tails["start of a chain"].append(two_sided(away, own + whole, freedom))
    return {kind: min(1.0, min(some) * len(some)) for kind, some in tails.items() if some}


def many_chains(chains: Sequence[Array], raw: Sequence[Array], marginal: Array) -> dict[str, float]:
    """Bonferroni's p-value of each kind, for many chains of similar lengths."""
    lengths = [len(one) for one in chains]
    count = len(chains)
    tails: dict[str, list[float]] = {"chains": [], "starts of all chains": []}
    for j in range(marginal.size):
        late = [float(np.mean(one[first_rows(len(one), 0.5) :, j])) for one in chains]
        for window in windows(lengths):
            change = [
                float(np.mean(one[: first_rows(len(one), window), j])) - mean
                for one, mean in zip(chains, late, strict=True)
            ]
            error = float(np.var(change, ddof=1)) / count
            tails["starts of all chains"].append(
                two_sided(float(np.mean(change)), error, count - 1)
            )
        for k in range(count):
            others = [mean for i, mean in enumerate(late) if i != k]
            stuck = still_share(raw[k][:, j], late_edges(lengths[k])) ** 2 * max(
                1.0, float(marginal[j])
            )
            variance = max(float(np.var(others, ddof=1)), stuck) * (1.0 + 1.0 / (count - 1))
            tails["chains"].append(two_sided(late[k] - float(np.mean(others)), variance, count - 2))
    return {kind: min(1.0, min(some) * len(some)) for kind, some in tails.items()}


def frozen(raw: Sequence[Array], columns: int) -> float:
    """Bonferroni's p-value of chains whose late half does not change."""
    tails = []
    for j in range(columns):
        still = [
            [
                high - low > 1 and bool(np.ptp(one[low:high, j]) == 0.0)
                for low, high in zip(
                    late_edges(len(one))[:-1], late_edges(len(one))[1:], strict=True
                )
            ]
            for one in raw
        ]
        moving = [value for some in still if not all(some) for value in some]
        share = (sum(moving) + 1) / (len(moving) + 1)
        tails += [share**LATE if all(own) else 1.0 for own in still]
    return min(1.0, min(tails) * len(tails))
