"""PyStan 3: the posterior gives the gradients, the fit the draws."""

import stan

import polystein as ps

PROGRAM = """
data { array[8] real y; array[8] real errors; }
parameters { real mu; real<lower=0> tau; vector[8] z; }
model { mu ~ normal(0, 5); tau ~ normal(0, 5); z ~ std_normal(); y ~ normal(mu + tau * z, errors); }
"""
data = {
    "y": [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0],
    "errors": [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0],
}
posterior = stan.build(PROGRAM, data=data, random_seed=1)
fit = posterior.sample(num_chains=4, num_samples=500)
print(ps.check(ps.from_pystan(posterior, fit, thin=2), rng=1))
