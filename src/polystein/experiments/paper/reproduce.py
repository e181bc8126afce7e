"""Every experiment of the paper: run it, tabulate it, draw it, judge it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polystein.experiments.engine.cells import Cell, Row, Scalar, Task, number
from polystein.experiments.engine.runner import run
from polystein.experiments.engine.store import METADATA, write_csv, write_text
from polystein.experiments.engine.summary import decisions, summarise
from polystein.experiments.paper import appendix as appendix_study
from polystein.experiments.paper import experiment1 as first
from polystein.experiments.paper import experiment2 as second
from polystein.experiments.paper import figures, published, sizes, verdict
from polystein.experiments.paper import runtime as runtime_study
from polystein.experiments.paper import snr as snr_study
from polystein.experiments.paper.methods import ALL_METHODS, published_as
from polystein.report.plots import save
from polystein.types import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "verdict.md"
_WORK = "work"
_SECTION = "section.md"


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
    """

    out: Path
    seed: int
    bar: Callable[[str], AbstractContextManager[Progress | None]]
    jobs: int | None = None
    replicates: int | None = None
    quick: bool = False

    def count(self, full: int, quick: int) -> int:
        """Return how many replicates a study has."""
        return self.replicates or (quick if self.quick else full)

    def folder(self, study: str) -> Path:
        """Return where a study keeps its cells."""
        return self.out / _WORK / study

    def run(self, cells: Sequence[Cell], task: Task, jobs: int | None = None) -> list[Row]:
        """Run a study, with a bar."""
        study = cells[0].study
        with self.bar(study) as progress:
            return run(
                cells,
                task,
                out=self.folder(study),
                seed=self.seed,
                jobs=jobs or self.jobs,
                progress=progress,
            )

    def draw(self, figure: Figure, name: str) -> str:
        """Save a figure and return the Markdown that shows it."""
        self.out.mkdir(parents=True, exist_ok=True)
        save(figure, self.out / name)
        return f"![{name.removesuffix('.png')}]({name})"

    def keep(self, name: str, rows: Sequence[Row]) -> None:
        """Write a table beside the figures."""
        write_csv(self.out / name, rows)


def experiment1(options: Options) -> str:
    """Figures 1 and 2."""
    replicates = options.count(first.REPLICATES, first.QUICK_REPLICATES)
    dimensions = first.QUICK_DIMENSIONS if options.quick else first.DIMENSIONS
    rows = options.run(first.cells(replicates, dimensions), first.task)
    summary = summarise(rows, first.BY)
    options.keep("experiment1.csv", summary)
    options.keep("experiment1-decisions.csv", decisions(rows, first.BY))
    comparisons = verdict.compare_experiment1(summary)
    options.keep("experiment1-verdict.csv", verdict.comparison_rows(comparisons))
    return _section(
        "Experiment 1: a standard Gaussian target",
        _how(options, first.STUDY, replicates),
        options.draw(figures.figure1(summary), "figure1.png"),
        options.draw(figures.figure2(summary), "figure2.png"),
        verdict.agreement_section(comparisons),
        sizes.sizes_experiment1(summary, ALL_METHODS),
    )


def experiment2(options: Options) -> str:
    """Table 1."""
    replicates = options.count(second.REPLICATES, second.QUICK_REPLICATES)
    rows = options.run(second.cells(replicates), second.task)
    summary = summarise(rows, second.BY)
    options.keep("experiment2.csv", summary)
    options.keep("experiment2-decisions.csv", decisions(rows, second.BY))
    comparisons = verdict.compare_experiment2(summary)
    options.keep("experiment2-verdict.csv", verdict.comparison_rows(comparisons))
    return _section(
        "Experiment 2: a Gaussian–Bernoulli restricted Boltzmann machine",
        _how(options, second.STUDY, replicates),
        table1(summary),
        verdict.agreement_section(comparisons),
        sizes.sizes_experiment2(summary, second.METHODS),
    )


def runtime(options: Options) -> str:
    """Figures 3 and 4; one process, so that timings do not disturb each other."""
    replicates = options.count(runtime_study.REPLICATES, runtime_study.QUICK_REPLICATES)
    dimensions = runtime_study.QUICK_DIMENSIONS if options.quick else runtime_study.DIMENSIONS
    cells = runtime_study.cells(replicates, dimensions)
    summary = runtime_study.summarise(options.run(cells, runtime_study.task, jobs=1))
    options.keep("runtime.csv", summary)
    return _section(
        "Runtime of λ-PSD",
        _how(options, runtime_study.STUDY, replicates),
        options.draw(figures.runtime_figure(summary, "vary_d"), "figure3.png"),
        options.draw(figures.runtime_figure(summary, "vary_n"), "figure4.png"),
        _speed(summary),
    )


def appendix(options: Options) -> str:
    """Return the appendix: orders up to 8 at d = 16."""
    replicates = options.count(appendix_study.REPLICATES, appendix_study.QUICK_REPLICATES)
    rows = options.run(appendix_study.cells(replicates), appendix_study.task)
    summary = summarise(rows, first.BY)
    options.keep("appendix.csv", summary)
    return _section(
        "Appendix: orders up to 8 at d = 16",
        _how(options, appendix_study.STUDY, replicates),
        options.draw(figures.appendix_figure(summary), "appendix.png"),
    )


def snr(options: Options) -> str:
    """Show the central claim; `replicates` stands for twenty times as many."""
    given = None if options.replicates is None else 20 * options.replicates
    quick = snr_study.QUICK_REPLICATES if options.quick else snr_study.REPLICATES
    summary = snr_study.summarise(options.run(snr_study.cells(given or quick), snr_study.task))
    options.keep("snr.csv", summary)
    slopes = snr_study.slopes()
    low, high = snr_study.SLOPE
    return _section(
        "Signal-to-noise ratio against the order",
        _how(options, snr_study.STUDY, given or quick),
        options.draw(figures.snr_figure(summary), "snr.png"),
        f"Between Q = {low} and {high} log₁₀ of PSD's exact SNR² per draw falls by "
        f"{-slopes.exact:.3f} per order, the corrected law by {-slopes.corrected:.3f}, the "
        f"printed one by {-slopes.printed:.3f}. λ-PSD's does not fall and stays below its bound.",
    )


#: In the order in which they are run and shown.
STUDIES: dict[str, Callable[[Options], str]] = {
    "experiment1": experiment1,
    "experiment2": experiment2,
    "appendix": appendix,
    "snr": snr,
    "runtime": runtime,
}


def reproduce(study: str, options: Options) -> str:
    """Run one study of `STUDIES`; return its section, which also goes to the page."""
    section = STUDIES[study](options)
    metadata = (options.folder(study) / METADATA).read_text(encoding="utf-8")
    write_text(options.out / f"{study}.json", metadata)
    write_text(options.folder(study) / _SECTION, section)
    write_text(options.out / PAGE, page(options))
    return section


def page(options: Options) -> str:
    """Return the page of every study that `out` holds, and the known causes of differences."""
    paths = [options.folder(study) / _SECTION for study in STUDIES]
    sections = [path.read_text(encoding="utf-8") for path in paths if path.exists()]
    heading = (
        "# The paper, reproduced\n\nWritten by `polystein reproduce`. Published and measured "
        "rejection counts are compared cell by cell with Fisher's exact test, two-sided, and "
        "Holm's correction within each method. Table 1 has no counts, only rates: that they rest "
        f"on {verdict.TABLE_REPLICATES} repetitions is the paper's word.\n"
    )
    causes = f"## Known causes of differences\n\n{verdict.known_causes()}\n"
    return "\n".join([heading, *sections, causes])


def table1(summary: Sequence[Row]) -> str:
    """Table 1 in Markdown, published / measured."""
    known = {(one.perturbation, one.method, one.order): one for one in published.experiment2()}
    measured: dict[tuple[Scalar, ...], Row] = {
        (row["perturbation"], row["method"], row["order"]): row for row in summary
    }
    lines = [
        f"| Standard deviation | {' | '.join(f'{p:.2f}' for p in second.PERTURBATIONS)} |",
        "|---|" + "---|" * len(second.PERTURBATIONS),
    ]
    for method in second.METHODS:
        column = published_as(method.name)
        rates = [
            f"{known[p, column, method.order].rejection_rate:.2f} / "
            f"{number(measured[p, method.name, method.order], 'rejection_rate'):.2f}"
            for p in second.PERTURBATIONS
        ]
        lines.append(f"| {method.label} | {' | '.join(rates)} |")
    return "\n".join(["Rejection rates, published / measured:", "", *lines])


def _how(options: Options, study: str, replicates: int) -> str:
    """How the numbers were made: replicates, seed, commits and time."""
    saved = json.loads((options.folder(study) / METADATA).read_text(encoding="utf-8"))
    many = "s" if replicates > 1 else ""
    grid = ", quick grid" if options.quick else ""
    text = (
        f"{replicates} replicate{many}, seed {options.seed}{grid}, commit "
        f"{', '.join(saved['commits'])}; {saved['processor_seconds'] / 60:.1f} minutes of "
        "processor time."
    )
    if saved["of_other_code"] is None:
        return text
    remedy = f"remove `{_WORK}/{study}` beside this page to rerun"
    return f"{text}\n\n**Warning:** {saved['of_other_code']}; {remedy}."


def _speed(summary: Sequence[Row]) -> str:
    """Slowest point of each rule, beside the slowest published one."""
    lines = ["| Weights | Slowest median, seconds | n | d | Q |", "|---|---|---|---|---|"]
    slowest = max(published.runtimes(), key=lambda point: point.median_seconds)
    lines.append(
        f"| published | {slowest.median_seconds:.3g} | {slowest.n} | {slowest.dimension} | "
        f"{slowest.order} |"
    )
    for rule in runtime_study.RULES:
        row = max(
            (row for row in summary if row["weights"] == rule),
            key=lambda row: number(row, "median_seconds"),
        )
        lines.append(
            f"| {rule} | {number(row, 'median_seconds'):.3g} | {row['n']} | {row['d']} | "
            f"{row['order']} |"
        )
    return "\n".join(lines)


def _section(title: str, *paragraphs: str) -> str:
    return "\n\n".join([f"## {title}", *paragraphs]) + "\n"
