"""The posteriors in PyMC, for its versions 5 and 6."""

from typing import Any

import numpy as np
import pymc as pm

from integration import posteriors as data

MAJOR = int(pm.__version__.split(".")[0])


def schools(centred: bool = False) -> Any:
    with pm.Model(coords={"school": data.SCHOOLS}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfNormal("tau", 5.0)
        if centred:
            theta = pm.Normal("theta", mu, tau, dims="school")
        else:
            z = pm.Normal("z", 0.0, 1.0, dims="school")
            theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("y", theta, data.ERRORS, observed=data.EFFECTS)
    return model


def regression() -> Any:
    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0.0, 2.0)
        beta = pm.Normal("beta", 0.0, 1.0, shape=3)
        pm.Bernoulli("y", logit_p=alpha + data.PREDICTORS @ beta, observed=data.OUTCOMES)
    return model


def constrained() -> Any:
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 1.0)
        cut = pm.Normal(
            "cut",
            0.0,
            2.0,
            shape=3,
            transform=pm.distributions.transforms.ordered,
            initval=np.array([-1.0, 0.0, 1.0]),
        )
        w = pm.Dirichlet("w", data.CONCENTRATION)
        pm.Normal("y", cut[data.LEVELS], sigma, observed=data.MEASURED)
        pm.Multinomial("counts", n=int(data.COUNTS.sum()), p=w, observed=data.COUNTS)
    return model


MODELS = {"schools": schools, "regression": regression, "constrained": constrained}
NAMES = {
    "schools": ("mu", "tau_log__", *(f"z[{school}]" for school in data.SCHOOLS)),
    "centred": ("mu", "tau_log__", *(f"theta[{school}]" for school in data.SCHOOLS)),
    "regression": ("alpha", "beta[0]", "beta[1]", "beta[2]"),
    "constrained": (
        "sigma_log__",
        *(f"cut_ordered__[{i}]" for i in range(3)),
        "w_simplex__[0]",
        "w_simplex__[1]",
    ),
}
GRADIENTS = {
    "schools": data.schools_gradient,
    "centred": data.centred_gradient,
    "regression": data.regression_gradient,
    "constrained": data.constrained_gradient,
}
#: A coordinate whose spread is made wrong.
INFLATED = {"schools": "mu", "regression": "beta[1]", "constrained": "cut_ordered__[0]"}


def sample(model: Any, *, seed: int, draws: int = 1000, chains: int = 4, **options: Any) -> Any:
    return pm.sample(
        draws,
        tune=1000,
        chains=chains,
        cores=1,
        model=model,
        random_seed=seed,
        progressbar=False,
        compute_convergence_checks=False,
        **options,
    )


def stored(model: Any, *, seed: int, **options: Any) -> Any:
    """Draws of nutpie through PyMC, with gradients and unconstrained values."""
    if MAJOR >= 6:
        keep = {"nuts": {"store_gradient": True}, "idata_kwargs": {"include_transformed": True}}
    else:
        kwargs = {"store_gradient": True, "store_unconstrained": True}
        keep = {"nuts_sampler": "nutpie", "nuts_sampler_kwargs": kwargs}
    return sample(model, seed=seed, **keep, **options)
