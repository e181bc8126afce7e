"""Do ranks of step sizes agree with their true errors? ``python -m studies.compare``.

ULA, and SGLD with minibatches of a tenth, run on the posterior of a logistic regression with eight
step sizes each. ``polystein.compare`` ranks them from 4 chains of 10,000 draws with full scores.
Their true errors come from 512 other chains each, and from moments of the posterior by importance
sampling. Prints and stores both in ``studies/compare.csv``, with Spearman's correlation, which is
to be at least 0.9, and the commit of the code. Takes a minute; a second run gives the same table.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import multivariate_t, spearmanr

import polystein as ps
from polystein.experiments.engine.store import package_commit, write_csv

TABLE = Path(__file__).with_suffix(".csv")
Array = NDArray[np.float64]
SAMPLERS = ("ULA", "SGLD")
DIMENSION, OBSERVATIONS, BATCH = 4, 200, 20
#: In units of the smallest posterior variance; ULA and SGLD explode well above the largest.
STEPS = (0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9, 1.3)
CHAINS, DRAWS, WARM_UP = 4, 10_000, 500
#: Chains and draws behind true errors, and points of importance sampling.
MANY_CHAINS, FEW_DRAWS, POINTS = 512, 500, 400_000


class Posterior(NamedTuple):
    """A logistic regression with a standard normal prior."""

    rows: Array
    outcomes: Array

    @classmethod
    def of(cls, rng: np.random.Generator, observations: int = OBSERVATIONS) -> "Posterior":
        rows = rng.standard_normal((observations, DIMENSION))
        truth = np.linspace(-1.0, 1.0, DIMENSION)
        return cls(rows, (rng.random(observations) < expit(rows @ truth)).astype(float))

    def log_density(self, x: Array) -> Array:
        logits = x @ self.rows.T
        fit = self.outcomes * logits + log_expit(-logits)
        result: Array = fit.sum(axis=1) - 0.5 * np.sum(x**2, axis=1)
        return result

    def score(self, x: Array) -> Array:
        """The gradient of the log-density at every row."""
        result: Array = (self.outcomes - expit(x @ self.rows.T)) @ self.rows - x
        return result

    def noisy_score(self, x: Array, rng: np.random.Generator) -> Array:
        """The same by a fresh minibatch for every row."""
        return self.batch_score(x, rng.integers(len(self.rows), size=(len(x), BATCH)))

    def batch_score(self, x: Array, chosen: NDArray[np.intp]) -> Array:
        """The score of every row by the observations that are chosen for it."""
        rows = self.rows[chosen]
        left = self.outcomes[chosen] - expit(np.einsum("nbd,nd->nb", rows, x))
        part = len(self.rows) / chosen.shape[1]
        result: Array = part * np.einsum("nb,nbd->nd", left, rows) - x
        return result

    def laplace(self) -> tuple[Array, Array]:
        """The mode and the covariance there."""
        found = minimize(
            lambda x: -self.log_density(x[None])[0], np.zeros(DIMENSION),
            jac=lambda x: -self.score(x[None])[0], method="BFGS", tol=1e-10,
        )  # fmt: skip
        weight = expit(self.rows @ found.x) * expit(-self.rows @ found.x)
        precision = self.rows.T @ (weight[:, None] * self.rows) + np.eye(DIMENSION)
        return found.x, np.linalg.inv(precision)

    def moments(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Means and sds by importance sampling from a t distribution around the mode."""
        mode, covariance = self.laplace()
        law = multivariate_t(mode, covariance, df=8, seed=rng)
        points = law.rvs(POINTS)
        log_weights = self.log_density(points) - law.logpdf(points)
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        mean = weights @ points
        return mean, np.sqrt(weights @ (points - mean) ** 2)


def langevin(
    target: Posterior, sampler: str, chains: int, draws: int, rng: np.random.Generator
) -> Array:
    """Draws of shape (step, chain, draw, d) of all step sizes, which run side by side."""
    mode, covariance = target.laplace()
    unit = np.linalg.eigvalsh(covariance)[0]
    step = np.repeat(unit * np.array(STEPS), chains)[:, None]
    x = np.tile(mode, (len(step), 1))
    kept = np.empty((draws, *x.shape))
    for t in range(-WARM_UP, draws):
        gradient = target.score(x) if sampler == "ULA" else target.noisy_score(x, rng)
        x = x + step * gradient + np.sqrt(2.0 * step) * rng.standard_normal(x.shape)
        if t >= 0:
            kept[t] = x
    return kept.reshape(draws, len(STEPS), chains, DIMENSION).transpose(1, 2, 0, 3)


def true_errors(target: Posterior, sampler: str, rng: np.random.Generator) -> Array:
    """Root mean square of errors of means, in sds, and of log sds, of every step size's law."""
    mean, sd = target.moments(rng)
    rows = langevin(target, sampler, MANY_CHAINS, FEW_DRAWS, rng).reshape(len(STEPS), -1, DIMENSION)
    off = np.concatenate([(rows.mean(axis=1) - mean) / sd, np.log(rows.std(axis=1) / sd)], axis=1)
    result: Array = np.sqrt(np.mean(off**2, axis=1))
    return result


def compared(target: Posterior, sampler: str, rng: np.random.Generator) -> ps.SamplerComparison:
    """What `compare` says of one run of every step size."""
    draws = langevin(target, sampler, CHAINS, DRAWS, rng)
    return ps.compare(
        {f"{step:g}": (rows, target.score) for step, rows in zip(STEPS, draws, strict=True)}
    )


def study(sampler: str) -> tuple[list[dict[str, str]], float]:
    """The lines of a sampler's step sizes, and Spearman's correlation."""
    number = SAMPLERS.index(sampler)
    data, truth, run = (np.random.default_rng([29, number, part]) for part in range(3))
    target = Posterior.of(data)
    errors, found = true_errors(target, sampler, truth), compared(target, sampler, run)
    lines = []
    for step, error in zip(STEPS, errors, strict=True):
        one = found[f"{step:g}"]
        distance = one.discrepancy
        lines.append(
            {
                "cell": f"{sampler} {step:g}",
                "error": f"{error:.4f}",
                "discrepancy": f"{distance.value:.3f}",
                "interval": f"{distance.lower:.3f} to {distance.upper:.3f}",
                "rank": f"{one.rank[0]} to {one.rank[1]}",
            }
        )
    squares = [found[f"{step:g}"].discrepancy.square for step in STEPS]
    return lines, float(spearmanr(errors, squares).statistic)


if __name__ == "__main__":
    # Asked for at once, as the files may change under way.
    commit = package_commit() or "unknown"
    every: list[dict[str, str]] = []
    for name in SAMPLERS:
        rows, correlation = study(name)
        every += [{**row, "spearman": f"{correlation:.3f}", "commit": commit} for row in rows]
        for row in every[-len(STEPS) :]:
            print(*row.values(), sep="  ", flush=True)
    write_csv(TABLE, every)
