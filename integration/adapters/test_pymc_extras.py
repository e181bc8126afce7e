"""Laplace approximations and Pathfinder of pymc_extras itself: right fits and wrong ones."""

from typing import Any

import numpy as np
import pymc as pm
import pymc_extras
import pytest

import polystein as ps

pytestmark = pytest.mark.filterwarnings("default")

MEANS, SDS = np.array([1.0, 2.0, 3.0, 0.5]), np.array([0.5, 1.0, 2.0, 0.7])


def normal() -> Any:
    with pm.Model(coords={"arm": ["a", "b", "c"]}) as model:
        pm.Normal("x", MEANS[:3], SDS[:3], dims="arm")
        pm.Normal("z", MEANS[3], SDS[3])
    return model


def bent() -> Any:
    """A banana, which no normal law is near."""
    with pm.Model() as model:
        at = pm.Normal("x", 0.0, 1.0)
        pm.Normal("z", at**2, 0.7)
    return model


def bounded() -> Any:
    with pm.Model() as model:
        pm.LogNormal("s", MEANS[3], SDS[3])
    return model


def laplace(model: Any, method: str = "Newton-CG") -> Any:
    return pymc_extras.fit_laplace(
        method, model=model, draws=2000, random_seed=1, progressbar=False
    )


def pathfinder(model: Any) -> Any:
    return pymc_extras.fit_pathfinder(
        model=model,
        num_draws=2000,
        random_seed=1,
        progressbar=False,
        compile_kwargs={"mode": "FAST_COMPILE"},
    )


def test_laplace_approximations() -> None:
    """Newton's method has the curvature of the density, BFGS its own guess of it."""
    model = normal()
    right = ps.check(laplace(model), model=model, rng=0)
    assert right.settings["iid"]
    assert not right.rejected(0.01)
    assert right.diagnostics.pareto_k < 0.5
    data = laplace(model, "BFGS")  # begins at the mode, and keeps the identity as its guess
    found = np.sqrt(np.diag(data["fit"]["covariance_matrix"].values))
    np.testing.assert_allclose(found, 1.0)
    wrong = ps.check(data, model=model, rng=0)
    assert wrong.rejected(0.001)
    sizes = {row.name: row.size for row in wrong.effects.found if row.what == "sd"}
    assert sizes == pytest.approx({"x[a]": 2.0, "x[c]": 0.5, "z": 1.0 / 0.7}, rel=0.1)
    for curved in (bent(), bounded()):  # of a bounded parameter it leaves the Jacobian out
        assert ps.check(laplace(curved), model=curved, rng=0).rejected(0.001)


def test_pathfinder() -> None:
    for model, rejected in ((normal(), False), (bent(), True)):
        result = ps.check(pathfinder(model), model=model, rng=0)
        assert result.settings["iid"]
        assert result.rejected(0.01) is rejected
        assert result.diagnostics.pareto_k is not None
