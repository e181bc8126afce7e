"""Every experiment of the paper: run it, tabulate it, draw it, judge it."""

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
    write_text,
)
from polystein.experiments.engine.summary import decisions, summarise
from polystein.experiments.paper import (
    appendix,
    experiment1,
    experiment2,
    figures,
    gap,
    runtime,
    sizes,
    snr,
    verdict,
)
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


def _experiment1(options: Options) -> None:
    """Tables and figures 1 and 2; the quick grid has all replicates of the z-tests."""
    dimensions = experiment1.QUICK_DIMENSIONS if options.quick else experiment1.DIMENSIONS

    def cells(part: str) -> list[Cell]:
        full = experiment1.REPLICATES
        quick = experiment1.QUICK_REPLICATES if part == "rivals" else full
        return experiment1.cells(options.count(full, quick), dimensions)

    by, parts = experiment1.BY, {"z-tests": Z_TESTS, "rivals": RIVALS}
    rows, names = options.run_methods(cells, experiment1.task, parts)
    summary = options.keep("experiment1.csv", summarise(rows, by), ALL_METHODS)
    options.keep("experiment1-decisions.csv", decisions(rows, by), ALL_METHODS)
    comparisons = verdict.compare_experiment1(summary)
    options.keep("experiment1-verdict.csv", verdict.comparison_rows(comparisons))
    options.draw(figures.figure1(summary), "figure1.png")
    options.draw(figures.figure2(summary), "figure2.png")
    options.note(experiment1.STUDY, names)


def _experiment2(options: Options) -> None:
    """Table 1: the methods share the draws, which take most of the time."""
    replicates = options.count(experiment2.REPLICATES, experiment2.QUICK_REPLICATES)
    cells, by, methods = experiment2.cells(replicates), experiment2.BY, experiment2.METHODS
    rows, names = options.run_methods(lambda _: cells, experiment2.task, {"": methods})
    summary = options.keep("experiment2.csv", summarise(rows, by), methods)
    options.keep("experiment2-decisions.csv", decisions(rows, by), methods)
    comparisons = verdict.compare_experiment2(summary)
    options.keep("experiment2-verdict.csv", verdict.comparison_rows(comparisons))
    options.note(experiment2.STUDY, names)


def _appendix(options: Options) -> None:
    """Orders up to 8 at d = 16; z-tests only, so the quick grid is the full one."""
    cells = appendix.cells(options.count(appendix.REPLICATES, appendix.REPLICATES))
    methods = appendix.METHODS
    rows, names = options.run_methods(lambda _: cells, experiment1.task, {"": methods})
    summary = options.keep("appendix.csv", summarise(rows, experiment1.BY), methods)
    options.draw(figures.appendix_figure(summary), "appendix.png")
    options.note(appendix.STUDY, names)


def _sizes(options: Options) -> None:
    """Size of lambda-PSD over many sets of exact draws."""
    cells = sizes.cells(options.count(sizes.REPLICATES, sizes.QUICK_REPLICATES))
    rows = options.run(cells, sizes.task)
    options.keep("sizes.csv", summarise(rows, sizes.BY))
    options.keep("sizes-decisions.csv", decisions(rows, sizes.BY))
    options.note(sizes.STUDY)


def _snr(options: Options) -> None:
    """Show the central claim; `replicates` stands for twenty times as many."""
    given = None if options.replicates is None else 20 * options.replicates
    default = snr.QUICK_REPLICATES if options.quick else snr.REPLICATES
    rows = options.run(snr.cells(given or default), snr.task)
    summary = options.keep("snr.csv", snr.summarise(rows))
    options.draw(figures.snr_figure(summary), "snr.png")
    options.note(snr.STUDY)


def _gap(options: Options) -> None:
    """Show how much of the best SNR^2 is reached; nothing is random, and there is no quick form."""
    rows = options.run(gap.cells(), gap.task)
    summary = options.keep("gap.csv", gap.summarise(rows))
    options.draw(gap.gap_figure(summary), "gap.png")
    options.note(gap.STUDY)


def _runtime(options: Options) -> None:
    """Figures 3 and 4; one process, so that timings do not disturb each other."""
    replicates = options.count(runtime.REPLICATES, runtime.QUICK_REPLICATES)
    dimensions = runtime.QUICK_DIMENSIONS if options.quick else runtime.DIMENSIONS
    rows = options.run(runtime.cells(replicates, dimensions), runtime.task, jobs=1)
    summary = options.keep("runtime.csv", runtime.summarise(rows))
    options.draw(figures.runtime_figure(summary, "vary_d"), "figure3.png")
    options.draw(figures.runtime_figure(summary, "vary_n"), "figure4.png")
    options.note(runtime.STUDY)


#: In the order of the page.
STUDIES: dict[str, Callable[[Options], None]] = {
    "experiment1": _experiment1,
    "experiment2": _experiment2,
    "appendix": _appendix,
    "sizes": _sizes,
    "snr": _snr,
    "gap": _gap,
    "runtime": _runtime,
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

    def settings(row: Row) -> tuple[Scalar, ...]:
        """What stands before the method: the settings of the cell."""
        names = list(row)
        return tuple(row[name] for name in names[: names.index("method")])

    cell = {found: at for at, found in enumerate(dict.fromkeys(map(settings, rows)))}
    place: dict[tuple[Scalar, Scalar], int] = {
        (method.name, method.order): at for at, method in enumerate(methods)
    }
    return sorted(rows, key=lambda row: (cell[settings(row)], place[row["method"], row["order"]]))
