"""Targets, and the exhibits: what is wrong, and where it was seen."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from examples.museum import kernels


class Normal:
    """N(0, covariance); sds 1 and 2 with correlation 0.75, unless it is said otherwise."""

    def __init__(self, covariance=((1.0, 1.5), (1.5, 4.0))):
        self.root = np.linalg.cholesky(covariance)
        self.precision = np.linalg.inv(covariance)

    def draws(self, rng, n):
        return rng.standard_normal((n, len(self.root))) @ self.root.T

    def score(self, x):
        return -x @ self.precision

    def log_density(self, x):
        return -0.5 * np.einsum("ij,jk,ik->i", x, self.precision, x)


class LogGamma:
    """The logarithm of a gamma variable with shape 2."""

    def draws(self, rng, n):
        return np.log(rng.standard_gamma(2.0, (n, 1)))

    def score(self, x):
        return 2.0 - np.exp(x)

    def log_density(self, x):
        with np.errstate(over="ignore"):
            return (2.0 * x - np.exp(x)).sum(1)


class Mixture:
    """Four normal laws, as in an example of NumPyro, with sds of 1."""

    weights, centres = np.array([0.15, 0.3, 0.3, 0.25]), np.array([-2.0, 0.0, 2.0, 4.0])

    def draws(self, rng, n):
        labels = rng.choice(len(self.weights), n, p=self.weights)
        return (self.centres[labels] + rng.standard_normal(n))[:, None]

    def score(self, x):
        p = self.weights * np.exp(-0.5 * (x - self.centres) ** 2)
        return (p * (self.centres - x)).sum(1, keepdims=True) / p.sum(1, keepdims=True)


NORMAL, PLAIN, LOG_GAMMA, MIXTURE = Normal(), Normal(np.eye(2)), LogGamma(), Mixture()


def repeated(step):
    """A run of a kernel without a state of its own, from exact draws."""

    def run(target, rng, chains, length):
        x = target.draws(rng, chains)
        return np.stack([x := step(target, x, rng) for _ in range(length)], axis=1)

    return run


def nuts(fault):
    return repeated(lambda target, x, rng: kernels.nuts(target, x, rng, fault=fault))


def slow(target, rng, chains, length):
    """Langevin steps that are too short for their start.

    No step size or trajectory length is adapted, unlike in the thread: chains start 1 sd off, and
    20 steps leave an error of the mean of about 0.1 sd.
    """
    x, out = target.draws(rng, chains) + 1.0, []
    for _ in range(length):
        x = kernels.mala(target, x, rng, step=0.47)
        out.append(x)
    return np.stack(out, axis=1)


def kept_momentum(target, rng, chains, length):
    """All chains start near 0, and what energy they have is what they keep."""
    x, p, out = 0.5 * target.draws(rng, chains), rng.standard_normal((chains, 2)), []
    for _ in range(length):
        x, p = kernels.hmc(target, x, rng, momentum=p)
        out.append(x)
    return np.stack(out, axis=1)


def ladder(**fault):
    def run(target, rng, chains, length):
        cold, hot, out = target.draws(rng, chains), target.draws(rng, chains) / 0.3**0.5, []
        for _ in range(length):
            cold, hot = kernels.tempered(target, cold, hot, rng, **fault)
            out.append(cold)
        return np.stack(out, axis=1)

    return run


def adapting(target, rng, chains, length):
    x, scale, out = target.draws(rng, chains), np.ones(chains), []
    for _ in range(length):
        x, scale = kernels.adapted(target, x, scale, rng)
        out.append(x)
    return np.stack(out, axis=1)


def labelled(target, rng, chains, length):
    label, out = rng.choice(4, chains, p=target.weights), []
    x = target.centres[label][:, None] + rng.standard_normal((chains, 1))
    for _ in range(length):
        x, label = kernels.mixture(target, x, label, rng)
        out.append(x)
    return np.stack(out, axis=1)


def without_jacobian(target, rng, chains, length):
    """Exact draws from the wrong law: that of the logarithm of a gamma variable with shape 1.

    It is what a right sampler of log(y) gives for the density of y, here gamma with shape 2.
    """
    return np.log(rng.standard_gamma(1.0, (chains, length, 1)))


def too_wide(target, rng, chains, length):
    """No sampler: exact draws times sqrt(1.004), with the error of variance of the thread."""
    shape = (chains, length, 2)
    return 1.004**0.5 * target.draws(rng, chains * length).reshape(shape)


class Exhibit(NamedTuple):
    """A wrong sampler: `run(target, rng, chains, length)` gives (chain, draw, d).

    The gate is asked to notice errors of `size` in means and sds.
    """

    name: str
    target: object
    run: Callable
    size: tuple[float, float] = (0.02, 0.015)


EXHIBITS = (
    Exhibit("stan#2178", NORMAL, nuts("boundary")),
    Exhibit("pymc#1763", NORMAL, nuts("subtrees")),
    Exhibit("pymc#1763, +0.4 %", PLAIN, too_wide, (0.05, 0.002)),
    Exhibit("pymc#1421", NORMAL, nuts("always")),
    Exhibit("tfp#542", NORMAL, nuts("weights")),
    Exhibit("numpyro#826", MIXTURE, labelled),
    Exhibit("blackjax#941", PLAIN, slow),
    Exhibit(
        "no Hastings term", NORMAL, repeated(lambda t, x, r: kernels.mala(t, x, r, hastings=False))
    ),
    Exhibit("no Jacobian", LOG_GAMMA, without_jacobian),
    Exhibit("momentum kept", PLAIN, kept_momentum),
    Exhibit(
        "leapfrog off by one",
        PLAIN,
        repeated(lambda t, x, r: kernels.hmc(t, x, r, last_half=1.0)[0]),
    ),
    Exhibit(
        "sign of a gradient", PLAIN, repeated(lambda t, x, r: kernels.mala(t, x, r, sign=-1.0))
    ),
    Exhibit(
        "float32 accept step", PLAIN, repeated(lambda t, x, r: kernels.walk(t, x, r, single=3e7))
    ),
    Exhibit("stale log-density", PLAIN, ladder(stale=True)),
    Exhibit("wrong temperature", PLAIN, ladder(wrong=True)),
    Exhibit("adapted for ever", LOG_GAMMA, adapting),
    Exhibit("minibatch scores", PLAIN, repeated(kernels.langevin)),
)
#: Right samplers with the same code, which must pass.
CORRECT = (
    Exhibit("NUTS", NORMAL, nuts("")),
    Exhibit("MALA", NORMAL, repeated(kernels.mala)),
    Exhibit("HMC", PLAIN, repeated(lambda t, x, r: kernels.hmc(t, x, r)[0])),
    Exhibit("random walk", PLAIN, repeated(kernels.walk)),
    Exhibit("two temperatures", PLAIN, ladder()),
)
