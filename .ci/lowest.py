"""Print pip constraints that hold every requirement at its lower bound in pyproject.toml.

The bounds are stated once, in pyproject.toml; this reads the dependencies and the extras that
the tests use, and refuses a requirement whose lower bound cannot be tested.
"""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("cli", "test")
BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<version>[0-9][0-9.]*)(,.*)?")


def lowest(requirement: str) -> str:
    """Turn ``name>=1.2`` into ``name==1.2``."""
    match = BOUND.fullmatch(requirement.replace(" ", ""))
    if match is None:
        sys.exit(f"pyproject.toml: {requirement!r} must have the form 'name>=version'")
    return f"{match['name']}=={match['version']}"


def main() -> None:
    """Read pyproject.toml beside this directory and print one constraint a line."""
    path = Path(__file__).resolve().parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in EXTRAS:
        requirements += project["optional-dependencies"][extra]
    # `polystein[cli]` only points at another extra of this list.
    own = f"{project['name']}["
    print("\n".join(lowest(item) for item in requirements if not item.startswith(own)))


if __name__ == "__main__":
    main()
