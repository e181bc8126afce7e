"""Do chains agree? Comparisons of sums over batches of rows, on plain arrays.

Each chain is divided into batches: short ones at its start, six equal ones in its late half. Two
questions are asked of every column. Does a chain's late mean differ from those of the others?
Does the start of the chains, or of one of them, differ from the late half?

Columns are bounded by a fixed monotone function beforehand, so that their sums are nearly normal
whatever the tails are. Their variances come from the late halves. The late half of a
chain gives V_L, from batches of a twelfth of the chain, and V_2L from batches twice as long.
V_L is too small where the autocorrelation is that long. It is corrected by the ratio V_2L/V_L
(`beyond_lugsail`), pooled over the columns of a family, because that of one column is too
uncertain. Columns that are slower still are left out. From 32 chains on, the spread between the
chains is used instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from polystein._lib.numerics import ROUNDING, TINY
from polystein.inference.memory import beyond_lugsail
from polystein.types import FloatArray

#: The starts that are compared with the late half, as fractions of a chain.
WINDOWS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)
#: The bounds of the batches of the first half: the ends of the windows, and such that each of the
#: longer windows consists of five equal parts.
FIRST_HALF = (0.0, 0.005, 0.02, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2, 0.3, 0.4, 0.5)
#: Equal batches of the late half; each chain has one degree of freedom less than batches.
LATE_BATCHES = 6
BATCHES = len(FIRST_HALF) - 1 + LATE_BATCHES
#: Longer windows have a variance of their own, by five equal parts. Up to this one a chain may
#: happen to be stuck, and the variance is at least half that of a single row.
LAST_SHORT_WINDOW = 0.05
WINDOW_PARTS = 5
#: The start of one chain counts as no farther than this from the late halves, in robust standard
#: deviations: where tails are heavy, a chain may happen to begin far outside and take long to come
#: back. That all chains do so is no chance, and their mean is not bounded.
FARTHEST_START = 2.5
#: A column is left out if a batch of a late half has fewer effective rows than this: the variance
#: of its means cannot be estimated then.
LEAST_BATCH_ESS = 2.0
#: From this many chains on, their own spread shows how far chains differ ...
MANY_CHAINS = 32
#: ... if the longest has at most this many times the rows of the shortest.
MOST_UNEQUAL = 1.5
#: Shorter chains have batches of fewer than two rows; many chains need no batches.
SHORTEST_CHAIN, SHORTEST_OF_MANY = 24, 4
_LATE = slice(len(FIRST_HALF) - 1, BATCHES)
_FIRST = slice(len(FIRST_HALF) - 1)

Kind = str
CHAINS: Kind = "chains"
ALL_STARTS: Kind = "starts of all chains"
ONE_START: Kind = "start of a chain"
FROZEN: Kind = "frozen chains"


class ChainSums(NamedTuple):
    """Sums over the batches of each chain.

    ``sums`` has the shape (chains, batches, columns), ``rows`` (chains, batches).
    ``still`` says where a column does not change within a batch of two rows or more, and has
    the shape of ``sums``. ``marginal`` is the variance of a single row of each column.
    ``families`` holds the columns whose V_2L/V_L is pooled; ``still`` is the same for all of them.
    No difference of a column has a p-value below that of ``least``.
    """

    sums: FloatArray
    rows: FloatArray
    still: NDArray[np.bool_]
    marginal: FloatArray
    families: tuple[slice, ...]
    least: FloatArray | float = 0.0

    @property
    def chains(self) -> int:
        """Number of chains."""
        return len(self.rows)


class Difference(NamedTuple):
    """The largest difference of its kind.

    ``pvalue`` allows for all comparisons of this kind. ``window`` is the part of a chain that
    its start is, None for late halves; ``chain`` is None for all chains together.
    """

    kind: Kind
    pvalue: float
    column: int
    chain: int | None = None
    window: float | None = None


@lru_cache(maxsize=8)
def batch_bounds(rows: int) -> NDArray[np.intp]:
    """Where the batches of a chain of this many rows begin and end; some may be empty."""
    first = np.round(np.array(FIRST_HALF) * rows).astype(np.intp)
    late = first[-1] + (rows - first[-1]) * np.arange(1, LATE_BATCHES + 1) // LATE_BATCHES
    found = np.concatenate([first, late])
    found.setflags(write=False)
    return found


def differences(given: ChainSums) -> list[Difference]:
    """The largest difference of each kind that can be judged.

    Each p-value is adjusted by Bonferroni within its kind, and not yet for several kinds. Where
    all columns are too slow, only frozen chains are judged.
    """
    found = [] if given.chains == 1 else [_frozen(given)]
    if given.chains >= MANY_CHAINS:
        return [*_of_many(given), *found]
    spread = _late_spread(given)
    return found if spread.too_slow.all() else [*_of_few(given, spread), *found]


class _LateSpread(NamedTuple):
    """How columns vary in the late halves: long-run variance, and variance of a single row.

    ``ratio`` is the factor by which the variance by batches was raised. The autocorrelation of
    columns that are ``too_slow`` is too long for a comparison.
    """

    variance: FloatArray
    ratio: FloatArray
    marginal: FloatArray
    too_slow: NDArray[np.bool_]


def _late_spread(given: ChainSums) -> _LateSpread:
    sums, rows = given.sums[:, _LATE], given.rows[:, _LATE]
    single = _batch_variance(sums, rows).mean(axis=0)
    double = _batch_variance(sums[:, ::2] + sums[:, 1::2], rows[:, ::2] + rows[:, 1::2])
    # V/V_L by V_L and V_2L, at least 1. Columns of a family have equal weight.
    longer, shorter = double.mean(axis=0) / given.marginal, single / given.marginal
    ratio = np.ones(given.marginal.size)
    for family in given.families:
        growth = longer[family].sum() / max(shorter[family].sum(), TINY)
        ratio[family] = np.maximum(1.0, beyond_lugsail(growth))
    variance, length = ratio * single, float(rows.sum()) / given.chains
    # A late mean's own error adds to the spread within its chain.
    marginal = given.marginal + variance / length
    slow = variance * LEAST_BATCH_ESS > marginal * length / LATE_BATCHES
    return _LateSpread(variance, ratio, marginal, slow)


def _of_few(given: ChainSums, spread: _LateSpread) -> Iterator[Difference]:
    """Comparisons by the variance within late halves."""
    late, windows = _late_means(given), _windows(given)
    rows = given.rows[:, _LATE].sum(axis=1)[:, None]
    total, squares = float(rows.sum()), rows**2
    pooled = (rows * late).sum(axis=0) / total
    # A frozen late half is one draw: the others do not stand out beside it.
    own = spread.variance / rows
    if given.still.any():
        own = np.maximum(own, _stuck_late(given, spread.marginal))
    summed = (squares * own).sum(axis=0)
    whole = summed / total**2
    freedom = (LATE_BATCHES - 1.0) * given.chains

    def statistics(difference: FloatArray, variance: FloatArray) -> FloatArray:
        return np.where(spread.too_slow, 0.0, _ratio(difference, variance))

    lengths, starts, errors = _starts(given, spread, windows)
    whole_length = lengths.sum(axis=1)
    mean = (lengths * starts).sum(axis=1) / whole_length
    error = (lengths**2 * errors).sum(axis=1) / whole_length**2
    of_all = statistics(mean - pooled, error + whole)
    yield _farthest(given, ALL_STARTS, of_all[:, None], freedom, windows, all_chains=True)
    if given.chains > 1:
        apart = np.clip(starts - pooled, -FARTHEST_START, FARTHEST_START)
        yield _farthest(given, ONE_START, statistics(apart, errors + whole), freedom, windows)
        others = total - rows
        rest = (total * pooled - rows * late) / others
        error = own + (summed - squares * own) / others**2
        yield _farthest(given, CHAINS, statistics(late - rest, error), freedom)


def _of_many(given: ChainSums) -> Iterator[Difference]:
    """Comparisons by the spread of the chains, whatever the autocorrelation within them is."""
    late, windows, chains = _late_means(given), _windows(given), given.chains
    starts, _ = _window_means(given, windows)
    change = starts - late
    error = change.var(axis=1, ddof=1) / chains
    of_all = _ratio(change.mean(axis=1), error)[:, None]
    yield _farthest(given, ALL_STARTS, of_all, chains - 1.0, windows, all_chains=True)
    lengths = given.rows.sum(axis=1)
    if lengths.max() <= MOST_UNEQUAL * lengths.min():
        # A short chain among long ones would stand out though nothing is wrong with it. The
        # start of a single chain has so few rows that skewed columns would stand out, too.
        stuck = _stuck_late(given, given.marginal)
        yield _farthest(given, CHAINS, _outlying(late, stuck), chains - 2.0)


def _frozen(given: ChainSums) -> Difference:
    """Chains of which a column does not change in the late half, though it does in others.

    If batches without a change come by chance, all late batches of a chain are such with
    probability share^6, where the share is that among the chains that move.
    """
    still = given.still[:, _LATE, given.families[0]]
    moves = ~still.all(axis=1)
    if moves.all():
        return Difference(FROZEN, 1.0, 0, 0)
    batches = LATE_BATCHES * np.sum(moves, axis=0)
    share = (np.sum(still & np.expand_dims(moves, 1), axis=(0, 1)) + 1.0) / (batches + 1.0)
    tails = np.where(moves, 1.0, share**LATE_BATCHES)
    chain, column = divmod(int(np.argmin(tails)), tails.shape[1])
    return Difference(FROZEN, _bonferroni(float(tails[chain, column]), tails.size), column, chain)


def _batch_variance(sums: FloatArray, rows: FloatArray) -> FloatArray:
    """n times the variance of a chain's mean of n rows, by sums over batches of rows.

    Sums have the shape (..., batch, column) and rows (..., batch).
    """
    own = rows[..., None]
    means = sums.sum(axis=-2, keepdims=True) / own.sum(axis=-2, keepdims=True)
    deviations = sums / np.maximum(own, 1.0) - means
    freedom = np.maximum((rows > 0.0).sum(axis=-1) - 1.0, 1.0)
    deviations *= deviations
    variance: FloatArray = (rows[..., None, :] @ deviations)[..., 0, :] / freedom[..., None]
    return variance


def _starts(
    given: ChainSums, spread: _LateSpread, windows: list[float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows, means and variances of the windows' means, of shape (windows, chains, columns)."""
    means, lengths = _window_means(given, windows)
    errors = spread.variance / lengths
    short = sum(window <= LAST_SHORT_WINDOW for window in windows)
    np.maximum(errors[:short], 0.5 * spread.marginal, out=errors[:short])
    if long := windows[short:]:
        # Long-run variances by the parts of these windows, of shape (windows, chains, columns)
        parts = np.array([_WINDOW_PARTS[window] for window in long])[:, None]
        rows = (parts @ given.rows[:, _FIRST, None])[..., 0]
        own = spread.ratio * _batch_variance(parts @ given.sums[:, _FIRST], rows) / lengths[short:]
        np.maximum(errors[short:], own, out=errors[short:])
    if given.still.any():
        inside = _IN_WINDOWS[[WINDOWS.index(window) for window in windows]][:, _FIRST]
        stuck = _stuck_variance(given, _FIRST, inside, spread.marginal)
        np.maximum(errors, stuck.transpose(1, 0, 2), out=errors)
    return lengths, means, errors


def _stuck_late(given: ChainSums, marginal: FloatArray) -> FloatArray:
    """The variance of late means if all batches without a change are a single draw."""
    every = np.ones((1, LATE_BATCHES))
    stuck: FloatArray = _stuck_variance(given, _LATE, every, marginal)[:, 0]
    return stuck


def _stuck_variance(
    given: ChainSums, part: slice, inside: FloatArray, marginal: FloatArray
) -> FloatArray:
    """The variance of means if all batches without a change are a single draw.

    The means are over those batches of a part where ``inside``, of shape (means, batches), is 1.
    The result has the shape (chains, means, columns).
    """
    rows = given.rows[:, part, None]
    still = inside @ (given.still[:, part] * rows) / (inside @ rows)
    # Chains that are stuck show too little of how rows vary, which is about 1 by their scale.
    variance: FloatArray = still**2 * np.maximum(marginal, 1.0)
    return variance


def _windows(given: ChainSums) -> list[float]:
    """The windows that hold a row of every chain, each number of rows once."""
    kept: list[float] = []
    rows: list[list[float]] = []
    for window, held in zip(WINDOWS, (_IN_WINDOWS @ given.rows.T).tolist(), strict=True):
        if min(held) >= 1.0 and held not in rows:
            kept.append(window)
            rows.append(held)
    return kept


def _window_means(given: ChainSums, windows: list[float]) -> tuple[FloatArray, FloatArray]:
    """Means over the starts of each chain, (windows, chains, columns), and their rows."""
    inside = _IN_WINDOWS[[WINDOWS.index(window) for window in windows]]
    rows: FloatArray = (inside @ given.rows.T)[:, :, None]
    return (inside @ given.sums).transpose(1, 0, 2) / rows, rows


def _late_means(given: ChainSums) -> FloatArray:
    rows = given.rows[:, _LATE].sum(axis=1)[:, None]
    means: FloatArray = given.sums[:, _LATE].sum(axis=1) / rows
    return means


def _outlying(values: FloatArray, least: FloatArray) -> FloatArray:
    """Each chain's value against the mean of the others, by their spread or the least variance."""
    chains = len(values)
    centred = values - values.mean(axis=0)
    others = -centred / (chains - 1.0)
    squares = (centred**2).sum(axis=0) - centred**2 - (chains - 1.0) * others**2
    variance = np.maximum(squares / (chains - 2.0), least)
    return _ratio(centred - others, variance * chains / (chains - 1.0))


def _ratio(difference: FloatArray, variance: FloatArray) -> FloatArray:
    """Difference over standard error; infinite where there is a difference but no error."""
    none = np.where(np.abs(difference) > ROUNDING, np.inf, 0.0)
    error = np.sqrt(np.broadcast_to(variance, difference.shape))
    return np.divide(np.abs(difference), error, out=none, where=error > ROUNDING)


def _farthest(
    given: ChainSums,
    kind: Kind,
    statistics: FloatArray,
    freedom: float,
    windows: list[float] | None = None,
    *,
    all_chains: bool = False,
) -> Difference:
    """The difference with the smallest p-value, by t-statistics; none of these is negative.

    They have the shape ([windows,] chains, columns). Columns with the same least p-value are judged
    together: among them it is the largest statistic.
    """
    chains, columns = statistics.shape[-2:]
    least = np.broadcast_to(given.least, columns)
    found: list[tuple[float, float, Difference]] = []
    for lowest in np.unique(least).tolist():
        flat = np.where(least == lowest, statistics, 0.0).reshape(-1)
        # Of equal p-values the first is given: the two of two chains differ in rounding alone. All
        # p-values of statistics above 100 may be 0.
        near = np.flatnonzero(flat >= min(flat.max(), 100.0) - 1e-8)
        tails = 2.0 * stdtr(freedom, -flat[near])
        place = int(np.argmax(tails <= tails.min() * (1.0 + 1e-9)))
        before, column = divmod(int(near[place]), columns)
        window, chain = divmod(before, chains)
        one = Difference(
            kind,
            max(lowest, _bonferroni(float(tails[place]), flat.size)),
            column,
            None if all_chains else chain,
            None if windows is None else windows[window],
        )
        found.append((one.pvalue, -float(flat.max()), one))
    return min(found)[-1]


def _bonferroni(tail: float, count: int) -> float:
    """The smallest of ``count`` p-values, times their number."""
    return min(1.0, max(TINY, tail * count))


def _within(low: int, high: int) -> list[float]:
    """1 for the batches from one to another, else 0."""
    return [float(low <= batch < high) for batch in range(BATCHES)]


def _parts_of(window: float) -> FloatArray:
    """1 where a batch of the first half is in a part of a window, of shape (parts, batches)."""
    edges = [FIRST_HALF.index(round(window * k / WINDOW_PARTS, 3)) for k in range(WINDOW_PARTS + 1)]
    return np.array([_within(low, high)[_FIRST] for low, high in pairwise(edges)])


# Which batches are in which window, and in the parts of the longer windows.
_IN_WINDOWS = np.array([_within(0, FIRST_HALF.index(window)) for window in WINDOWS])
_WINDOW_PARTS = {w: _parts_of(w) for w in WINDOWS if w > LAST_SHORT_WINDOW}
