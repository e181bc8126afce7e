"""The first look at all rows: repeats, lost weights, and the frames that standardise them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from polystein._lib.numerics import kish_size
from polystein.data.coordinates import RAW, DrawMoments, Frame
from polystein.data.guard.rows import PositiveWeights, RowKeys, refuse_repeats
from polystein.data.passes import Accumulator, Tick, every_row, rows_of_many_arrays, run_pass
from polystein.data.source import Block, Source
from polystein.data.split import TRAINING, Partition
from polystein.data.weight_sums import WeightSums


class FirstLook:
    """What one pass over all rows says before training: repeats, lost weights, the frames."""

    def __init__(
        self,
        source: Source,
        partition: Partition,
        *,
        repeats: bool,
        moments: bool,
        whiten: bool = False,
    ) -> None:
        self._source, self._moments, self._whiten = source, moments, whiten
        self._keys = RowKeys() if repeats else None
        self._positive = PositiveWeights(partition) if source.weighted else None
        self._weights = WeightSums() if source.weighted else None
        self._partition = partition

    def take(self, tick: Tick | None, beside: Sequence[Accumulator] = ()) -> None:
        """Read all rows once, if anything is to be looked at."""
        wanted: list[Accumulator] = [*beside, *([self._by_role] if self._moments else [])]
        further = (self._keys, self._positive, self._weights)
        wanted += [part for part in further if part is not None]
        if wanted:
            most = rows_of_many_arrays(self._source.layout.dimension)
            rows = every_row(self._source)
            run_pass(self._source, rows, *wanted, tick=tick, most=most, many_steps=bool(beside))
        if self._keys is not None:
            refuse_repeats(self._source, self._keys)
        if self._positive is not None:
            self._positive.require_enough()

    @cached_property
    def _by_role(self) -> RoleMoments:
        return RoleMoments(self._source.layout.dimension, self._partition, joint=self._whiten)

    def estimates(self) -> dict[str, Any]:
        """The effective number of importance weights; nothing if there are none."""
        if self._weights is None:
            return {}
        return {"weights_ess": kish_size(self._weights.total, self._weights.squares)}

    def training_frame(self) -> Frame:
        """The frame that standardises the training rows, or whitens them."""
        if not self._moments:
            return RAW
        training = self._by_role.training
        return training.whitening_frame() if self._whiten else training.standard_frame()

    def frame_of_all(self) -> Frame:
        """The frame that standardises all rows."""
        both = DrawMoments(self._source.layout.dimension)
        return both.merge(self._by_role.training).merge(self._by_role.others).standard_frame()


class RoleMoments:
    """Mean and variance of the draws: of training rows, and of all others."""

    def __init__(self, dimension: int, partition: Partition, *, joint: bool = False) -> None:
        self._partition, self._joint = partition, joint
        self.training = DrawMoments(dimension, joint=joint)
        self.others = DrawMoments(dimension)

    def zero(self) -> RoleMoments:
        """An accumulator of the same kind without rows."""
        return RoleMoments(self.training.dimension, self._partition, joint=self._joint)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        mask = self._partition.mask(block, *TRAINING)
        for moments, chosen in ((self.training, mask), (self.others, ~mask)):
            # The draws alone are gathered, which costs half of gathering the rows.
            index = np.flatnonzero(chosen)
            if index.size == block.rows:
                moments.update(block)
            elif index.size:
                weights = None if block.weights is None else block.weights[index]
                moments.add(block.draws.take(index, axis=0), weights)

    def merge(self, other: RoleMoments) -> RoleMoments:
        """Add another accumulator's rows."""
        self.training.merge(other.training)
        self.others.merge(other.others)
        return self
