"""The samplers of the paper's Experiment 1; the target is N(0, I) throughout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from polystein.types import Array, FloatArray

#: From a generator, a number of draws and a dimension to draws of shape (n, d).
Sampler: TypeAlias = Callable[[np.random.Generator, int, int], FloatArray]


def gaussian_score(draws: Array) -> Array:
    """Score of the target N(0, I), s(x) = -x."""
    return -draws


def gaussian(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_1, the target itself."""
    return rng.standard_normal((n, d))


def perturbed(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_2 = N(0, diag(1.7, 1, ..., 1)): one variance is wrong."""
    draws = rng.standard_normal((n, d))
    draws[:, 0] *= np.sqrt(1.7)
    return draws


def student_t(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_3, independent Student's t with 5 degrees of freedom."""
    return rng.standard_t(5.0, size=(n, d))


def laplace(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_4, independent Laplace(0, 1/sqrt 2): mean and variance are the target's."""
    return rng.laplace(0.0, np.sqrt(0.5), size=(n, d))


#: By the names that the published figures use.
EXPERIMENT_1: Mapping[str, Sampler] = MappingProxyType(
    {
        "gaussian": gaussian,
        "perturbed": perturbed,
        "student_t": student_t,
        "laplace": laplace,
    }
)
