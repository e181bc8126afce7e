"""Every experiment of the paper: run it, tabulate it, draw it, judge it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polystein.errors import InputError
from polystein.experiments.engine.cells import Cell, Row, Scalar, Task, number
from polystein.experiments.engine.runner import run
from polystein.experiments.engine.store import (
    METADATA,
    read_csv,
    write_csv,
    write_json,
    write_text,
)
from polystein.experiments.engine.summary import decisions, summarise
from polystein.experiments.paper import appendix as appendix_study
from polystein.experiments.paper import experiment1 as first
from polystein.experiments.paper import experiment2 as second
from polystein.experiments.paper import figures, verdict
from polystein.experiments.paper import gap as gap_study
from polystein.experiments.paper import runtime as runtime_study
from polystein.experiments.paper import sizes as sizes_study
from polystein.experiments.paper import snr as snr_study
from polystein.experiments.paper.methods import ALL_METHODS, LABELS, RIVALS, Z_TESTS, Method
from polystein.experiments.paper.page import SECTIONS, page
from polystein.report.plots import save
from polystein.types import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "verdict.md"
_WORK = "work"


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

    def parts(self, parts: dict[str, tuple[Method, ...]]) -> dict[str, tuple[Method, ...]]:
        """Return which methods are run apart from others: `parts`, or the chosen `methods`."""
        if not self.methods:
            return parts
        chosen = (one for part in parts.values() for one in part if one.name in self.methods)
        return {"-".join(self.methods): tuple(chosen)}

    def folder(self, study: str, part: str = "") -> Path:
        """Return where a study, or a part of it, keeps its cells."""
        return self.out / _WORK / study / part

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
        found = [_read_json(self.folder(study, part) / METADATA) for part in parts]
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
            before, table = _read_json(path), read_csv(self.out / f"{study}.csv")
            seconds = before["processor_seconds"] + saved["processor_seconds"]
            saved = {
                **before,
                "replicates": sorted({row["replicates"] for row in table}),
                "processor_seconds": round(seconds, 1),
                "methods": {**before["methods"], **dict.fromkeys(self.methods, commits)},
            }
        write_json(path, saved)


def _read_json(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


def experiment1(options: Options) -> None:
    """Tables and figures 1 and 2; the quick grid has all replicates of the z-tests."""
    dimensions = first.QUICK_DIMENSIONS if options.quick else first.DIMENSIONS
    rows, parts = list[Row](), list[str]()
    for name, methods in options.parts({"z-tests": Z_TESTS, "rivals": RIVALS}).items():
        quick = first.QUICK_REPLICATES if name == "rivals" else first.REPLICATES
        cells = first.cells(options.count(first.REPLICATES, quick), dimensions)
        rows += options.run(cells, partial(first.task, methods=methods), part=name)
        parts.append(name)
    summary = options.keep("experiment1.csv", summarise(rows, first.BY), ALL_METHODS)
    options.keep("experiment1-decisions.csv", decisions(rows, first.BY), ALL_METHODS)
    comparisons = verdict.compare_experiment1(summary)
    options.keep("experiment1-verdict.csv", verdict.comparison_rows(comparisons))
    options.draw(figures.figure1(summary), "figure1.png")
    options.draw(figures.figure2(summary), "figure2.png")
    options.note(first.STUDY, parts)


def experiment2(options: Options) -> None:
    """Table 1: the methods share the draws, which take most of the time."""
    replicates = options.count(second.REPLICATES, second.QUICK_REPLICATES)
    ((name, methods),) = options.parts({"": second.METHODS}).items()
    cells = second.cells(replicates)
    rows = options.run(cells, partial(second.task, methods=methods), part=name)
    summary = options.keep("experiment2.csv", summarise(rows, second.BY), second.METHODS)
    options.keep("experiment2-decisions.csv", decisions(rows, second.BY), second.METHODS)
    comparisons = verdict.compare_experiment2(summary)
    options.keep("experiment2-verdict.csv", verdict.comparison_rows(comparisons))
    options.note(second.STUDY, [name])


def appendix(options: Options) -> None:
    """Orders up to 8 at d = 16; z-tests only, so the quick grid is the full one."""
    replicates = options.count(appendix_study.REPLICATES, appendix_study.REPLICATES)
    ((name, methods),) = options.parts({"": appendix_study.METHODS}).items()
    cells = appendix_study.cells(replicates)
    rows = options.run(cells, partial(first.task, methods=methods), part=name)
    summary = options.keep("appendix.csv", summarise(rows, first.BY), appendix_study.METHODS)
    options.draw(figures.appendix_figure(summary), "appendix.png")
    options.note(appendix_study.STUDY, [name])


def sizes(options: Options) -> None:
    """Size of lambda-PSD over many sets of exact draws."""
    replicates = options.count(sizes_study.REPLICATES, sizes_study.QUICK_REPLICATES)
    rows = options.run(sizes_study.cells(replicates), sizes_study.task)
    options.keep("sizes.csv", summarise(rows, sizes_study.BY))
    options.keep("sizes-decisions.csv", decisions(rows, sizes_study.BY))
    options.note(sizes_study.STUDY)


def snr(options: Options) -> None:
    """Show the central claim; `replicates` stands for twenty times as many."""
    given = None if options.replicates is None else 20 * options.replicates
    quick = snr_study.QUICK_REPLICATES if options.quick else snr_study.REPLICATES
    rows = options.run(snr_study.cells(given or quick), snr_study.task)
    summary = options.keep("snr.csv", snr_study.summarise(rows))
    options.draw(figures.snr_figure(summary), "snr.png")
    options.note(snr_study.STUDY)


def gap(options: Options) -> None:
    """Show how much of the best SNR^2 is reached; nothing is random, and there is no quick form."""
    rows = options.run(gap_study.cells(), gap_study.task)
    summary = options.keep("gap.csv", gap_study.summarise(rows))
    options.draw(gap_study.gap_figure(summary), "gap.png")
    options.note(gap_study.STUDY)


def runtime(options: Options) -> None:
    """Figures 3 and 4; one process, so that timings do not disturb each other."""
    replicates = options.count(runtime_study.REPLICATES, runtime_study.QUICK_REPLICATES)
    dimensions = runtime_study.QUICK_DIMENSIONS if options.quick else runtime_study.DIMENSIONS
    cells = runtime_study.cells(replicates, dimensions)
    rows = options.run(cells, runtime_study.task, jobs=1)
    summary = options.keep("runtime.csv", runtime_study.summarise(rows))
    options.draw(figures.runtime_figure(summary, "vary_d"), "figure3.png")
    options.draw(figures.runtime_figure(summary, "vary_n"), "figure4.png")
    options.note(runtime_study.STUDY)


#: In the order of the page.
STUDIES: dict[str, Callable[[Options], None]] = {
    "experiment1": experiment1,
    "experiment2": experiment2,
    "appendix": appendix,
    "sizes": sizes,
    "snr": snr,
    "gap": gap,
    "runtime": runtime,
}


def reproduce(study: str, options: Options) -> str:
    """Run one study of `STUDIES`; return its section, which also goes to the page."""
    if options.methods and study not in ("experiment1", "experiment2", "appendix"):
        raise InputError(f"`methods` must be empty for {study}; got {', '.join(options.methods)}")
    STUDIES[study](options)
    write_text(options.out / PAGE, page(options.out))
    return SECTIONS[study](options.out)


def holds_reproduction(out: Path) -> bool:
    """Whether a directory has results of `reproduce`, perhaps of a run that was stopped."""
    return any((out / _WORK / study).is_dir() for study in STUDIES)


def arranged(rows: Sequence[Row], methods: Sequence[Method]) -> list[Row]:
    """Sort rows of one table: settings as they first come, then `methods` in their order."""
    place = {(method.name, method.order): at for at, method in enumerate(methods)}
    settings = list(dict.fromkeys(_settings(row) for row in rows))
    cell = {found: at for at, found in enumerate(settings)}
    return sorted(
        rows, key=lambda row: (cell[_settings(row)], place[str(row["method"]), _order(row)])
    )


def _settings(row: Row) -> tuple[Scalar, ...]:
    """What stands before the method: the settings of the cell."""
    names = list(row)
    return tuple(row[name] for name in names[: names.index("method")])


def _order(row: Row) -> int | None:
    return None if row["order"] is None else int(number(row, "order"))
