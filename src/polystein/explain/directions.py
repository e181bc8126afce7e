"""Directions: combinations of coordinates along which mean or spread is off.

Correlated coordinates may each look right while a combination of them is far off. The directions
that stand out are chosen on the first rows of every chain and judged on the last ones, after a gap
that is longer than the chains' memory, so that the choice costs no validity. Many chains are
independent of each other: there they are chosen on the first chains and judged on the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import finite
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block, Source, SourceOfAnother
from polystein.errors import DegenerateError
from polystein.explain.candidates import wider_candidates
from polystein.explain.designs import CoordinateDesign, MappedDesign, Seen
from polystein.explain.estimates import (
    Candidate,
    Estimate,
    FirstLook,
    Quantity,
    Rows,
    estimated,
    first_look,
)
from polystein.explain.functionals import What
from polystein.explain.screening import covariances
from polystein.explain.wider import with_doubt
from polystein.inference.longrun import ENOUGH_CHAINS, EqualBatches, longest_memory
from polystein.types import FloatArray

#: Directions are chosen on this part of the rows and judged on the last ones.
CHOSEN_ON, JUDGED_ON = 0.45, 0.5
#: Rows that are judged, for each coordinate: with fewer, directions are noise.
ROWS_PER_COORDINATE = 10
FEWEST_ROWS = 100
#: The part of the draws' variance that the target's is taken to have at the least.
LEAST_RATIO = 1e-3


class AlongDirection(NamedTuple):
    """The error of the mean, or of the sd, along a direction.

    ``coefficients`` are those of the coordinates, each in units of its own sd, with norm 1.
    """

    estimate: Estimate
    coefficients: FloatArray


class _Part(SourceOfAnother):
    """Some rows of a source, with as many of each chain as there are lengths."""

    def __init__(self, source: Source, lengths: Iterable[int]) -> None:
        super().__init__(source, source.layout._replace(lengths=tuple(lengths)))


class PartOfRows(_Part):
    """A stretch of every chain of a source, as a source of its own."""

    def __init__(self, source: Source, begin: float, end: float) -> None:
        lengths = source.layout.lengths
        self.starts = [int(begin * length) for length in lengths]
        stops = [int(end * length) for length in lengths]
        super().__init__(
            source, (stop - start for start, stop in zip(self.starts, stops, strict=True))
        )

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain's stretch."""
        first = self.starts[chain]
        return self.source.read(chain, first + start, first + stop)._replace(start=start)


class PartOfChains(_Part):
    """Some chains of a source, one after the other, as a source of its own."""

    def __init__(self, source: Source, begin: int, end: int) -> None:
        super().__init__(source, source.layout.lengths[begin:end])
        self.first = begin

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain."""
        return self.source.read(self.first + chain, start, stop)._replace(chain=chain)


def part_of_chains(source: Source, begin: int, end: int) -> Source:
    """Some chains; where the source can cut itself, by the source."""
    cut = source.part_of_chains
    return PartOfChains(source, begin, end) if cut is None else cut(begin, end)


def part_of_rows(source: Source, begin: float, end: float) -> Source:
    """A stretch of every chain; where the source can cut itself, by the source."""
    if source.part_of_rows is None:
        return PartOfRows(source, begin, end)
    (length,) = set(source.layout.lengths)
    return source.part_of_rows(int(begin * length), int(end * length))


@dataclass(frozen=True, eq=False)
class DirectionDesign(MappedDesign):
    """A coordinate's design along a direction, by a reflection that makes it the first axis."""

    reflection: FloatArray

    @property
    def inner(self) -> CoordinateDesign:
        """That of the first coordinate."""
        return CoordinateDesign(len(self.reflection), 0)

    def mapped(self, seen: Seen) -> Seen:
        """The rows, reflected."""
        # A reflection is its own inverse, so that scores turn as draws do.
        return Seen(seen.draws @ self.reflection, seen.scores @ self.reflection, seen.raw)


class MemorySums:
    """Sums over stretches of draws, scores, and their squares and products; the last are ones."""

    def __init__(self, stretches: EqualBatches, dimension: int, frame: Frame) -> None:
        self.stretches, self.dimension, self.frame = stretches, dimension, frame
        self.sums = np.zeros((stretches.total, 4 * dimension + 1))

    def zero(self) -> MemorySums:
        """An accumulator of the same kind without rows."""
        return MemorySums(self.stretches, self.dimension, self.frame)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        draws, scores = self.frame.apply(block.draws, block.scores)
        weights = block.weights_or_ones[:, None]
        columns = np.concatenate([draws, scores, draws * draws, draws * scores], axis=1)
        columns = np.concatenate([columns, np.ones_like(weights)], axis=1) * weights
        for run in block.chains:
            place = self.stretches.of_rows(run.chain, run.start, run.high - run.low)
            starts = np.flatnonzero(np.diff(place, prepend=-1))
            self.sums[place[starts]] += np.add.reduceat(columns[run.low : run.high], starts)

    def merge(self, other: MemorySums) -> MemorySums:
        """Add another accumulator's rows."""
        self.sums += other.sums
        return self

    def centred(self) -> FloatArray:
        """The sums of columns whose mean over all rows is taken off."""
        columns, ones = self.sums[:, :-1], self.sums[:, -1:]
        result: FloatArray = columns - ones * (columns.sum(axis=0) / ones.sum())
        return result


def _apart(rows: Rows, frame: Frame) -> bool:
    """Whether the memory of the chains is shorter than the gap between the parts of their rows."""
    if not isinstance(rows.stretches, EqualBatches):
        return True
    sums = MemorySums(rows.stretches, rows.source.layout.dimension, frame)
    run_pass(rows.source, every_row(rows.source), sums)
    gap = min(rows.source.layout.lengths) * (1.0 - JUDGED_ON - CHOSEN_ON)
    return longest_memory(sums.centred(), rows.stretches) <= gap


def _parts(source: Source) -> tuple[Source, Source]:
    """What directions are chosen on, and what they are judged on."""
    if _many_chains(source):
        chains = len(source.layout.lengths)
        half = chains // 2
        return part_of_chains(source, 0, half), part_of_chains(source, half, chains)
    return part_of_rows(source, 0.0, CHOSEN_ON), part_of_rows(source, 1.0 - JUDGED_ON, 1.0)


def _many_chains(source: Source) -> bool:
    return source.layout.time_ordered and len(source.layout.lengths) >= ENOUGH_CHAINS


def along_directions(rows: Rows) -> list[AlongDirection]:
    """The mean and the sd along the directions that stand out; none where parts tell too little."""
    source, d = rows.source, rows.source.layout.dimension
    short = min(source.layout.lengths) * (JUDGED_ON - CHOSEN_ON) < 1.0
    if d < 2 or (short and not _many_chains(source)):
        return []
    training, testing = _parts(source)
    test = Rows.of(testing)
    if test.effective < max(FEWEST_ROWS, ROWS_PER_COORDINATE * d):
        return []
    try:
        chosen = first_look(Rows.of(training))
        look = first_look(test)
    except DegenerateError:
        return []  # a coordinate that does not move in a part of the rows
    if not _many_chains(source) and not _apart(rows, chosen.frame):
        return []  # the choice would depend on what is judged
    wanted: tuple[tuple[What, FloatArray], ...] = (
        ("mean", mean_direction(chosen)),
        ("sd", spread_direction(chosen)),
    )
    return [
        found
        for what, direction in wanted
        if (found := _along(test, look, chosen, what, direction)) is not None
    ]


def mean_direction(look: FirstLook) -> FloatArray:
    """The direction in which the means are farthest off, in units of the draws' sd along it."""
    draws, _ = covariances(look.products)
    shift = look.means.plain - look.means.corrected
    return np.asarray(np.linalg.lstsq(draws, shift, rcond=None)[0], dtype=np.float64)


def spread_direction(look: FirstLook) -> FloatArray:
    """The direction in which the ratio of variances of target and draws is farthest from 1."""
    draws, target = covariances(look.products)
    values, vectors = np.linalg.eigh(draws)
    whiten = vectors / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))
    seen = whiten.T @ target @ whiten
    finite(float(np.sum(np.abs(seen))), "the covariance of the target over that of the draws")
    ratios, turned = np.linalg.eigh(seen)
    farthest = np.argmax(np.abs(np.log(np.maximum(ratios, LEAST_RATIO))))
    result: FloatArray = whiten @ turned[:, farthest]
    return result


def _along(
    rows: Rows, look: FirstLook, chosen: FirstLook, what: What, direction: FloatArray
) -> AlongDirection | None:
    """Mean or sd along a direction that was chosen in the rough frame of other rows."""
    unit = np.asarray(look.frame.scale_in(chosen.rough))
    coefficients = direction * unit
    size = float(np.linalg.norm(coefficients))
    if not np.isfinite(size) or size == 0.0:
        return None
    coefficients = coefficients / size
    coefficients = coefficients * np.sign(coefficients[np.argmax(np.abs(coefficients))])
    (fit,) = rows.fits([DirectionDesign(reflection(coefficients))], look.frame)
    candidate = Candidate(Quantity(what, (0,)), fit, (0, 1))
    (found,) = estimated(rows, look.frame, [candidate])
    wide = wider_candidates(rows, look.frame, {candidate.quantity: candidate})
    return AlongDirection(with_doubt(found, list(wide.values())), coefficients)


def reflection(direction: FloatArray) -> FloatArray:
    """The symmetric orthogonal matrix whose first row is a vector of norm 1."""
    normal = -direction.copy()
    normal[0] += 1.0
    square = float(normal @ normal)
    result: FloatArray = np.eye(len(direction))
    if square > np.finfo(float).eps:
        result -= 2.0 / square * np.outer(normal, normal)
    return result


def direction_name(coefficients: FloatArray, names: tuple[str, ...]) -> str:
    """The coordinates that weigh most, with their coefficients, at most three."""
    order = np.argsort(-np.abs(coefficients), kind="stable")
    large = [place for place in order[:3] if abs(coefficients[place]) >= 0.1]
    words = ""
    for place in large:
        sign = "-" if coefficients[place] < 0.0 else "+"
        word = f"{abs(coefficients[place]):.2f} {names[place]}"
        words += f" {sign} {word}" if words else (f"-{word}" if sign == "-" else word)
    left = 1.0 - float(np.sum(coefficients[large] ** 2))
    return f"{words} + ..." if left > 0.01 else words
