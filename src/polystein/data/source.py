"""Where rows come from: the `Source` protocol, and how draws are arranged.

Arrays in memory, a file and a generator can each be a `Source`. Every public function that takes
draws takes any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import boolean
from polystein._lib.arrays import holds_real_numbers, to_numpy
from polystein._lib.notes import shown_name
from polystein.data.facts import Facts
from polystein.errors import InputError
from polystein.types import Array, FloatArray

#: A few rows are looked at where no more rows than this are read or passed over for them.
MOST_READ_ALONG = 2**16


class Layout(NamedTuple):
    """How the draws are arranged: draws per chain, dimension, and what a row is."""

    lengths: tuple[int, ...]
    dimension: int
    #: Whether rows are chains in time order; otherwise they are independent.
    time_ordered: bool

    @property
    def total(self) -> int:
        """Number of rows over all chains."""
        return sum(self.lengths)

    def __str__(self) -> str:
        low, high, chains = min(self.lengths), max(self.lengths), len(self.lengths)
        draws = f"{low} draws" if low == high else f"{low} to {high} draws"
        if self.time_ordered:
            draws = f"{chains} chain{'s' if chains > 1 else ''} of {draws}"
        return f"{draws}, d={self.dimension}"


class ChainRows(NamedTuple):
    """Rows ``low:high`` of a block, which come from one chain from its row ``start`` on."""

    chain: int
    start: int
    low: int
    high: int


class Block(NamedTuple):
    """Rows that are read together, in time order.

    A source gives consecutive rows of one chain. A pass may take some of them, and may join
    those of several chains.
    """

    draws: FloatArray
    scores: FloatArray
    #: Importance weights, in one unit for all rows of a source.
    weights: FloatArray | None
    chain: int
    start: int
    joined: tuple[ChainRows, ...] | None = None

    @property
    def rows(self) -> int:
        """Number of rows in the block."""
        return int(self.draws.shape[0])

    @property
    def chains(self) -> tuple[ChainRows, ...]:
        """Which rows come from which chain; ``start`` is the first row read of it."""
        return self.joined or (ChainRows(self.chain, self.start, 0, self.rows),)

    def part(self, low: int, high: int) -> Block:
        """Rows ``low:high`` of a block of one chain."""
        weights = None if self.weights is None else self.weights[low:high]
        start = self.start + low
        return Block(self.draws[low:high], self.scores[low:high], weights, self.chain, start)

    def take(self, index: NDArray[np.intp], start: int | None = None) -> Block:
        """Some of the rows of a block of one chain, in the order in which they are.

        ``start`` is their first row, if that is known.
        """
        weights = None if self.weights is None else self.weights[index]
        return Block(
            self.draws.take(index, axis=0),
            self.scores.take(index, axis=0),
            weights,
            self.chain,
            self.start if start is None else start,
            self.joined,
        )

    @property
    def weights_or_ones(self) -> FloatArray:
        """The importance weights; ones if there are none."""
        return np.ones(self.rows) if self.weights is None else self.weights


def chosen_rows(block: Block, mask: NDArray[np.bool_]) -> Block | None:
    """The rows of a block that a mask keeps: the block itself if all are, None if none is."""
    index = np.flatnonzero(mask)
    if index.size == block.rows:
        return block
    if index.size == 0:
        return None
    bounds = np.searchsorted(index, [(own.low, own.high) for own in block.chains]).tolist()
    kept = [
        ChainRows(own.chain, own.start + int(index[low]) - own.low, low, high)
        for own, (low, high) in zip(block.chains, bounds, strict=True)
        if low < high
    ]
    if index[-1] - index[0] + 1 == index.size:
        part = slice(int(index[0]), int(index[-1]) + 1)
        weights = None if block.weights is None else block.weights[part]
        return Block(block.draws[part], block.scores[part], weights, *kept[0][:2], tuple(kept))
    return block.take(index)._replace(chain=kept[0].chain, start=kept[0].start, joined=tuple(kept))


class Rows(NamedTuple):
    """Rows ``start:stop`` of one chain, or those of them that ``mask`` keeps."""

    chain: int
    start: int
    stop: int
    mask: NDArray[np.bool_] | None = None


def chosen_count(rows: Rows) -> int:
    """How many rows are chosen."""
    return rows.stop - rows.start if rows.mask is None else int(np.count_nonzero(rows.mask))


class Source(Protocol):
    """Where rows come from.

    A source must have ``layout`` and ``read``. Whatever else it does not have gets the default
    below when the source comes in (`complete`). The package's own sources are derived from this
    class.
    """

    layout: Layout
    #: One name for each coordinate.
    names: tuple[str, ...] | None = None
    #: Whether blocks carry importance weights.
    weighted: bool = False
    #: Weights are in units of ``exp(log_scale)``, the same unit for all rows.
    log_scale: float = 0.0
    #: Rows that are stored together: a read within one such group costs the whole group.
    grain: int = 1
    #: Whether rows can be read only from the first to the last. Every pass does that, and begins
    #: again at the first row.
    sequential: bool = False
    facts: Facts = Facts()
    #: Whether the source keeps what it decoded last: a read within one group of rows is cheap then.
    keeps_decoded: bool = False
    #: Whether the source itself makes sure that blocks are what the layout says, finite, and in
    #: memory that no later read changes. Blocks of all other sources are checked.
    validated: bool = False
    #: An `Executor` for the passes over these rows, where other processes or machines hold them.
    executor: Any = None
    #: ``read_chains(first, last, start, stop)`` reads the same rows of several chains at once,
    #: which saves a call for each of many short chains.
    read_chains: Callable[[int, int, int, int], Block] | None = None
    #: ``part_of_rows(start, stop)`` is a source of these rows of every chain, and
    #: ``part_of_chains(first, last)`` one of some chains, where a view would lose the executor.
    part_of_rows: Callable[[int, int], Source] | None = None
    part_of_chains: Callable[[int, int], Source] | None = None

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain."""


_REQUIRED = ("layout", "read")
#: What a source that wraps another one takes over from it.
OPTIONAL = ("names", "weighted", "log_scale", "grain", "sequential", "facts", "keeps_decoded")


def is_source(value: object) -> bool:
    """Whether the value serves rows in blocks."""
    return all(hasattr(value, name) for name in _REQUIRED)


def complete(source: Source) -> Source:
    """A source with every attribute there, whose blocks are validated."""
    derived = Source in type(source).__mro__  # then it has every attribute
    return source if derived and source.validated else CheckedSource(source)


def in_time_order(source: Source, ordered: bool = True) -> Source:
    """The same rows, taken as chains in time order, or as independent rows."""
    if source.layout.time_ordered == ordered:
        return source
    taken = copy(source)
    taken.layout = source.layout._replace(time_ordered=ordered)
    return taken


def with_minibatches(source: Source, minibatch: bool) -> Source:
    """The same rows, whose scores are those of minibatches if ``minibatch`` or its facts say so."""
    if not boolean(minibatch, "minibatch") or source.facts.minibatch:
        return source
    taken = copy(source)
    taken.facts = replace(source.facts, minibatch=True)
    return taken


class SourceOfAnother(Source):
    """What a source has beside its rows, taken from another one, with a layout of its own.

    What the other source does not have gets the default of `Source`.
    """

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source, self.layout = source, layout
        for name in OPTIONAL:
            setattr(self, name, getattr(source, name, getattr(Source, name)))


class CheckedSource(SourceOfAnother):
    """Another source, all of whose blocks are what the layout says, in memory of their own.

    A block that is too short, that holds NaN or that has lost its weights would give a wrong
    answer without a word.
    """

    validated = True

    def __init__(self, source: Source) -> None:
        super().__init__(source, _validated_layout(source.layout))
        self.names = None if self.names is None else tuple(map(shown_name, self.names))

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, validated."""
        block = self.source.read(chain, start, stop)
        where = f"rows {start}:{stop} of chain {chain}"
        shape = (stop - start, self.layout.dimension)
        draws = _validated(block.draws, shape, f"draws of {where}", start)
        scores = _validated(block.scores, shape, f"scores of {where}", start)
        if self.weighted != (block.weights is not None):
            raise InputError(
                f"`weights` of {where} must be there if and only if the source is `weighted`, "
                f"which is {self.weighted}; got {type(block.weights).__name__}"
            )
        weights = None
        if block.weights is not None:
            weights = _validated(block.weights, shape[:1], f"weights of {where}", start)
            if weights.min() < 0.0:
                raise InputError(f"weights of {where} must not be negative; got {weights.min()}")
        return Block(draws, scores, weights, chain, start)

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weighted else ""
        return f"{type(self.source).__name__}({self.layout}{weighted})"


def _validated_layout(layout: Layout) -> Layout:
    if not isinstance(layout, Layout):
        raise InputError(
            "`layout` of a source must be a polystein.data.source.Layout(lengths, dimension, "
            f"time_ordered); got {layout!r}"
        )
    if not layout.lengths or min(*layout.lengths, layout.dimension) < 1:
        raise InputError(
            "`layout` of a source must have at least one chain, chains of at least one row and "
            f"at least one coordinate; got {layout!r}"
        )
    return layout


def _validated(values: Array, shape: tuple[int, ...], what: str, start: int) -> FloatArray:
    """A copy in double precision of the right shape without NaN and infinity.

    Its first row is row ``start`` of the chain.
    """
    if hasattr(values, "dtype") and not holds_real_numbers(values):
        raise InputError(f"{what} must hold real numbers; got dtype {values.dtype}")
    array = np.array(to_numpy(values))
    if array.shape != shape:
        raise InputError(f"{what} must have the shape {shape}; got {array.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(array.sum()) and not np.isfinite(array).all():
            row, *column = np.argwhere(~np.isfinite(array))[0].tolist()
            place = "".join([f"row {start + row}", *(f", coordinate {index}" for index in column)])
            raise InputError(f"{what} must be finite; got {array[row, *column]} in {place}")
    return array


def checked_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...] | None:
    """The names, if there is one for each coordinate, fit to be printed.

    This is where names that others chose come in: what steers a terminal goes no further.
    """
    if names is None:
        return None
    listed = isinstance(names, Iterable) and not isinstance(names, str) and np.ndim(names) > 0
    found = tuple(names) if listed else ()
    strings = all(isinstance(name, str) for name in found)
    found = tuple(map(shown_name, found)) if strings else found
    if not strings or len(found) != dimension or len(set(found)) != dimension:
        raise InputError(
            f"`names` must be {dimension} different strings, one for each coordinate; got {names!r}"
        )
    return found


def coordinate_names(source: Source) -> tuple[str, ...]:
    """The names of the coordinates, ``x[0]``, ``x[1]``, ... if they have none."""
    if source.names is not None:
        return source.names
    return tuple(f"x[{index}]" for index in range(source.layout.dimension))


def costs_little(source: Source, chains: Iterable[int], passed: int) -> bool:
    """Whether a few rows of each of these chains can be read without many others along with them.

    A source that is read from its first row to its last goes through ``passed`` rows for it.
    """
    if source.sequential:
        return passed <= MOST_READ_ALONG
    lengths = source.layout.lengths
    return sum(min(source.grain, lengths[chain]) for chain in chains) <= MOST_READ_ALONG
