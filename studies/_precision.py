"""JAX's precision, set for a while. Importing this module needs JAX."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def enable_x64(wanted: bool) -> Iterator[None]:
    """Double precision in JAX, or single, inside; the setting before is restored.

    JAX's own function of this name is in another module before JAX 0.8.
    """
    before = bool(jax.config.jax_enable_x64)
    jax.config.update("jax_enable_x64", wanted)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
