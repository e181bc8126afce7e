"""PyMC's callback: every draw goes to the monitor as it comes, and warm-up is left out."""

import numpy as np
import pymc as pm

import polystein as ps

with pm.Model() as model:
    mu = pm.Normal("mu", 0.0, 5.0)
    tau = pm.HalfNormal("tau", 5.0)
    pm.Normal("y", mu, tau, observed=[1.2, -0.3, 0.8, 2.1, 0.4])

gradient = model.logp_dlogp_function(ravel_inputs=True)
gradient.set_extra_values({})
names = [variable.name for variable in model.value_vars]
monitor = ps.Monitor(None, 2, looks=(500, 1000), chains=2)


def watch(trace, draw):
    if draw.tuning:
        return
    point = np.concatenate([np.ravel(draw.point[name]) for name in names])
    for look in monitor.update(point[None], gradient(point)[1][None], chain=draw.chain):
        print(look)


with model:
    # The callback runs in this process; PyMC's own sampler calls it.
    pm.sample(1000, tune=500, chains=2, cores=1, target_accept=0.95, callback=watch, random_seed=1)
print(monitor)
