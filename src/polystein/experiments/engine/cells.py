"""What a study is made of: cells, and replicates with seeds of their own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from polystein.errors import InputError

#: What a cell's settings and a table's fields may hold.
Scalar: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Scalar]


@dataclass(frozen=True)
class Cell:
    """One point of a study's grid.

    Parameters
    ----------
    study : str
        The study's name.
    settings : tuple of (name, value)
        What distinguishes this cell from the others; the first columns of the table.
    replicates : int
        How often the task is run. It is no part of `key`: with more replicates the
        first ones stay what they were.
    cost : float
        Expected milliseconds of one replicate, for the order of work and the time
        left. It changes no result.

    Examples
    --------
    >>> cell = Cell.of("size", replicates=100, sampler="gaussian", d=2)
    >>> cell.key
    'size|sampler="gaussian"|d=2'
    """

    study: str
    settings: tuple[tuple[str, Scalar], ...]
    replicates: int
    cost: float = field(default=1.0, compare=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_-]+", self.study):
            raise InputError(f"`study` must be a word of a-z, 0-9, _ and -; got {self.study!r}")
        if self.replicates < 1:
            raise InputError(f"`replicates` must be a positive integer; got {self.replicates}")

    @classmethod
    def of(cls, study: str, *, replicates: int, cost: float = 1.0, **settings: Scalar) -> Cell:
        """Return the cell of these settings."""
        return cls(study, tuple(settings.items()), replicates, cost)

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    @property
    def key(self) -> str:
        """The cell in words; seeds and file names depend on it."""
        values = (f"{name}={json.dumps(value)}" for name, value in self.settings)
        return "|".join([self.study, *values])

    @property
    def file_name(self) -> str:
        """A readable name, made unique by a digest of the key."""
        words = re.sub(r"[^A-Za-z0-9.]+", "-", self.key).strip("-")[:80]
        return f"{words}-{hashlib.sha256(self.key.encode()).hexdigest()[:8]}.json"


@dataclass(frozen=True)
class Replicate:
    """One run of a cell's task, and where its randomness comes from.

    A stream's seed depends on the study's seed, the cell's key, the replicate's index
    and the stream's name: never on the order of work, nor on what other streams there are.

    Examples
    --------
    >>> cell = Cell.of("size", replicates=2, d=2)
    >>> int(Replicate(cell, 1, seed=0).generator("draws").integers(1000))
    303
    """

    cell: Cell
    index: int
    seed: int

    def stream(self, name: str) -> np.random.SeedSequence:
        """Return the seed of the stream called `name`."""
        spawn_key = (*_words(self.cell.key), self.index, *_words(name))
        return np.random.SeedSequence(self.seed, spawn_key=spawn_key)

    def generator(self, name: str) -> np.random.Generator:
        """Return a generator at the beginning of the stream called `name`."""
        return np.random.default_rng(self.stream(name))


#: What is run for every replicate; a function of a module, as workers import it by its name.
Task: TypeAlias = Callable[[Replicate], Sequence[Row]]


def number(row: Row, name: str) -> float:
    """Return a field that must hold a number."""
    value = row[name]
    if not isinstance(value, int | float):
        raise InputError(f"`{name}` must be a number in every row; got {value!r}")
    return float(value)


def _words(text: str) -> tuple[int, ...]:
    """128 bits of the text's SHA-256, as SeedSequence takes them."""
    digest = hashlib.sha256(text.encode()).digest()[:16]
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
