"""Rows that a test neither surely rejects nor surely accepts."""

import numpy as np

from tests.conftest import Array


def plausible_rows(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Draws of N(0, I) with its scores, slightly disturbed."""
    rng = np.random.default_rng([seed, n, d])
    draws = rng.standard_normal((n, d))
    return draws, -draws + 0.1 * rng.standard_normal((n, d))
