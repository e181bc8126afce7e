"""Families of features under the sign flips of `check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.inference.memory import Joining, speeds, variance_curves
from polystein.inference.signflips import (
    FEWEST_IN_SINGLE,
    FlippedStatistics,
    Law,
    flip_precision,
    flipped_squares,
    gamma_law,
    maximum_law,
    tamed,
)
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import LEAST_DEFLATION, Family
from polystein.results.evidence import Part
from polystein.types import FloatArray


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
    """The two statistics of a family, for the draws and for every flip so far."""

    def __init__(
        self, family: Family, sums: BatchSums, left_out: NDArray[np.bool_], *, careful: bool
    ) -> None:
        self.family, self._sums, self._left_out = family, sums, left_out
        self._careful = careful or family.of_all
        #: Whether any features remember too long to be judged.
        self.slow = False
        # The groups of each part. A part may have been summed for one visit: it is grouped when
        # it is first flipped.
        self._groups: list[list[Group]] = []
        self._found: list[FlippedStatistics] = []

    @property
    def words(self) -> str:
        """What the family looks at."""
        return self.family.words

    @property
    def features(self) -> int:
        """How many features are judged."""
        return sum(group.places.size for groups in self._groups for group in groups)

    @property
    def groups(self) -> list[Group]:
        """The groups of the first part."""
        return self._groups[0]

    @property
    def is_flipped(self) -> bool:
        """Whether any patterns of signs were tried."""
        return bool(self._found)

    def take(self, statistics: FlippedStatistics) -> None:
        """Add the statistics of further patterns of signs."""
        self._found.append(statistics)

    def group(self, kept: NDArray[np.intp], curves: FloatArray | None) -> None:
        """Group the features of the next part by their memory, without those not judged.

        ``curves`` are V_L of those that are kept; None if rows remember nothing.
        """
        self._groups.append([])
        for group in self._by_memory(kept, curves):
            if group.deflation < LEAST_DEFLATION:
                self.slow = True
            elif group.places.size and self._suffices(group):
                self._groups[-1].append(group)

    def _by_memory(self, kept: NDArray[np.intp], curves: FloatArray | None) -> Iterator[Group]:
        """Groups of features with the batches they are summed over."""
        levels, rows = self._sums.joinings, float(self._sums.sizes.sum())
        if curves is None:
            yield Group(kept, levels[0], 1.0, np.inf)
            return
        for features, memory in speeds(curves, levels, careful=self._careful):
            independent = memory.independent(rows)
            yield Group(kept[features], levels[memory.level], memory.deflation, independent)

    def _suffices(self, group: Group) -> bool:
        """Whether the family can be judged on these batches."""
        enough = self._sums.effective_count(group.joining) >= self.family.fewest_batches
        return enough and group.independent >= self.family.fewest_rows

    def kept(self, offset: int, features: int) -> NDArray[np.intp]:
        """Places of the features without a coordinate that is left out."""
        if self.family.of_all or not self._left_out.any():
            return np.arange(features)
        first, second = np.divmod(np.arange(offset, offset + features), self._left_out.size)
        slow = self._left_out[second]
        return np.flatnonzero(~(slow | self._left_out[first] if self.family.of_pairs else slow))

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        found, offset = FlippedStatistics(len(signs)), 0
        for number, part in enumerate(self.family.parts()):
            if number == len(self._groups):
                kept = self.kept(offset, part.shape[1])
                self.group(kept, memory_curves(self._sums, columns_at(part, kept)))
            for group in self._groups[number]:
                columns = group.joining.joined(columns_at(part, group.places))
                own, places = group.joining.of_first(signs), offset + group.places
                # The draws' own sums are more alike than flipped ones, by what is remembered.
                unflipped = None if self._found else group.deflation
                found.add(columns, own, places=places, unflipped=unflipped)
            offset += part.shape[1]
        self.take(found)

    @property
    def moves(self) -> bool:
        """Whether any feature varies."""
        return any(found.largest.max() > 0.0 for found in self._found)

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of the level of the statistics that have one."""
        shares = self.family.sum_share, self.family.max_share
        return tuple(share for share in shares if share > 0.0)

    @property
    def _values(self) -> tuple[FloatArray, ...]:
        """The statistics that have a share, for the draws and for every flip."""
        every = [(found.total, found.largest) for found in self._found]
        both = every[0] if len(every) == 1 else map(np.concatenate, zip(*every, strict=True))
        return tuple(both)[: len(self.shares)]

    @property
    def statistics(self) -> list[tuple[FloatArray, Law]]:
        """Values for the draws and for every flip, with their law.

        To be calibrated, the draws are treated as one of the flips.
        """
        return [(values, law(values)) for values, law in zip(self._values, _LAWS, strict=False)]

    def parts(self, names: Sequence[str]) -> Iterator[Part]:
        """The statistics, each with a p-value of its own."""
        family, first = self.family, self._found[0]
        orders, place = family.place(first.position, len(names))
        where = (orders, tuple(names[index] for index in place))
        # A sum that comes mostly from one feature is attributed to that feature.
        of_sum = where if 2 * first.largest[0] > first.total[0] else (family.orders, ())
        for kind, law, values, share, (seen, coordinates) in zip(
            ("sum", "max"), _LAWS, self._values, self.shares, (of_sum, where), strict=False
        ):
            # To be shown, the draws are compared with the flips alone.
            shown = float(law(values[1:])(values[:1])[0])
            yield Part(f"{family.name}: {kind}", family.words, seen, coordinates, shown, share)


_LAWS = gamma_law, maximum_law


def columns_at(part: FloatArray, places: NDArray[np.intp]) -> FloatArray:
    """Some columns, which are in order; all of them are not copied."""
    return part if places.size == part.shape[1] else part[:, places]


def memory_curves(sums: BatchSums, columns: FloatArray) -> FloatArray | None:
    """V_L of sums over batches; None if rows remember nothing."""
    levels = sums.joinings
    if len(levels) == 1 or not columns.shape[1]:
        return None
    return variance_curves(tamed(columns), levels)


#: Features of families that are flipped together, at the most: their flips stay in a core's cache.
MOST_TOGETHER = 512


class FamiliesTogether:
    """Families of one part and of few features each, which are worked on at once."""

    def __init__(self, families: list[FlippedFamily], sums: BatchSums) -> None:
        self._families = families
        parts = [next(iter(one.family.parts())) for one in families]
        kept = [one.kept(0, part.shape[1]) for one, part in zip(families, parts, strict=True)]
        columns = [columns_at(part, own) for part, own in zip(parts, kept, strict=True)]
        together = np.concatenate(columns, axis=1)
        curves, self._precision = memory_curves(sums, together), flip_precision(together)
        high = 0
        for one, own in zip(families, kept, strict=True):
            low, high = high, high + own.size
            one.group(own, None if curves is None else curves[:, low:high])
        self._stacks = list(_stacked(families, parts))

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        found = [FlippedStatistics(len(signs)) for _ in self._families]
        for stack in self._stacks:
            few = stack.joining.count < FEWEST_IN_SINGLE
            precision = np.dtype(np.float64) if few else self._precision
            own = stack.joining.of_first(signs).astype(precision, copy=False)
            unflipped = None if self._families[0].is_flipped else stack.deflations
            squares, high = flipped_squares(stack.columns, own, unflipped), 0
            for number, places in stack.features:
                low, high = high, high + places.size
                found[number].add_squares(squares[low:high], places)
        for one, statistics in zip(self._families, found, strict=True):
            one.take(statistics)


class _Stack(NamedTuple):
    """Features of several families on the same batches: their sums, side by side.

    ``features`` has the number of each family and the places of its features.
    """

    joining: Joining
    columns: FloatArray
    deflations: FloatArray
    features: list[tuple[int, NDArray[np.intp]]]


def _stacked(families: list[FlippedFamily], parts: list[FloatArray]) -> Iterator[_Stack]:
    """The groups of all families, those on the same batches together."""
    stacks: dict[int, list[tuple[int, Group]]] = {}
    for number, one in enumerate(families):
        for group in one.groups:
            stacks.setdefault(group.joining.count, []).append((number, group))
    for groups in stacks.values():
        columns = [columns_at(parts[number], group.places) for number, group in groups]
        joining = groups[0][1].joining
        yield _Stack(
            joining,
            joining.joined(np.concatenate(columns, axis=1)),
            np.repeat([one.deflation for _, one in groups], [one.shape[1] for one in columns]),
            [(number, group.places) for number, group in groups],
        )
