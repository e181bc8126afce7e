"""What no errors can be estimated from."""

import numpy as np
import pytest

import polystein as ps
from polystein.explain.refusals import ConstantValuesError, require_varying_scores


def products(scores: np.ndarray) -> np.ndarray:
    """Averages of products of (1, s, x)."""
    rows = np.concatenate([np.ones((len(scores), 1)), scores, scores], axis=1)
    return rows.T @ rows / len(rows)


def test_constant_scores_are_named() -> None:
    scores = np.random.default_rng(0).standard_normal((50, 3))
    require_varying_scores(products(scores))
    scores[:, 1] = 2.0
    with pytest.raises(ps.DegenerateError, match=r"coordinate 1 is constant \(1 of 3 are\)"):
        require_varying_scores(products(scores))


def test_constant_functions_are_numbered() -> None:
    error = ConstantValuesError(3)
    assert isinstance(error, ps.DegenerateError)
    assert error.number == 3
