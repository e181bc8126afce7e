"""Below every table of a study: the command, the seed and the commits that made it.

``python -m studies._sources`` writes these lines anew, from the committed tables. On a page a mark
says where a line belongs and which file the table above is from, with words for the seeds if they
are no column of the file::

    <!-- from: studies/compare.csv, seed 29 -->
"""

import csv
import re
from pathlib import Path

from polystein.experiments.engine.store import write_text

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
#: A mark, and the line below it if it has been written.
MARK = re.compile(r"^<!-- from: (\S+\.csv)(?:, ([^>]+))? -->\n(?:\n\*Made by .*\n)?", re.MULTILINE)
#: As many commits are named.
NAMED = 3


def command(table: Path) -> str:
    """The command that makes a committed table."""
    if table.parent == ROOT / "studies":
        return f"python -m studies.{table.stem}"
    package = ".".join(table.parent.relative_to(ROOT).parts)
    module = table.with_suffix(".py")
    main = (table.parent / "__main__.py").read_text("utf-8")
    by_name = "run_parts" in main and (module.exists() or table.parent.name == "extensions")
    return f"python -m {package}" + (f" {table.stem}" if by_name else "")


def source(table: Path, seeded: str | None = None) -> str:
    """The line below a table: how its numbers came about."""
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    seeds = sorted({row["seed"] for row in rows if row.get("seed")})
    # A study without a column of seeds has the seed 0.
    words = seeded or f"seed {', '.join(seeds or ['0'])}"
    # In the order of the lines, each once.
    commits = list(dict.fromkeys(one[:7] for row in rows for one in row.get("commit", "").split()))
    made = "the commit was not stored"
    if commits:
        more = f" and {len(commits) - NAMED} more" if len(commits) > NAMED else ""
        made = f"commit{'s' * (len(commits) > 1)} {', '.join(commits[:NAMED])}{more}"
    return f"*Made by `{command(table)}`, {words}, {made}.*"


def with_sources(text: str) -> str:
    """A page with these lines as they are now."""
    return MARK.sub(
        lambda found: f"{found[0].splitlines()[0]}\n\n{source(ROOT / found[1], found[2])}\n", text
    )


def main() -> None:
    """Write the lines of all pages."""
    for page in PAGES:
        text = page.read_text("utf-8")
        if (new := with_sources(text)) != text:
            write_text(page, new)
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
