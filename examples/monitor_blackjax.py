"""A BlackJAX loop that is watched: the states carry the gradients, so that no score is needed."""

import blackjax
import jax
import jax.numpy as jnp

import polystein as ps

jax.config.update("jax_enable_x64", True)


def logdensity(x):
    return -0.5 * jnp.sum((x - 1.0) ** 2)


sampler = blackjax.nuts(logdensity, step_size=0.8, inverse_mass_matrix=jnp.ones(3))


@jax.jit
def next_draws(states, key):
    """The next 100 draws of every chain."""

    def step(state, key):
        state, _ = sampler.step(key, state)
        return state, (state.position, state.logdensity_grad)

    def chain(state, key):
        return jax.lax.scan(step, state, jax.random.split(key, 100))

    return jax.vmap(chain)(states, jax.random.split(key, 4))


monitor = ps.Monitor(None, 2, looks=(500, 1000, 1500, 2000), chains=4)
states = jax.vmap(sampler.init)(jnp.ones((4, 3)))
for key in jax.random.split(jax.random.PRNGKey(1), 20):
    states, (draws, scores) = next_draws(states, key)
    for look in monitor.update(draws, scores):
        print(look)
    if monitor.alarm:
        break
