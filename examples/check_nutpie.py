"""nutpie: gradients that the sampler stored; the model is not needed any more."""

import nutpie
import pymc as pm

import polystein as ps

with pm.Model() as model:
    mu = pm.Normal("mu", 0.0, 5.0)
    tau = pm.HalfNormal("tau", 5.0)
    theta = pm.Normal("theta", 0.0, 1.0, shape=8)
    y = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
    pm.Normal("y", mu + tau * theta, [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0], observed=y)

trace = nutpie.sample(
    nutpie.compile_pymc_model(model),
    seed=1,
    progress_bar=False,
    store_gradient=True,
    store_unconstrained=True,
)
print(ps.check(trace, rng=1))
