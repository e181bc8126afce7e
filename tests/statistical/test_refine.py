"""The level of `refine` on right draws, and what its page and tables say."""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.data.target import Target
from polystein.refinement.differences import functions_by, judged_by_flips
from polystein.refinement.kernels import Evaluations
from polystein.refinement.pilots import piloted, run
from polystein.types import FloatArray
from tests.statistical.samplers_laws import LAWS, with_slab

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "refine.md"
REPLICATES, STARTS = 400, 150


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.refine.{part}")


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("name", ["mild funnel", "t3", "log-gamma", "mixture"])
def test_the_level_is_exact_whatever_the_pilots_chose(name: str, gradient: bool) -> None:
    law, rng = LAWS[name](3), np.random.default_rng(11)
    target = Target.of_functions(3, law.log_density, law.score if gradient else None)
    evaluate, rows = Evaluations(target), law.draw(rng, 200)
    found = piloted(evaluate, evaluate(rows, rows), 6 if gradient else 48, rng)
    compared = functions_by(target, ("a", "b", "c"), rows, found.pilots.position, {}, {})
    rejected = 0
    for _ in range(REPLICATES):
        starts = law.draw(rng, STARTS)
        start = evaluate(starts, starts)
        end, _ = run(found.kernel, start, 4 if gradient else 16, rng)
        values = compared.values(start), compared.values(end)
        rejected += judged_by_flips(*values, np.arange(STARTS), rng).pvalue <= 0.05
    assert binomtest(rejected, REPLICATES, 0.05).pvalue > 0.001


def autoregressive(
    rng: np.random.Generator, count: int, length: int, correlation: float
) -> FloatArray:
    """Chains of two coordinates that are stationary: right draws of N(0, I)."""
    chains = np.empty((count, length, 2))
    chains[:, 0] = rng.standard_normal((count, 2))
    for time in range(1, length):
        new = np.sqrt(1.0 - correlation**2) * rng.standard_normal((count, 2))
        chains[:, time] = correlation * chains[:, time - 1] + new
    return chains


#: Right draws of N(0, I), and at most how many of them start.
RIGHT: dict[str, tuple[Callable[[np.random.Generator], FloatArray], int]] = {
    "three rows for each start": (lambda rng: rng.standard_normal((450, 2)), 150),
    "fewer than two rows for each start": (lambda rng: rng.standard_normal((300, 2)), 1000),
    "short slow chains": (lambda rng: autoregressive(rng, 300, 7, 0.99), 1000),
    "long chains": (lambda rng: autoregressive(rng, 4, 500, 0.9), 1000),
}
RIGHT_REPLICATES = 25


def test_refine_has_its_level_on_rows_and_chains() -> None:
    """The whole of `refine`, with the starts, pilots and batches that it chooses."""
    rejected = dict.fromkeys(RIGHT, 0)
    for name, (draw, starts) in RIGHT.items():
        for seed in range(RIGHT_REPLICATES):
            found = ps.refine(
                draw(np.random.default_rng([27, seed])),
                log_density=lambda x: -0.5 * (x**2).sum(axis=1),
                scores=lambda x: -x,
                starts=starts,
                transitions=2,
                rng=seed,
            )
            rejected[name] += found.pvalue <= 0.05
    for count in rejected.values():
        one = binomtest(count, RIGHT_REPLICATES, 0.05, alternative="greater")
        assert one.pvalue > 0.001, rejected
    pooled = len(RIGHT) * RIGHT_REPLICATES
    together = binomtest(sum(rejected.values()), pooled, 0.05, alternative="greater")
    assert together.pvalue > 0.001, rejected


@pytest.mark.parametrize("part", ["level", "faults"])
def test_the_cells_begin_as_published(part: str) -> None:
    one = study(part).STUDY
    for name, line in list(one.stored().items())[:2]:
        assert one.marks_of(one.cell(name), range(3)) == line["decisions"][:3]


@pytest.mark.parametrize("part", ["level", "faults", "right", "fits", "hard", "cost"])
def test_lines_are_complete_and_say_where_they_come_from(part: str) -> None:
    one = study(part).STUDY
    for name, row in one.stored().items():
        assert int(row["seed"]) == study(part).SEED
        assert re.fullmatch(r"[0-9a-f]{40}( [0-9a-f]{40})*", row["commit"])
        if "decisions" in row:
            assert len(row["decisions"]) == int(row["replicates"])
            for key, value in one.rates(one.cell(name), row["decisions"]).items():
                assert row[key] == value


@pytest.mark.parametrize("part", ["level", "faults", "right", "fits", "hard", "cost"])
def test_the_page_shows_the_tables(part: str) -> None:
    shown = re.search(
        rf"<!-- table: {part} -->\n(.*?)<!-- end of table: {part} -->\n",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert shown is not None
    assert shown[1].strip() == "\n".join(study(part).markdown())


def test_the_published_level_holds() -> None:
    lines = {name: line["decisions"] for name, line in study("level").STUDY.stored().items()}
    for name, marks in {**lines, "all cells": "".join(lines.values())}.items():
        rejected = len(marks) - marks.count(".")
        assert binomtest(rejected, len(marks), 0.05, alternative="greater").pvalue > 0.001, name


def test_what_was_missed_hardly_ever_passes_for_within() -> None:
    """Not significantly more often than 0.02."""
    faults = study("faults")
    for name, row in faults.STUDY.stored().items():
        if faults.STUDY.cell(name)["fault"] not in (*faults.MISSED, "slab .01, sd 10"):
            continue
        within = sum(mark in "wX" for mark in row["decisions"])
        count = int(row["replicates"])
        assert binomtest(within, count, 0.02, alternative="greater").pvalue > 0.01, name


def test_a_balance_of_modes_is_judged() -> None:
    stored = study("faults").STUDY.stored()
    assert float(stored["modes .7/.3, d=10"]["called"]) >= 0.9
    right = stored["modes .5/.5, d=10"]
    called, count = (
        round(float(right["called"]) * int(right["replicates"])),
        int(right["replicates"]),
    )
    assert binomtest(called, count, 0.05, alternative="greater").pvalue > 0.01


def test_a_thin_wide_slab_never_passes_for_within() -> None:
    """1 % of the target with an sd of 10 around all draws: its sd is 41 % larger than theirs."""
    law, found = with_slab(3), []
    for seed in range(8):
        found.append(
            ps.refine(
                law.draw(np.random.default_rng([28, seed]), 2000),
                log_density=law.log_density,
                scores=law.score,
                tolerance=0.25,
                rng=seed,
            )
        )
    assert all(one.tolerance != "within" for one in found)
    assert sum(one.pvalue <= 0.05 for one in found) >= 3


def test_the_published_fits_mislead_nobody() -> None:
    rows = list(study("fits").STUDY.stored().values())
    total = {
        key: sum(int(row[key]) for row in rows)
        for key in ("large", "called", "signs", "right", "sized", "covered")
    }
    assert total["called"] >= 0.9 * total["large"]
    assert total["right"] >= 0.98 * total["signs"]
    assert total["covered"] >= 0.93 * total["sized"]
    fits = [row for row in rows if "right draws" not in row["fit"]]
    assert sum(row["settled"] == "yes" for row in fits) >= 0.5 * len(fits)
    assert np.median([float(row["after"]) / float(row["before"]) for row in fits]) <= 1.0 / 3.0


def test_runs_that_settle_slowly_mislead_nobody() -> None:
    """Draws with the exact moments of a centred posterior would have sizes, all of them wrong."""
    for row in study("hard").STUDY.stored().values():
        assert int(row["misled"]) == 0


def test_the_target_of_pymc_costs_little_more_than_a_bare_loop() -> None:
    for row in study("cost").STUDY.stored().values():
        assert float(row["ratio"]) <= 1.3
