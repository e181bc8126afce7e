"""The posteriors of all integration tests: data, and exact gradients by hand.

Eight schools (non-centred and centred), a logistic regression with correlated predictors, and a
model with a half-normal scale, an ordered vector and a simplex. Gradients are those of the
unconstrained log-density, the Jacobian included. All libraries use log for scales, and the
logarithm of differences for ordered vectors; their simplexes differ.
"""

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import expit
from scipy.stats import binom

import polystein as ps
from tests.rows import Array

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = ["A", "B", "C", "D", "E", "F", "G", "H"]

_RNG = np.random.default_rng(2024)
_SHARED = _RNG.standard_normal((200, 1))
#: Predictors with correlation 0.9.
PREDICTORS = np.sqrt(0.9) * _SHARED + np.sqrt(0.1) * _RNG.standard_normal((200, 3))
OUTCOMES = (_RNG.random(200) < expit(0.3 + PREDICTORS @ [1.0, -0.5, 0.5])).astype(int)

LEVELS = np.repeat([0, 1, 2], 20)
MEASURED = np.array([-1.0, 0.2, 1.5])[LEVELS] + 0.7 * _RNG.standard_normal(60)
COUNTS = np.array([12, 7, 21])
CONCENTRATION = np.array([2.0, 3.0, 4.0])

Gradient = Callable[[Mapping[str, Array]], dict[str, Array]]


def schools_gradient(values: Mapping[str, Array]) -> dict[str, Array]:
    """mu ~ N(0, 5), tau ~ half-N(0, 5), z ~ N(0, 1), y ~ N(mu + tau z, errors)."""
    mu, log_tau, z = values["mu"], values["tau"], values["z"]
    tau = np.exp(log_tau)
    pull = (EFFECTS - mu[..., None] - tau[..., None] * z) / ERRORS**2
    return {
        "mu": -mu / 25.0 + pull.sum(axis=-1),
        "tau": 1.0 - tau**2 / 25.0 + tau * np.sum(pull * z, axis=-1),
        "z": -z + tau[..., None] * pull,
    }


def centred_gradient(values: Mapping[str, Array]) -> dict[str, Array]:
    """The same posterior with theta = mu + tau z in the place of z."""
    mu, log_tau, theta = values["mu"], values["tau"], values["theta"]
    tau, away = np.exp(log_tau), theta - mu[..., None]
    pull = away / tau[..., None] ** 2
    return {
        "mu": -mu / 25.0 + pull.sum(axis=-1),
        "tau": 1.0 - tau**2 / 25.0 - 8.0 + np.sum(pull * away, axis=-1),
        "theta": (EFFECTS - theta) / ERRORS**2 - pull,
    }


def regression_gradient(values: Mapping[str, Array]) -> dict[str, Array]:
    """alpha ~ N(0, 2), beta ~ N(0, 1), y ~ Bernoulli(logit = alpha + x beta)."""
    alpha, beta = values["alpha"], values["beta"]
    rest = OUTCOMES - expit(alpha[..., None] + beta @ PREDICTORS.T)
    return {"alpha": -alpha / 4.0 + rest.sum(axis=-1), "beta": -beta + rest @ PREDICTORS}


def constrained_gradient(values: Mapping[str, Array]) -> dict[str, Array]:
    """sigma ~ half-N(0, 1), cut ordered ~ N(0, 2), y ~ N(cut[level], sigma); no simplex."""
    log_sigma, free = values["sigma"], values["cut"]
    sigma, gaps = np.exp(log_sigma), np.exp(free[..., 1:])
    cut = np.concatenate([free[..., :1], free[..., :1] + np.cumsum(gaps, axis=-1)], axis=-1)
    rest = MEASURED - cut[..., LEVELS]
    pull = rest / sigma[..., None] ** 2
    by_cut = np.stack([pull[..., level == LEVELS].sum(axis=-1) for level in range(3)], axis=-1)
    by_cut = by_cut - cut / 4.0
    above = np.cumsum(by_cut[..., ::-1], axis=-1)[..., ::-1]
    return {
        "sigma": 1.0 - sigma**2 - MEASURED.size + np.sum(rest * pull, axis=-1),
        "cut": np.concatenate([above[..., :1], above[..., 1:] * gaps + 1.0], axis=-1),
    }


def log_ratio_gradient(values: Mapping[str, Array]) -> dict[str, Array]:
    """The simplex, Dirichlet given its counts, by log-ratios to its last part."""
    ratios = np.exp(values["w"])
    w = ratios / (1.0 + ratios.sum(axis=-1, keepdims=True))
    total = CONCENTRATION + COUNTS
    return {"w": total[:2] - total.sum() * w}


def by_variable(sample: ps.Sample, rows: Array) -> dict[str, Array]:
    """Columns of a sample by variable, without PyMC's transforms: (n,) or (n, k)."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(sample.names or ()):
        base = name.partition("[")[0]
        base = base.rsplit("_", 3)[0] if base.endswith("__") else base
        places.setdefault(base, []).append(place)
    found = {}
    for name, columns in places.items():
        single = len(columns) == 1 and f"{name}[" not in "".join(sample.names or ())
        found[name] = rows[..., columns[0]] if single else rows[..., columns]
    return found


def assert_exact(sample: ps.Sample, gradient: Gradient, rtol: float = 5e-7) -> None:
    """Scores equal the gradient by hand, variable by variable, whatever their order.

    Every library comes this close, so that any two of them agree to 1e-6.
    """
    draws, scores = np.asarray(sample.draws), np.asarray(sample.scores)
    expected = gradient(by_variable(sample, draws))
    found = by_variable(sample, scores)
    assert set(expected) <= set(found)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=rtol, atol=rtol, err_msg=name)


def assert_gradient(sample: ps.Sample, rtol: float = 1e-5, count: int = 4) -> None:
    """Scores equal central differences of the library's own log-density."""
    log_density = sample.facts.log_density
    assert log_density is not None
    d = sample.layout.dimension
    draws, scores = (np.asarray(part).reshape(-1, d) for part in (sample.draws, sample.scores))
    for row in np.linspace(0, len(draws) - 1, count).astype(int):
        h = 1e-3 * draws.std(axis=0)
        steps = np.diag(h)
        value = [
            (log_density(draws[row] + k * steps) - log_density(draws[row] - k * steps))
            / (2 * k * h)
            for k in (1, 2)
        ]
        found = (4.0 * value[0] - value[1]) / 3.0
        np.testing.assert_allclose(
            scores[row], found, rtol=rtol, atol=rtol / draws.std(axis=0).min()
        )


def assert_simplex(sample: ps.Sample, name: str = "w") -> None:
    """log p(u) - log |dw/du| is the Dirichlet posterior of w up to a constant."""
    transform, log_density = sample.facts.transform, sample.facts.log_density
    assert transform is not None
    assert log_density is not None
    columns = [i for i, one in enumerate(sample.names or ()) if one.startswith(name)]
    draws = np.asarray(sample.draws).reshape(-1, sample.layout.dimension)
    # All else is held fixed, so that the simplex alone changes the log-density.
    points = np.repeat(draws[:1], 20, axis=0)
    points[:, columns] = draws[:: len(draws) // 20][:20][:, columns]
    simplex = transform(points)[name]
    jacobians = []
    for point in points:
        columns_of_j = []
        for column in columns:
            step = np.zeros(len(point))
            step[column] = 1e-5
            high, low = (transform((point + sign * step)[None])[name][0] for sign in (1, -1))
            columns_of_j.append((high - low)[:-1] / 2e-5)
        jacobians.append(np.linalg.slogdet(np.array(columns_of_j))[1])
    rest = log_density(points) - np.array(jacobians)
    rest -= np.log(simplex) @ (CONCENTRATION + COUNTS - 1.0)
    np.testing.assert_allclose(rest, rest[0], atol=1e-6)


def rejected_too_often(rejections: int, of: int) -> bool:
    """Whether a binomial test speaks against a rate of 0.05."""
    return bool(binom.sf(rejections - 1, of, 0.05) < 0.001)


def wide_draws(sample: ps.Sample, *names: str) -> Array:
    """The draws with some coordinates 15 % too wide."""
    draws = np.array(sample.draws)
    for name in names:
        place = (sample.names or ()).index(name)
        column = draws[..., place].copy()
        draws[..., place] = column.mean() + 1.15 * (column - column.mean())
    return draws


def inflated(sample: ps.Sample, name: str, score: Callable[[Array], Array]) -> ps.Sample:
    """The draws with one coordinate 15 % too wide, and the scores there."""
    return ps.Sample(wide_draws(sample, name), score, names=sample.names)
