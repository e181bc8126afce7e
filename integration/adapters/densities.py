"""The posteriors as log-densities of unconstrained values, for JAX and for PyTorch alike.

Scales are given by their logarithms, ordered vectors by the logarithms of differences, and the
simplex by log-ratios to its last part. Jacobians are included.
"""

from collections.abc import Callable, Mapping
from typing import Any

from integration import posteriors as data

#: The variables of each posterior with their shapes, in the order of their names.
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "schools": {"mu": (), "tau": (), "z": (8,)},
    "centred": {"mu": (), "tau": (), "theta": (8,)},
    "regression": {"alpha": (), "beta": (3,)},
    "constrained": {"cut": (3,), "sigma": (), "w": (2,)},
}
NAMES = {
    model: tuple(
        name
        for variable, shape in variables.items()
        for name in ([f"{variable}[{i}]" for i in range(shape[0])] if shape else [variable])
    )
    for model, variables in SHAPES.items()
}


def schools(point: Mapping[str, Any], m: Any) -> Any:
    mu, log_tau, z = point["mu"], point["tau"], point["z"]
    theta = mu + m.exp(log_tau) * z
    return _location_and_scale(point, m) + _measurements(theta, m) - 0.5 * m.sum(z**2)


def centred(point: Mapping[str, Any], m: Any) -> Any:
    mu, log_tau, theta = point["mu"], point["tau"], point["theta"]
    spread = -8.0 * log_tau - 0.5 * m.sum(((theta - mu) / m.exp(log_tau)) ** 2)
    return _location_and_scale(point, m) + _measurements(theta, m) + spread


def _location_and_scale(point: Mapping[str, Any], m: Any) -> Any:
    mu, log_tau = point["mu"], point["tau"]
    return -(mu**2) / 50.0 - m.exp(2.0 * log_tau) / 50.0 + log_tau


def _measurements(theta: Any, m: Any) -> Any:
    return -0.5 * m.sum(((m.asarray(data.EFFECTS) - theta) / m.asarray(data.ERRORS)) ** 2)


def regression(point: Mapping[str, Any], m: Any) -> Any:
    alpha, beta = point["alpha"], point["beta"]
    logits = alpha + m.asarray(data.PREDICTORS) @ beta
    likelihood = m.asarray(data.OUTCOMES) * logits - m.logaddexp(m.zeros_like(logits), logits)
    return m.sum(likelihood) - alpha**2 / 8.0 - 0.5 * m.sum(beta**2)


def constrained(point: Mapping[str, Any], m: Any) -> Any:
    free, log_sigma, ratios = point["cut"], point["sigma"], point["w"]
    cut = m.concatenate([free[:1], free[:1] + m.cumsum(m.exp(free[1:]), 0)])
    rest = (m.asarray(data.MEASURED) - cut[m.asarray(data.LEVELS)]) * m.exp(-log_sigma)
    scale = -0.5 * m.exp(2.0 * log_sigma) + (1.0 - data.MEASURED.size) * log_sigma
    logits = m.concatenate([ratios, 0.0 * ratios[:1]])
    log_w = logits - m.log(m.sum(m.exp(logits)))
    simplex = m.sum(m.asarray(data.CONCENTRATION + data.COUNTS) * log_w)
    return scale - 0.5 * m.sum(rest**2) - m.sum(cut**2) / 8.0 + m.sum(free[1:]) + simplex


DENSITIES: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
    "schools": schools,
    "centred": centred,
    "regression": regression,
    "constrained": constrained,
}
INFLATED = {"schools": "mu", "regression": "beta[1]", "constrained": "cut[0]"}


def of_a_vector(model: str, m: Any) -> Callable[[Any], Any]:
    """The log-density of one flat point, in the order of `NAMES`."""

    def log_density(row: Any) -> Any:
        point, low = {}, 0
        for name, shape in SHAPES[model].items():
            high = low + (shape[0] if shape else 1)
            point[name] = row[low:high].reshape(shape)
            low = high
        return DENSITIES[model](point, m)

    return log_density
