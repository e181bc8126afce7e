"""How Stein moments are compared with literal ones."""

from typing import Any

import numpy as np
import pytest


def assert_moments(mean: Any, matrices: Any, vector: Any, tolerance: float = 1e-12) -> None:
    assert mean.score == pytest.approx(vector, abs=tolerance * np.abs(vector).max())
    assert len(mean.matrices) == len(matrices)
    for fast, literal in zip(mean.matrices, matrices, strict=True):
        assert fast.shape == literal.shape
        assert fast == pytest.approx(literal, abs=tolerance * np.abs(literal).max())
