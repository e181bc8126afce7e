import numpy as np
import pymc as pm

import polystein as ps

rng = np.random.default_rng(1)
x = rng.standard_normal((200, 1)) + 0.5 * rng.standard_normal((200, 3))  # correlated predictors
y = rng.random(200) < 1.0 / (1.0 + np.exp(-x.sum(axis=1)))

with pm.Model() as model:
    alpha = pm.Normal("alpha", 0.0, 2.0)
    beta = pm.Normal("beta", 0.0, 1.0, shape=3)
    pm.Bernoulli("y", logit_p=alpha + x @ beta, observed=y)
    nuts = pm.sample(random_seed=1, progressbar=False)
    advi = pm.fit(20_000, random_seed=1, progressbar=False).sample(4000, random_seed=1)

print(repr(ps.check(nuts, model=model, rng=1)))
print(ps.check(advi, model=model, rng=1))
