"""A canary: an object that leaves a mark where it is unpickled."""

import os
from collections.abc import Callable
from pathlib import Path


class Bomb:
    """Makes the folder ``exploded`` in the current directory when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        return os.mkdir, ("exploded",)


def exploded() -> bool:
    """Whether a bomb was unpickled in the current directory."""
    return Path("exploded").exists()
