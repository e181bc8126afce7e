"""Expanded features: addends of the coarse ones, with the same moments laid out or not."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps
from polystein.data.coordinates import Coordinates
from polystein.protocols import Rows
from polystein.stein.basis import basis_for
from polystein.stein.expanded import (
    CoordinateFeatures,
    CoordinateSums,
    EntryFeatures,
    entry_variances,
)
from polystein.stein.witness import PrimalWitness, feature_moments, fit_primal
from tests.conftest import arbitrary_rows, arbitrary_weights

Array = NDArray[np.float64]


def trained(sample: ps.Sample, basis: Any, order: int) -> tuple[list[Rows], PrimalWitness]:
    """Every row of every chain, and a witness of them in coordinates of its own."""
    rows = [Rows(k, 0, n) for k, n in enumerate(sample.layout.lengths)]
    d = sample.layout.dimension
    answer = Coordinates(np.full(d, 0.2), np.full(d, 1.1))
    functions = basis_for(basis, order, standardise=True)
    return rows, fit_primal(sample, rows, functions, answer=answer)


@pytest.mark.parametrize("features", [CoordinateFeatures, EntryFeatures])
def test_fine_features_sum_to_the_coarse_ones(features: Any) -> None:
    draws, scores = arbitrary_rows(40, 3)
    _, witness = trained(ps.Sample(draws, scores), "monomial", 2)
    fine, coarse = features(witness), witness.project(draws, scores)
    table = fine.project(draws, scores)
    assert table.shape == (40, len(fine.names))
    assert len(set(fine.names)) == len(fine.names)
    for i, name in enumerate(witness.names):
        kept = [label.split("[")[0] == name for label in fine.names]
        assert table[:, kept].sum(axis=1) == pytest.approx(coarse[:, i], rel=1e-10, abs=1e-12)


def test_sums_over_orders_are_what_each_coordinate_adds() -> None:
    draws, scores = arbitrary_rows(40, 3)
    _, witness = trained(ps.Sample(draws, scores), "monomial", 2)
    table = CoordinateFeatures(witness).project(draws, scores).reshape(40, 3, 3)
    sums = CoordinateSums(witness)
    assert sums.names == ("0", "1", "2")
    assert sums.project(draws, scores) == pytest.approx(table.sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("basis", ["monomial", "hermite", "bounded-hermite"])
def test_variances_of_entries_are_those_of_the_laid_out_ones(basis: Any, weighted: bool) -> None:
    """Over three chains, so that blocks are merged; one of them may have no weight at all."""
    draws, scores = (table.reshape(3, 40, 4) for table in arbitrary_rows(120, 4))
    log_weights = arbitrary_weights(120)[0].reshape(3, 40)
    log_weights[1] = -np.inf
    sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
    rows, witness = trained(sample, basis, 2)
    laid_out = feature_moments(sample, rows, EntryFeatures(witness))
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
    witness = fit_primal(sample, rows, functions, answer=Coordinates(None, np.ones(2)))
    moments = entry_variances(sample, rows, witness)
    assert moments.variance[0] == 0.0
    assert np.all(moments.variance[1:] > 0.0)
    assert ps.SoftThreshold().solve(moments, np.random.default_rng(0))[0] == 0.0
