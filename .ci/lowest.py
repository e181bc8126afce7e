"""Print pip constraints that hold every requirement at its lower bound in pyproject.toml.

Usage: lowest.py PART...   each part is an extra, or "dependencies" for those of the library itself.

The bounds are stated once, in pyproject.toml. A requirement whose lower bound cannot be tested is
refused.
"""

import re
import sys
import tomllib
from pathlib import Path

BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[.*\])?>=(?P<version>[0-9][0-9.]*)(,.*)?")


def lowest(requirement: str) -> str:
    """Turn ``name>=1.2`` or ``name[extra]>=1.2,<2`` into ``name==1.2``."""
    match = BOUND.fullmatch(requirement.replace(" ", ""))
    if match is None:
        sys.exit(f"pyproject.toml: {requirement!r} must have the form 'name>=version'")
    return f"{match['name']}=={match['version']}"


def main(parts: list[str]) -> None:
    """Read pyproject.toml beside this directory and print one constraint a line."""
    path = Path(__file__).resolve().parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    known = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    requirements = [item for part in parts for item in known[part]]
    # `polystein[cli]` only points at another extra.
    own = f"{project['name']}["
    print("\n".join(lowest(item) for item in requirements if not item.startswith(own)))


if __name__ == "__main__":
    main(sys.argv[1:])
