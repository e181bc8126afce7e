"""SVI and discrete sites of NumPyro, Pathfinder of BlackJAX: a right fit and a wrong one."""

from functools import cache
from typing import Any

import arviz
import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import (
    HMC,
    MCMC,
    NUTS,
    SVI,
    DiscreteHMCGibbs,
    HMCGibbs,
    MixedHMC,
    Trace_ELBO,
)
from numpyro.infer.autoguide import AutoDiagonalNormal, AutoLaplaceApproximation

import polystein as ps

jax.config.update("jax_enable_x64", True)
pytestmark = pytest.mark.filterwarnings("default")
MEANS, SDS = np.array([0.5, 1.0, 2.0]), np.array([0.7, 0.5, 1.0])


def model(sds: Any) -> None:
    """The sites sorted by name: s is log-normal, x has two normal coordinates."""
    numpyro.sample("s", dist.LogNormal(MEANS[0], sds[0]))
    with numpyro.plate("arm", 2):
        numpyro.sample("x", dist.Normal(jnp.asarray(MEANS[1:]), sds[1:]))


def own_guide(sds: Any) -> None:
    scale = numpyro.param("scale", jnp.ones(()))
    numpyro.sample("s", dist.LogNormal(MEANS[0], scale * sds[0]))
    with numpyro.plate("arm", 2):
        numpyro.sample("x", dist.Normal(jnp.asarray(MEANS[1:]), scale * sds[1:]))


@cache
def fitted(guide: Any) -> tuple[SVI, Any]:
    made = guide if guide is own_guide else guide(model)
    svi = SVI(model, made, numpyro.optim.Adam(0.05), Trace_ELBO())
    return svi, svi.run(jax.random.PRNGKey(0), 5, SDS, progress_bar=False)


def log_p_minus_log_q(draws: Any, sds: Any) -> Any:
    squares = (np.asarray(draws) - MEANS) ** 2
    return -0.5 * np.sum(squares / SDS**2 - squares / sds**2, axis=1)


@pytest.mark.parametrize("guide", [own_guide, AutoDiagonalNormal])
def test_guides(guide: Any) -> None:
    svi, result = fitted(guide)
    for factor, rejected in ((1.0, False), (0.7, True)):
        if guide is own_guide:
            result = result._replace(params={"scale": jnp.asarray(factor)})
        else:
            parameters = {"auto_loc": jnp.asarray(MEANS), "auto_scale": factor * SDS}
            result = result._replace(params=parameters)
        sample = ps.from_numpyro(svi, result, SDS, n_draws=2048, rng=1)
        assert sample.names == ("s", "x[0]", "x[1]")
        draws = np.asarray(sample.draws)
        assert draws.shape == (2048, 3)
        np.testing.assert_allclose(sample.scores, -(draws - MEANS) / SDS**2, atol=1e-8)
        found = ps.check(sample, rng=0)
        assert found.settings["iid"]
        assert found.rejected(0.01) is rejected
    expected = float(arviz.psislw(log_p_minus_log_q(draws, factor * SDS))[1])
    assert found.diagnostics.pareto_k == pytest.approx(expected, rel=1e-5)
    assert sample.target is not None
    log_p = -0.5 * np.sum(((draws[:9] - MEANS) / SDS) ** 2, axis=1)
    assert np.ptp(sample.target.log_density(draws[:9]) - log_p) < 1e-8


def test_laplace_approximations() -> None:
    svi, _ = fitted(AutoLaplaceApproximation)
    right = {"auto_loc": jnp.asarray(MEANS)}
    assert not ps.check(ps.from_numpyro(svi, right, SDS, n_draws=2048), rng=0).rejected(0.01)
    wrong = ps.from_numpyro(svi, {"auto_loc": jnp.asarray(MEANS + 0.2)}, SDS, n_draws=2048)
    assert ps.check(wrong, rng=0).rejected(0.01)
    squares = [(np.asarray(wrong.draws) - mean) ** 2 / SDS**2 for mean in (MEANS, MEANS + 0.2)]
    ratios = 0.5 * np.sum(squares[1] - squares[0], axis=1)
    assert wrong.facts.pareto_k == pytest.approx(float(arviz.psislw(ratios)[1]), rel=1e-5)


def test_what_is_missing_is_named() -> None:
    svi, _ = fitted(own_guide)
    with pytest.raises(ps.InputError, match=r"`svi_result` must be what `svi.run` returned"):
        ps.from_numpyro(svi)
    with pytest.raises(ps.InputError, match=r"Pass `ps.from_numpyro\(svi, svi_result"):
        ps.check(svi)


def mixture(y: Any) -> None:
    k = numpyro.sample("k", dist.Bernoulli(0.4))
    mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
    numpyro.sample("y", dist.Normal(mu + 1.5 * k, 1.0), obs=y)


def drawn_k(rng_key: Any, gibbs_sites: Any, hmc_sites: Any) -> dict[str, Any]:
    """k given mu, for `HMCGibbs`."""
    log_odds = jnp.log(0.4 / 0.6) + 1.5 * jnp.sum(OBSERVED - hmc_sites["mu"]) - 0.5 * 3 * 1.5**2
    drawn = dist.Bernoulli(logits=log_odds).sample(rng_key)
    return {"k": drawn.astype(gibbs_sites["k"].dtype)}


OBSERVED = jnp.array([0.3, 1.2, 2.0])
KERNELS: dict[str, Any] = {
    "DiscreteHMCGibbs": lambda: DiscreteHMCGibbs(NUTS(mixture)),
    "MixedHMC": lambda: MixedHMC(HMC(mixture, trajectory_length=1.2), num_discrete_updates=4),
    "HMCGibbs": lambda: HMCGibbs(NUTS(mixture), drawn_k, ["k"]),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_discrete_sites_are_given(kernel: str) -> None:
    """Draws of mu given k are judged; those for other data, and those too wide, are rejected."""
    mcmc = MCMC(
        KERNELS[kernel](),
        num_warmup=500,
        num_samples=2000,
        num_chains=2,
        chain_method="sequential",
        progress_bar=False,
    )
    mcmc.run(jax.random.PRNGKey(1), OBSERVED)
    with pytest.warns(ps.PolysteinWarning, match="k is discrete and has no score"):
        sample = ps.from_numpyro(mcmc)
    own = mcmc.get_samples(group_by_chain=True)
    mu, k = np.asarray(own["mu"]), np.asarray(own["k"])
    np.testing.assert_allclose(sample.scores[..., 0], score_of_mu(mu, k), atol=1e-9)
    assert sample.names == ("mu",)
    right = ps.check(sample, rng=0)
    assert right.pvalue > 0.001
    assert any("does not see it" in words for words in right.warnings)
    with pytest.warns(ps.PolysteinWarning, match="k is discrete and has no score"):
        other = ps.from_numpyro(mcmc, OBSERVED + 0.4)
    assert ps.check(other, rng=0).rejected(0.001)
    wide = mu + 0.3 * (mu - mu.mean())
    assert ps.check(wide[..., None], score_of_mu(wide, k)[..., None], rng=0).rejected(0.001)


def score_of_mu(mu: Any, k: Any) -> Any:
    return -mu / 4.0 + 3.5 - 3.0 * (mu + 1.5 * k)


def logdensity(position: dict[str, Any]) -> Any:
    return -0.5 * jnp.sum(((position["x"] - MEANS) / SDS) ** 2)


def test_pathfinder() -> None:
    key = jax.random.PRNGKey(2)
    start = {"x": jnp.zeros(3)}
    state, _ = blackjax.vi.pathfinder.approximate(key, logdensity, start)
    draws, log_q = pair = blackjax.vi.pathfinder.sample(key, state, 2048)
    right = ps.from_blackjax(pair, logdensity=logdensity)
    assert right.names == ("x[0]", "x[1]", "x[2]")
    log_p = -0.5 * np.sum(((np.asarray(draws["x"]) - MEANS) / SDS) ** 2, axis=1)
    ratios = log_p - np.asarray(log_q)
    assert ratios.std() < 0.1  # Pathfinder is right, or nearly, where the target is normal
    assert not ps.check(right, rng=0).rejected(0.01)
    far = ps.from_blackjax(pair, logdensity=lambda at: 0.5 * logdensity(at))
    found = ps.check(far, rng=0)
    assert found.rejected(0.01)
    expected = float(arviz.psislw(ratios - 0.5 * log_p)[1])
    assert found.diagnostics.pareto_k == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ps.InputError, match="`logdensity` must be given with draws of Pathfinder"):
        ps.from_blackjax(pair)
    with pytest.raises(ps.InputError, match="got a state of Pathfinder"):
        ps.check(state)
