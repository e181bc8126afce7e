"""One run of the reproduction: its options, its tables, and the parts of its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from polystein.errors import InputError
from polystein.experiments.engine.cells import Cell, Row, Scalar, Task
from polystein.experiments.engine.runner import run
from polystein.experiments.engine.store import (
    METADATA,
    read_csv,
    read_json,
    write_csv,
    write_json,
)
from polystein.experiments.paper.methods import LABELS, Method
from polystein.report.canvas import save
from polystein.types import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The folder, beside the tables, of what is needed to resume.
WORK = "work"


@dataclass(frozen=True)
class Options:
    """The options of a reproduction.

    Parameters
    ----------
    out : Path
        Tables, figures and the verdict go here; what is needed to resume below ``work``.
    seed : int
        The same seed gives the same tables.
    bar : callable
        From a description to a context manager that yields ``progress(done, total)``.
    jobs : int, optional
        Worker processes, by default one for each core.
    replicates : int, optional
        Replicates of a cell, by default as many as the paper has.
    quick : bool
        Fewer replicates and dimensions; nothing else differs.
    methods : tuple of str
        Run these methods only, in Experiments 1 and 2 and the appendix; the tables in `out` keep
        their rows of all other methods. By default all methods are run.
    """

    out: Path
    seed: int
    bar: Callable[[str], AbstractContextManager[Progress | None]]
    jobs: int | None = None
    replicates: int | None = None
    quick: bool = False
    methods: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in LABELS:
                raise InputError(f"`methods` must be among {', '.join(LABELS)}; got {name!r}")

    def count(self, full: int, quick: int) -> int:
        """Return how many replicates a study has."""
        return self.replicates or (quick if self.quick else full)

    def folder(self, study: str, part: str = "") -> Path:
        """Return where a study, or a part of it, keeps its cells."""
        return self.out / WORK / study / part

    def run(
        self, cells: Sequence[Cell], task: Task, jobs: int | None = None, part: str = ""
    ) -> list[Row]:
        """Run a study, with a bar."""
        study = cells[0].study
        with self.bar(study) as progress:
            return run(
                cells,
                task,
                out=self.folder(study, part),
                seed=self.seed,
                jobs=jobs or self.jobs,
                progress=progress,
            )

    def run_methods(
        self,
        cells: Callable[[str], Sequence[Cell]],
        task: Callable[..., Sequence[Row]],
        parts: Mapping[str, tuple[Method, ...]],
    ) -> tuple[list[Row], list[str]]:
        """Run methods in parts that are kept apart; return their rows and the names of the parts.

        `cells` gives the cells of a part. If `methods` are chosen, these are the only part.
        """
        if self.methods:
            every = (one for methods in parts.values() for one in methods)
            chosen = tuple(one for one in every if one.name in self.methods)
            parts = {"-".join(self.methods): chosen}
        rows: list[Row] = []
        for part, methods in parts.items():
            rows += self.run(cells(part), partial(task, methods=methods), part=part)
        return rows, list(parts)

    def draw(self, figure: Figure, name: str) -> None:
        """Save a figure."""
        self.out.mkdir(parents=True, exist_ok=True)
        save(figure, self.out / name)

    def keep(self, name: str, rows: Sequence[Row], methods: Sequence[Method] = ()) -> list[Row]:
        """Write a table beside the figures and return it, in the order of `methods` if given."""
        if self.methods and methods:
            before = read_csv(self.out / name)
            rows = [*(row for row in before if row["method"] not in self.methods), *rows]
        kept = arranged(rows, methods) if methods else list(rows)
        write_csv(self.out / name, kept)
        return kept

    def note(self, study: str, parts: Sequence[str] = ("",)) -> None:
        """Write how the tables of a study came about, beside them."""
        path = self.out / f"{study}.json"
        found = [read_json(self.folder(study, part) / METADATA) for part in parts]
        warnings = [one["of_other_code"] for one in found if one["of_other_code"]]
        commits = sorted({commit for one in found for commit in one["commits"]})
        saved = {
            **found[0],
            "replicates": sorted({count for one in found for count in one["replicates"]}),
            "commits": commits,
            "of_other_code": "; ".join(warnings) or None,
            "processor_seconds": round(sum(one["processor_seconds"] for one in found), 1),
            "quick": self.quick,
            "methods": {},
        }
        if self.methods:
            before, table = read_json(path), read_csv(self.out / f"{study}.csv")
            seconds = before["processor_seconds"] + saved["processor_seconds"]
            saved = {
                **before,
                "replicates": sorted({row["replicates"] for row in table}),
                "processor_seconds": round(seconds, 1),
                "methods": {**before["methods"], **dict.fromkeys(self.methods, commits)},
            }
        write_json(path, saved)


def arranged(rows: Sequence[Row], methods: Sequence[Method]) -> list[Row]:
    """Sort rows of one table: settings as they first come, then `methods` in their order."""

    def settings(row: Row) -> tuple[Scalar, ...]:
        """What stands before the method: the settings of the cell."""
        names = list(row)
        return tuple(row[name] for name in names[: names.index("method")])

    cell = {found: at for at, found in enumerate(dict.fromkeys(map(settings, rows)))}
    place: dict[tuple[Scalar, Scalar], int] = {
        (method.name, method.order): at for at, method in enumerate(methods)
    }
    return sorted(rows, key=lambda row: (cell[settings(row)], place[row["method"], row["order"]]))


def section(title: str, *paragraphs: str) -> str:
    """A section in Markdown."""
    return "\n\n".join([f"## {title}", *paragraphs]) + "\n"


def how(out: Path, study: str) -> str:
    """How the numbers were made: replicates, seed, commits and time."""
    saved = read_json(out / f"{study}.json")
    counts = saved["replicates"]
    many = "" if counts == [1] else "s"
    column = "" if len(counts) == 1 else f" (column `replicates` of `{study}.csv`)"
    grid = ", quick grid" if saved["quick"] else ""
    # Methods that were rerun later, by commit.
    later: dict[str, list[str]] = {}
    for method, commits in saved["methods"].items():
        later.setdefault(", ".join(commits), []).append(LABELS[method])
    others = "".join(f", and for {_listed(one)} commit {commit}" for commit, one in later.items())
    text = (
        f"{_listed(counts)} replicate{many}{column}, seed {saved['seed']}{grid}, commit "
        f"{', '.join(saved['commits'])}{others}; "
        f"{saved['processor_seconds'] / 60:.1f} minutes of processor time."
    )
    if saved["of_other_code"] is None:
        return text
    remedy = f"remove `work/{study}` beside this page to rerun"
    return f"{text}\n\n**Warning:** {saved['of_other_code']}; {remedy}."


def figure(name: str, alt: str, caption: str) -> str:
    """A figure in Markdown with its description and its caption."""
    return f"![{alt}]({name})\n\n*{caption}*"


def _listed(words: Sequence[object]) -> str:
    """Words with commas and a last "and"."""
    *first, last = (str(word) for word in words)
    return f"{', '.join(first)} and {last}" if first else last
