"""Run lines piece by piece, and keep each as a line of its part's table.

Records of every replicate are kept in a folder of the code that ran, as in `studies._table`, so
that a run goes on where it was and no line mixes the results of two codes.
"""

import csv
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polystein as ps
from polystein.errors import StudyError
from polystein.experiments.engine import runner
from polystein.experiments.engine.cells import Replicate, Row
from polystein.experiments.engine.store import Store, package_commit, write_csv
from studies._table import LEVEL, WORK, code_digest, lines_by
from studies.chains_beyond import GROUP, SEED
from studies.chains_beyond.lines import Line, all_lines, lines_of
from studies.chains_beyond.records import ARMS, group_task

TABLES = Path(__file__).parent
MARKS = {"rejected": "x", "inconclusive": "?", "not rejected": ".", "error": "e"}
#: A piece takes about this many milliseconds; one of JAX is longer, since it compiles first.
PIECE, JAX_PIECE = 120_000.0, 900_000.0


@dataclass(frozen=True)
class Place:
    """Where tables and records go, and which earlier package is run instead of this one."""

    tables: Path = TABLES
    records: Path = WORK / "chains_beyond"
    earlier: str | None = None

    def table(self, part: str) -> Path:
        """The table of a part; that of an earlier package has a name of its own."""
        return self.tables / f"{part}{'' if self.earlier is None else '_earlier'}.csv"

    def stored(self, part: str) -> dict[str, dict[str, str]]:
        """The lines of a part's table, by their names."""
        return lines_by(self.table(part), "line")

    def commit(self) -> str:
        """The commit of the package that is run."""
        if self.earlier is None:
            return package_commit() or "unknown"
        git = ["git", "-C", self.earlier, "rev-parse", "HEAD"]
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def run(lines: Sequence[Line], place: Place, replicates: int | None, jobs: int) -> None:
    """Run each line and store it as it comes; `replicates` stands in for each line's own."""
    code = code_digest()
    for done, line in enumerate(lines, 1):
        rows = records_of(line, place, replicates or line.replicates, jobs, code)
        write_line(place, line, summary(line, rows, place.commit()))
        write_facts(place, line, rows)
        rates = {word: sum(row["verdict"] == word for row in rows) / len(rows) for word in MARKS}
        words = "  ".join(f"{word} {rate:.3f}" for word, rate in rates.items() if rate)
        print(f"{done}/{len(lines)}  {line.name}: {words}  of {len(rows)}", flush=True)


def records_of(line: Line, place: Place, replicates: int, jobs: int, code: str) -> list[Row]:
    """One row for each replicate, from what is kept and what is missing."""
    task = partial(group_task, earlier=place.earlier)
    cell = line.cell(replicates)
    name = cell.file_name.removesuffix(".json")
    folder = place.records / code / (name + ("" if place.earlier is None else "-earlier"))
    size = max(jobs, round((JAX_PIECE if line.needs_jax else PIECE) / cell.cost))
    for groups in (*range(size, cell.replicates, size), cell.replicates):
        # Every piece has new processes, which import the code as it is by then.
        if code_digest() != code:
            raise StudyError("the code was changed under way; run the command again")
        part = replace(cell, replicates=groups)
        runner.run([part], task, out=folder, seed=SEED, jobs=jobs)
    finished = Store(folder, SEED).load(cell)
    assert finished is not None
    return [row for group in finished.replicates for row in group][:replicates]


def again(line: Line, replicates: range) -> list[Row]:
    """Some replicates of a line in this process: whole groups are drawn, as in the study."""
    groups = range(replicates.start // GROUP, -(-replicates.stop // GROUP))
    cell = line.cell(line.replicates)
    rows = [row for group in groups for row in group_task(Replicate(cell, group, SEED))]
    first = groups.start * GROUP
    return rows[replicates.start - first : replicates.stop - first]


# What a table keeps of a line


def verdict_marks(rows: Sequence[Row]) -> str:
    """One character for each replicate."""
    return "".join(MARKS[str(row["verdict"])] for row in rows)


def abstention_marks(rows: Sequence[Row]) -> str:
    """A hexadecimal digit for each: 1 for flips, 2 for trained, 4 for agreement, 8 for the net."""
    bits = {key: 1 << position for position, key in enumerate(ARMS)}
    absent = [json.loads(str(row["abstained"])) for row in rows]
    return "".join(f"{sum(bits[key] for key in one):x}" for one in absent)


def summary(line: Line, rows: Sequence[Row], commit: str) -> Row:
    """The line of the table."""
    verdicts, absent = verdict_marks(rows), abstention_marks(rows)
    return {
        "line": line.name,
        "replicates": len(rows),
        **{word.replace(" ", "_"): verdicts.count(mark) for word, mark in MARKS.items()},
        **{f"p_{level:g}": at_most(rows, level) for level in (LEVEL, 0.01, 0.001)},
        **{
            f"{key}_abstained": sum(int(digit, 16) >> position & 1 for digit in absent)
            for position, key in enumerate(ARMS)
        },
        **arm_counts(rows),
        "warned": sum(bool(row["warnings"]) for row in rows),
        "seed": SEED,
        "verdicts": verdicts,
        "abstentions": absent,
        "polystein": ps.__version__,
        "commit": commit,
    }


def at_most(rows: Sequence[Row], level: float) -> int:
    """How many p-values are at most the level; a refused verdict has none."""
    found = [row["pvalue"] for row in rows]
    return sum(isinstance(one, float | int) and one <= level for one in found)


def arm_counts(rows: Sequence[Row]) -> Row:
    """How often each arm alone is at most 0.05, by its p-value that allows for its share."""
    arms: list[Mapping[str, float]] = [json.loads(str(row["arms"])) for row in rows]
    counts: Row = {f"{key}_p_0.05": sum(one.get(key, 1.0) <= LEVEL for one in arms) for key in ARMS}
    # With a twentieth of the level, a p-value below 1 is one below 0.05 before the sharing.
    counts["agreement_alone"] = sum(one.get("agreement", 1.0) < 1.0 for one in arms)
    return counts


def write_line(place: Place, line: Line, row: Row) -> None:
    """Add a line to its table; the lines keep the order of the study."""
    rows: dict[str, Row] = {name: dict(one) for name, one in place.stored(line.part).items()}
    rows[line.name] = row
    names = [one.name for one in lines_of(line.part)]
    write_csv(place.table(line.part), [rows[name] for name in names if name in rows])


def facts_table(place: Place, line: Line) -> Path:
    """The table of a line whose replicates have facts."""
    slug = re.sub(r"[^a-z]+", "_", line.name.split(",")[0].lower())
    return place.tables / f"{slug}.csv"


def write_facts(place: Place, line: Line, rows: Sequence[Row]) -> None:
    """A table of its own for a line whose replicates have facts, one row for each replicate."""
    facts = [json.loads(str(row["facts"])) for row in rows]
    if any(facts):
        found = [
            {"replicate": index, "verdict": row["verdict"], "pvalue": row["pvalue"], **fact}
            for index, (row, fact) in enumerate(zip(rows, facts, strict=True))
        ]
        write_csv(facts_table(place, line), found)


def read_facts(place: Place, line: Line) -> list[dict[str, str]]:
    """What that table holds; nothing if there is none."""
    path = facts_table(place, line)
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def chosen(names: Sequence[str], parts: Sequence[str], with_jax: bool) -> list[Line]:
    """Lines of these names, or whose names hold one of the texts; without a text, all lines."""
    lines = all_lines()
    return [
        line
        for name, line in lines.items()
        if line.part in parts
        and (with_jax or not line.needs_jax)
        and (not names or any(name == text if text in lines else text in name for text in names))
    ]
