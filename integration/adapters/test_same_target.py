"""The same posteriors in PyMC and NumPyro: one target, whatever the order and the transforms."""

from functools import cache
from typing import Any

import jax
import pymc as pm
import pytest

import polystein as ps
from integration.adapters import pymc_models
from integration.adapters.numpyro_models import MODELS
from integration.adapters.test_numpyro import fitted
from integration.posteriors import EFFECTS, ERRORS

jax.config.update("jax_enable_x64", True)
pytestmark = pytest.mark.filterwarnings("default")


@cache
def of_numpyro(name: str) -> ps.Sample:
    _, args, kwargs = MODELS[name]
    return ps.from_numpyro(fitted(name), *args, thin=20, **kwargs)


def of_pymc(model: Any) -> ps.Sample:
    idata = pm.sample(
        40,
        tune=100,
        chains=1,
        cores=1,
        model=model,
        random_seed=1,
        progressbar=False,
        compute_convergence_checks=False,
    )
    return ps.from_pymc(model, idata)


@pytest.mark.parametrize("name", ["schools", "regression", "constrained"])
def test_both_have_the_same_target(name: str) -> None:
    first, second = of_numpyro(name), of_pymc(pymc_models.MODELS[name]())
    # Numerical derivatives of PyMC go from row to row, which takes a while.
    pairs = [(second, first), (first, second)][: 1 if name == "constrained" else 2]
    for pair in pairs:
        found = ps.same_target(*pair)
        assert found.same, str(found)
        assert found.precision == "double"
        assert found.constant == pytest.approx(0.0, abs=1e-4)
    if name == "constrained":  # PyMC takes log-ratios, and NumPyro breaks a stick
        assert found.mapping == (
            "coordinates come in another order",
            "`w` is mapped numerically, since the transforms differ",
        )


def test_centred_and_not_centred() -> None:
    found = ps.same_target(of_numpyro("schools"), of_numpyro("centred"))
    assert found.same, str(found)
    assert found.mapping[0].startswith("another parametrisation")


def test_a_wrong_port_is_named() -> None:
    """The prior sds of both hyperparameters are other ones: 10 for 5, and 2.5 for 5."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 10.0)
        tau = pm.HalfNormal("tau", 2.5)
        z = pm.Normal("z", 0.0, 1.0, shape=8)
        pm.Normal("y", mu + tau * z, ERRORS, observed=EFFECTS)
    found = ps.same_target(fitted("schools"), of_pymc(model))
    assert {row.parameter: row.pattern for row in found} == {
        "mu": "prior scale",
        "tau": "prior scale",
    }
    texts = {row.parameter: row.text for row in found}
    assert "a normal term about 0 has a precision (1 / variance) that is 0.03 less" in texts["mu"]
    assert "0.12 less of the square of its exponential" in texts["tau"]
    assert list(found.to_dataframe().columns) == ["parameter", "pattern", "size", "text"]
    assert len(found.to_dataframe()) == 2
