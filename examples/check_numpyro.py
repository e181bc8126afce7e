"""NumPyro: one line after `mcmc.run`."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

import polystein as ps

jax.config.update("jax_enable_x64", True)


def model(errors, effects):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfNormal(5.0))
    z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([8]).to_event(1))
    numpyro.sample("y", dist.Normal(mu + tau * z, errors).to_event(1), obs=effects)


errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
mcmc = MCMC(
    NUTS(model),
    num_warmup=500,
    num_samples=1000,
    num_chains=4,
    chain_method="vectorized",
    progress_bar=False,
)
mcmc.run(jax.random.PRNGKey(1), errors, effects)
print(ps.check(mcmc, rng=1))
