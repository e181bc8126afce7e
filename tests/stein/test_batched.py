"""Sums of Stein features over batches: those of the literal features, row by row."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row, run_pass
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.stein.basis import Monomial
from polystein.stein.batched import BatchedMoments
from polystein.types import Structure
from tests.reference.squared_length import features

CENTRE, SCALE, ORDER = np.array([0.5, -1.0]), np.array([2.0, 0.5]), 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_batches_are_those_of_the_literal_features(structure: Structure, weighted: bool) -> None:
    rng = np.random.default_rng(2)
    draws = rng.standard_normal((60, 2) if weighted else (2, 30, 2))
    scores = rng.standard_normal(draws.shape)
    log_weights = rng.standard_normal(60) if weighted else None
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    lengths = sample.layout.lengths
    batches = IndependentBatches(lengths, 7) if weighted else EqualBatches(lengths)
    moments = BatchedMoments(Monomial(ORDER), structure, Frame(CENTRE, SCALE), 2, batches)
    run_pass(sample, every_row(sample), moments)
    found = moments.finalise()

    rows = (draws.reshape(-1, 2) - CENTRE) / SCALE
    all_features = np.array(
        [features(x, s * SCALE, ORDER) for x, s in zip(rows, scores.reshape(-1, 2), strict=True)]
    )
    if structure == "diagonal":
        kept = [0, 1] + [2 + 4 * i + j for i in range(ORDER) for j in (0, 3)]
        all_features = all_features[:, kept]
    weights = np.ones(60) if log_weights is None else np.exp(log_weights)
    shares = weights / weights.sum()
    mean = shares @ all_features
    place = np.concatenate([batches.of_rows(c, 0, n) for c, n in enumerate(lengths)])
    sums = np.zeros((batches.total, mean.size))
    np.add.at(sums, place, shares[:, None] * (all_features - mean))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.sums, sums, rtol=1e-9, atol=1e-12)
