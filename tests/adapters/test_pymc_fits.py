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

#: The fit's own order and spelling.
LABELS, NAMES = ["s_log__", "x[0,1]"], ["x[0, 1]", "s_log__"]
BY_PYMC = {"inference_library": "pymc", "inference_library_version": "5.28.0"}


class Dataset(dict[str, Any]):
    """A group: variables by name, and what is noted about them."""

    def __init__(self, variables: dict[str, Any] | None = None, **attrs: Any) -> None:
        rows = {"rows": SimpleNamespace(values=np.array(LABELS))}
        given = (variables or {}).items()
        super().__init__(
            {name: SimpleNamespace(values=value, coords=rows) for name, value in given}
        )
        self.attrs = attrs


def law(covariance: Any, mean: Any = (0.0, 0.0)) -> Dataset:
    return Dataset({"mean_vector": np.array(mean), "covariance_matrix": covariance})


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
        ({"sample_stats": Dataset({"importance_sampling_method": "psis"})}, 1, True),
        ({"sample_stats": Dataset({"energy": np.zeros((1, 5))})}, 1, False),
    ],
)
def test_what_is_independent(groups: dict[str, Any], chains: int, independent: bool) -> None:
    assert are_independent(Groups(groups, "data"), chains) is independent


def test_the_law_of_a_laplace_approximation() -> None:
    mean, covariance = np.array([0.3, -1.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    rows = np.random.default_rng(0).standard_normal((20, 2))
    found = stored_log_q(Groups({"fit": law(covariance, mean)}, "data"), rows, NAMES)
    centred = rows[:, ::-1] - mean  # in the order of the fit
    expected = -0.5 * np.einsum("ni,ij,nj->n", centred, np.linalg.inv(covariance), centred)
    np.testing.assert_allclose(found, expected)
    singular = Groups({"fit": law(np.zeros((2, 2)))}, "data")
    assert stored_log_q(singular, rows, NAMES) is None
    known = Groups({"fit": law(covariance)}, "data")
    assert stored_log_q(known, rows[:, :1], NAMES[:1]) is None
    assert stored_log_q(known, rows, ["x[0, 1]", "t"]) is None
    assert stored_log_q(Groups({}, "data"), rows, NAMES) is None


def test_a_law_without_labels_is_not_known() -> None:
    fit = law(np.eye(2))
    fit["mean_vector"].coords = {}
    assert stored_log_q(Groups({"fit": fit}, "data"), np.zeros((3, 2)), NAMES) is None


@pytest.mark.parametrize("group", ["pathfinder", "sample_stats"])
def test_the_k_hat_of_pathfinder(group: str) -> None:
    def stored(value: float) -> float | None:
        said = Dataset({"importance_sampling_method": "psis", "pareto_k": value})
        return stored_pareto_k(Groups({group: said}, "data"))

    assert stored(0.4) == 0.4
    assert stored(np.nan) is None
    without = Dataset({"importance_sampling_method": "identity"})
    assert stored_pareto_k(Groups({group: without}, "data")) is None
    assert stored_pareto_k(Groups({}, "data")) is None
    of_sampler = Dataset({"pareto_k": 0.4})
    assert stored_pareto_k(Groups({"sample_stats": of_sampler}, "data")) is None


def test_rows_that_were_resampled_become_weights() -> None:
    rows = np.array([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0], [2.0, 2.0], [3.0, 1.0]])
    kept, weights = without_repeats(rows)
    assert kept.tolist() == [[3.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
    np.testing.assert_allclose(np.exp(weights), [3.0, 1.0, 1.0])
    same, none = without_repeats(kept)
    assert same is kept
    assert none is None
