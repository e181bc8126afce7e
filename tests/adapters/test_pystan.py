"""The target of a PyStan posterior, by its interface."""

from typing import Any

import numpy as np

from polystein.adapters.pystan import _target


class Posterior:
    """One coordinate, beyond 3 of which Stan rejects a point."""

    def log_prob(self, unconstrained: list[float]) -> float:
        if unconstrained[0] > 3.0:
            raise RuntimeError("normal_lpdf: Scale parameter is inf, but must be positive finite!")
        return -0.5 * unconstrained[0] ** 2

    def grad_log_prob(self, unconstrained: list[float]) -> Any:
        self.log_prob(unconstrained)
        return [-unconstrained[0]]


def test_the_density_is_zero_where_stan_raises_an_error() -> None:
    target = _target(Posterior(), {}, 1)
    densities, scores = target.log_density_and_score(np.array([[1.0], [4.0], [2.0]]))
    np.testing.assert_array_equal(densities, [-0.5, -np.inf, -2.0])
    np.testing.assert_array_equal(scores, [[-1.0], [np.nan], [-2.0]])
