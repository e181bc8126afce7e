"""Five models in NumPy, for ports and planted edits.

Log-densities take (n, d) rows of real or complex numbers. Their gradients are complex steps, which
are exact to rounding, in double or in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.target import Target

Array = NDArray[Any]
_RNG = np.random.default_rng(11)
#: Data of the models.
HEIGHTS = _RNG.normal(1.3, 0.8, 25)
PREDICTORS = _RNG.standard_normal((40, 3))
OUTCOMES = (_RNG.random(40) < 0.5).astype(float)
GROUPS = np.repeat(np.arange(5), 4)
MEASURED = _RNG.normal(0.5, 1.0, 5)[GROUPS] + 0.6 * _RNG.standard_normal(20)
COUNTS = _RNG.poisson(3.0, 20).astype(float)
COVARIATE = _RNG.standard_normal(20)
TRIALS, SUCCESSES = np.array([12.0, 30.0, 7.0]), np.array([5.0, 11.0, 6.0])


def like(data: Any, x: Array) -> Array:
    """Data in the precision of the parameters."""
    return np.asarray(data).astype(x.real.dtype)


def log_sigmoid(x: Array) -> Array:
    return -np.log(1.0 + np.exp(-x))


def normal(
    x: Array,
    data: Array = HEIGHTS,
    prior_mean: float = 0.0,
    prior_sd: float = 2.0,
    scale: float = 1.0,
    jacobian: float = 1.0,
    times: float = 1.0,
    log_sigma: Callable[[Array], Array] = lambda t: t,
) -> Array:
    """Heights ~ N(mu, sigma), mu ~ N, sigma ~ half-normal, on the log scale."""
    mu, t = x[:, 0], log_sigma(x[:, 1])
    likelihood = (-0.5 * ((like(data, x) - mu[:, None]) / np.exp(t)[:, None]) ** 2).sum(axis=1)
    prior = -0.5 * ((mu - prior_mean) / prior_sd) ** 2 - 0.5 * (np.exp(t) / scale) ** 2
    return times * (likelihood - len(data) * t) + prior + jacobian * t


def logistic(
    x: Array,
    kept: Any = slice(None),
    sds: tuple[float, ...] = (2.0, 1.0, 1.0, 1.0),
    times: float = 1.0,
    signs: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
) -> Array:
    """Outcomes ~ Bernoulli(logit = alpha + predictors beta), all with normal priors."""
    x = x * like(signs, x)
    design = like(np.column_stack([np.ones(40), PREDICTORS])[kept], x)
    sides = like(2.0 * OUTCOMES[kept] - 1.0, x)
    prior = (-0.5 * (x / like(sds, x)) ** 2).sum(axis=1)
    return times * log_sigmoid(sides * (x @ design.T)).sum(axis=1) + prior


def hierarchical(
    x: Array,
    kept: Any = slice(None),
    jacobian: float = 1.0,
    cauchy: bool = False,
    centred: bool = True,
    times: float = 1.0,
) -> Array:
    """Measured ~ N(theta[group], sigma), theta ~ N(mu, tau): mu, log_tau, log_sigma, theta[5]."""
    mu, t, s, theta = x[:, 0], x[:, 1], x[:, 2], x[:, 3:]
    z = (theta - mu[:, None]) / np.exp(t)[:, None] if centred else theta
    if not centred:
        theta = mu[:, None] + np.exp(t)[:, None] * theta
    prior = -0.5 * (mu / 3.0) ** 2 - 0.5 * np.exp(2.0 * s) + s + jacobian * t
    prior = prior - (np.log(1.0 + np.exp(2.0 * t)) if cauchy else 0.5 * np.exp(2.0 * t) / 4.0)
    groups = (-0.5 * z**2).sum(axis=1) - (5.0 * t if centred else 0.0)
    off = (like(MEASURED[kept], x) - theta[:, GROUPS[kept]]) / np.exp(s)[:, None]
    return prior + groups + times * ((-0.5 * off**2).sum(axis=1) - off.shape[1] * s)


def poisson(
    x: Array, kept: Any = slice(None), prior_mean: float = 0.0, jacobian: float = 1.0
) -> Array:
    """Counts ~ Poisson(exp(alpha + beta covariate + u[group])), u ~ N(0, tau)."""
    alpha, beta, t, u = x[:, 0], x[:, 1], x[:, 2], x[:, 3:]
    eta = alpha[:, None] + beta[:, None] * like(COVARIATE[kept], x) + u[:, GROUPS[kept]]
    prior = -0.5 * ((alpha - prior_mean) / 2.0) ** 2 - 0.5 * beta**2 - np.exp(t) + jacobian * t
    groups = (-0.5 * (u / np.exp(t)[:, None]) ** 2).sum(axis=1) - 5.0 * t
    return prior + groups + (like(COUNTS[kept], x) * eta - np.exp(eta)).sum(axis=1)


def beta_binomial(
    x: Array,
    shapes: tuple[float, float] = (2.0, 3.0),
    jacobian: tuple[float, ...] = (1.0, 1.0, 1.0),
    successes: Array = SUCCESSES,
) -> Array:
    """Successes ~ Binomial(trials, p), p ~ Beta, on the logit scale."""
    yes, no = log_sigmoid(x), log_sigmoid(-x)
    prior = (shapes[0] - 1.0) * yes + (shapes[1] - 1.0) * no + like(jacobian, x) * (yes + no)
    return (prior + like(successes, x) * yes + like(TRIALS - SUCCESSES, x) * no).sum(axis=1)


class Model(NamedTuple):
    """A log-density with its names, where it is looked at, and the kinds of its coordinates."""

    log_density: Callable[..., Array]
    names: tuple[str, ...]
    centre: tuple[float, ...]
    spread: float = 0.3

    def draws(self, count: int = 150) -> NDArray[np.float64]:
        noise = np.random.default_rng(5).standard_normal((count, len(self.names)))
        return np.array(self.centre) + self.spread * noise


MODELS = {
    "normal": Model(normal, ("mu", "log_sigma"), (1.3, -0.2)),
    "logistic": Model(logistic, ("alpha", "beta[0]", "beta[1]", "beta[2]"), (0.1, 0.2, -0.3, 0.0)),
    "hierarchical": Model(
        hierarchical,
        ("mu", "log_tau", "log_sigma", *(f"theta[{i}]" for i in range(5))),
        (0.5, 0.1, -0.4, 0.6, 0.2, 1.0, 0.5, -0.1),
    ),
    "poisson": Model(
        poisson,
        ("alpha", "beta", "log_tau", *(f"u[{i}]" for i in range(5))),
        (1.0, 0.1, -0.5, 0.1, 0.0, -0.2, 0.1, 0.2),
    ),
    "beta-binomial": Model(beta_binomial, ("p[0]", "p[1]", "p[2]"), (-0.3, -0.5, 1.0), 0.6),
}


def gradient(log_density: Callable[[Array], Array], rows: Array, single: bool = False) -> Array:
    """The exact gradient by complex steps; in single precision every number is."""
    kind, step = (np.complex64, 1e-12) if single else (np.complex128, 1e-100)
    found = np.empty(rows.shape, dtype=np.float32 if single else np.float64)
    for column in range(rows.shape[1]):
        points = rows.astype(kind)
        points[:, column] += kind(1j * step)
        values = log_density(points)
        assert values.dtype == kind
        found[:, column] = values.imag / step
    return found


def target(name: str, *, named: bool = True, **edits: Any) -> Target:
    """A model, edited, as a target with exact gradients."""
    model = MODELS[name]
    density = partial(model.log_density, **edits)
    return Target.of_functions(
        len(model.names),
        lambda rows: density(rows),
        lambda rows: gradient(density, rows),
        model.names if named else None,
    )
