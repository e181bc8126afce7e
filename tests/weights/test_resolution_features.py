"""Expanded features: addends of the coarse ones, with the same moments laid out or not."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.source import Rows
from polystein.stein.basis import basis_for
from polystein.stein.witness import PrimalWitness, fit_matrices, projected_moments
from polystein.weights.resolution import (
    CoordinateFeatures,
    CoordinateSums,
    EntryFeatures,
    entry_variances,
)
from tests.reference import resolution
from tests.rows import arbitrary_rows, arbitrary_weights


def trained(sample: ps.Sample, basis: Any, order: int) -> tuple[list[Rows], PrimalWitness]:
    """Every row of every chain, and a witness of them in a frame of its own."""
    rows = [Rows(k, 0, n) for k, n in enumerate(sample.layout.lengths)]
    d = sample.layout.dimension
    frame = Frame(np.full(d, 0.2), np.full(d, 1.1))
    functions = basis_for(basis, order, standardise=True)
    return rows, fit_matrices(sample, rows, functions, frame=frame)


@pytest.mark.parametrize(
    ("features", "entries"), [(CoordinateFeatures, False), (EntryFeatures, True)]
)
def test_fine_features_sum_to_the_coarse_ones(features: Any, entries: bool) -> None:
    draws, scores = arbitrary_rows(40, 3)
    _, witness = trained(ps.Sample(draws, scores), "monomial", 2)
    fine, coarse = features(witness), witness.project(draws, scores)
    table = fine.project(draws, scores)
    assert table.shape == (40, fine.columns)
    # Order after order, and the score's d at last.
    orders = [*np.split(table[:, :-3], 2, axis=1), table[:, -3:]]
    assert [part.shape[1] for part in orders] == ([9, 9, 3] if entries else [3, 3, 3])
    for i, part in enumerate(orders):
        assert part.sum(axis=1) == pytest.approx(coarse[:, i], rel=1e-10, abs=1e-12)


def test_sums_over_orders_are_what_each_coordinate_adds() -> None:
    draws, scores = arbitrary_rows(40, 3)
    _, witness = trained(ps.Sample(draws, scores), "monomial", 2)
    table = CoordinateFeatures(witness).project(draws, scores).reshape(40, 3, 3)
    sums = CoordinateSums(witness)
    assert sums.columns == 3
    assert sums.project(draws, scores) == pytest.approx(table.sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("basis", ["monomial", "hermite", "bounded-hermite"])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_every_addend_is_the_literal_one(basis: Any, structure: Any) -> None:
    draws, scores = arbitrary_rows(12, 3)
    sample, frame = ps.Sample(draws, scores), Frame(np.full(3, 0.2), np.full(3, 1.1))
    functions = basis_for(basis, 2, standardise=True)
    witness = fit_matrices(sample, [Rows(0, 0, 12)], functions, structure, frame=frame)
    matrices = [m if structure == "full" else np.diag(m) for m in witness.A]
    literal = (*frame.apply(draws, scores), basis, structure, matrices, witness.b)
    found = CoordinateFeatures(witness).project(draws, scores)
    assert found == pytest.approx(resolution.coordinate_table(*literal), rel=1e-10, abs=1e-12)
    if structure == "full":
        found = EntryFeatures(witness).project(draws, scores)
        assert found == pytest.approx(resolution.entry_table(*literal), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("basis", ["monomial", "hermite", "bounded-hermite"])
def test_variances_of_entries_are_those_of_the_laid_out_ones(basis: Any, weighted: bool) -> None:
    """Over three chains, so that blocks are merged; one of them may have no weight at all."""
    draws, scores = (table.reshape(3, 40, 4) for table in arbitrary_rows(120, 4))
    log_weights = arbitrary_weights(120)[0].reshape(3, 40)
    log_weights[1] = -np.inf
    sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
    rows, witness = trained(sample, basis, 2)
    features = EntryFeatures(witness)
    laid_out = projected_moments(sample, rows, features, features.columns)
    fast = entry_variances(sample, rows, witness)
    assert fast.covariance.shape == (36,)
    assert fast.mean == pytest.approx(laid_out.mean, rel=1e-10, abs=1e-14)
    assert fast.variance == pytest.approx(laid_out.variance, rel=1e-10)
    assert fast.rows == pytest.approx(laid_out.rows, rel=1e-12)


def test_an_entry_that_does_not_vary_has_no_variance() -> None:
    """s = 3.7/x in one coordinate makes s x + 1 constant; its rounding is no variance."""
    draws, scores = arbitrary_rows(50, 2)
    scores[:, 0] = 3.7 / draws[:, 0]
    sample, rows = ps.Sample(draws, scores), [Rows(0, 0, 50)]
    functions = basis_for("monomial", 1, standardise=True)
    witness = fit_matrices(sample, rows, functions, frame=Frame(None, np.ones(2)))
    moments = entry_variances(sample, rows, witness)
    assert moments.variance[0] == 0.0
    assert np.all(moments.variance[1:] > 0.0)
    assert ps.SoftThreshold().solve(moments, np.random.default_rng(0))[0] == 0.0
