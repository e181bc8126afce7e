"""Which rows train and which rows test. A split gives roles and never reorders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polystein.errors import InputError
from polystein.protocols import Layout, Partition, Role, Rows

_LABELS: dict[Role, int] = {"witness": 0, "weights": 1, "test": 2, "gap": 3}
# A variance takes two rows, a mean one.
_LEAST: dict[Role, int] = {"witness": 1, "weights": 2, "test": 2}


@dataclass(frozen=True)
class RandomSplit:
    """Rows drawn at random without replacement: for independent draws only.

    Parameters
    ----------
    train : float
        Share of the rows that train.
    weights : float
        Share of the training rows that lambda-PSD spends on its weights. With
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

    def __post_init__(self) -> None:
        validate_share(self.train, "train")
        validate_share(self.weights, "weights")

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        """Label a random subset of exactly the right size for every role."""
        total = layout.total
        training = share_of(self.train, total)
        weights = share_of(self.weights, training)
        counts: dict[Role, int] = {
            "witness": training - weights,
            "weights": weights,
            "test": total - training,
        }
        require_rows(counts, total, self)
        labels = np.repeat(
            np.array([_LABELS[role] for role in counts], dtype=np.int8), list(counts.values())
        )
        rng.shuffle(labels)
        return LabelledPartition(layout, labels)


@dataclass(frozen=True, eq=False)
class LabelledPartition:
    """One label a row, over all chains in order: one byte a row."""

    layout: Layout
    labels: NDArray[np.int8]

    def rows(self, *roles: Role) -> Iterator[Rows]:
        """Each chain once, with a mask for the roles."""
        offset = 0
        for chain, length in enumerate(self.layout.lengths):
            yield Rows(chain, 0, length, self._mask(roles, self.labels[offset : offset + length]))
            offset += length

    def count(self, *roles: Role) -> int:
        """How many rows hold one of the roles."""
        return int(np.count_nonzero(self._mask(roles, self.labels)))

    @staticmethod
    def _mask(roles: tuple[Role, ...], labels: NDArray[np.int8]) -> NDArray[np.bool_]:
        mask = np.zeros(labels.shape, dtype=np.bool_)
        for role in roles:
            mask |= labels == _LABELS[role]
        return mask


def validate_share(value: float, argument: str) -> None:
    """A share lies strictly between 0 and 1."""
    if not (isinstance(value, int | float) and 0.0 < value < 1.0):
        raise InputError(f"`{argument}` must be a share strictly between 0 and 1; got {value!r}")


def share_of(share: float, total: int) -> int:
    """Round down, but not because 0.7 * 10 is a hair below 7."""
    return int(share * total + 1e-9)


def require_rows(counts: dict[Role, int], total: int, split: object) -> None:
    """Say so where a role would go short of rows."""
    for role, least in _LEAST.items():
        if counts[role] < least:
            raise InputError(
                f"`draws` must have more rows for {split}: of {total} it leaves {counts[role]} "
                f"for the role {role!r}, which needs at least {least}"
            )
