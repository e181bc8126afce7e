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
grows by what the mean adds. (Hotelling's is in units of the scores' own second moments, so that the
growth g cancels; of the other form it is left out.) The fault is noticed if the smallest tail of all statistics, each over its share of the
level, is below the quantile of the same number of right draws. The size that is found with
probability 0.8 is solved for, and the largest among parameters is told: that of the least visible
one.

Every t is moved towards 0 for the skewness of the batch sums, as that of the draws is. The other
arms see the fault, too, so that sizes are a little too large rather than too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein._lib.threads import one_blas_thread
from polystein.data.source import coordinate_names
from polystein.inference.pvalues import cautious_for_skewness
from polystein.inference.quadratic_forms import apart, joined_products
from polystein.inference.signflips import (
    Law,
    random_signs,
    skewness_beyond_chance,
    unit_columns,
)
from polystein.methods.check.flips import (
    FIRST_PATTERNS,
    FlippedFamily,
    Judged,
    statistics_of,
)
from polystein.methods.check.forms import FlippedForm
from polystein.methods.check.look import KeptRows
from polystein.methods.check.statistics import (
    BASIS,
    PAIR_ORDERS,
    TAILS,
    TRACE,
    WAVES,
    flip_shares,
)
from polystein.methods.check.sums import BatchSums
from polystein.results.noticeable import PROBABILITY, Noticeable
from polystein.stein.basis import magnitude_functions
from polystein.stein.operator import diagonal_entries
from polystein.types import FloatArray

#: Means are those of about this many rows, evenly spaced: known to a few per cent.
MOST_ROWS = 2**13
#: Faults whose own feature is least visible, of each kind: one of them is the least visible.
CANDIDATES = 3
#: Features of like autocorrelation that a fault moves most, if by this part of what it moves its
#: own; the others stay where they are.
MOST_MOVED, LEAST_MOVED = 64, 0.1
#: A larger fault moves features by more than to first order.
LARGEST = 0.5
#: Halvings of the interval that the size is in, to 2 % of itself.
_HALVINGS, _SMALLEST = 8, 2e-3


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
        layout, kept = sums.source.layout, np.flatnonzero(~left_out)
        count = min(MOST_ROWS, layout.total)
        some = KeptRows(layout, np.arange(count) * layout.total // count)
        sums.take(some)
        if not sums.memory_is_known or not kept.size:
            return ()
        every, _, _, beyond_chance = statistics_of(sums, kept)
        signs = random_signs(
            FIRST_PATTERNS, sums.count, np.random.default_rng(0), unflipped_first=True
        )
        for one in every:
            one.flip(signs)
        judged = [one for one in every if one.moves]
        if not judged:
            return ()
        names = [name for one in judged for name in one.statistics]
        shares = flip_shares(names, kept.size, beyond_chance)
        rows = seen_rows(some, sums)
        faults = least_visible(rows, sums, kept)
        moved = moved_statistics(judged, faults, rows, sums, signs[1:], kept)
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


def seen_rows(kept: KeptRows, sums: BatchSums) -> Seen:
    """Rows as the sums see them."""
    plain = kept.draws_and_scores
    robust = sums.frame if sums.robust is None else sums.robust
    return Seen(*sums.frame.apply(*plain), *robust.apply(*plain), kept.weights / kept.weights.sum())


def least_visible(rows: Seen, sums: BatchSums, kept: NDArray[np.intp]) -> list[Fault]:
    """Faults that move their own feature least, of the coordinates that are ``kept``.

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

    x, s, weights = rows.draws[:, kept], rows.scores[:, kept], rows.weights
    means, spreads = weights @ s**2, weights @ (s * x + 1.0) ** 2
    faults = [
        Fault(what, (int(kept[place]),), strength)
        for what, order, own in (("mean", 0, means), ("sd", 1, spreads))
        for place, strength in faintest(sums.diagonal[:, order][:, kept], own)
    ]
    if sums.judges_pairs and kept.size > 1:
        products = (weights[:, None] * s**2).T @ x**2
        whole = np.concatenate(list(sums.pairs(PAIR_ORDERS["x"])), axis=1)[:, kept[:, None], kept]
        np.fill_diagonal(products, np.inf)  # no pair of a coordinate with itself
        for one, strength in faintest(whole.reshape(len(whole), -1), products.ravel()):
            pair = (int(kept[one // kept.size]), int(kept[one % kept.size]))
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


def moved_statistics(
    judged: Sequence[Judged],
    faults: Sequence[Fault],
    rows: Seen,
    sums: BatchSums,
    signs: FloatArray,
    kept: NDArray[np.intp],
) -> list[list[MovedFamily | MovedForm]]:
    """For each fault every statistic as it would move."""
    v = factors(rows, faults)
    weights = sums.sizes / sums.weight_scale
    moved: list[list[MovedFamily | MovedForm]] = [[] for _ in faults]
    for one in judged:
        if isinstance(one, FlippedFamily):
            means, growths = shifts_and_growths(one.family.name, v, rows, sums, kept)
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
                mean = -(factor @ rows.scores)[kept] if scores else _matrix(factor, rows, kept)
                own_list.append(MovedForm(one, mean, one.joining.of_first(signs), weights))
    return moved


def _matrix(factor: FloatArray, rows: Seen, kept: NDArray[np.intp]) -> FloatArray:
    """The shift of s x' + I."""
    weighted = rows.scores[:, kept] * factor[:, None]
    matrix = weighted.T @ rows.draws[:, kept]
    result: FloatArray = -(matrix + float(factor.sum()) * np.eye(kept.size))
    return result


class Shift(NamedTuple):
    """By how much a fault of size 1 moves the mean of each feature, and grows its variance."""

    means: FloatArray
    growths: FloatArray


def shifts_and_growths(
    name: str, v: FloatArray, rows: Seen, sums: BatchSums, kept: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """-E[v F] and abs(E[v F^2])/E[F^2], for every fault and every feature F of a family."""
    robust = name in {"waves", "magnitude pairs"}  # whose sums are over some of the rows
    means = -_expected(name, v, rows, kept) / (sums.stride if robust else 1)
    *moved, squares = _expected(name, np.vstack([v, rows.weights]), rows, kept, power=2)
    growths: FloatArray = np.abs(moved) / np.maximum(squares, TINY)
    return means, growths


def _expected(
    name: str, v: FloatArray, rows: Seen, kept: NDArray[np.intp], power: int = 1
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
    own = islice(diagonal, first, end)
    if name == TRACE:
        own = (entry[:, kept].sum(axis=1, keepdims=True) for entry in own)
    return np.concatenate([v @ entry**power for entry in own], axis=1)


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
