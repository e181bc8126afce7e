"""Sources for tests: rows that are made when they are read, and a count of the reads."""

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.data.source import Block, Layout, Source

Array = NDArray[np.float64]


class MinimalSource:
    """All that a source must have: a layout, and rows on request. Chains may differ in length."""

    def __init__(self, chains: list[tuple[Array, Array]], *, time_ordered: bool) -> None:
        self._chains = chains
        lengths = tuple(len(draws) for draws, _ in chains)
        self.layout = Layout(lengths, chains[0][0].shape[1], time_ordered)

    def read(self, chain: int, start: int, stop: int) -> Block:
        draws, scores = self._chains[chain]
        # Copies: nothing may depend on where a block is kept.
        return Block(draws[start:stop].copy(), scores[start:stop].copy(), None, chain, start)


class WeightedSource(MinimalSource):
    """The same with importance weights and names."""

    weighted = True

    def __init__(
        self,
        chains: list[tuple[Array, Array]],
        log_weights: list[Array],
        names: tuple[str, ...],
        *,
        time_ordered: bool,
    ) -> None:
        super().__init__(chains, time_ordered=time_ordered)
        self.log_scale = max(float(part.max()) for part in log_weights)
        self._weights = [np.exp(part - self.log_scale) for part in log_weights]
        self.names = names

    def read(self, chain: int, start: int, stop: int) -> Block:
        block = super().read(chain, start, stop)
        return block._replace(weights=self._weights[chain][start:stop].copy())


class DistantSource(Source):
    """Many long chains that must not be read."""

    layout = Layout((10_000,) * 100, 2, True)

    def read(self, chain: int, start: int, stop: int) -> Block:
        raise AssertionError


class CountingSample(ps.Sample):
    """A sample that counts how often each row is read."""

    def read(self, chain: int, start: int, stop: int) -> Block:
        if not hasattr(self, "reads"):
            self.reads = [np.zeros(length, dtype=int) for length in self.layout.lengths]
        self.reads[chain][start:stop] += 1
        return super().read(chain, start, stop)

    @property
    def mean_reads(self) -> float:
        """How often a row is read on average."""
        return float(np.mean(np.concatenate(self.reads)))


class SequentialSource(MinimalSource):
    """Rows that can only be read forwards; going back means starting again, which is counted."""

    sequential = True
    restarts = 0
    _position = (0, 0)

    def read(self, chain: int, start: int, stop: int) -> Block:
        if (chain, start) < self._position:
            self.restarts += 1
        self._position = (chain, stop)
        return super().read(chain, start, stop)
