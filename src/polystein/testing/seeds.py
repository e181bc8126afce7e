"""Seeds of the blocks of a test: at random, none of them near another, the same for one `rng`.

Many samplers give their chains the seeds s, s + 1, s + 2, ... Blocks with neighbouring seeds would
then share chains, and would not be independent. The numbers below 2³¹, which all libraries take,
are therefore cut into cells. Each seed is from a cell of its own, and from the lower half of it.
Within the half it is random, as simple generators make related streams of seeds in arithmetic
progression.
"""

from __future__ import annotations

import numpy as np

from polystein._lib.random import seed_sequence, seed_setting
from polystein.types import RNG

#: Seeds are below this, which all libraries take.
_BELOW = 2**31
#: The widest cells: two seeds are more than 2,000 apart.
_WIDEST = 4096
#: No test has more seeds; cells of two numbers are left then.
MOST_SEEDS = _BELOW // 8
#: Seeds that are drawn at once.
_AT_ONCE = 256


class Seeds:
    """Seeds 0, 1, 2, ... of a test, drawn when they are asked for; at most `most` of them."""

    def __init__(self, number: int, most: int) -> None:
        width = _WIDEST
        while _BELOW // width < 4 * most:
            width //= 2
        self._cells, self._half = _BELOW // width, width // 2
        # A child: `default_rng(number)` may be what made the sampler's own inputs.
        self._generator = np.random.default_rng(seed_sequence(number).spawn(1)[0])
        self._taken: set[int] = set()
        self._found: list[int] = []

    def between(self, start: int, stop: int) -> list[int]:
        """Seeds by their places."""
        while len(self._found) < stop:
            cells = self._generator.integers(self._cells, size=_AT_ONCE).tolist()
            places = self._generator.integers(self._half, size=_AT_ONCE).tolist()
            for cell, place in zip(cells, places, strict=True):
                if cell not in self._taken:
                    self._taken.add(cell)
                    self._found.append(2 * self._half * cell + place)
        return self._found[start:stop]


def number_of(rng: RNG) -> int:
    """The int that gives the same test as `rng` does, to be told: `rng` itself if it is one."""
    sequence, told = seed_sequence(rng), seed_setting(rng)
    if isinstance(told, int):
        return told
    return int(np.random.default_rng(sequence).integers(2**62))
