"""Targets of the gallery, beside those of the museum: exact draws, score and log-density."""

import numpy as np
from scipy.stats import t

from examples.museum.exhibits import Mixture
from polystein.experiments.paper.samplers import gaussian
from studies.check.alternatives import student_t_score
from studies.check.blind_spot_draws import FREEDOM


class TwoModes(Mixture):
    """An even mixture of two normal laws with sds of 1."""

    weights = np.array([0.5, 0.5])

    def __init__(self, distance):
        self.centres = np.array([-0.5, 0.5]) * distance

    def log_density(self, x):
        return np.logaddexp(*(-0.5 * (x[:, 0] - centre) ** 2 for centre in self.centres))


class StandardNormal:
    """N(0, I) in any dimension."""

    def __init__(self, d):
        self.d = d

    def draws(self, rng, n):
        return gaussian(rng, n, self.d)

    def score(self, x):
        return -x

    def log_density(self, x):
        return -0.5 * (x**2).sum(1)


class StudentT:
    """Two independent variables of Student's t with five degrees of freedom."""

    def draws(self, rng, n):
        return rng.standard_t(FREEDOM, (n, 2))

    def score(self, x):
        return student_t_score(x, FREEDOM)

    def log_density(self, x):
        return t.logpdf(x, FREEDOM).sum(1)


class Regression:
    """The posterior of two coefficients: 20 observations with noise of sd 1, and a normal prior."""

    def __init__(self, prior_sd):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((20, 2))
        y = x @ [1.5, -1.0] + rng.standard_normal(20)
        self.precision = x.T @ x + np.eye(2) / prior_sd**2
        self.mean = np.linalg.solve(self.precision, x.T @ y)

    def draws(self, rng, n):
        root = np.linalg.cholesky(np.linalg.inv(self.precision))
        return self.mean + rng.standard_normal((n, 2)) @ root.T

    def score(self, x):
        return (self.mean - x) @ self.precision

    def log_density(self, x):
        return 0.5 * ((x - self.mean) * self.score(x)).sum(1)
