"""Lines of a real NUTS, BlackJAX's: all chains of a group run side by side.

JAX computes in single precision by default, so that every function that runs chains asks for
double precision, and leaves the setting as it was.

Importing this module needs JAX and BlackJAX; what a line records of convergence needs ArviZ.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

# One thread for each process, as the study runs several. JAX reads it when it is first imported.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from studies._precision import enable_x64
from studies.chains_beyond.lines import Array, Drawn
from tests.statistical.samplers import Generator, correlated_gaussian

CHAINS, ROWS, WARM_UP = 4, 1000, 1000
LogDensity = Callable[[jax.Array], jax.Array]


class Chains(NamedTuple):
    """Positions (lane, draw, d), their scores, and whether the step to each diverged."""

    draws: Array
    scores: Array
    divergent: Array


def as_drawn(chains: Chains, count: int, facts: tuple[dict[str, Any], ...] = ()) -> Drawn:
    """Lanes as (replicate, chain)."""
    shape = (count, CHAINS, *chains.draws.shape[1:])
    return Drawn(chains.draws.reshape(shape), chains.scores.reshape(shape), facts)


def key_of(rng: Generator, lanes: int) -> jax.Array:
    """A key for each lane."""
    return jax.random.split(jax.random.key(int(rng.integers(2**62))), lanes)


@cache
def sampler_of(log_density: LogDensity, rows: int) -> Callable[..., Any]:
    """So many draws of NUTS in each lane, with the lane's step size and inverse mass matrix.

    It is compiled once for each density.
    """

    def lane(key: jax.Array, start: jax.Array, step: jax.Array, mass: jax.Array) -> Any:
        nuts = blackjax.nuts(log_density, step, mass)

        def move(state: Any, key: jax.Array) -> Any:
            state, info = nuts.step(key, state)
            return state, (state.position, state.logdensity_grad, info.is_divergent)

        return jax.lax.scan(move, nuts.init(start), jax.random.split(key, rows))[1]

    return jax.jit(jax.vmap(lane))


def sampled(
    log_density: LogDensity,
    keys: jax.Array,
    starts: jax.Array,
    steps: jax.Array,
    metric: jax.Array,
    rows: int = ROWS,
) -> Chains:
    """What the sampler of this density gives, as NumPy's arrays."""
    found = sampler_of(log_density, rows)(keys, starts, steps, metric)
    return Chains(*(np.array(one) for one in found))


# Correct: from an exact start, with a step size that was fixed in advance


def gaussian_start(rng: Generator, lanes: int) -> Array:
    """Exact draws of the correlated Gaussian."""
    scale = correlated_gaussian().scale
    return rng.standard_normal((lanes, len(scale))) @ scale.T


def gaussian_log_density(x: jax.Array) -> jax.Array:
    """N(0, L L') of `correlated_gaussian`."""
    return -0.5 * x @ jnp.asarray(correlated_gaussian().precision) @ x


def log_gamma_start(rng: Generator, lanes: int) -> Array:
    """Exact draws of independent logarithms of Gamma(2) variables."""
    return np.log(rng.standard_gamma(2.0, (lanes, 5)))


def log_gamma_log_density(x: jax.Array) -> jax.Array:
    """2 x - exp(x) in each coordinate."""
    return jnp.sum(2.0 * x - jnp.exp(x))


class ExactTarget(NamedTuple):
    """A target that can be drawn from, and a step size for it."""

    start: Callable[[Generator, int], Array]
    log_density: LogDensity
    step: float


EXACT = {
    "correlated Gaussian": ExactTarget(gaussian_start, gaussian_log_density, 0.5),
    "log Gamma(2)": ExactTarget(log_gamma_start, log_gamma_log_density, 0.6),
}


@enable_x64(True)
def from_exact_start(rng: Generator, count: int, target: str, rows: int = ROWS) -> Drawn:
    """Chains whose every row is an exact draw: there is nothing to warm up."""
    law, lanes = EXACT[target], CHAINS * count
    starts = jnp.asarray(law.start(rng, lanes))
    steps, metric = jnp.full(lanes, law.step), jnp.ones(starts.shape)
    keys = key_of(rng, lanes)
    return as_drawn(sampled(law.log_density, keys, starts, steps, metric, rows), count)


# Wrong: as they come out of an ordinary run


@cache
def warm_up_of(log_density: LogDensity, rounds: int) -> Callable[..., Any]:
    """Where Stan's window adaptation ends: positions, step sizes, inverse mass matrices."""
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)

    def lane(key: jax.Array, start: jax.Array) -> Any:
        (state, parameters), _ = adaptation.run(key, start, rounds)
        return state.position, parameters["step_size"], parameters["inverse_mass_matrix"]

    return jax.jit(jax.vmap(lane))


@enable_x64(True)
def as_it_comes(
    rng: Generator, count: int, log_density: LogDensity, starts: Array, rounds: int
) -> Drawn:
    """Warm-up of so many rounds, then 1,000 draws; R-hat, ESS and divergences are facts."""
    lanes = CHAINS * count
    adapted = warm_up_of(log_density, rounds)(key_of(rng, lanes), jnp.asarray(starts))
    chains = sampled(log_density, key_of(rng, lanes), *adapted)
    drawn = as_drawn(chains, count)
    divergent = chains.divergent.reshape(count, -1).sum(axis=1)
    facts = tuple(
        {**convergence(draws, scores), "divergences": int(divergences)}
        for draws, scores, divergences in zip(drawn.draws, drawn.scores, divergent, strict=True)
    )
    return drawn._replace(facts=facts)


def convergence(draws: Array, scores: Array) -> dict[str, float]:
    """ArviZ's rank-normalised R-hat and bulk and tail ESS, the worst of draws and of scores."""
    import arviz

    worst: dict[str, float] = {}
    for name, values in (("draws", draws), ("scores", scores)):
        data = arviz.convert_to_dataset(values)
        ess = [float(arviz.ess(data, method=kind)["x"].min()) for kind in ("bulk", "tail")]
        worst[f"rhat_{name}"] = round(float(arviz.rhat(data)["x"].max()), 4)
        worst[f"ess_{name}"] = round(min(ess), 1)
    return worst


EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools_log_density(x: jax.Array) -> jax.Array:
    """Rubin's eight schools, centred, with x = (mu, log tau, theta).

    mu ~ N(0, 5^2), tau ~ half-Cauchy(5), theta ~ N(mu, tau^2), effect ~ N(theta, error^2).
    """
    mu, log_tau, theta = x[0], x[1], x[2:]
    tau = jnp.exp(log_tau)
    prior = -0.5 * (mu / 5.0) ** 2 - jnp.log1p((tau / 5.0) ** 2) + log_tau
    schools = -0.5 * ((theta - mu) / tau) ** 2 - log_tau
    data = -0.5 * ((EFFECTS - theta) / ERRORS) ** 2
    return prior + jnp.sum(schools + data)


def eight_schools(rng: Generator, count: int) -> Drawn:
    """Warm-up of 1,000 rounds from starts that are uniform on [-2, 2], as in Stan."""
    starts = rng.uniform(-2.0, 2.0, (CHAINS * count, 10))
    return as_it_comes(rng, count, eight_schools_log_density, starts, WARM_UP)


#: 200 rows of an intercept, a covariate that is far from zero, and two ordinary ones.
DESIGN = np.column_stack([np.ones(200), np.random.default_rng(7).standard_normal((200, 3))])
DESIGN[:, 1] += 20.0
RESPONSE = DESIGN @ [1.0, 0.5, 0.5, -0.5] + np.random.default_rng(8).normal(0.0, 0.3, 200)
GRAM = DESIGN.T @ DESIGN
BEST = np.linalg.solve(GRAM, DESIGN.T @ RESPONSE)
LEAST_SQUARES = float(((RESPONSE - DESIGN @ BEST) ** 2).sum())


def regression_log_density(x: jax.Array) -> jax.Array:
    """Linear regression with wide normal priors; x = (coefficients, log of the noise).

    The sum of squared residuals is its least value plus (b - b*)' X'X (b - b*).
    """
    coefficients, log_noise = x[:4], x[4]
    away = coefficients - BEST
    squares = LEAST_SQUARES + away @ GRAM @ away
    prior = -0.5 * jnp.sum((coefficients / 100.0) ** 2) - 0.5 * log_noise**2
    return prior - 0.5 * squares * jnp.exp(-2.0 * log_noise) - len(RESPONSE) * log_noise


def regression(rng: Generator, count: int) -> Drawn:
    """A warm-up of 20 rounds is too short: chains stay tens to hundreds of posterior sd apart."""
    starts = rng.uniform(-2.0, 2.0, (CHAINS * count, 5))
    return as_it_comes(rng, count, regression_log_density, starts, 20)


MODELS: dict[str, Callable[[Generator, int], Drawn]] = {
    "eight schools": eight_schools,
    "regression": regression,
}
