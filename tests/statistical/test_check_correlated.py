"""`check` on correlated targets: the tables hold, begin again as published, and are on the page."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest, norm

import polystein as ps
from tests.conftest import Array

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
PARTS = ("correlated", "correlated_size", "posteriors", "rows_needed")


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.check.{part}")


def twentieths() -> list[tuple[str, str, int]]:
    """A twentieth of the replicates of every line of a rival; none where there are no studies.

    Lines of `check` are of the one before its shares were chosen anew, and have to be made again.
    """
    if importlib.util.find_spec("studies") is None:
        return []
    return [
        (part, study(part).STUDY.name(cell), cell.replicates // 20)
        for part in PARTS
        for cell in study(part).STUDY.cells
        if dict(cell.settings).get("method", "check") not in ("check", "whitened")
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


def test_log_ratios_are_those_of_the_densities() -> None:
    needed = study("rows_needed")
    rng = np.random.default_rng(0)
    for fault in needed.FAULTS.values():
        z = rng.standard_normal((20, fault.dimension))
        right = norm.logpdf(z).sum(axis=1)
        wrong = norm.logpdf(z, fault.shift, fault.scale).sum(axis=1)
        if fault.missing is not None:
            there = np.zeros(fault.dimension)
            there[0] = fault.missing
            other = norm.logpdf(z, there).sum(axis=1)
            right = np.log(0.9 * np.exp(right) + 0.1 * np.exp(other))
        assert fault.log_ratio(z) == pytest.approx(float(np.sum(wrong - right)), rel=1e-9)


def test_the_likelihood_ratio_test_has_its_level_and_its_power() -> None:
    """Of a shift d the power is known: the normal tail beyond 1.645 - d sqrt(n)."""
    needed = study("rows_needed")
    rng, fault, rows = np.random.default_rng(1), needed.FAULTS["axis"], 128
    bound = needed.critical("axis", rows)
    rejected = sum(fault.log_ratio(fault.right(rng, rows)) > bound for _ in range(1000))
    assert binomtest(rejected, 1000, 0.05).pvalue > 0.01
    found = sum(fault.log_ratio(fault.draw(rng, rows)[0]) > bound for _ in range(1000))
    assert binomtest(found, 1000, float(norm.sf(1.645 - 0.2 * rows**0.5))).pvalue > 0.01


def test_rows_are_interpolated_between_rates_that_grow() -> None:
    needed = study("rows_needed")
    assert needed.interpolated([16, 64], [0.7, 0.9]).rows == pytest.approx(32.0)
    assert needed.interpolated([16, 32, 64], [0.75, 0.65, 0.9]).rows == pytest.approx(2**5.5)
    assert needed.interpolated([16, 64], [0.1, 0.2]).words == "> 64"
    with pytest.raises(ValueError, match="too many"):
        needed.interpolated([16, 64], [0.9, 0.95])


def test_rows_needed_are_within_what_is_promised() -> None:
    needed = study("rows_needed")
    lines = needed.lines()
    assert list(lines) == list(needed.FAULTS)
    assert lines[needed.PROMISED].times <= needed.MOST_TIMES
    # No test needs fewer rows than that of the likelihood ratio, but for chance.
    assert all(line.check.reached and line.times > 0.9 for line in lines.values())


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


#: Lines of the tables that fall short of what is promised.
SHORT = {
    "condition 10⁴, d=100: mean 0.2, first axis",
    "AR .95 covariance, d=20: multivariate t(30) target",
    "N(0, I), d=10: all variances + 5 %",
    "N(0, I), d=20: all variances − 3 %",
    "logistic regression, predictors correlated 0.95 | unadjusted Langevin, variances + 5 %",
    "regression with an intercept far from the data | unadjusted Langevin, variances + 5 %",
}


def test_all_other_lines_hold() -> None:
    lines = [*study("correlated").lines(), *study("posteriors").lines()]
    assert {line.label for line in lines if not line.holds} == SHORT
    sizes = study("correlated_size")
    assert all(sizes.holds(float(row["rate"])) for row in sizes.STUDY.stored().values())


def test_the_lines_that_fall_short_could_not_all_hold() -> None:
    """What part of the level a normal statistic of the single one's power needs, as on the page."""
    correlated, needed = study("correlated"), {}
    for line in correlated.lines():
        if not line.holds:
            shift = norm.ppf(line.rates["single"]) + norm.isf(0.05)
            level = norm.sf(shift - norm.ppf(correlated.wanted_of(line.rates)))
            needed[line.label] = round(level / 0.05, 2)
    long, series = (next(one for one in needed if text in one) for text in ("d=100", "t(30)"))
    assert (needed[series], needed[long]) == (0.53, 0.59)


def test_what_is_lost_with_fewer_than_two_rows_a_coordinate() -> None:
    """The loss that the page tells: one standard deviation along the first axis."""
    axes = study("correlated_targets").equicorrelated(0.9, 100)
    found = {199: 0, 200: 0}
    for rows in found:
        for seed in range(15):
            z = np.random.default_rng([seed, rows]).standard_normal((rows, 100))
            z[:, 0] += 1.0
            found[rows] += ps.check(*axes.seen(z, -z), iid=True).rejected()
    assert found == {199: 1, 200: 15}
