"""The posteriors in NumPyro."""

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from integration import posteriors as data


def schools(errors: Any, effects: Any = None) -> None:
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfNormal(5.0))
    with numpyro.plate("school", 8):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(theta, errors), obs=effects)


def centred(errors: Any, effects: Any = None) -> None:
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfNormal(5.0))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, errors), obs=effects)


def regression(predictors: Any, outcomes: Any = None) -> None:
    alpha = numpyro.sample("alpha", dist.Normal(0.0, 2.0))
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    numpyro.sample("y", dist.BernoulliLogits(alpha + predictors @ beta), obs=outcomes)


def constrained(measured: Any, counts: Any = None) -> None:
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    ordered = dist.constraints.ordered_vector
    cut = numpyro.sample("cut", dist.ImproperUniform(ordered, (), event_shape=(3,)))
    numpyro.factor("prior", dist.Normal(0.0, 2.0).log_prob(cut).sum())
    w = numpyro.sample("w", dist.Dirichlet(jnp.asarray(data.CONCENTRATION)))
    numpyro.sample("y", dist.Normal(cut[data.LEVELS], sigma), obs=measured)
    numpyro.sample("n", dist.Multinomial(int(data.COUNTS.sum()), probs=w), obs=counts)


#: Models with their arguments.
MODELS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "schools": (schools, (data.ERRORS,), {"effects": data.EFFECTS}),
    "centred": (centred, (data.ERRORS,), {"effects": data.EFFECTS}),
    "regression": (regression, (data.PREDICTORS,), {"outcomes": data.OUTCOMES}),
    "constrained": (constrained, (data.MEASURED,), {"counts": data.COUNTS}),
}
NAMES = {
    "schools": ("mu", "tau", *(f"z[{i}]" for i in range(8))),
    "centred": ("mu", "tau", *(f"theta[{i}]" for i in range(8))),
    "regression": ("alpha", "beta[0]", "beta[1]", "beta[2]"),
    "constrained": ("cut[0]", "cut[1]", "cut[2]", "sigma", "w[0]", "w[1]"),
}
INFLATED = {"schools": "mu", "regression": "beta[1]", "constrained": "cut[0]"}
