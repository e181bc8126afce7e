"""Small targets, and kernels for them that are not tuned."""

import numpy as np

from polystein.data.target import Target
from polystein.refinement.kernels import Evaluations, Kernel, State
from polystein.types import FloatArray

COVARIANCE = np.array([[2.0, 0.6], [0.6, 0.5]])
PRECISION = np.linalg.inv(COVARIANCE)
FACTOR = np.linalg.cholesky(COVARIANCE)


def gaussian_density(x: FloatArray) -> FloatArray:
    found: FloatArray = -0.5 * np.einsum("ij,jk,ik->i", x, PRECISION, x)
    return found


def gaussian_score(x: FloatArray) -> FloatArray:
    return -x @ PRECISION


def gaussian(gradient: bool = True) -> Target:
    """A correlated Gaussian in two dimensions."""
    return Target.of_functions(2, gaussian_density, gaussian_score if gradient else None)


def log_gamma(gradient: bool = True) -> Target:
    """The logarithm of a gamma variable of shape 2, in one dimension: skewed."""
    return Target.of_functions(
        1,
        lambda x: (2.0 * x - np.exp(x))[:, 0],
        (lambda x: 2.0 - np.exp(x)) if gradient else None,
    )


def kernel(target: Target, *, step: float = 0.4, centres: FloatArray | None = None) -> Kernel:
    """A kernel with unit mass."""
    d = target.dimension
    own = np.zeros((1, d)) if centres is None else centres
    bounds = np.array([0.0, 0.5, 1.5])
    others = np.random.default_rng(9).standard_normal((30, d))
    return Kernel(Evaluations(target), np.eye(d), step, own, bounds, np.array([0.6, 0.4]), others)


def state(made: Kernel, rows: FloatArray) -> State:
    """The states of rows."""
    return made.evaluate(rows, rows)
