"""Batch sums of several chains, for the code and for the loops."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.signal import lfilter

from polystein.inference import memory
from polystein.inference.memory import (
    Joining,
    joinings,
    variance_curves,
)
from tests.conftest import Array
from tests.reference import memory as literal

RULES = literal.Rules(
    memory.FEWEST_A_CHAIN,
    memory.FLAT,
    memory.MOST_INDEPENDENT,
    memory.LUGSAIL_ERRORS,
    memory.SLOWER_BY_CHANCE,
)


class Case:
    """Batch sums of several chains, for the code and for the loops."""

    def __init__(self, counts: list[int], features: int, seed: int, memory: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.chains = np.repeat(np.arange(len(counts)), counts)
        self.sizes = rng.integers(3, 9, self.chains.size).astype(float)
        noise = rng.standard_normal((self.chains.size, features))
        self.sums = lfilter([1.0], [1.0, -memory], noise, axis=0) * np.sqrt(self.sizes)[:, None]
        self.sums += self.sizes[:, None] * rng.normal(0.0, 3.0, features)

    @property
    def levels(self) -> list[Joining]:
        return joinings(self.sizes, self.chains)

    @property
    def groups(self) -> list[literal.Groups]:
        return literal.levels(self.chains.tolist(), RULES.fewest_a_chain)

    @property
    def known(self) -> tuple[list[float], list[int]]:
        return self.sizes.tolist(), self.chains.tolist()

    @property
    def table(self) -> Array:
        """The loops' V_L."""
        return literal.curves(self.sums, *self.known, self.groups)

    @property
    def curves(self) -> Array:
        return variance_curves(self.sums, self.levels)


CASES = [([64], 3), ([64, 64], 2), ([20, 9, 33], 4), ([1, 30, 2, 40], 3), ([7, 7, 7, 7], 1)]


every_case = pytest.mark.parametrize(("counts", "features"), CASES)


remembering = pytest.mark.parametrize("remembered", [0.0, 0.6, 0.95, -0.7])


counts_of_chains = st.lists(st.integers(1, 40), min_size=1, max_size=6)


def flat_levels(a_chain: int = 64, chains: int = 4) -> list[Joining]:
    return joinings(np.full(a_chain * chains, 8.0), np.repeat(np.arange(chains), a_chain))
