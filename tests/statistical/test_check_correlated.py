"""`check` on correlated targets: the tables hold, begin again as published, and are on the page."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import polystein as ps
from tests.conftest import Array

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
PARTS = ("correlated", "correlated_size", "posteriors")


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.check.{part}")


def twentieths() -> list[tuple[str, str, int]]:
    """A twentieth of the replicates of every line."""
    return [
        (part, study(part).STUDY.name(cell), cell.replicates // 20)
        for part in PARTS
        for cell in study(part).STUDY.cells
    ]


@pytest.mark.parametrize("part", PARTS)
def test_the_table_holds_every_cell_in_full_and_no_other(part: str) -> None:
    one = study(part).STUDY
    rows = one.stored()
    assert {name: int(row["replicates"]) for name, row in rows.items()} == {
        one.name(cell): cell.replicates for cell in one.cells
    }
    for row in rows.values():
        assert re.fullmatch(r"[xcs.]+", row["decisions"])
        assert sum(map(row["decisions"].count, "xc")) == int(row["rejections"])
        assert int(row["seed"]) == one.seed


@pytest.mark.parametrize(("part", "name", "count"), twentieths())
def test_the_cells_begin_as_published(part: str, name: str, count: int) -> None:
    one = study(part).STUDY
    decisions = one.stored()[name]["decisions"]
    assert one.marks_of(one.cell(name), range(count)) == decisions[:count]


@pytest.mark.parametrize("part", PARTS)
def test_the_page_shows_the_table(part: str) -> None:
    assert "\n".join(study(part).markdown()) in PAGE.read_text(encoding="utf-8")


def test_draws_of_the_posteriors_have_their_scores() -> None:
    """Central differences of the log densities."""
    targets = study("posterior_targets")
    for label in targets.POSTERIORS:
        density, dimension, _ = targets.target(label)
        mean, root = targets.mode(label)
        points = mean + 0.5 * np.random.default_rng(0).standard_normal((5, dimension)) @ root.T
        spread = np.sqrt(np.diagonal(root @ root.T))
        for j in range(dimension):
            move = np.zeros(dimension)
            move[j] = 1e-4 * spread[j]
            slope = (density(points + move)[0] - density(points - move)[0]) / (2.0 * move[j])
            found = density(points)[1][:, j]
            np.testing.assert_allclose(found * spread[j], slope * spread[j], atol=1e-4)


@pytest.mark.parametrize("label", ["funnel", "banana", "multivariate_t", "log_exponential"])
def test_odd_targets_have_their_scores(label: str) -> None:
    """The mean of s x' + I is 0 for draws of the target, within five standard errors."""
    draws, scores = getattr(study("correlated_targets"), label)(np.random.default_rng(1), 50_000, 3)
    products: Array = scores[:, :, None] * draws[:, None, :] + np.eye(3)
    error = products.std(axis=0) / len(draws) ** 0.5
    assert np.all(np.abs(products.mean(axis=0)) < 5.0 * error)


def test_single_statistics_are_parts_of_the_result() -> None:
    correlated = study("correlated")
    draws = np.random.default_rng(0).standard_normal((1000, 3))
    names = {part.name for part in ps.check(draws, -draws, iid=True).evidence.parts}
    assert {fault.single for fault in correlated.FAULTS.values()} - {None} <= names


def test_ksd_is_shown_and_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` is measured against the other two, and KSD sees no chains."""
    correlated = study("correlated")
    rates = {"check": 0.5, "whitened": 0.4, "ksd": 1.0}
    rows = {
        correlated.name(cell): {"rate": str(rates[method]), "single": "0.55"}
        for key in correlated.FAULTS
        for method, cell in correlated.cells_of(key).items()
    }
    monkeypatch.setattr(type(correlated.STUDY), "stored", lambda _: rows)
    lines = {line.label: line for line in correlated.lines()}
    assert len(lines) == len(correlated.FAULTS)
    promised = [fault.label for fault in correlated.FAULTS.values() if fault.least is None]
    assert all(lines[label].holds for label in promised)
    chains = correlated.FAULTS["langevin"].label
    assert set(lines[chains].rates) == {"check", "whitened", "single"}


def test_one_check_decides_for_its_single_statistic() -> None:
    correlated = study("correlated")
    rows = [
        {"rejected": 1, "single": 1},
        {"rejected": 1, "single": 0},
        {"rejected": 0, "single": 1},
        {"rejected": 0, "single": 0},
    ]
    assert correlated.marks(rows) == "xcs."
    assert correlated.marks([{"rejected": 1}, {"rejected": 0}]) == "x."
    cells = correlated.cells_of("mild-first")
    both = correlated.rates_of(cells["check"], "xxcs.")
    assert both == {"rejections": 3, "rate": "0.6000", "single": "0.6000"}
    assert correlated.rates_of(cells["whitened"], "xx.")["single"] == ""


def test_whitened_chains_are_whitened_rows() -> None:
    correlated = study("correlated")
    rows = np.random.default_rng(0).standard_normal((40, 3)) @ np.array(
        [[1.0, 0.9, 0.0], [0.0, 0.5, 0.0], [0.3, 0.0, 2.0]]
    )
    draws, scores = correlated.whitened(rows, -rows)
    np.testing.assert_allclose(np.cov(draws.T, bias=True), np.eye(3), atol=1e-12)
    chains = correlated.whitened(rows.reshape(4, 10, 3), -rows.reshape(4, 10, 3))
    np.testing.assert_array_equal(chains[0].reshape(40, 3), draws)
    np.testing.assert_array_equal(chains[1].reshape(40, 3), scores)
