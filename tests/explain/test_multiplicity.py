"""Holm's p-values with weights."""

import numpy as np
import pytest

from polystein.explain.multiplicity import weighted_holm
from tests.reference import corrections as literal


def test_equal_weights_give_holm() -> None:
    found = weighted_holm([0.01, 0.04, 0.03], [1 / 3] * 3)
    assert found == pytest.approx([0.03, 0.06, 0.06])


def test_weights_against_the_literal_procedure() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        pvalues, weights = rng.random(7) ** 3, rng.dirichlet(np.ones(9))[:7]
        expected = literal.holm(pvalues.tolist(), weights.tolist())
        assert weighted_holm(pvalues, weights) == pytest.approx(expected)


def test_looks_that_were_left_out_count() -> None:
    """As if they had been looked at and had p-values of 1."""
    some = weighted_holm([0.001, 0.01], [0.1, 0.1])
    every = weighted_holm([0.001, 0.01, *[1.0] * 8], [0.1] * 10)
    assert some == pytest.approx(every[:2])
