"""Sizes before beside after, their errors, and rows without sizes where runs have not settled."""

import json
import math

import numpy as np
import pytest

from polystein.refinement.effects import effect_table, paired
from polystein.results.effects import EffectTable
from polystein.types import FloatArray
from tests.reference.refinement import paired_errors, paired_sizes

RNG = np.random.default_rng(0)


def test_estimates_and_errors_are_those_of_the_infinitesimal_jackknife() -> None:
    before = RNG.gamma(2.0, size=(150, 1))
    after = 1.3 * RNG.gamma(2.0, size=(3, 150, 1)) + 0.4 * before
    found = paired(before, after, np.arange(150))
    mean, log_sd = paired_sizes(np.full(150, 1.0 / 150), before[:, 0], after[:, :, 0])
    mean_error, log_sd_error = paired_errors(before[:, 0], after[:, :, 0])
    assert found.mean[0] == pytest.approx(mean, rel=1e-10)
    assert found.log_sd[0] == pytest.approx(log_sd, rel=1e-10)
    assert found.mean_error[0] == pytest.approx(mean_error, rel=1e-4)
    assert found.log_sd_error[0] == pytest.approx(log_sd_error, rel=1e-4)


def test_rows_that_repeat_within_batches_count_once() -> None:
    before, after = RNG.standard_normal((100, 1)), RNG.standard_normal((1, 100, 1))
    alone = paired(before, after, np.arange(100))
    repeated = paired(
        np.repeat(before, 5, axis=0), np.repeat(after, 5, axis=1), np.arange(0, 500, 5)
    )
    assert repeated.mean_error == pytest.approx(alone.mean_error, rel=1e-10)
    assert repeated.df == alone.df == 99.0


def made(pvalue: float, *, settled: bool) -> EffectTable:
    before, after = RNG.standard_normal((400, 2)), RNG.standard_normal((2, 400, 2))
    before[:, 1] = 0.5 * before[:, 1] + 2.0
    return effect_table(["a", "b"], paired(before, after, np.arange(400)), pvalue, settled)


def test_what_is_off_comes_first_with_its_size() -> None:
    table = made(0.001, settled=True)
    assert {(row.name, row.what) for row in table.found} == {("b", "mean"), ("b", "sd")}
    assert table["b", "mean"].size == pytest.approx(2.0, abs=0.2)
    assert table["b", "sd"].size == pytest.approx(0.5, abs=0.1)
    assert "too small" in table["b", "sd"].sentence


def test_nothing_is_found_unless_the_flips_reject() -> None:
    assert made(0.06, settled=True).found == ()


def test_without_settling_there_is_neither_size_nor_sign() -> None:
    table = made(0.001, settled=False)
    row = table["b", "mean"]
    assert row.found
    assert math.isnan(row.size)
    assert math.isnan(row.estimate)
    assert (row.lower, row.upper) == (-math.inf, math.inf)
    assert "is off: it moved by" in row.sentence
    assert "so far" in row.sentence
    assert not any(word in row.sentence for word in ("high", "low", "small", "large"))
    assert "sd of the moved draws" in row.sentence
    assert table.within(0.1).verdict == "undecided"


def test_how_far_unsettled_runs_moved_is_told_up_to_a_bound() -> None:
    before, after = RNG.standard_normal((400, 1)), RNG.standard_normal((2, 400, 1))
    found = paired(1e-3 * before + 30.0, after, np.arange(400))
    table = effect_table(["a"], found, 0.001, False)
    assert "moved by more than 10 sd of the moved draws so far" in table["a", "mean"].sentence
    assert "moved by more than 1,000 % so far" in table["a", "sd"].sentence


@pytest.mark.parametrize("settled", [True, False])
def test_tables_survive_json(settled: bool) -> None:
    table = made(0.001, settled=settled)
    again = EffectTable.from_dict(json.loads(json.dumps(table.to_dict())))
    assert str(again) == str(table)
    assert again.to_dict() == table.to_dict()


def test_a_column_that_never_moves_is_not_found() -> None:
    before = np.ones((100, 1))
    table = effect_table(["a"], paired(before, before[None], np.arange(100)), 0.001, True)
    assert table.found == ()


def indicator() -> tuple[FloatArray, FloatArray]:
    """An indicator that is 0 at every start, and 1 at a twelfth of the moved rows."""
    return np.zeros((400, 1)), (RNG.random((3, 400, 1)) < 1.0 / 12.0).astype(float)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e9 / 3.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_sd_of_a_column_with_one_value_has_no_size(constant: float, swapped: bool) -> None:
    hit, after = indicator()
    hit, after = hit + constant, after + constant
    before, late = (after[0], np.stack([hit, hit])) if swapped else (hit, after)
    table = effect_table(["hit"], paired(before, late, np.arange(400)), 0.001, True)
    row = table["hit", "sd"]
    assert not row.found
    assert math.isnan(row.size)
    assert math.isnan(row.estimate)
    assert row.sentence == "the sd of `hit` cannot be judged: all draws have one value"
    assert table.within(0.9).verdict == "undecided"
    assert str(EffectTable.from_dict(json.loads(json.dumps(table.to_dict())))) == str(table)


def test_the_mean_of_a_column_with_one_value_before_is_sized() -> None:
    before, after = indicator()
    table = effect_table(["hit"], paired(before, after, np.arange(400)), 0.001, True)
    assert table["hit", "mean"].found
    assert table["hit", "mean"].size == pytest.approx(-after.mean() / after.std())
    assert table.within(0.1).verdict == "beyond"
    assert table.within(0.1).row == table["hit", "mean"]
