"""Sums of products, fold by fold."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.explain.designs import CoordinateDesign, MeansDesign
from polystein.explain.gram import Folds, GramPass, in_groups
from tests.explain.rows import frame_of, seen_of, skewed


def test_folds_are_contiguous_and_nearly_equal() -> None:
    draws, scores = skewed(203)
    source = ps.Sample(draws.reshape(7, 29, 3), scores.reshape(7, 29, 3))
    counts = np.zeros(5)
    for chain in range(7):
        for fold, rows in Folds(source.layout).pieces(source.read(chain, 0, 29)):
            counts[fold] += rows.stop - rows.start
    assert counts.sum() == 203
    assert counts.max() - counts.min() <= 1


def test_sums_are_those_of_the_rows_of_each_fold() -> None:
    draws, scores = skewed(203)
    source, seen = ps.Sample(draws, scores), seen_of(draws, scores)
    sums = GramPass([MeansDesign(3), CoordinateDesign(3, 2)], frame_of(draws), Folds(source.layout))
    run_pass(source, every_row(source), sums, most=17)
    columns = CoordinateDesign(3, 2).columns(seen)
    for fold, rows in enumerate(np.array_split(np.arange(203), 5)):
        borders = Folds(source.layout).borders
        rows = np.arange(borders[fold], borders[fold + 1])
        assert sums.matrices[1][fold] == pytest.approx(columns[rows].T @ columns[rows])


def test_designs_are_grouped_by_the_size_of_their_matrices() -> None:
    designs = [MeansDesign(3)] * 5
    size = 5 * 7**2
    assert [len(group) for group in in_groups(designs, 2 * size)] == [2, 2, 1]
    assert [len(group) for group in in_groups(designs, 1)] == [1] * 5
