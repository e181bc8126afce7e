"""The arm of `check` that spends no rows on training: sign flips of batch sums over all rows.

Under H0 every feature has mean 0, so that flipping the signs of whole batches of rows shows how
large statistics become by chance (`polystein.inference.signflips`). Batches of chains are joined
until they are longer than the autocorrelation of their features, and what correlation is left is
allowed for (`polystein.inference.memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polystein.inference.memory import Joining, speeds, variance_curves
from polystein.inference.signflips import (
    FlippedStatistics,
    Law,
    at_least_as_extreme,
    gamma_law,
    is_decided,
    maximum_law,
    random_signs,
    tamed,
    unit_columns,
)
from polystein.methods.check.forms import (
    FEWEST_INDEPENDENT_A_COORDINATE,
    LEAST_DEFLATION,
    FlippedForm,
    centred_spreads,
    forms,
    total_correlation,
)
from polystein.methods.check.statistics import (
    ALL_ROWS,
    DIRECTIONS,
    FAMILY_PREFIX,
    FEWEST_BATCHES,
    FINE,
    FLIPS,
    LEAST_CORRELATION,
    PAIR_ORDERS,
    PAIRS,
    TAILS,
    TRACE,
    WAVES,
    flip_shares,
    of_family,
)
from polystein.methods.check.sums import (
    MAGNITUDES,
    MOST_COORDINATES,
    MOST_PAIRED_DIMENSIONS,
    BatchSums,
)
from polystein.results.evidence import Abstention, Arm, Part
from polystein.types import FloatArray

#: Patterns of signs, that of the draws as they are included: the p-value is a multiple of 1/500.
#: Where it is near a level that people use, the flips go on until this many.
FIRST_PATTERNS, FURTHER_PATTERNS = 500, (2_000, 6_000, 20_000)
#: Flips beyond the first take at most this many multiplications: a few seconds.
MOST_PRODUCTS = 2**35
#: Hotelling's statistic needs this many rows for each coordinate.
ROWS_FOR_DIRECTIONS = 2.0
#: At most this many patterns are tried at once.
_PATTERNS_AT_ONCE = 1_000


def flip_signs(
    sums: BatchSums,
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    left_out: NDArray[np.bool_],
    levels: Sequence[float] = (),
) -> list[Arm | Abstention]:
    """The arm of the sign flips, or why it abstains, and the families that it cannot judge.

    Coordinates that are ``left_out`` are too slow to be judged. The flips go on while the p-value
    is near one of the ``levels``.
    """
    dimension, given_up = sums.source.layout.dimension, []
    if dimension > 1 and not sums.judges_pairs:
        given_up.append(Abstention(PAIRS, _MANY_PAIRS))
    if dimension > MOST_COORDINATES:
        given_up.append(Abstention(FINE, _MANY_WAVES))
    if not sums.memory_is_known:
        return [Abstention(FLIPS, _SHORT), *given_up]
    if left_out.all():
        return [Abstention(FLIPS, _ALL_SLOW), *given_up]
    coordinates = np.flatnonzero(~left_out)
    every, metric, correlation, beyond_chance = statistics_of(sums, coordinates)
    signs = random_signs(FIRST_PATTERNS, sums.count, rng, unflipped_first=True)
    for one in every:
        one.flip(signs)

    missing = [Abstention(DIRECTIONS, _NO_METRIC)] if coordinates.size > 1 and not metric else []
    for one in every:
        if one.slow:
            missing.append(Abstention(FAMILY_PREFIX + one.words, _SLOW))
        elif isinstance(one, FlippedForm) and one.short:
            # Products of two coordinates decorrelate twice as fast as the coordinates.
            chance = chance_correlation(coordinates.size, 2.0 * max(one.worth, 1.0))
            if correlation > LEAST_CORRELATION + chance:
                missing.append(Abstention(FAMILY_PREFIX + one.words, _FEW_FOR_DIRECTIONS))

    judged = [one for one in every if one.is_judged]
    if not judged:
        few = f"there are fewer than {FEWEST_BATCHES} independent batches of rows. Take more draws"
        return [Abstention(FLIPS, few), *missing, *given_up]
    seen = [name for one in judged for name in one.names]
    shares = flip_shares(seen, coordinates.size, beyond_chance)

    # As many flips as it takes to be sure.
    most: float = FIRST_PATTERNS
    if sums.keeps_pairs:
        most = MOST_PRODUCTS / (sum(one.features for one in judged) * sums.count)
    patterns = FIRST_PATTERNS
    for further in (*FURTHER_PATTERNS, 0):
        found = {name: each for one in judged for name, each in one.statistics.items()}
        extreme = at_least_as_extreme(list(found.values()), [shares[name] for name in found])
        if not further or further > most or is_decided(extreme, patterns, levels):
            break
        while patterns < further:
            some = min(_PATTERNS_AT_ONCE, further - patterns)
            signs = random_signs(some, sums.count, rng)
            for one in judged:
                one.flip(signs)
            patterns += some
    parts = [
        part._replace(level_share=shares[part.name]) for one in judged for part in one.parts(names)
    ]
    return [Arm(FLIPS, ALL_ROWS, extreme / patterns, tuple(parts)), *missing, *given_up]


class Flipped(NamedTuple):
    """All statistics on the same flips, and how correlated the scores are.

    ``metric`` is whether there are rows enough for their second moments, ``correlation`` the total
    correlation, and ``beyond_chance`` what chance does not explain of it.
    """

    every: list[Judged]
    metric: bool
    correlation: float
    beyond_chance: float


def statistics_of(sums: BatchSums, coordinates: NDArray[np.intp]) -> Flipped:
    """The statistics of the coordinates that are not left out, before any flip."""
    # How correlated the scores are decides on shares, and on how autocorrelation is pooled. Flips
    # leave the products of scores alone.
    rows = sums.effective_rows
    enough = rows >= ROWS_FOR_DIRECTIONS * coordinates.size
    metric = coordinates.size > 1 and sums.score_products.size > 0 and enough
    correlation = (
        total_correlation(sums.score_products[np.ix_(coordinates, coordinates)]) if metric else 0.0
    )
    beyond_chance = correlation - chance_correlation(coordinates.size, rows)
    correlated = beyond_chance > LEAST_CORRELATION
    left_out = np.ones(sums.diagonal.shape[2], dtype=np.bool_)
    left_out[coordinates] = False
    every: list[Judged] = [
        FlippedFamily(family, sums, left_out, conservative=correlated)
        for family in families(sums, coordinates)
    ]
    every += [FlippedForm(form, sums) for form in forms(sums, coordinates, metric=metric)]
    return Flipped(every, metric, correlation, beyond_chance)


def chance_correlation(coordinates: int, rows: float) -> float:
    """The total correlation that uncorrelated coordinates show by chance in this many rows.

    Of d (d - 1)/2 pairs each adds its squared correlation, about 1/n, over 2 d.
    """
    return coordinates / (4.0 * rows)


_SHORT = "the chains are too short to tell how long their autocorrelation lasts. Run them longer"
_ALL_SLOW = (
    "every coordinate is too slow, or too different from chain to chain. Look at the chains, and "
    "run them longer"
)
_SLOW = (
    "the autocorrelation of some features is longer than the longest batches. Run the chains longer"
)
_FEW_FOR_DIRECTIONS = (
    "the coordinates are correlated, and the chains are worth fewer than "
    f"{FEWEST_INDEPENDENT_A_COORDINATE:.0f} independent rows for each of them. Run them longer"
)
_NO_METRIC = (
    f"location along a direction needs {ROWS_FOR_DIRECTIONS:.0f} rows for each coordinate "
    f"and at most {MOST_COORDINATES:,} coordinates. Where coordinates are correlated, faults may "
    "go unseen"
)
_MANY_PAIRS = (
    f"there are more than {MOST_PAIRED_DIMENSIONS} coordinates. Spreads along directions of many "
    "coordinates are left out, too. The trained witnesses look at pairs nevertheless"
)
_MANY_WAVES = (
    f"there are more than {MOST_COORDINATES:,} coordinates. Fine structure of a coordinate may go "
    "unseen"
)


class Family(NamedTuple):
    """Features judged together: batch sums in parts, of shape (batches, features) each.

    Features are counted order by order, or, for pairs, by score and other coordinate. A feature
    ``of_all`` is one of all coordinates together.
    """

    name: str
    orders: tuple[str, ...]
    parts: Callable[[], Iterator[FloatArray]]
    of_pairs: bool = False
    of_all: bool = False

    def place(self, position: int, dimension: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Order and coordinates of a feature."""
        if self.of_all:
            return self.orders, ()
        first, second = divmod(position, dimension)
        if self.of_pairs:
            return self.orders, (first, second)
        return (self.orders[first],), (second,)


def families(sums: BatchSums, coordinates: NDArray[np.intp]) -> Iterator[Family]:
    """Each family of features with its batch sums; ``coordinates`` are those not left out."""
    (x, *bounded), diagonal = sums.basis.names, sums.diagonal
    for name, orders, values in (
        ("score", ("score",), diagonal[:, 0]),
        ("x", (x,), diagonal[:, 1]),
        ("G1-4", tuple(bounded), diagonal[:, 2:]),
        ("tails", TAILS.names, sums.tails),
        ("waves", WAVES.names, sums.waves),
    ):
        yield Family(name, orders, partial(iter, [values.reshape(sums.count, -1)]))
    if coordinates.size > 1:
        trace = centred_spreads(sums, coordinates).sum(axis=1, keepdims=True)
        yield Family(TRACE, (x,), partial(iter, [trace]), of_all=True)
    if sums.judges_pairs:
        for name, order in PAIR_ORDERS.items():
            yield Family(f"{name} pairs", (name,), partial(_pairs, sums, order), of_pairs=True)
        magnitudes = partial(_pairs, sums, MAGNITUDES)
        yield Family("magnitude pairs", ("magnitude",), magnitudes, of_pairs=True)


def _pairs(sums: BatchSums, order: int) -> Iterator[FloatArray]:
    for part in sums.pairs(order):
        yield part.reshape(sums.count, -1)


class Group(NamedTuple):
    """Features of one part of a family, by their places in it, that share their batches.

    ``deflation`` is the part of the variance that is seen, and ``independent`` is how many
    independent rows a chain's rows are worth.
    """

    places: NDArray[np.intp]
    joining: Joining
    deflation: float
    independent: float


class FlippedFamily:
    """The statistics of a family, for the draws and for every flip so far."""

    def __init__(
        self, family: Family, sums: BatchSums, left_out: NDArray[np.bool_], *, conservative: bool
    ) -> None:
        self.family, self._sums, self._left_out = family, sums, left_out
        self._conservative = conservative or family.of_all
        self._table = of_family(family.name)
        self.words, self.names = self._table[0].looks_at, tuple(one.name for one in self._table)
        #: Known after the first flip: whether the autocorrelation of any features is too long for
        #: them to be judged, how many features are judged, and whether any of these varies.
        self.slow, self.features, self.is_judged = False, 0, False
        # The groups of each part.
        self._groups: list[list[Group]] = []
        self._found: list[FlippedStatistics] = []
        # U U' of the unit columns U of all features, for the law of their sum, which further flips
        # do not change.
        self._products = np.zeros((sums.count, sums.count))
        self._law_of_sum: Law = np.ones_like

    def columns(self) -> Iterator[tuple[NDArray[np.intp], FloatArray, Group]]:
        """The joined sums of the features that are judged, with their places, group by group."""
        offset = 0
        for number, part in enumerate(self.family.parts()):
            if number == len(self._groups):
                # A part may have been summed for one visit: it is grouped at the first.
                self._groups.append(self._grouped(part, offset))
            for group in self._groups[number]:
                joined = group.joining.joined(_columns_at(part, group.places))
                yield offset + group.places, joined, group
            offset += part.shape[1]

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        found, first_time = FlippedStatistics(len(signs)), not self._found
        adds_up = first_time and self._table[0].is_sum
        for places, columns, group in self.columns():
            own = group.joining.of_first(signs)
            if adds_up:
                unit, first = unit_columns(columns), group.joining.starts
                self._products[np.ix_(first, first)] += unit @ unit.T
            # The draws' own sums are more alike than flipped ones, by what correlation is left.
            unflipped = group.deflation if first_time else None
            found.add(columns, own, places=places, unflipped=unflipped)
        self._found.append(found)
        self.is_judged = self.is_judged or bool(found.largest.max() > 0.0)
        if adds_up:
            self._law_of_sum = gamma_law(self._products)

    def _grouped(self, part: FloatArray, offset: int) -> list[Group]:
        """The features of a part that can be judged, by their autocorrelation."""
        joinings, left_out = self._sums.joinings, self._left_out
        # Features of a coordinate that is left out are left out.
        places = np.arange(part.shape[1])
        if left_out.any() and not self.family.of_all:
            first, second = np.divmod(offset + places, left_out.size)
            slow = left_out[second]
            if self.family.of_pairs:
                slow = slow | left_out[first]
            places = np.flatnonzero(~slow)
        groups, rows = [Group(places, joinings[0], 1.0, np.inf)], self._sums.effective_rows
        if len(joinings) > 1 and places.size:
            curves = variance_curves(tamed(_columns_at(part, places)), joinings)
            groups = [
                Group(places[own], joinings[one.level], one.deflation, one.independent(rows))
                for own, one in speeds(curves, joinings, conservative=self._conservative)
            ]
        judged, least = [], self._table[0]
        for group in groups:
            too_slow = group.deflation < LEAST_DEFLATION
            self.slow = self.slow or too_slow
            few = self._sums.effective_count(group.joining) < least.batches
            if group.places.size and not (too_slow or few or group.independent < least.rows):
                judged.append(group)
                self.features += group.places.size
        return judged

    @property
    def statistics(self) -> dict[str, tuple[FloatArray, Law]]:
        """Values for the draws and for every flip, with their law.

        To be calibrated, the draws are treated as one of the flips.
        """
        found: dict[str, tuple[FloatArray, Law]] = {}
        for one in self._table:
            own = [each.total if one.is_sum else each.largest for each in self._found]
            values = np.concatenate(own)
            found[one.name] = values, self._law_of_sum if one.is_sum else maximum_law(values)
        return found

    def parts(self, names: Sequence[str]) -> Iterator[Part]:
        """The statistics, each with a p-value of its own and the feature that stands out."""
        family, first = self.family, self._found[0]
        orders, place = family.place(first.position, len(names))
        leading = orders, tuple(names[index] for index in place)
        # A sum that comes mostly from one feature is attributed to that feature.
        spread_out = 2 * first.largest[0] <= first.total[0]
        for one in self._table:
            if one.is_sum:
                pvalue = float(self._law_of_sum(first.total[:1])[0])
                where = (family.orders, ()) if spread_out else leading
            else:
                # To be shown, the draws are compared with the flips alone.
                values = np.concatenate([each.largest for each in self._found])
                pvalue = float(maximum_law(values[1:])(values[:1])[0])
                where = leading
            yield Part(one.name, self.words, *where, pvalue, 1.0)


#: Statistics on the same flips: those of a family of features, or a quadratic form.
Judged: TypeAlias = FlippedFamily | FlippedForm


def _columns_at(part: FloatArray, places: NDArray[np.intp]) -> FloatArray:
    """Some columns, which are in order; all of them are not copied."""
    return part if places.size == part.shape[1] else part[:, places]
