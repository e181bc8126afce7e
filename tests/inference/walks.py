"""Columns that remember."""

import numpy as np

from tests.conftest import Array


def walks(lengths: tuple[int, ...], columns: int = 2, seed: int = 0) -> list[Array]:
    """Columns that remember, with another mean for each chain."""
    rng = np.random.default_rng(seed)
    chains = []
    for length in lengths:
        noise = rng.standard_normal((length, columns))
        chains.append(np.cumsum(noise, axis=0) * 0.3 + noise + rng.normal(5.0, 1.0, columns))
    return chains
