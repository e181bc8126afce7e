"""Versions of what a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import version

from polystein._version import __version__


def versions() -> dict[str, str]:
    """Versions of all that a result depends on; nothing about the machine."""
    return {
        "polystein": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }
