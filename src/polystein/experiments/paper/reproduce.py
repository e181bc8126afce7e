"""Every experiment of the paper: run it, tabulate it, draw it, judge it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from polystein.errors import InputError
from polystein.experiments.engine.store import write_text
from polystein.experiments.paper import (
    appendix,
    experiment1,
    experiment2,
    gap,
    runtime,
    sizes,
    snr,
    verdict,
)
from polystein.experiments.paper.reproduction import WORK, Options

PAGE = "verdict.md"


class Study(NamedTuple):
    """What runs a study and writes its tables and figures, and its section from the tables."""

    run: Callable[[Options], None]
    section: Callable[[Path], str]


#: In the order in which studies are run and shown.
STUDIES = {
    "experiment1": Study(experiment1.run, experiment1.section),
    "experiment2": Study(experiment2.run, experiment2.section),
    "appendix": Study(appendix.run, appendix.section),
    "sizes": Study(sizes.run, sizes.section),
    "snr": Study(snr.run, snr.section),
    "gap": Study(gap.run, gap.section),
    "runtime": Study(runtime.run, runtime.section),
}


def reproduce(study: str, options: Options) -> str:
    """Run one study of `STUDIES`; return its section, which also goes to the page."""
    if options.methods and study not in ("experiment1", "experiment2", "appendix"):
        raise InputError(f"`methods` must be empty for {study}; got {', '.join(options.methods)}")
    STUDIES[study].run(options)
    write_text(options.out / PAGE, page(options.out))
    return STUDIES[study].section(options.out)


def holds_reproduction(out: Path) -> bool:
    """Whether a directory has results of `reproduce`, perhaps of a run that was stopped."""
    return any((out / WORK / study).is_dir() for study in STUDIES)


def page(out: Path) -> str:
    """Return the page of every study whose tables `out` holds, and what is known to differ."""
    sections = [
        study.section(out) for name, study in STUDIES.items() if (out / f"{name}.json").exists()
    ]
    heading = (
        "# The paper, reproduced\n\nWritten by `polystein reproduce` from the tables beside this "
        "page. Published and measured rejection counts are compared cell by cell with Fisher's "
        "exact test, two-sided, with Holm's correction within each method, and pooled by the "
        "Cochran–Mantel–Haenszel test. A comparison can show that two rates differ; it cannot show "
        "that they are equal. Where none is significant, the tables say which difference a single "
        "comparison, without Holm's correction, would have found. Table 1 has no counts, only "
        "rates: that they rest on "
        f"{verdict.TABLE_REPLICATES} repetitions is the paper's statement.\n"
    )
    causes = f"## Known causes of differences\n\n{verdict.known_causes()}\n"
    return "\n".join([heading, *sections, causes])
