"""The same posteriors in PyMC and NumPyro: one target, whatever the order and the transforms.

Planted edits and other ports are in `tests/workflows`, with models in NumPy. Draws need not be
those of the posterior: they are random here, since sampling takes longer than the comparison.
"""

from functools import cache
from typing import Any, NamedTuple

import arviz as az
import jax
import numpy as np
import pymc as pm
import pytest
from numpyro import handlers
from numpyro.infer import MCMC, init_to_uniform, util
from numpyro.infer.mcmc import MCMCKernel

import polystein as ps
from integration.adapters import pymc_models
from integration.adapters.numpyro_models import MODELS
from integration.posteriors import EFFECTS, ERRORS

jax.config.update("jax_enable_x64", True)
pytestmark = pytest.mark.filterwarnings("default")
DRAWS = 24


class State(NamedTuple):
    z: dict[str, Any]
    rng_key: Any


class Scattered(MCMCKernel):
    """Normal draws on the unconstrained scale, whatever the target."""

    sample_field = "z"

    def __init__(self, model: Any) -> None:
        self.model = model

    def init(
        self, rng_key: Any, num_warmup: int, init_params: Any, model_args: Any, model_kwargs: Any
    ) -> State:
        # Flat priors cannot be drawn from.
        seeded = handlers.seed(self.model, rng_key)
        begun = handlers.substitute(seeded, substitute_fn=init_to_uniform)
        trace = handlers.trace(begun).get_trace(*model_args, **model_kwargs)
        own = {
            name: site["value"]
            for name, site in trace.items()
            if site["type"] == "sample" and not site["is_observed"]
        }
        return State(util.unconstrain_fn(self.model, model_args, model_kwargs, own), rng_key)

    def sample(self, state: State, model_args: Any, model_kwargs: Any) -> State:
        key, *keys = jax.random.split(state.rng_key, 1 + len(state.z))
        draws = {
            name: 0.7 * jax.random.normal(one, value.shape)
            for one, (name, value) in zip(keys, state.z.items(), strict=True)
        }
        return State(draws, key)

    def postprocess_fn(self, model_args: Any, model_kwargs: Any) -> Any:
        return lambda z: util.constrain_fn(self.model, model_args, model_kwargs, z)


@cache
def run(name: str) -> MCMC:
    model, args, kwargs = MODELS[name]
    mcmc = MCMC(Scattered(model), num_warmup=0, num_samples=DRAWS, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), *args, **kwargs)
    return mcmc


def of_numpyro(name: str) -> ps.Sample:
    _, args, kwargs = MODELS[name]
    return ps.from_numpyro(run(name), *args, **kwargs)


def of_pymc(model: Any) -> ps.Sample:
    """The model at draws of each free variable that fit its constraints."""
    rng = np.random.default_rng(1)
    shapes = {"z": (8,), "cut": (3,)}
    posterior = {
        name: 0.7 * rng.standard_normal((1, DRAWS, *shapes.get(name, ())))
        for name in (one.name for one in model.free_RVs)
    }
    for name, change in (
        ("tau", np.exp),
        ("sigma", np.exp),
        ("cut", np.sort),
        ("w", lambda x: rng.dirichlet([3.0, 3.0, 3.0], x.shape)),
    ):
        if name in posterior:
            posterior[name] = change(posterior[name])
    return ps.from_pymc(model, az.from_dict(posterior=posterior))


@pytest.mark.parametrize("name", ["schools", "constrained"])
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
    """The prior of mu has the sd 10 for 5, and that of tau is uniform and not half-normal."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 10.0)
        tau = pm.Uniform("tau", 0.0, 1000.0)
        z = pm.Normal("z", 0.0, 1.0, shape=8)
        pm.Normal("y", mu + tau * z, ERRORS, observed=EFFECTS)
    found = ps.same_target(run("schools"), of_pymc(model))
    texts = {(row.parameter, row.pattern): row.text for row in found}
    assert set(texts) == {("mu", "prior scale"), ("tau", "support"), ("tau", "prior scale")}
    assert "a precision (1 / variance) that is 0.03 less in b" in texts["mu", "prior scale"]
    assert "between 0 and inf in a, and between 0 and 1000 in b" in texts["tau", "support"]
    assert "0.04 more of the square of its exponential" in texts["tau", "prior scale"]
    assert list(found.to_dataframe().columns) == ["parameter", "pattern", "size", "text"]
    assert len(found.to_dataframe()) == 3


def test_a_model_without_draws_is_told_what_to_pass() -> None:
    with pytest.raises(ps.InputError, match=r"`b` must be a Sample of a fit, as `ps.from_pymc\("):
        ps.same_target(run("schools"), pymc_models.schools())
