"""What a line of the study is, and the list of all lines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.experiments.engine.cells import Cell
from studies.chains_beyond import GROUP

Array = NDArray[np.float64]


class Drawn(NamedTuple):
    """Draws and scores of several replicates, of shape (replicate, chain, draw, d) or
    (replicate, n, d), and what else is known of each replicate.
    """

    draws: Array
    scores: Array
    facts: tuple[dict[str, Any], ...] = ()


Draw = Callable[[np.random.Generator, int], Drawn]


@dataclass(frozen=True)
class Line:
    """One kind of draws. `draw` takes a generator and the number of replicates.

    Attributes
    ----------
    claims : frozenset of str
        What is asked of the line, by the names in `judgements`.
    chains_depend : bool
        Whether the chains of one replicate depend on each other, as walkers do.
    cost : float
        Rough milliseconds of one replicate, for the order of work; it changes no result.
    """

    name: str
    part: str
    draw: Draw = field(compare=False)
    claims: frozenset[str]
    replicates: int = 300
    iid: bool = False
    chains_depend: bool = False
    needs_jax: bool = False
    cost: float = 60.0

    def cell(self, replicates: int) -> Cell:
        """The cell whose n-th replicate is the n-th group of this line's replicates."""
        groups = -(-replicates // GROUP)
        return Cell.of("chains-beyond", replicates=groups, cost=GROUP * self.cost, line=self.name)


@cache
def all_lines() -> dict[str, Line]:
    """Every line by its name, in the order of the tables."""
    from studies.chains_beyond import correct, harder, other, wrong

    lines = [*correct.lines(), *wrong.lines(), *other.lines(), *harder.lines()]
    assert len({line.name for line in lines}) == len(lines)
    return {line.name: line for line in lines}


def lines_of(part: str) -> Iterator[Line]:
    """The lines of one table."""
    return (line for line in all_lines().values() if line.part == part)
