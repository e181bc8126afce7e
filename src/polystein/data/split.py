"""Which rows train and which rows test. A split gives roles and never reorders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import integer_or_auto, is_finite_number
from polystein.data.passes import Accumulator
from polystein.data.source import Block, Layout, Rows, chosen_rows
from polystein.errors import InputError
from polystein.types import Role

#: The roles that train: the witness's rows and those of the weights.
TRAINING: tuple[Role, ...] = ("witness", "weights")
#: A mean takes one row, a variance two.
LEAST_ROWS: dict[Role, int] = {"witness": 1, "weights": 2, "test": 2}
#: The numbers of the roles in the order in which `RandomSplit` lays them out.
_LABELS: dict[Role, int] = {"witness": 0, "weights": 1, "test": 2, "gap": 3}
#: Where the rows of each role start and stop in a chain.
RoleBounds = dict[Role, tuple[int, int]]


class Partition(Protocol):
    """A role for every row; never a new order."""

    def rows(self, *roles: Role) -> Iterator[Rows]:
        """The rows that hold one of the roles, chain by chain in time order."""

    def count(self, *roles: Role) -> int:
        """How many rows hold one of the roles."""

    def mask(self, block: Block, *roles: Role) -> NDArray[np.bool_]:
        """Whether each row of a block of consecutive rows of chains holds one of the roles."""

    @property
    def awaits_gap(self) -> bool:
        """Whether the gap is still to be estimated from training rows."""

    def with_gap(self, gap: int) -> Partition:
        """The same roles, with this many rows of every chain dropped before its test rows."""


class Split(Protocol):
    """Decides which rows train and which rows test."""

    #: Whether it keeps time order: no test row between training rows of the same chain.
    respects_time: bool

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        """Give every row of the layout a role."""


@dataclass(frozen=True)
class ForRoles:
    """An accumulator of a pass over all rows that takes the rows of some roles only."""

    partition: Partition
    roles: tuple[Role, ...]
    accumulator: Accumulator

    def zero(self) -> ForRoles:
        """An accumulator of the same kind without rows."""
        return ForRoles(self.partition, self.roles, self.accumulator.zero())

    def update(self, block: Block) -> None:
        """Take the rows of a block that hold one of the roles."""
        chosen = chosen_rows(block, self.partition.mask(block, *self.roles))
        if chosen is not None:
            self.accumulator.update(chosen)

    def merge(self, other: ForRoles) -> ForRoles:
        """Add another accumulator's rows."""
        self.accumulator.merge(other.accumulator)
        return self


@dataclass(frozen=True)
class RandomSplit:
    """Rows drawn at random without replacement: for independent draws only.

    Parameters
    ----------
    train : float
        Fraction of the rows that train.
    weights : float
        Fraction of the training rows that lambda-PSD spends on its weights. With
        the defaults a lambda-PSD test uses 35 % of the rows for the witness, 35 %
        for the weights and 30 % for the test, as in the paper.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.RandomSplit(train=0.5)
    RandomSplit(train=0.5, weights=0.5)
    """

    train: float = 0.7
    weights: float = 0.5

    respects_time = False

    def __post_init__(self) -> None:
        validate_fraction(self.train, "train")
        validate_fraction(self.weights, "weights")

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        """Label a random subset of exactly the right size for every role."""
        total = layout.total
        training = count_of(self.train, total)
        weights = count_of(self.weights, training)
        witness = training - weights
        counts: dict[Role, int]
        counts = {"witness": witness, "weights": weights, "test": total - training, "gap": 0}
        labels = np.repeat(np.arange(4, dtype=np.int8), list(counts.values()))
        rng.shuffle(labels)
        result = LabelledPartition(layout, labels, counts)
        require_rows(result, total, self)
        return result


@dataclass(frozen=True)
class BlockSplit:
    """The early part of every chain trains, a gap is dropped, the rest tests.

    For MCMC output: test rows lie several autocorrelation times after training
    rows. Draws of shape (n, d) are one chain.

    Parameters
    ----------
    train : float
        Fraction of every chain that trains.
    gap : int or "auto"
        Rows of every chain dropped between training and test rows. "auto" drops
        five autocorrelation times of the slowest feature, estimated from training
        rows, but never more than half of what is left.
    weights : float
        Fraction of the training rows that lambda-PSD spends on its weights: the later
        ones.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.BlockSplit(0.5, gap=20)
    BlockSplit(train=0.5, gap=20, weights=0.5)
    """

    train: float = 0.5
    gap: int | Literal["auto"] = "auto"
    weights: float = 0.5

    respects_time = True

    def __post_init__(self) -> None:
        validate_fraction(self.train, "train")
        validate_fraction(self.weights, "weights")
        integer_or_auto(self.gap, "gap", least=0)

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        """Divide every chain in the same proportions."""
        automatic = self.gap == "auto"
        gap = 0 if automatic else int(self.gap)
        alike = {length: self._bounds(length, gap) for length in set(layout.lengths)}
        chains = tuple(alike[length] for length in layout.lengths)
        result = BlockPartition(chains, awaits_gap=automatic)
        require_rows(result, layout.total, self)
        return result

    def _bounds(self, length: int, gap: int) -> RoleBounds:
        """The roles of a chain of this length."""
        training = count_of(self.train, length)
        witness = training - count_of(self.weights, training)
        test = min(training + gap, length)
        return {
            "witness": (0, witness),
            "weights": (witness, training),
            "gap": (training, test),
            "test": (test, length),
        }


@dataclass(frozen=True)
class ChainSplit:
    """Some chains train, the others test.

    The chains must be independent of each other. Chains started from scattered points
    are. Walkers of an ensemble sampler, temperatures of one ladder and particles of
    one SMC run are not.

    Parameters
    ----------
    train : float
        Fraction of the chains that train: the first ones, at least one.
    weights : float
        Fraction of each training chain, its later part, that lambda-PSD spends on its
        weights.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.ChainSplit()
    ChainSplit(train=0.5, weights=0.5)
    """

    train: float = 0.5
    weights: float = 0.5

    respects_time = True

    def __post_init__(self) -> None:
        validate_fraction(self.train, "train")
        validate_fraction(self.weights, "weights")

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        """Give whole chains to training or to the test."""
        count = len(layout.lengths)
        if count < 2:
            raise InputError(
                "`draws` must have at least 2 chains, (chain, draw, d), for ChainSplit; got 1 chain"
            )
        training = min(count - 1, max(1, count_of(self.train, count)))
        trained = {length: self._trained(length) for length in set(layout.lengths[:training])}
        tested: dict[int, RoleBounds] = {
            length: {"test": (0, length)} for length in set(layout.lengths[training:])
        }
        result = BlockPartition(
            tuple(
                (trained if chain < training else tested)[length]
                for chain, length in enumerate(layout.lengths)
            )
        )
        require_rows(result, layout.total, self)
        return result

    def _trained(self, length: int) -> RoleBounds:
        """The roles of a chain that trains."""
        witness = length - count_of(self.weights, length)
        return {"witness": (0, witness), "weights": (witness, length)}


@dataclass(frozen=True, eq=False)
class BlockPartition:
    """For every chain, where the rows of each role start and stop."""

    chains: tuple[RoleBounds, ...]
    awaits_gap: bool = False

    def rows(self, *roles: Role) -> Iterator[Rows]:
        """The rows of the roles, joined where they touch."""
        # Chains of one length share one dictionary.
        found: dict[int, list[tuple[int, int]]] = {}
        for chain, bounds in enumerate(self.chains):
            if (joined := found.get(id(bounds))) is None:
                joined = found[id(bounds)] = _joined_bounds(bounds, roles)
            for start, stop in joined:
                yield Rows(chain, start, stop)

    def count(self, *roles: Role) -> int:
        """How many rows hold one of the roles."""
        return sum(int(np.diff(self._bounds[role]).sum()) for role in roles)

    def mask(self, block: Block, *roles: Role) -> NDArray[np.bool_]:
        """Whether each row of a block of consecutive rows of chains holds one of the roles."""
        mask = np.zeros(block.rows, dtype=np.bool_)
        chain, start, low, high = np.array(block.chains).T[..., None]
        for role in roles:
            # Rows of the chain are numbered from `start` on, those of the block from `low`.
            bounds = self._bounds[role][chain[:, 0]] + (low - start)
            for first, last in np.minimum(np.maximum(bounds, low), high).tolist():
                mask[first:last] = True
        return mask

    @cached_property
    def _bounds(self) -> dict[Role, NDArray[np.intp]]:
        """Where each role's rows start and stop in every chain, of shape (chains, 2)."""
        return {
            role: np.array([own.get(role, (0, 0)) for own in self.chains], dtype=np.intp)
            for role in _LABELS
        }

    def with_gap(self, gap: int) -> Partition:
        """Drop `gap` rows of every chain before its test rows, at most half of them."""
        found: dict[int, RoleBounds] = {}
        for bounds in self.chains:
            if id(bounds) not in found:
                start, stop = bounds["test"]
                test = start + min(gap, (stop - start) // 2)
                found[id(bounds)] = {**bounds, "gap": (start, test), "test": (test, stop)}
        return BlockPartition(tuple(found[id(bounds)] for bounds in self.chains))


def _joined_bounds(bounds: RoleBounds, roles: tuple[Role, ...]) -> list[tuple[int, int]]:
    """Where the rows of the roles start and stop in one chain, joined where they touch."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(bounds[role] for role in roles if role in bounds):
        if joined and joined[-1][1] == start:
            start = joined.pop()[0]
        if start < stop:
            joined.append((start, stop))
    return joined


@dataclass(frozen=True, eq=False)
class LabelledPartition:
    """One label of one byte for each row, over all chains in order."""

    layout: Layout
    labels: NDArray[np.int8]
    #: How many rows hold each role.
    counts: dict[Role, int]

    awaits_gap = False

    def with_gap(self, gap: int) -> Partition:
        """The partition itself: independent rows need no gap."""
        return self

    def rows(self, *roles: Role) -> Iterator[Rows]:
        """Each chain once, with a mask for the roles."""
        offset = 0
        for chain, length in enumerate(self.layout.lengths):
            yield Rows(chain, 0, length, self._mask(roles, self.labels[offset : offset + length]))
            offset += length

    def mask(self, block: Block, *roles: Role) -> NDArray[np.bool_]:
        """Whether each row of a block of consecutive rows of chains holds one of the roles."""
        offsets = self._offsets
        labels = [
            self.labels[offsets[own.chain] + own.start :][: own.high - own.low]
            for own in block.chains
        ]
        return self._mask(roles, np.concatenate(labels))

    @cached_property
    def _offsets(self) -> list[int]:
        offsets: list[int] = np.cumsum([0, *self.layout.lengths]).tolist()
        return offsets

    def count(self, *roles: Role) -> int:
        """How many rows hold one of the roles."""
        return sum(map(self.counts.__getitem__, roles))

    @staticmethod
    def _mask(roles: tuple[Role, ...], labels: NDArray[np.int8]) -> NDArray[np.bool_]:
        if not roles:
            return np.zeros(labels.shape, dtype=np.bool_)
        first, *others = roles
        mask: NDArray[np.bool_] = labels == _LABELS[first]
        for role in others:
            mask |= labels == _LABELS[role]
        return mask


def validate_fraction(value: float, argument: str) -> None:
    """Raise an error unless the value is strictly between 0 and 1."""
    if not (is_finite_number(value) and 0.0 < value < 1.0):
        raise InputError(f"`{argument}` must be a fraction strictly between 0 and 1; got {value!r}")


def count_of(fraction: float, total: int) -> int:
    """A fraction of the total, rounded down; 0.7 of 10 is 7 in spite of rounding errors."""
    return int(fraction * total + 1e-9)


def require_rows(partition: Partition, total: int, split: object) -> None:
    """Raise an error if a role would have too few rows."""
    for role, least in LEAST_ROWS.items():
        count = partition.count(role)
        if count < least:
            raise InputError(
                f"`draws` must have more rows for {split}: of {total} it leaves {count} for the "
                f"role {role!r}, which needs at least {least}"
            )
