"""The study of extensions: its tables begin again as published, and hold what the page says."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.experiments.engine.cells import Replicate

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "extensions.md"
#: Lines of each table, and how many of them are draws from the target.
LINES = {
    "resolutions": (35, 15),
    "structures": (40, 8),
    "training": (30, 10),
    "sides": (24, 8),
    "chains": (12, 12),
    "search": (34, 0),
    "rules": (48, 0),
    "methods": (18, 0),
}
SIGNIFICANT = 0.001


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.extensions.{part}")


def decisions(part: str) -> dict[str, str]:
    return {name: row["decisions"] for name, row in study(part).STUDY.stored().items()}


def is_null(name: str) -> bool:
    return name.startswith(("N(0, I)", "AR(1)"))


def sets(name: str) -> int:
    return 500 if is_null(name) and "d=128" not in name else 200


@pytest.mark.parametrize("part", LINES)
def test_the_table_holds_every_cell_in_full_and_no_other(part: str) -> None:
    one = study(part).STUDY
    rows = one.stored()
    assert list(rows) == [one.name(cell) for cell in one.cells]
    assert (len(rows), sum(map(is_null, rows))) == LINES[part]
    for name, row in rows.items():
        assert re.fullmatch(r"[x.]+", row["decisions"])
        assert len(row["decisions"]) == int(row["replicates"]) == sets(name)
        assert row["decisions"].count("x") == int(row["rejections"])
        assert float(row["rate"]) == int(row["rejections"]) / int(row["replicates"])
        assert int(row["seed"]) == one.seed
        assert re.fullmatch(r"[0-9a-f]{40}( [0-9a-f]{40})*", row["commit"])


@pytest.mark.parametrize("part", LINES)
def test_the_cells_begin_as_published(part: str) -> None:
    """A twentieth of every line, decision by decision."""
    one = study(part).STUDY
    for name, marks in decisions(part).items():
        again = len(marks) // 20
        assert one.marks_of(one.cell(name), range(again)) == marks[:again], name


def test_the_search_takes_the_published_rounds() -> None:
    runtime = study("runtime")
    rows = runtime.STUDY.stored()
    for label, reading in runtime.search_readings(0).items():
        assert reading.rounds == int(rows[f"search, {label}"]["rounds"].split()[0])


def test_rounds_are_counted_one_by_one() -> None:
    runtime = study("runtime")
    draws = np.random.default_rng(0).laplace(size=(200, 2))
    measured = runtime.Measured(ps.CrossEntropy(iterations=4, tolerance=0.0, candidates=50))
    result = ps.lambda_psd_test(draws, -draws, order=3, weights=measured, rng=1)
    plain = ps.lambda_psd_test(draws, -draws, order=3, weights=measured.rule, rng=1)
    assert (measured.rounds, result.statistic) == (4, plain.statistic)
    assert measured.milliseconds > 0.0


def test_all_tests_of_a_part_see_the_same_draws_and_split() -> None:
    comparison, sides = study("comparison"), study("sides")
    cells = [sides.STUDY.cell(f"perturbed, d=32, {test}") for test in sides.TESTS]
    found = [comparison.sample(Replicate(cell, 3, 0), sides.DRAWS) for cell in cells]
    assert len({np.asarray(rows.draws).tobytes() for rows, _ in found}) == 1
    assert len({common.stream("split").spawn_key for _, common in found}) == 1


def test_neighbours_are_correlated_and_standard_normal() -> None:
    """Within five standard errors at n = 10^5."""
    draws = study("comparison").correlated_neighbours(np.random.default_rng(0), 100_000, 4)
    expected = 0.1 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=5 * (2 / 100_000) ** 0.5)


@pytest.mark.parametrize("part", [part for part, (_, nulls) in LINES.items() if nulls])
def test_no_size_is_above_what_chance_allows_at_the_level(part: str) -> None:
    """But for the test for independent rows on chains with memory, with or without blocks."""
    for name, marks in decisions(part).items():
        if is_null(name) and not (name.endswith("`IID`") and not name.startswith("AR(1) 0,")):
            test = binomtest(marks.count("x"), len(marks), 0.05, alternative="greater")
            assert test.pvalue > SIGNIFICANT, name


@pytest.mark.parametrize("memory", ["0.5", "0.9"])
@pytest.mark.parametrize("setting", ["as printed: `RandomSplit`, `IID`", "`BlockSplit`, `IID`"])
def test_the_variance_of_independent_rows_rejects_good_chains(memory: str, setting: str) -> None:
    marks = decisions("chains")[f"AR(1) {memory}, {setting}"]
    test = binomtest(marks.count("x"), len(marks), 0.05, alternative="greater")
    assert test.pvalue < SIGNIFICANT


def pairs(part: str, first: str, second: str) -> tuple[int, int]:
    """How often only the first line rejected, and only the second, on the same draws."""
    one, other = decisions(part)[first], decisions(part)[second]
    both = list(zip(one, other, strict=True))
    return both.count(("x", ".")), both.count((".", "x"))


@pytest.mark.parametrize(
    ("part", "better", "worse"),
    [
        *(
            ("resolutions", f"perturbed, d={d}, Q=2, {one}", f"perturbed, d={d}, Q=2, order")
            for d in (64, 128)
            for one in ("hierarchical", "coordinate", "entry")
        ),
        *(
            ("resolutions", "Laplace, d=64, Q=3, order", f"Laplace, d=64, Q=3, {one}")
            for one in ("coordinate", "entry")
        ),
        ("structures", "perturbed, d=64, λ-PSD, diagonal", "perturbed, d=64, λ-PSD, full"),
        ("structures", "neighbours, d=64, λ-PSD, full", "neighbours, d=64, λ-PSD, diagonal"),
        ("structures", "perturbed, d=64, PSD, full", "perturbed, d=64, λ-PSD, full"),
        ("training", "perturbed, d=32, λ-PSD, 0.5", "perturbed, d=32, λ-PSD, 0.85"),
        ("training", "perturbed, d=32, PSD, 0.5", "perturbed, d=32, PSD, 0.7"),
        ("sides", "perturbed, d=64, λ-PSD, one-sided", "perturbed, d=64, λ-PSD, two-sided"),
        ("rules", "Laplace, d=16, `CrossEntropy()`, Q=8", "Laplace, d=16, `ClosedForm()`, Q=8"),
        (
            "rules",
            "Laplace, d=16, `CrossEntropy()`, Q=8",
            "Laplace, d=16, `CrossEntropy.published()`, Q=8",
        ),
    ],
)
def test_what_the_page_calls_better_is_significantly_better(
    part: str, better: str, worse: str
) -> None:
    """McNemar's exact test: of the sets on which two tests differ, most are for the better one."""
    won, lost = pairs(part, better, worse)
    assert binomtest(won, won + lost, 0.5, alternative="greater").pvalue < SIGNIFICANT


def test_the_page_is_as_the_command_writes_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    main = importlib.import_module("studies.extensions.__main__")
    command = importlib.import_module("studies._command")
    assert command.on_page(text, main.PAGE, command.tables_of(main.PARTS)) == text
