"""A Poisson model with a random intercept for each of ten groups, by BlackJAX's NUTS.

Importing this module needs JAX and BlackJAX.
"""

import jax
import jax.numpy as jnp
import numpy as np

from studies.chains_beyond.lines import Drawn
from studies.chains_beyond.nuts import CHAINS, WARM_UP, as_it_comes
from tests.statistical.samplers import Generator

GROUPS, OBSERVATIONS = 10, 20
DIMENSION = GROUPS + 3


def data() -> tuple[np.ndarray, np.ndarray]:
    """A covariate and a count for each observation of each group, made once."""
    rng = np.random.default_rng(20_291)
    covariate = rng.standard_normal((GROUPS, OBSERVATIONS))
    intercepts = 1.5 + 0.6 * rng.standard_normal((GROUPS, 1))
    return covariate, rng.poisson(np.exp(intercepts + 0.4 * covariate))


COVARIATE, COUNTS = data()


def log_density(x: jax.Array) -> jax.Array:
    """x = (intercept, slope, log of the groups' sd, the groups' intercepts, not centred).

    intercept ~ N(0, 2^2), slope ~ N(0, 1), log sd ~ N(-1, 0.7^2), effect ~ N(0, 1).
    """
    intercept, slope, log_sd, effects = x[0], x[1], x[2], x[3:]
    prior = -0.5 * ((intercept / 2.0) ** 2 + slope**2 + ((log_sd + 1.0) / 0.7) ** 2)
    prior = prior - 0.5 * jnp.sum(effects**2)
    rate = intercept + jnp.exp(log_sd) * effects[:, None] + slope * COVARIATE
    return prior + jnp.sum(COUNTS * rate - jnp.exp(rate))


def poisson(rng: Generator, count: int) -> Drawn:
    """Warm-up of 1,000 rounds from starts that are uniform on [-2, 2], as in Stan."""
    starts = rng.uniform(-2.0, 2.0, (CHAINS * count, DIMENSION))
    return as_it_comes(rng, count, log_density, starts, WARM_UP)
