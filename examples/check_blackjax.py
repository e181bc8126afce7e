"""BlackJAX: states of a sampler carry their gradients."""

import blackjax
import jax
import jax.numpy as jnp

import polystein as ps

jax.config.update("jax_enable_x64", True)


def logdensity(x):
    return -0.5 * jnp.sum((x["location"] - 1.0) ** 2) - 0.5 * x["log_scale"] ** 2


sampler = blackjax.nuts(logdensity, step_size=0.8, inverse_mass_matrix=jnp.ones(3))
start = sampler.init({"location": jnp.ones(2), "log_scale": jnp.zeros(())})


def step(state, key):
    state, info = sampler.step(key, state)
    return state, (state, info)


def chain(key):
    return jax.lax.scan(step, start, jax.random.split(key, 1000))[1]


states, info = jax.vmap(chain)(jax.random.split(jax.random.PRNGKey(1), 4))
print(ps.check(ps.from_blackjax(states, info), rng=1))
