"""The target of a PyStan posterior, by its interface."""

from typing import Any

import numpy as np

from polystein.adapters.pystan import _by_chain, _target


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


class Fit:
    """Two chains, which hold (parameter, draw, chain) and are flattened as PyStan does it."""

    num_chains, num_warmup, num_thin, save_warmup = 2, 4, 2, True

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __getitem__(self, name: str) -> np.ndarray:
        return self.held.reshape(len(self.held), -1)


def test_chains_are_told_apart_and_the_warm_up_is_left_out() -> None:
    held = np.arange(30.0).reshape(3, 5, 2)
    found = _by_chain(Fit(held), "theta")
    np.testing.assert_array_equal(found, held.transpose(2, 1, 0)[:, 2:])
