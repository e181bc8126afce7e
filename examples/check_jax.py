"""JAX: any log-density, here for a random walk that keeps no gradients."""

import jax
import jax.numpy as jnp

import polystein as ps

jax.config.update("jax_enable_x64", True)


def logdensity(x):
    return -0.25 * x[0] ** 4 - 0.5 * (x[1] - x[0]) ** 2


def step(x, key):
    propose, accept = jax.random.split(key)
    y = x + 1.5 * jax.random.normal(propose, (2,))
    keep = jnp.log(jax.random.uniform(accept)) < logdensity(y) - logdensity(x)
    x = jnp.where(keep, y, x)
    return x, x


def chain(key):
    return jax.lax.scan(step, jnp.zeros(2), jax.random.split(key, 6000))[1]


draws = jax.vmap(chain)(jax.random.split(jax.random.PRNGKey(1), 4))
print(ps.check(ps.from_jax(logdensity, draws, drop_first=1000), rng=1))
