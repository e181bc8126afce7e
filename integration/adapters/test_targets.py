"""Targets of the real libraries: densities, scores, transforms, cost, and `refine` on them."""

import pickle
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytest
import torch
from scipy import stats

import polystein as ps
from integration.adapters.numpyro_models import MODELS as NUMPYRO_MODELS
from integration.adapters.pymc_models import regression, schools
from integration.adapters.test_numpyro import fitted
from polystein.adapters.pymc import log_density_gradient
from polystein.data.guard.target import require_sound_target
from polystein.data.target import Target

jax.config.update("jax_enable_x64", True)
pytestmark = pytest.mark.filterwarnings("default")

COVARIANCE = np.array([[1.0, 0.6], [0.6, 1.0]])
PRECISION = np.linalg.inv(COVARIANCE)
DRAWS = np.random.default_rng(0).multivariate_normal([0.0, 0.0], COVARIANCE, size=700)
SMALL: dict[str, Any] = {"starts": 300, "transitions": 8}


def of_jax(x: Any) -> Any:
    return -0.5 * x @ jnp.asarray(PRECISION) @ x


def of_torch(x: Any) -> Any:
    return -0.5 * x @ torch.as_tensor(PRECISION) @ x


def of_torch_rows(x: Any) -> Any:
    return -0.5 * ((x @ torch.as_tensor(PRECISION)) * x).sum(dim=1)


def branching(x: Any) -> Any:
    """A function that `vmap` cannot take: it looks at values."""
    return of_torch(x) if float(x.sum()) > -1e9 else 0.0 * of_torch(x)


def assert_agrees(sample: ps.Sample) -> Target:
    """Scores and differences of the log-density agree with the sample's own scores."""
    target = sample.target
    assert target is not None
    assert target.has_score
    rows = np.asarray(sample.draws).reshape(-1, target.dimension)[:50]
    values, scores = target.log_density_and_score(rows)
    assert values.dtype == scores.dtype == np.float64
    assert values == pytest.approx(target.log_density(rows), rel=1e-9)
    own = np.asarray(sample.scores).reshape(-1, target.dimension)[:50]
    assert scores == pytest.approx(own, rel=1e-6, abs=1e-8)
    require_sound_target(target, rows, np.random.default_rng(0))
    for count in (1, 3, 17):  # JAX compiles for powers of two
        assert target.log_density_and_score(rows[:count])[1] == pytest.approx(scores[:count])
    assert pickle.loads(pickle.dumps(sample)).target is None
    return target


@pytest.mark.parametrize("scale", [1.0, 0.6])
@pytest.mark.parametrize("library", ["jax", "torch", "torch rows", "torch branching", "scipy"])
def test_plain_log_densities(library: str, scale: float) -> None:
    draws = DRAWS * scale
    sample = {
        "jax": lambda: ps.from_jax(of_jax, jnp.asarray(draws)),
        "torch": lambda: ps.from_torch(of_torch, torch.as_tensor(draws)),
        "torch rows": lambda: ps.from_torch(of_torch_rows, torch.as_tensor(draws)),
        "torch branching": lambda: ps.from_torch(branching, torch.as_tensor(draws[:100])),
        "scipy": lambda: ps.from_scipy(stats.multivariate_normal(np.zeros(2), COVARIANCE), draws),
    }[library]()
    assert assert_agrees(sample).vectorised
    if library != "torch branching":
        # Right draws are rejected in one run of twenty: the answer has to be that of NumPy.
        plain = ps.refine(
            draws,
            log_density=lambda x: -0.5 * np.einsum("ij,jk,ik->i", x, PRECISION, x),
            scores=lambda x: -x @ PRECISION,
            **SMALL,
        )
        found = ps.refine(sample, **SMALL)
        assert found.statistic == pytest.approx(plain.statistic, rel=1e-6)
        assert found.pvalue == plain.pvalue
        assert found.leading == plain.leading
        if scale != 1.0:
            assert found.verdict == "rejected"


def test_blackjax_states_with_their_log_density() -> None:
    import blackjax

    sampler = blackjax.nuts(of_jax, 0.8, jnp.ones(2))
    keys = jax.random.split(jax.random.key(1), 600)
    _, states = jax.lax.scan(
        lambda state, key: (sampler.step(key, state)[0],) * 2, sampler.init(jnp.zeros(2)), keys
    )
    assert ps.from_blackjax(states).target is None
    sample = ps.from_blackjax(states, logdensity=of_jax)
    assert_agrees(sample)
    assert ps.refine(sample, **SMALL).pvalue > 0.001


@pytest.mark.parametrize("name", NUMPYRO_MODELS)
def test_numpyro_models(name: str) -> None:
    _, args, kwargs = NUMPYRO_MODELS[name]
    sample = ps.from_numpyro(fitted(name), *args, **kwargs)
    target = assert_agrees(sample)
    assert target.vectorised
    assert target.transform is not None


def test_numpyro_refined_with_the_models_own_parameters() -> None:
    refined = ps.refine(fitted("schools"), transitions=10, starts=500)
    assert refined.kernel == "HMC"
    assert refined.pvalue > 0.001
    assert "tau" in {row.name for row in refined.effects} or any(
        row.name.startswith("tau") for row in refined.effects
    )


def test_pymc_draws_of_advi_are_called_sized_and_refined() -> None:
    model = schools()
    with model:
        approximation = pm.fit(4000, method="advi", random_seed=1, progressbar=False)
    idata = approximation.sample(3000, random_seed=2)
    sample = ps.from_pymc(model, idata)
    target = assert_agrees(sample)
    assert not target.vectorised
    refined = ps.refine(idata, model=model, transitions=10, starts=400)
    assert refined.verdict == "rejected"
    assert any(row.name.startswith("tau") for row in refined.effects.found)
    assert refined.draws.names == sample.names


def test_pymc_costs_little_more_than_its_compiled_function() -> None:
    model = regression()
    with model:
        prior = pm.sample(100, tune=100, chains=1, cores=1, random_seed=1, progressbar=False)
    sample = ps.from_pymc(model, prior)
    assert sample.target is not None
    rows = np.tile(np.asarray(sample.draws).reshape(-1, sample.layout.dimension), (20, 1))
    function = log_density_gradient(model)

    def bare() -> None:
        for row in rows:
            function(row)

    ratios = []
    for _ in range(7):
        started = time.process_time()
        bare()
        middle = time.process_time()
        sample.target.log_density_and_score(rows)
        ratios.append((time.process_time() - middle) / (middle - started))
    assert np.median(ratios) < 1.3
