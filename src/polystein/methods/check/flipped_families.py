"""Families of features under the sign flips of `check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.inference.memory import Joining, speeds, variance_curves
from polystein.inference.signflips import (
    FlippedStatistics,
    Law,
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
        self, family: Family, sums: BatchSums, left_out: NDArray[np.bool_], *, conservative: bool
    ) -> None:
        self.family, self._sums, self._left_out = family, sums, left_out
        self._conservative = conservative or family.of_all
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
    def is_flipped(self) -> bool:
        """Whether any patterns of signs were tried."""
        return bool(self._found)

    def _grouped(self, part: FloatArray, offset: int) -> list[Group]:
        """The features of a part that are judged, by their memory."""
        found: list[Group] = []
        for group in self._by_memory(part, self._kept(offset, part.shape[1])):
            if group.deflation < LEAST_DEFLATION:
                self.slow = True
            elif group.places.size and self._suffices(group):
                found.append(group)
        return found

    def _by_memory(self, part: FloatArray, kept: NDArray[np.intp]) -> Iterator[Group]:
        """Groups of features with the batches they are summed over."""
        levels, rows = self._sums.joinings, float(self._sums.sizes.sum())
        if len(levels) == 1 or not kept.size:
            yield Group(kept, levels[0], 1.0, np.inf)
            return
        curves = variance_curves(tamed(_columns_at(part, kept)), levels)
        for features, memory in speeds(curves, levels, conservative=self._conservative):
            independent = memory.independent(rows)
            yield Group(kept[features], levels[memory.level], memory.deflation, independent)

    def _suffices(self, group: Group) -> bool:
        """Whether the family can be judged on these batches."""
        enough = self._sums.effective_count(group.joining) >= self.family.fewest_batches
        return enough and group.independent >= self.family.fewest_rows

    def _kept(self, offset: int, features: int) -> NDArray[np.intp]:
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
                self._groups.append(self._grouped(part, offset))
            for group in self._groups[number]:
                columns = group.joining.joined(_columns_at(part, group.places))
                own, places = group.joining.of_first(signs), offset + group.places
                # The draws' own sums are more alike than flipped ones, by what is remembered.
                unflipped = None if self._found else group.deflation
                found.add(columns, own, places=places, unflipped=unflipped)
            offset += part.shape[1]
        self._found.append(found)

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


def _columns_at(part: FloatArray, places: NDArray[np.intp]) -> FloatArray:
    """Some columns, which are in order; all of them are not copied."""
    return part if places.size == part.shape[1] else part[:, places]
