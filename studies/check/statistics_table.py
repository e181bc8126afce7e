"""The table of all statistics of `check`, as its page has it."""

from polystein.methods.check.statistics import FLIPS, NET, STATISTICS


def markdown() -> list[str]:
    """The lines of the table, one for each statistic."""
    heads = ("arm", "statistic", "looks at", "features", "share", "correlated", "batches", "rows")
    cells = [heads, ("---",) * len(heads)]
    for arm, statistics in STATISTICS.items():
        for one in statistics:
            batches = f"{one.batches}" if arm in (FLIPS, NET) else ""
            rows = f"{one.rows:g}" if one.rows else ""
            shares = f"{one.share:g}", f"{one.correlated:g}"
            cells.append((arm, one.name, one.looks_at, f"`{one.features}`", *shares, batches, rows))
    return ["| " + " | ".join(line) + " |" for line in cells]
