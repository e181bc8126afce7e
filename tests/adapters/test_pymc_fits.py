"""Fits that are no chains, as they are told from chains; the libraries are in `integration`."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polystein.adapters.groups import Groups
from polystein.adapters.pymc_fits import (
    are_independent,
    stored_log_q,
    stored_pareto_k,
    without_repeats,
)

BY_PYMC = {"inference_library": "pymc", "inference_library_version": "5.28.0"}


class Dataset(dict[str, Any]):
    """A group: variables by name, and what is noted about them."""

    def __init__(self, variables: dict[str, Any] | None = None, **attrs: Any) -> None:
        values = {name: SimpleNamespace(values=value) for name, value in (variables or {}).items()}
        super().__init__(values)
        self.attrs = attrs


def law(covariance: Any) -> Dataset:
    return Dataset({"mean_vector": np.zeros(2), "covariance_matrix": covariance})


@pytest.mark.parametrize(
    ("groups", "chains", "independent"),
    [
        ({"posterior": Dataset(**BY_PYMC)}, 1, True),
        ({"posterior": Dataset(**BY_PYMC)}, 2, False),
        ({"posterior": Dataset(**BY_PYMC, sampling_time=1.0)}, 1, False),
        ({"posterior": Dataset(**BY_PYMC, tuning_steps=1000)}, 1, False),
        ({"posterior": Dataset(**BY_PYMC), "sample_stats": Dataset()}, 1, False),
        ({"posterior": Dataset()}, 1, False),
        ({"posterior": Dataset(inference_library="nutpie")}, 1, False),
        ({"posterior": Dataset(), "fit": law(np.eye(2))}, 4, True),
        ({"posterior": Dataset(), "fit": Dataset({"other": 1.0})}, 1, False),
        ({"posterior": Dataset(), "pathfinder": Dataset()}, 4, True),
    ],
)
def test_what_is_independent(groups: dict[str, Any], chains: int, independent: bool) -> None:
    assert are_independent(Groups(groups, "data"), chains) is independent


def test_the_law_of_a_laplace_approximation() -> None:
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]])
    rows = np.random.default_rng(0).standard_normal((20, 2))
    found = stored_log_q(Groups({"fit": law(covariance)}, "data"), rows)
    expected = -0.5 * np.einsum("ni,ij,nj->n", rows, np.linalg.inv(covariance), rows)
    np.testing.assert_allclose(found, expected)
    assert stored_log_q(Groups({"fit": law(np.zeros((2, 2)))}, "data"), rows) is None
    assert stored_log_q(Groups({"fit": law(covariance)}, "data"), rows[:, :1]) is None
    assert stored_log_q(Groups({}, "data"), rows) is None


def test_the_k_hat_of_pathfinder() -> None:
    assert stored_pareto_k(Groups({"pathfinder": Dataset({"pareto_k": 0.4})}, "data")) == 0.4
    assert stored_pareto_k(Groups({"pathfinder": Dataset({"pareto_k": np.nan})}, "data")) is None
    assert stored_pareto_k(Groups({"pathfinder": Dataset()}, "data")) is None
    assert stored_pareto_k(Groups({}, "data")) is None


def test_rows_that_were_resampled_become_weights() -> None:
    rows = np.array([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0], [2.0, 2.0], [3.0, 1.0]])
    kept, weights = without_repeats(rows)
    assert kept.tolist() == [[3.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
    np.testing.assert_allclose(np.exp(weights), [3.0, 1.0, 1.0])
    same, none = without_repeats(kept)
    assert same is kept
    assert none is None
