"""Runs of a real NUTS, BlackJAX's, on the posterior of the logistic regression (a).

Importing this module needs JAX and BlackJAX.
"""

import os

# One thread, as studies run beside other work. JAX reads it when it is first imported.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from studies._precision import enable_x64
from studies.effects.posteriors import Posterior, regression_data

Array = NDArray[np.float64]

CHAINS, ROWS, WARM_UP = 4, 1000, 200
#: Step size in the metric of the curvature at the mode.
STEP = 0.7


@enable_x64(True)
def regression_runs(rng: np.random.Generator, target: Posterior, runs: int) -> tuple[Array, Array]:
    """Draws and scores of shape (runs, chain, draw, d), from wide starts, after a warm-up."""
    design, labels = (jnp.asarray(one) for one in regression_data(500, len(target.centre)))

    def log_density(x: jax.Array) -> jax.Array:
        logits = design @ x
        return logits @ labels - jnp.logaddexp(0.0, logits).sum() - x @ x / 12.5

    nuts = blackjax.nuts(log_density, STEP, jnp.asarray(target.scale @ target.scale.T))

    def move(state: Any, key: jax.Array) -> Any:
        state, _ = nuts.step(key, state)
        return state, (state.position, state.logdensity_grad)

    def lane(key: jax.Array, start: jax.Array) -> Any:
        keys = jax.random.split(key, WARM_UP + ROWS)
        return jax.lax.scan(move, nuts.init(start), keys)[1]

    lanes = CHAINS * runs
    starts = target.centre + 2.0 * rng.standard_normal((lanes, len(target.centre))) @ target.scale.T
    keys = jax.random.split(jax.random.key(int(rng.integers(2**62))), lanes)
    draws, scores = jax.jit(jax.vmap(lane))(keys, jnp.asarray(starts))
    shape = (runs, CHAINS, ROWS, len(target.centre))
    return tuple(np.array(one)[:, WARM_UP:].reshape(shape) for one in (draws, scores))  # type: ignore[return-value]
