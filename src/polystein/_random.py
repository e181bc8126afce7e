"""Randomness comes in through `rng` and is handed out in one fixed order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polystein.errors import InputError
from polystein.protocols import RNG


class Streams(NamedTuple):
    """Independent generators, one for each stage that needs randomness."""

    split: np.random.Generator
    weights: np.random.Generator
    resampling: np.random.Generator


def seed_sequence(rng: RNG) -> np.random.SeedSequence:
    """Turn `rng` into a `SeedSequence` without touching an int's or a sequence's state.

    An int or a `SeedSequence` gives the same stream at every call; a `Generator`
    is advanced; ``None`` takes fresh entropy from the operating system.
    """
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence(rng.integers(0, 2**32, size=8, dtype=np.uint64).tolist())
    if isinstance(rng, np.random.SeedSequence):
        # A copy: spawning from the caller's own object would change it.
        return np.random.SeedSequence(entropy=rng.entropy, spawn_key=rng.spawn_key)
    is_integer = isinstance(rng, int | np.integer) and not isinstance(rng, bool)
    if rng is None or (is_integer and rng >= 0):
        return np.random.SeedSequence(None if rng is None else int(rng))
    raise InputError(
        "`rng` must be a non-negative int, a numpy SeedSequence, a numpy Generator or None; "
        f"got {rng!r}"
    )


def streams(rng: RNG) -> Streams:
    """Spawn the children always in this order, so that tests share their splits."""
    return Streams(*(np.random.default_rng(child) for child in seed_sequence(rng).spawn(3)))
