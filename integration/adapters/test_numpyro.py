"""NumPyro: stored and computed gradients, names, and the verdicts of twenty seeds."""

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from numpyro.infer import HMCECS, MCMC, NUTS

import polystein as ps
from integration.adapters.numpyro_models import INFLATED, MODELS, NAMES
from integration.adapters.pymc_models import GRADIENTS
from integration.posteriors import (
    assert_exact,
    assert_gradient,
    assert_simplex,
    inflated,
    rejected_too_often,
)

jax.config.update("jax_enable_x64", True)
pytestmark = pytest.mark.filterwarnings("default")
SEEDS = 20
#: The same in every run of one object.
FIELDS = ("energy", "num_steps")


@cache
def fitted(name: str, fields: tuple[str, ...] = FIELDS) -> MCMC:
    model, args, kwargs = MODELS[name]
    # With a progress bar NumPyro compiles one step and keeps it. Without, it compiles its loop in
    # every run, which takes longer than sampling does.
    mcmc = MCMC(
        NUTS(model),
        num_warmup=500,
        num_samples=500,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=True,
    )
    mcmc.run(jax.random.PRNGKey(0), *args, extra_fields=fields, **kwargs)
    return mcmc


@pytest.mark.parametrize("name", MODELS)
def test_scores_names_and_transforms(name: str) -> None:
    mcmc = fitted(name)
    _, args, kwargs = MODELS[name]
    found = ps.from_numpyro(mcmc, *args, **kwargs)
    assert found.names == NAMES[name]
    assert_gradient(found)
    assert_exact(found, GRADIENTS[name])
    if name == "constrained":
        assert_simplex(found)
    remembered = ps.from_numpyro(mcmc, thin=10)
    np.testing.assert_allclose(remembered.scores, found.scores[:, ::10], rtol=1e-9, atol=1e-9)
    assert set(found.facts.sampler_statistics) == {"diverging", "energy", "reached_max_treedepth"}


@pytest.mark.parametrize("name", INFLATED)
def test_twenty_seeds_of_one_object(name: str) -> None:
    """NUTS is rejected no more often than chance allows; 15 % too wide in one parameter always."""
    mcmc = fitted(name)
    _, args, kwargs = MODELS[name]
    found = []
    for seed in range(SEEDS):
        # The warm-up is not repeated: the chains go on from where they are.
        mcmc.post_warmup_state = mcmc.last_state
        mcmc.run(jax.random.PRNGKey(100 + seed), *args, extra_fields=FIELDS, **kwargs)
        found.append(ps.from_numpyro(mcmc, *args, **kwargs))
    rejections = [ps.check(one, rng=seed).rejected() for seed, one in enumerate(found)]
    assert not rejected_too_often(sum(rejections), SEEDS)
    # The last two runs, one after another, are 1,000 draws of each chain.
    together = np.concatenate([one.draws for one in found[-2:]], axis=1)

    def score(rows: Any) -> Any:
        return _gradients(found[0], rows)

    right = ps.Sample(together, score, names=NAMES[name])
    assert ps.check(right, rng=0).pvalue > 0.001
    assert ps.check(inflated(right, INFLATED[name], score), rng=0).rejected()


def _gradients(sample: ps.Sample, rows: Any) -> Any:
    """Gradients at other points, by differences of the model's log-density."""
    log_density = sample.facts.log_density
    assert log_density is not None
    h = 1e-5
    columns = []
    for place in range(rows.shape[1]):
        step = np.zeros(rows.shape[1])
        step[place] = h
        columns.append((log_density(rows + step) - log_density(rows - step)) / (2.0 * h))
    return np.stack(columns, axis=1)


def test_stored_gradients_are_negated() -> None:
    mcmc = fitted("schools", ("z_grad",))
    assert_exact(ps.from_numpyro(mcmc), GRADIENTS["schools"])
    assert ps.check(mcmc, rng=0).pvalue > 0.001


def test_what_cannot_be_used_is_named() -> None:
    model, _, _ = MODELS["regression"]
    with pytest.raises(ps.InputError, match="must have been run"):
        ps.check(MCMC(NUTS(model), num_warmup=1, num_samples=1))
    parts = MCMC(HMCECS(NUTS(model)), num_warmup=1, num_samples=1)
    parts._last_state = object()
    with pytest.raises(ps.InputError, match=r"must sample by the whole data; got .*HMCECS"):
        ps.from_numpyro(parts)
