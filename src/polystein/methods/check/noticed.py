"""What the sign flips would have noticed: the sizes of faults that these draws show.

Let the draws be right but for a fault of size r in one parameter alone, in its standard deviations:

- a mean: x_l moves by r, so that E F moves by r E[d F/d x_l] = -r E[s_l F] for every feature F;
- an sd: x_l is scaled by 1 + r, and E F moves by -r E[(s_l x_l + 1) F];
- a correlation rho: x_l moves by r (x_m - rho x_l)/(1 - rho^2), which leaves its sd as it is, and
  E F moves by -r E[(s_l (x_m - rho x_l) - rho) F]/(1 - rho^2).

All three are Stein's identity, to first order in r. With v the factor of F, the expectations are
means over rows, m = -mean(v F). The same identity moves E F^2 by -r E[v F^2]: draws whose sd is
too wide have features that vary more, s x + 1 by (1 + r)^4 for a normal coordinate, and the
variance of the sums grows with it. A fault may have either sign, and the one that shows less is
told, so that variances are taken to grow by g = 1 + r |mean(v F^2)|/mean(F^2). The draws themselves
with random signs e are right draws. With w the rows of a batch and b its sum of F, times sqrt(g),
faulty ones have the batch sums e b + r w m, and

    t = (sum of e b + sqrt(D) r m sum of w) / sqrt(sum of (e b + r w m)^2),

where D is the part of the variance that batches see. A quadratic form of products K moves by
2 sqrt(D) r sum of e_a w_b k_a + D r^2 q sum of w_a w_b, over the pairs of batches that count, with
k the products of the sums with m, and q that of m with itself; it is divided by how much its spread
grows by what the mean adds. (The growth g cancels in Hotelling's, which is in units of the scores'
own second moments; of the other form it is left out.) The fault is noticed if the smallest tail of
all statistics, each over its share of the level, is below the quantile of the same number of right
draws. The size that is found with probability 0.8 is solved for, and the largest among parameters
is told: that of the least visible one.

Every t is moved towards 0 for the skewness of the batch sums, as that of the draws is. The other
arms see the fault, too, so that sizes are a little too large rather than too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein._lib.threads import one_blas_thread
from polystein.data.source import coordinate_names
from polystein.data.spread import KeptRows
from polystein.inference.pvalues import cautious_for_skewness
from polystein.inference.quadratic_forms import apart, joined_products
from polystein.inference.signflips import (
    Law,
    random_signs,
    skewness_beyond_chance,
    unit_columns,
)
from polystein.methods.check.faults import (
    Fault,
    Seen,
    Shift,
    factors,
    least_visible,
    matrix_shift,
    seen_rows,
    shifts_and_growths,
)
from polystein.methods.check.flips import (
    FIRST_PATTERNS,
    FlippedFamily,
    Judged,
    statistics_of,
)
from polystein.methods.check.forms import FlippedForm
from polystein.methods.check.statistics import flip_shares
from polystein.methods.check.sums import BatchSums
from polystein.results.noticeable import PROBABILITY, Noticeable
from polystein.types import FloatArray

#: Means are those of about this many rows, evenly spaced: known to a few per cent.
MOST_ROWS = 2**13
#: Features of like autocorrelation that a fault moves most, if by this part of what it moves its
#: own; the others stay where they are.
MOST_MOVED, LEAST_MOVED = 64, 0.1
#: A larger fault moves features by more than to first order.
LARGEST = 0.5
#: Halvings of the interval that the size is in, to 2 % of itself.
_HALVINGS, _SMALLEST = 8, 2e-3


def noticeable_faults(
    untaken: Callable[[], BatchSums],
    *,
    left_out: NDArray[np.bool_],
    level: float,
) -> tuple[Noticeable, ...]:
    """The size of each kind of fault that is noticed, in the least visible parameter.

    ``untaken`` makes the sums of `check`, which are taken once more: none is kept until they are
    asked for. ``level`` is that of the sign flips alone. Empty if these do not judge.
    """
    with one_blas_thread():
        sums = untaken()
        layout, coordinates = sums.source.layout, np.flatnonzero(~left_out)
        count = min(MOST_ROWS, layout.total)
        some = KeptRows(layout, np.arange(count) * layout.total // count)
        sums.take(some)
        if not sums.memory_is_known or not coordinates.size:
            return ()
        every, _, _, beyond_chance = statistics_of(sums, coordinates)
        signs = random_signs(
            FIRST_PATTERNS, sums.count, np.random.default_rng(0), unflipped_first=True
        )
        for one in every:
            one.flip(signs)
        judged = [one for one in every if one.is_judged]
        if not judged:
            return ()
        names = [name for one in judged for name in one.statistics]
        shares = flip_shares(names, coordinates.size, beyond_chance)
        rows = seen_rows(some, sums)
        faults = least_visible(rows, sums, coordinates)
        moved = moved_statistics(judged, faults, rows, sums, signs[1:], coordinates)
        found: dict[str, tuple[float, Fault]] = {}
        for fault, statistics in zip(faults, moved, strict=True):
            size, _ = found.get(fault.what, (0.0, fault))
            own = size_noticed(statistics, shares, level, least=size)
            if own > size:
                found[fault.what] = own, fault
    labels = coordinate_names(sums.source)
    return tuple(
        Noticeable(what, size, tuple(labels[place] for place in fault.places))
        for what, (size, fault) in found.items()
    )


def moved_statistics(
    judged: Sequence[Judged],
    faults: Sequence[Fault],
    rows: Seen,
    sums: BatchSums,
    signs: FloatArray,
    coordinates: NDArray[np.intp],
) -> list[list[MovedFamily | MovedForm]]:
    """For each fault every statistic as it would move."""
    v = factors(rows, faults)
    weights = sums.sizes / sums.weight_scale
    moved: list[list[MovedFamily | MovedForm]] = [[] for _ in faults]
    for one in judged:
        if isinstance(one, FlippedFamily):
            means, growths = shifts_and_growths(one.family.name, v, rows, sums, coordinates)
            found = [MovedFamily(one, fault.strength) for fault in faults]
            for places, columns, group in one.columns():
                own = group.joining.of_first(signs)
                lengths = group.joining.joined(weights)
                for family, mean, growth in zip(found, means, growths, strict=True):
                    shift = Shift(mean[places], growth[places])
                    family.add(columns, own, lengths, shift, group.deflation)
            for own_list, family in zip(moved, found, strict=True):
                own_list.append(family)
        else:
            scores = one.form.orders == ("score",)
            for own_list, factor in zip(moved, v, strict=True):
                mean = (
                    -(factor @ rows.scores)[coordinates]
                    if scores
                    else matrix_shift(factor, rows, coordinates)
                )
                own_list.append(MovedForm(one, mean, one.joining.of_first(signs), weights))
    return moved


class MovedFamily:
    """The sum and the maximum of a family, for random signs and a fault of any size."""

    def __init__(self, flipped: FlippedFamily, strength: float) -> None:
        found = flipped.statistics.items()
        self._found = {name: (values[1:], law) for name, (values, law) in found}
        self._strength = strength
        self._groups: list[tuple[FloatArray, ...]] = []

    def add(
        self,
        columns: FloatArray,
        signs: FloatArray,
        weights: FloatArray,
        shift: Shift,
        deflation: float,
    ) -> None:
        """Features of like autocorrelation: their batch sums, and the shift of each."""
        means = shift.means
        squares = np.einsum("bj,bj->j", columns, columns, dtype=np.float64)
        strength = np.divide(
            np.abs(means), np.sqrt(squares), out=np.zeros_like(means), where=squares > TINY
        )
        strength *= math.sqrt(deflation) * float(weights.sum())
        most = np.argsort(-strength, kind="stable")[:MOST_MOVED]
        most = most[strength[most] > LEAST_MOVED * self._strength]
        own, mean = columns[:, most].astype(np.float64), means[most]
        total = math.sqrt(deflation) * float(weights.sum()) * mean
        crossed = signs @ (weights[:, None] * own * (2.0 * mean))
        added = float(weights @ weights) * mean**2
        skewness, batches = skewness_beyond_chance(unit_columns(own)), np.array(len(own))
        growth = shift.growths[most]
        self._groups.append(
            (signs @ own, total, squares[most], crossed, added, growth, skewness, batches)
        )

    def after(self, size: float) -> dict[str, tuple[FloatArray, Law]]:
        """The statistics of draws with a fault of this size, for every pattern of signs."""
        found = dict(self._found)
        for sums, total, squares, crossed, added, growth, skewness, batches in self._groups:
            grown = 1.0 + size * growth
            root = np.sqrt(grown)
            spread = np.maximum(grown * squares + size * root * crossed + size**2 * added, TINY)
            t = (root * sums + size * total) / np.sqrt(spread)
            moved = cautious_for_skewness(t, skewness, int(batches)) ** 2 if size else t**2
            for name, (values, law) in found.items():
                if name.endswith(": sum"):
                    before = (sums**2 / squares).sum(axis=1)
                    found[name] = values + moved.sum(axis=1) - before, law
                elif moved.shape[1]:
                    found[name] = np.maximum(values, moved.max(axis=1)), law
        return found


class MovedForm:
    """A quadratic form, for random signs and a fault of any size."""

    def __init__(
        self, flipped: FlippedForm, mean: FloatArray, signs: FloatArray, weights: FloatArray
    ) -> None:
        ((self._name, (values, self._law)),) = flipped.statistics.items()
        joining, chains = flipped.joining, flipped.chains
        crossed, own = flipped.form.crossed(mean)
        crossed, rows = joining.joined(crossed[:, None])[:, 0], joining.joined(weights)
        kept = apart(joined_products(flipped.form.products.products, joining), chains)
        counts = apart(np.ones_like(kept), chains)
        root = math.sqrt(flipped.deflation)
        # Values may be in a unit of their own.
        self._variance = 2.0 * float(np.vdot(kept, kept))
        self._unit = math.sqrt(max(flipped.variance, TINY) / max(self._variance, TINY))
        self._values = values[1:]
        self._linear = 2.0 * root * (signs @ (crossed * (counts @ rows)))
        self._square = flipped.deflation * own * float(rows @ counts @ rows)
        self._spread = 4.0 * float(crossed**2 @ counts @ rows**2)
        self._spread_square = 2.0 * own**2 * float(rows**2 @ counts @ rows**2)

    def after(self, size: float) -> dict[str, tuple[FloatArray, Law]]:
        """The statistic of draws with a fault of this size, for every pattern of signs."""
        moved = self._values + self._unit * (size * self._linear + size**2 * self._square)
        grown = 1.0 + (size**2 * self._spread + size**4 * self._spread_square) / max(
            self._variance, TINY
        )
        return {self._name: (moved / math.sqrt(grown), self._law)}


def size_noticed(
    statistics: Sequence[MovedFamily | MovedForm],
    shares: Mapping[str, float],
    level: float,
    *,
    least: float = 0.0,
) -> float:
    """The size that is noticed with the probability 0.8; infinite where none up to 0.5 is.

    It is 0 if a fault of size ``least`` is noticed.
    """

    def smallest_tails(size: float) -> FloatArray:
        tails = [
            law(values) / shares[name]
            for one in statistics
            for name, (values, law) in one.after(size).items()
        ]
        result: FloatArray = np.min(tails, axis=0)
        return result

    right = np.sort(smallest_tails(0.0))
    # As many of the flips, and the draws themselves, are as extreme at the level.
    bound = right[max(math.floor(level * (right.size + 1)) - 1, 0)]

    def noticed(size: float) -> bool:
        return bool(np.mean(smallest_tails(size) <= bound) >= PROBABILITY)

    if least > 0.0 and (math.isinf(least) or noticed(least)):
        return 0.0
    low, high = max(least, _SMALLEST), LARGEST
    if not noticed(high):
        return math.inf
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if noticed(middle) else (middle, high)
    return high
