"""Stand-ins for stores of other libraries, which the fast tests do without."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ChunkedArray:
    """An array that is stored in chunks, and counts how often each chunk is decoded."""

    def __init__(self, values: NDArray[Any], chunk: int) -> None:
        self.values, self.dtype = values, values.dtype
        self.shape = values.shape
        self.axis = values.ndim - 2
        self.chunks = tuple(
            chunk if axis == self.axis else 1 if axis == 0 else size
            for axis, size in enumerate(values.shape)
        )
        self.fill_value = 0.0
        self.lost: set[int] = set()
        #: The columns of a chunk that is lost.
        self.columns = slice(None)
        self.broken: set[int] = set()
        self.decoded: dict[tuple[int, int], int] = {}

    @property
    def nchunks(self) -> int:
        return -(-self.shape[self.axis] // self.chunks[self.axis])

    @property
    def nchunks_initialized(self) -> int:
        return self.nchunks - len(self.lost)

    def __getitem__(self, place: Any) -> NDArray[Any]:
        chain, rows = place if self.axis else (0, place[0])
        found = np.array(self.values[place])
        chunk = self.chunks[self.axis]
        for number in range(rows.start // chunk, -(-rows.stop // chunk)):
            if number in self.broken:
                raise OSError("the chunk ends too early")
            self.decoded[chain, number] = self.decoded.get((chain, number), 0) + 1
            if number in self.lost:
                part = slice(max(0, number * chunk - rows.start), (number + 1) * chunk - rows.start)
                found[part, self.columns] = 0.0
        return found


def rows(n: int = 4000, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Independent draws of a normal that is a little too wide, and the scores of N(0, I)."""
    draws = 1.03 * np.random.default_rng(seed).standard_normal((n, d))
    return draws, -draws


def chains(count: int = 3, n: int = 1500, d: int = 2) -> tuple[Array, Array]:
    """AR(1) chains and the scores of N(0, I)."""
    draws = np.random.default_rng(1).standard_normal((count, n, d))
    for t in range(1, n):
        draws[:, t] = 0.6 * draws[:, t - 1] + 0.8 * draws[:, t]
    return draws, -draws
