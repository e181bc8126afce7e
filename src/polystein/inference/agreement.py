"""Do chains agree? Comparisons of sums over stretches of chains, on plain arrays.

Each chain is cut into stretches: fine ones at its start, six equal ones in its late half. Two
questions are asked of every column. Does a chain's late mean differ from those of the others?
Does the start of the chains, or of one of them, differ from the late half?

Columns are bounded by a fixed monotone function beforehand, so that sums of them are nearly
normal whatever the tails are. Their variances come from the late halves. The late half of a
chain gives V_L, from batches of a twelfth of the chain, and V_2L from batches twice as long.
V_L falls short where draws remember each other that long, and exp(2 (V_2L/V_L - 1)) makes up for
it. To first order this is the lugsail ratio (2 V_2L - V_L)/V_L. That falls short itself where the
memory is as long as a batch: an AR(1) chain whose memory is one batch needs 2.7, the lugsail gives
2.1 and the exponential 2.9. The ratio is pooled over the columns of a family, for that of one
column is too uncertain. Columns that are slower still are left out. From 32 chains on the chains'
own spread takes the place of all that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from polystein._lib.numerics import ROUNDING, TINY
from polystein.types import FloatArray

#: The starts that are looked at, as parts of a chain.
WINDOWS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)
#: Where the first half of a chain is cut: at the windows' ends, and so that each of the longer
#: windows consists of five equal batches.
FIRST_HALF = (0.0, 0.005, 0.02, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2, 0.3, 0.4, 0.5)
#: Equal batches of the late half; each chain has one degree of freedom less than batches.
LATE_BATCHES = 6
OWN_BATCHES = 5
STRETCHES = len(FIRST_HALF) - 1 + LATE_BATCHES
#: Up to this window the variance is at least so many times that of a single row: too few rows
#: for a variance of their own, which a chain may happen to be stuck in.
LAST_SHORT_WINDOW = 0.05
LEAST_OF_MARGINAL = 0.5
#: A column is left out if a batch of a late half is worth fewer independent rows than this: how
#: much its means vary cannot be told then.
LEAST_BATCH_ESS = 2.0
#: So many chains tell by their own spread how far chains differ ...
MANY_CHAINS = 32
#: ... if the longest has at most so many times the rows of the shortest.
MOST_UNEQUAL = 1.5
#: Shorter chains have batches of fewer than two rows; many chains need no batches.
FEWEST_ROWS, FEWEST_ROWS_OF_MANY = 24, 4
_LATE = slice(len(FIRST_HALF) - 1, STRETCHES)

Kind = str
CHAINS: Kind = "chains"
ALL_STARTS: Kind = "starts of all chains"
ONE_START: Kind = "start of a chain"
FROZEN: Kind = "frozen chains"


class StretchSums(NamedTuple):
    """Sums over the stretches of each chain.

    ``sums`` has the shape (chains, stretches, columns), ``rows`` (chains, stretches).
    ``still`` says where a column does not change within a stretch of two rows or more, and has
    the shape of ``sums``. ``marginal`` is the variance of a single row of each column.
    ``families`` holds the columns whose memory is pooled; ``still`` is the same for all of them.
    """

    sums: FloatArray
    rows: FloatArray
    still: NDArray[np.bool_]
    marginal: FloatArray
    families: tuple[slice, ...]

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


def cuts(rows: int) -> NDArray[np.intp]:
    """Where the stretches of a chain of so many rows begin and end; some may be empty."""
    first = np.round(np.array(FIRST_HALF) * rows).astype(np.intp)
    late = first[-1] + (rows - first[-1]) * np.arange(1, LATE_BATCHES + 1) // LATE_BATCHES
    return np.concatenate([first, late])


def differences(given: StretchSums) -> list[Difference]:
    """The largest difference of each kind that can be judged.

    Each p-value is Bonferroni's for its kind. The kinds are still to share a level. Where all
    columns are too slow, nothing but frozen chains is judged.
    """
    found = [] if given.chains == 1 else [_frozen(given)]
    if given.chains >= MANY_CHAINS:
        return [*_of_many(given), *found]
    spread = _late_spread(given)
    return found if spread.too_slow.all() else [*_of_few(given, spread), *found]


class _LateSpread(NamedTuple):
    """How columns vary in the late halves: long-run variance, and variance of a single row.

    ``ratio`` is what the long-run variance by batches was multiplied by. Columns that are
    ``too_slow`` remember for too long to be compared.
    """

    variance: FloatArray
    ratio: FloatArray
    marginal: FloatArray
    too_slow: NDArray[np.bool_]


def _late_spread(given: StretchSums) -> _LateSpread:
    ratio = _memory_ratios(given)
    variance = ratio * _late_variance(given)
    rows = float(given.rows[:, _LATE].sum()) / given.chains
    # A late mean's own error adds to the spread within its chain.
    marginal = given.marginal + variance / rows
    slow = variance * LEAST_BATCH_ESS > marginal * rows / LATE_BATCHES
    return _LateSpread(variance, ratio, marginal, slow)


def _of_few(given: StretchSums, spread: _LateSpread) -> Iterator[Difference]:
    """Comparisons by the variance within late halves."""
    late, windows = _late_means(given), _windows(given)
    rows = given.rows[:, _LATE].sum(axis=1)[:, None]
    pooled = (rows * late).sum(axis=0) / rows.sum()
    # A frozen late half is one draw: the others do not stand out beside it.
    own = np.maximum(spread.variance / rows, _stuck_variance(given, _LATE, spread.marginal))
    summed = (rows**2 * own).sum(axis=0)
    whole = summed / rows.sum() ** 2
    freedom = (LATE_BATCHES - 1.0) * given.chains

    def tails(difference: FloatArray, variance: FloatArray) -> FloatArray:
        return np.where(spread.too_slow, 1.0, two_sided(_ratio(difference, variance), freedom))

    lengths, starts, errors = _starts(given, spread)
    mean = (lengths * starts).sum(axis=1) / lengths.sum(axis=1)
    error = (lengths**2 * errors).sum(axis=1) / lengths.sum(axis=1) ** 2
    of_all = tails(mean - pooled, error + whole)
    yield _largest(ALL_STARTS, of_all[:, None], windows, all_chains=True)
    if given.chains > 1:
        yield _largest(ONE_START, tails(starts - pooled, errors + whole), windows)
        others = rows.sum() - rows
        rest = (rows.sum() * pooled - rows * late) / others
        error = own + (summed - rows**2 * own) / others**2
        yield _largest(CHAINS, tails(late - rest, error))


def _of_many(given: StretchSums) -> Iterator[Difference]:
    """Comparisons by the spread of the chains, whatever the memory within them is."""
    late, windows, chains = _late_means(given), _windows(given), given.chains
    starts = np.array([_window_mean(given, window)[0] for window in windows])
    change = starts - late
    error = change.var(axis=1, ddof=1) / chains
    tails = two_sided(_ratio(change.mean(axis=1), error), chains - 1.0)
    yield _largest(ALL_STARTS, tails[:, None], windows, all_chains=True)
    lengths = given.rows.sum(axis=1)
    if lengths.max() <= MOST_UNEQUAL * lengths.min():
        # A short chain among long ones would stand out though nothing is wrong with it. The
        # start of one chain is so few rows that skewed columns stand out, too.
        stuck = _stuck_variance(given, _LATE, given.marginal)
        yield _largest(CHAINS, two_sided(_outlying(late, stuck), chains - 2.0))


def _frozen(given: StretchSums) -> Difference:
    """Chains of which a column does not change in the late half, though it does in others.

    If stretches without a change come by chance, all late stretches of a chain are such with
    the probability share^6, where the share is that among the chains that move.
    """
    still = given.still[:, _LATE, given.families[0]]
    moves = ~np.all(still, axis=1)
    stretches = LATE_BATCHES * np.sum(moves, axis=0)
    share = (np.sum(still & np.expand_dims(moves, 1), axis=(0, 1)) + 1.0) / (stretches + 1.0)
    return _largest(FROZEN, np.where(moves, 1.0, share**LATE_BATCHES))


def _memory_ratios(given: StretchSums) -> FloatArray:
    """How much V_L falls short by, for every column; at least 1."""
    ratios = np.ones(given.marginal.size)
    for family, growth in zip(given.families, _growth(given).tolist(), strict=True):
        ratios[family] = max(1.0, math.exp(2.0 * (growth - 1.0)))
    return ratios


def _growth(given: StretchSums) -> FloatArray:
    """V_2L/V_L of each family, in which columns count alike, whatever their spread is."""
    single = _late_variance(given) / given.marginal
    double = _late_variance(given, together=2) / given.marginal
    sums = np.array([[double[f].sum(), single[f].sum()] for f in given.families])
    growth: FloatArray = sums[:, 0] / np.maximum(sums[:, 1], TINY)
    return growth


def _late_variance(given: StretchSums, together: int = 1) -> FloatArray:
    """Long-run variance of each column by batches of the late halves, the mean over chains."""
    stretches = np.arange(STRETCHES)[_LATE].reshape(-1, together)
    variance: FloatArray = _batch_variance(given, [*stretches]).mean(axis=0)
    return variance


def _batch_variance(given: StretchSums, batches: list[NDArray[np.intp]]) -> FloatArray:
    """n times the variance of a chain's mean of n rows, by means of batches of stretches."""
    rows = np.array([given.rows[:, batch].sum(axis=1) for batch in batches])[:, :, None]
    sums = np.array([given.sums[:, batch].sum(axis=1) for batch in batches])
    deviations = sums / np.maximum(rows, 1.0) - sums.sum(axis=0) / rows.sum(axis=0)
    freedom = np.maximum((rows > 0.0).sum(axis=0) - 1.0, 1.0)
    variance: FloatArray = (rows * deviations**2).sum(axis=0) / freedom
    return variance


def _starts(given: StretchSums, spread: _LateSpread) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows, means and variances of the windows' means, of shape (windows, chains, columns)."""
    lengths, means, errors = [], [], []
    for window in _windows(given):
        mean, rows = _window_mean(given, window)
        least = _stuck_variance(given, slice(FIRST_HALF.index(window)), spread.marginal)
        if window > LAST_SHORT_WINDOW:
            least = np.maximum(least, spread.ratio * _own_variance(given, window) / rows)
        else:
            least = np.maximum(least, LEAST_OF_MARGINAL * spread.marginal)
        lengths.append(rows)
        means.append(mean)
        errors.append(np.maximum(spread.variance / rows, least))
    return np.array(lengths), np.array(means), np.array(errors)


def _stuck_variance(given: StretchSums, part: slice, marginal: FloatArray) -> FloatArray:
    """The variance of a mean if all stretches without a change are a single draw."""
    rows = given.rows[:, part, None]
    still = (given.still[:, part] * rows).sum(axis=1) / rows.sum(axis=1)
    # Chains that are stuck show too little of how rows vary, which is about 1 by their scale.
    variance: FloatArray = still**2 * np.maximum(marginal, 1.0)
    return variance


def _own_variance(given: StretchSums, window: float) -> FloatArray:
    """Long-run variance of each chain by batches of a window."""
    edges = [FIRST_HALF.index(round(window * k / OWN_BATCHES, 3)) for k in range(OWN_BATCHES + 1)]
    return _batch_variance(given, [np.arange(low, high) for low, high in pairwise(edges)])


def _windows(given: StretchSums) -> list[float]:
    """The windows that hold a row of every chain, each number of rows once."""
    kept: list[float] = []
    rows: list[tuple[float, ...]] = []
    for window in WINDOWS:
        held = tuple(given.rows[:, : FIRST_HALF.index(window)].sum(axis=1).tolist())
        if min(held) >= 1.0 and held not in rows:
            kept.append(window)
            rows.append(held)
    return kept


def _window_mean(given: StretchSums, window: float) -> tuple[FloatArray, FloatArray]:
    """Means over the start of each chain, (chains, columns), and its rows, (chains, 1)."""
    end = FIRST_HALF.index(window)
    rows: FloatArray = given.rows[:, :end].sum(axis=1)[:, None]
    return given.sums[:, :end].sum(axis=1) / rows, rows


def _late_means(given: StretchSums) -> FloatArray:
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


def two_sided(statistics: FloatArray, freedom: float) -> FloatArray:
    """P-values of t-statistics."""
    tails: FloatArray = 2.0 * stdtr(freedom, -np.abs(statistics))
    return tails


def _largest(
    kind: Kind,
    tails: FloatArray,
    windows: list[float] | None = None,
    *,
    all_chains: bool = False,
) -> Difference:
    """The smallest of p-values of shape ([windows,] chains, columns), times their number."""
    place = np.unravel_index(int(np.argmin(tails)), tails.shape)
    pvalue = min(1.0, max(TINY, float(tails[place]) * tails.size))
    chain = None if all_chains else int(place[-2])
    window = None if windows is None else windows[int(place[0])]
    return Difference(kind, pvalue, int(place[-1]), chain, window)
