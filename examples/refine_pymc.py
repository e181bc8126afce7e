"""ADVI on a model with varying intercepts: found, sized, refined, checked again."""

import numpy as np
import pymc as pm

import polystein as ps

rng = np.random.default_rng(1)
group = np.repeat(np.arange(8), 6)
y = 1.0 + 0.7 * rng.standard_normal(8)[group] + rng.standard_normal(48)

with pm.Model(coords={"group": np.arange(8)}) as model:
    mu = pm.Normal("mu", 0.0, 5.0)
    tau = pm.HalfNormal("tau", 2.0)
    sigma = pm.HalfNormal("sigma", 2.0)
    intercept = pm.Normal("intercept", mu, tau, dims="group")
    pm.Normal("y", intercept[group], sigma, observed=y)
    approximation = pm.fit(20_000, method="advi", random_seed=1, progressbar=False)

idata = approximation.sample(4000, random_seed=2)
refined = ps.refine(idata, model=model)  # found and sized
print(refined)
print(ps.check(refined.draws, iid=True))  # the moved draws, checked again
