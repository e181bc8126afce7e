"""Randomness comes in through `rng` and is handed out in one fixed order."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from polystein._lib.arguments import is_integer
from polystein.errors import InputError
from polystein.types import RNG


class Streams:
    """Independent generators, one for each stage that needs randomness.

    The children are always spawned in the same order, so that tests with one seed share
    their splits. A generator is made when it is first used.
    """

    def __init__(self, rng: RNG) -> None:
        seed = seed_sequence(rng)
        self._seed, self._first = seed, seed.n_children_spawned

    @classmethod
    def of(cls, seed: np.random.SeedSequence) -> Streams:
        """Streams from a seed sequence that no other code uses, which is not copied."""
        result = cls.__new__(cls)
        result._seed, result._first = seed, seed.n_children_spawned
        return result

    def _child(self, number: int) -> np.random.Generator:
        """What the child of this number gives; `SeedSequence.spawn` would make all of them."""
        key = (*self._seed.spawn_key, self._first + number)
        child = np.random.SeedSequence(
            self._seed.entropy, spawn_key=key, pool_size=self._seed.pool_size
        )
        return np.random.Generator(np.random.PCG64(child))  # as `default_rng`, in half the time

    @cached_property
    def split(self) -> np.random.Generator:
        """The generator that gives rows their roles."""
        return self._child(0)

    @cached_property
    def weights(self) -> np.random.Generator:
        """The generator for the search for weights."""
        return self._child(1)

    @cached_property
    def resampling(self) -> np.random.Generator:
        """The generator for multipliers and sign flips."""
        return self._child(2)


def seed_sequence(rng: RNG) -> np.random.SeedSequence:
    """Turn `rng` into a `SeedSequence`; a sequence that is passed in is not changed.

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


def seed_setting(rng: RNG) -> int | str | None:
    """What a result keeps of `rng`: the int that gives the same stream, or what the caller's is.

    A `SeedSequence` of an int that was not spawned has the stream of that int.
    """
    if isinstance(rng, np.random.SeedSequence):
        entropy = rng.entropy
        if is_integer(entropy, least=0) and not rng.spawn_key:
            return int(entropy)  # type: ignore[arg-type]
        return "SeedSequence"
    if isinstance(rng, np.random.Generator):
        return "Generator"
    return None if rng is None else int(rng)
