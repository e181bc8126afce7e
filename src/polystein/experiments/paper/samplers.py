"""The samplers of the paper's experiments: four beside N(0, I), and a Boltzmann machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from polystein.types import Array, FloatArray

#: From a generator, a number of draws and a dimension to draws of shape (n, d).
Sampler: TypeAlias = Callable[[np.random.Generator, int, int], FloatArray]


def gaussian_score(draws: Array) -> Array:
    """Score of the target of Experiment 1, N(0, I): s(x) = -x."""
    return -draws


def gaussian(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_1, the target itself."""
    return rng.standard_normal((n, d))


def perturbed(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_2 = N(0, diag(1.7, 1, ..., 1)): one variance is wrong."""
    draws = rng.standard_normal((n, d))
    draws[:, 0] *= np.sqrt(1.7)
    return draws


def student_t(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_3, independent Student's t with 5 degrees of freedom."""
    return rng.standard_t(5.0, size=(n, d))


def laplace(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """q_4, independent Laplace(0, 1/sqrt 2): mean and variance are the target's."""
    return rng.laplace(0.0, np.sqrt(0.5), size=(n, d))


#: By the names that the published figures use.
EXPERIMENT_1: Mapping[str, Sampler] = MappingProxyType(
    {
        "gaussian": gaussian,
        "perturbed": perturbed,
        "student_t": student_t,
        "laplace": laplace,
    }
)


@dataclass(frozen=True, eq=False)
class BoltzmannMachine:
    """The Gaussian-Bernoulli restricted Boltzmann machine of Experiment 2.

    p(x, h) is proportional to exp(x'Bh/2 + b'x + c'h - |x|^2/2), x in R^d, h in {-1, 1}^m.

    Parameters
    ----------
    coupling : array of shape (d, m)
        The matrix B.
    visible, hidden : arrays of shape (d,) and (m,)
        The vectors b and c.
    """

    coupling: FloatArray
    visible: FloatArray
    hidden: FloatArray

    @classmethod
    def random(cls, rng: np.random.Generator, d: int = 50, m: int = 40) -> BoltzmannMachine:
        """Entries of B are -1 or 1 with equal chances, those of b and c standard normal."""
        coupling = rng.choice([-1.0, 1.0], size=(d, m))
        return cls(coupling, rng.standard_normal(d), rng.standard_normal(m))

    def perturbed(self, spread: float, rng: np.random.Generator) -> BoltzmannMachine:
        """Add independent Gaussian noise of standard deviation `spread` to B."""
        noise = spread * rng.standard_normal(self.coupling.shape)
        return BoltzmannMachine(self.coupling + noise, self.visible, self.hidden)

    def field(self, draws: FloatArray) -> FloatArray:
        """B'x/2 + c, half of the log-odds of h = 1 given x."""
        field: FloatArray = draws @ (0.5 * self.coupling) + self.hidden
        return field

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return log p(x) up to a constant: h is summed out into log 2cosh of the field."""
        field = self.field(draws)
        value: FloatArray = (
            draws @ self.visible
            - 0.5 * np.sum(draws**2, axis=1)
            + np.sum(np.logaddexp(field, -field), axis=1)
        )
        return value

    def score(self, draws: FloatArray) -> FloatArray:
        """Return b - x + B tanh(B'x/2 + c)/2, which overflows for no x."""
        score: FloatArray = (
            self.visible - draws + np.tanh(self.field(draws)) @ (0.5 * self.coupling.T)
        )
        return score

    def gibbs(self, rng: np.random.Generator, chains: int, sweeps: int) -> FloatArray:
        """Return the last draw of each of many independent chains, moved side by side.

        A sweep draws h given x, where P(h_k = 1 | x) = (1 + tanh field_k)/2, and then
        x given h, which is N(b + Bh/2, I).
        """
        d, m = self.coupling.shape
        forth, back = 0.5 * self.coupling, 0.5 * self.coupling.T
        draws = rng.standard_normal((chains, d))
        # Every array is made once: allocation would take most of the time of a sweep.
        chance, threshold, signs = (np.empty((chains, m)) for _ in range(3))
        mean = np.empty((chains, d))
        for _ in range(sweeps):
            np.matmul(draws, forth, out=threshold)
            threshold += self.hidden
            np.tanh(threshold, out=threshold)
            rng.random(out=chance)
            chance *= 2.0
            chance -= 1.0
            np.multiply(chance < threshold, 2.0, out=signs)
            signs -= 1.0
            rng.standard_normal(out=draws)
            draws += np.matmul(signs, back, out=mean)
            draws += self.visible
        return draws
