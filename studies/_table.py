"""What the studies share: cells that run in pieces, and a table with one mark for each replicate.

A finished cell is a line of the committed table. What is finished of a cell under way is kept in
``studies/work/``, in a folder of the code that ran, so that a study goes on where it was and no
line mixes the results of two codes. The folder may be removed at any time.
"""

import csv
import hashlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polystein as ps
from polystein.errors import StudyError
from polystein.experiments.engine import runner
from polystein.experiments.engine.cells import Cell, Replicate, Row, Task
from polystein.experiments.engine.store import Store, write_csv
from polystein.experiments.engine.summary import marks

STUDIES = Path(__file__).parent
WORK = STUDIES / "work"
LEVEL = 0.05
# Replicates are stored in pieces of about this many milliseconds.
PIECE = 120_000.0


def decision(result: ps.GofResult) -> list[Row]:
    """Whether the test rejects at the level 0.05."""
    return [{"rejected": int(result.rejected(LEVEL))}]


def rejection_rate(cell: Cell, decisions: str) -> Row:
    """How often a test rejected."""
    rejections = decisions.count("x")
    return {"rejections": rejections, "rate": f"{rejections / len(decisions):.4f}"}


def lines_by(table: Path, column: str = "cell") -> dict[str, dict[str, str]]:
    """The lines of a committed table by one of its columns; none if there is no table."""
    if not table.exists():
        return {}
    with table.open(newline="", encoding="utf-8") as file:
        return {row[column]: row for row in csv.DictReader(file)}


def without_method(replicate: Replicate) -> Replicate:
    """The replicate whose streams all methods share, so that they see the same draws."""
    settings = tuple(one for one in replicate.cell.settings if one[0] != "method")
    return replace(replicate, cell=replace(replicate.cell, settings=settings))


@dataclass(frozen=True)
class Study:
    """A table beside the code, and how every line of it comes about.

    `name` says what a cell is called in the table, and `decide` runs one replicate. A `seed` is a
    column of the table; without one it is 0.
    """

    table: Path
    cells: Sequence[Cell]
    name: Callable[[Cell], str]
    decide: Task
    seed: int | None = None
    work: Path = WORK
    mark: Callable[[Sequence[Row]], str] = marks
    #: Columns that are computed from the marks of a line.
    rates: Callable[[Cell, str], Row] = rejection_rate

    def stored(self) -> dict[str, dict[str, str]]:
        """The lines of the committed table, by cell."""
        return lines_by(self.table)

    def cell(self, name: str) -> Cell:
        """The cell of this name."""
        return next(cell for cell in self.cells if self.name(cell) == name)

    def marks_of(self, cell: Cell, replicates: range) -> str:
        """Run some replicates of a cell in this process."""
        with warnings.catch_warnings():
            # A warning concerns one set of draws; here many are tested on purpose.
            warnings.simplefilter("ignore", ps.PolysteinWarning)
            return "".join(
                self.mark(self.decide(Replicate(cell, index, self.seed or 0)))
                for index in replicates
            )

    def missing(self, only: str = "", *, anew: bool = False) -> list[Cell]:
        """The cells that the table does not hold yet; all of them, if it is made anew."""
        there = {} if anew else self.stored()
        return [
            cell for cell in self.cells if self.name(cell) not in there and only in self.name(cell)
        ]

    def minutes(self, only: str = "", *, anew: bool = False) -> float:
        """What the missing cells take of one core, by the expected cost of a replicate."""
        return sum(one.replicates * one.cost for one in self.missing(only, anew=anew)) / 60_000.0

    def run(self, only: str = "", jobs: int = 2, *, anew: bool = False) -> None:
        """Fill in what the table does not hold, and store every cell as it comes.

        With `anew` the lines that are there are made again; each stays until its new one comes.
        """
        code, missing = code_digest(), self.missing(only, anew=anew)
        for done, cell in enumerate(missing, 1):
            started = time.perf_counter()
            row: Row = {}
            for row in self._pieces(cell, jobs, code):
                so_far = f"{row['replicates']}/{cell.replicates}"
                elapsed = f"{time.perf_counter() - started:.0f} s"
                words = (
                    f"{done}/{len(missing)}",
                    row.get("rate", ""),
                    self.name(cell),
                    so_far,
                    elapsed,
                )
                print(*words, sep="  ", flush=True)
            self._write(row)

    def _pieces(self, cell: Cell, jobs: int, code: str) -> Iterator[Row]:
        """Run a cell piece by piece: the line of the replicates so far, the last one of all.

        A cell with more replicates takes over those that are stored: see `Cell.replicates`.
        """
        folder = self.work / f"{self.table.parent.name}-{self.table.stem}" / code
        size = max(1, round(PIECE / cell.cost))
        for replicates in (*range(size, cell.replicates, size), cell.replicates):
            # Every piece has new processes, which import the code as it is by then.
            if code_digest() != code:
                raise StudyError("the code was changed under way; run the command again")
            part = replace(cell, replicates=replicates)
            rows = runner.run([part], self.decide, out=folder, seed=self.seed or 0, jobs=jobs)
            finished = Store(folder, self.seed or 0).load(part)
            assert finished is not None
            yield self._line(cell, self.mark(rows), " ".join(finished.commits))

    def _line(self, cell: Cell, decisions: str, commit: str) -> Row:
        return {
            "cell": self.name(cell),
            "replicates": len(decisions),
            **self.rates(cell, decisions),
            **({} if self.seed is None else {"seed": self.seed}),
            "decisions": decisions,
            "polystein": ps.__version__,
            "commit": commit,
        }

    def _write(self, row: Row) -> None:
        """Add a line to what the table holds by now; the lines keep the order of the cells."""
        rows: dict[str, Row] = {name: dict(line) for name, line in self.stored().items()}
        rows[str(row["cell"])] = row
        names = [self.name(cell) for cell in self.cells]
        write_csv(self.table, [rows[name] for name in names if name in rows])


def code_digest(leave_out: Sequence[str] = ()) -> str:
    """A digest of all modules that a result may depend on, without files of these names."""
    samplers = sorted((STUDIES.parent / "tests" / "statistical").glob("samplers*.py"))
    folders = (Path(ps.__file__).parent, STUDIES)
    digest = hashlib.sha256()
    modules = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    for path in [*modules, *samplers]:
        if path.name in leave_out:
            continue
        digest.update(f"{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
