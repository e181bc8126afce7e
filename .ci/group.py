"""Print the requirements of a dependency group of pyproject.toml, one a line, as PEP 735 reads it.

Usage: group.py GROUP > FILE, then: pip install -e . -r FILE

The pip that comes with Python 3.11 is older than 25.1, the first with an option ``--group``. In a
file the project's own extras, as ``polystein[test]``, are found in ``-e .``.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any


def requirements(groups: dict[str, list[Any]], name: str) -> list[str]:
    """The requirements of a group and of those that it includes, in order."""
    if name not in groups:
        sys.exit(f"pyproject.toml has no dependency group {name!r}; it has {', '.join(groups)}")
    found: list[str] = []
    for item in groups[name]:
        found += [item] if isinstance(item, str) else requirements(groups, item["include-group"])
    return found


def main(name: str) -> None:
    """Read pyproject.toml beside this directory and print the group."""
    path = Path(__file__).resolve().parent.parent / "pyproject.toml"
    print(
        *requirements(tomllib.loads(path.read_text("utf-8"))["dependency-groups"], name), sep="\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
