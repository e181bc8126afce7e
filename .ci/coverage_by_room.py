"""Print the line and branch coverage of every room of the package, and of all of them.

Usage: coverage_by_room.py FILE   the JSON report of ``pytest --cov polystein --cov-report json``.

It fails where less is covered than the package as a whole must keep.
"""

import json
import sys
from collections import Counter
from pathlib import Path

#: Percentages of lines and of branches that have to stay covered: a point below what they were when
#: this was written. Adapters of libraries that the fast tests do not have are counted, too.
LEAST_LINES, LEAST_BRANCHES = 94.0, 89.0
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def room_of(file: str) -> str:
    """The folder below the package, or "top" for a module of the package itself."""
    parts = Path(file).parts
    inside = parts[len(parts) - parts[::-1].index("polystein") :]
    return inside[0] if len(inside) > 1 else "top"


def main(path: Path) -> None:
    """One line for each room, in alphabetical order, and the total."""
    rooms: dict[str, Counter[str]] = {}
    report = json.loads(path.read_text(encoding="utf-8"))
    for file, found in report["files"].items():
        summary = {key: found["summary"][key] for key in COUNTS}
        rooms.setdefault(room_of(file), Counter()).update(summary)
    total = sum(rooms.values(), Counter())
    print(f"{'room':<14}{'lines':>8}{'covered':>10}{'branches':>10}{'covered':>10}")
    for room, counts in [*sorted(rooms.items()), ("all", total)]:
        lines, hit, branches, taken = (counts[key] for key in COUNTS)
        print(f"{room:<14}{lines:>8}{share(hit, lines)}{branches:>10}{share(taken, branches)}")
    for what, part, whole, least in (
        ("lines", total["covered_lines"], total["num_statements"], LEAST_LINES),
        ("branches", total["covered_branches"], total["num_branches"], LEAST_BRANCHES),
    ):
        if 100.0 * part < least * whole:
            found = 100.0 * part / whole
            sys.exit(f"{least:g} % of all {what} have to be covered; {found:.1f} % are")


def share(part: int, whole: int) -> str:
    """A percentage, in ten columns."""
    return f"{100 * part / whole:>9.1f}%" if whole else f"{'-':>10}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
