"""The studies of effects: their tables begin again as published, and hold what the page says."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "effects.md"


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.effects.{part}")


def lines(part: str) -> list[str]:
    table = Path(__file__).parents[2] / "studies" / "effects" / f"{part}.csv"
    return list(study(part).STUDY.stored()) if table.exists() else []


AGAIN = [(part, name) for part in ("planted", "tolerance") for name in lines(part)]


@pytest.mark.parametrize(("part", "name"), AGAIN)
def test_the_cells_begin_as_published(part: str, name: str) -> None:
    one = study(part).STUDY
    decisions = one.stored()[name]["decisions"]
    count = len(decisions) // 20
    assert one.marks_of(one.cell(name), range(count)) == decisions[:count]


@pytest.mark.parametrize("part", ["planted", "tolerance"])
def test_lines_are_complete_and_say_where_they_come_from(part: str) -> None:
    one = study(part).STUDY
    for name, row in one.stored().items():
        assert len(row["decisions"]) == int(row["replicates"]) == one.cell(name).replicates
        assert int(row["seed"]) == one.seed
        assert re.fullmatch(r"[0-9a-f]{40}( [0-9a-f]{40})*", row["commit"])
        for key, value in one.rates(one.cell(name), row["decisions"]).items():
            assert row[key] == value


def test_with_nothing_planted_little_is_named() -> None:
    """Not significantly more often than 0.06."""
    stored = study("planted").STUDY.stored()
    for name, row in stored.items():
        if name.endswith("none"):
            named = row["decisions"].count("x")
            test = binomtest(named, len(row["decisions"]), 0.06, alternative="greater")
            assert test.pvalue > 0.01, name


#: The correlation of one pair of AR .95 can be off by 0.08 at the most: three standard errors of
#: independent draws, fewer of chains.
TOO_SMALL = ("AR .95, independent, correlation", "AR .95, chains, correlation")


def test_the_right_parameter_is_named_first() -> None:
    """Not significantly less often than 0.95, 0.9 for the skewness."""
    for name, row in study("planted").STUDY.stored().items():
        if name.endswith("none") or name in TOO_SMALL:
            continue
        first = sum(mark in "abcd" for mark in row["decisions"].lower())
        asked = 0.9 if name.endswith("skew") else 0.95
        test = binomtest(first, len(row["decisions"]), asked, alternative="less")
        assert test.pvalue > 0.01, name


def test_reliable_intervals_cover() -> None:
    """Not significantly less often than 0.91."""
    for name, row in study("planted").STUDY.stored().items():
        reliable = [mark for mark in row["decisions"] if mark in "abcdef"]  # "g" has no interval
        if name.endswith("none") or not reliable:
            continue
        covered = sum(mark in "ace" for mark in reliable)
        assert binomtest(covered, len(reliable), 0.91, alternative="less").pvalue > 0.01, name


def test_little_is_declared_wrongly_at_the_border() -> None:
    for name, row in study("tolerance").STUDY.stored().items():
        for wrong in "wb":
            count = row["decisions"].count(wrong)
            test = binomtest(count, len(row["decisions"]), 0.05, alternative="greater")
            assert test.pvalue > 0.01, (name, wrong)


def test_a_line_of_the_corrected_expectations_comes_out_again() -> None:
    corrected = study("corrected")
    name = "(b) linear regression, sigma unknown, Laplace"
    values = corrected.lines()[name]()
    shown = ", ".join(f"{key} {value}" for key, value in values.items())
    assert shown == corrected.STUDY.stored()[name]["values"]


@pytest.mark.parametrize("name", lines("sizes"))
def test_the_sizes_begin_as_published(name: str) -> None:
    """The first set of draws of a target, which has the target's moments."""
    sizes = study("sizes")
    first = sizes.in_words(next(sizes.counts_of(name)))
    assert first == sizes.STUDY.stored()[name]["each"].split("; ")[0]


def test_sizes_are_sums_and_say_where_they_come_from() -> None:
    sizes = study("sizes")
    stored = sizes.STUDY.stored()
    assert list(stored) == list(sizes.NAMES)
    for name, row in stored.items():
        each = [part.split() for part in row["each"].split("; ")]
        for key, own in zip(sizes.SUMS, zip(*each, strict=True), strict=True):
            assert int(row[key]) == sum(map(int, own)), (name, key)
        assert int(row["seed"]) == sizes.SEED
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])


@pytest.mark.parametrize("part", ["planted", "tolerance", "corrected", "sizes"])
def test_the_page_has_the_tables(part: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    start, end = f"<!-- table: {part} -->\n", f"<!-- end of table: {part} -->\n"
    between = text.partition(start)[2].partition(end)[0]
    assert between.strip() == "\n".join(study(part).markdown())


def test_a_small_fault_of_a_million_draws_is_rejected_and_within_the_tolerance() -> None:
    draws = 1.01 * np.random.default_rng(0).standard_normal((1_000_000, 5))
    result = ps.check(draws, -draws, iid=True, tolerance=0.1, rng=0)
    assert (result.verdict, result.tolerance) == ("rejected", "within")
