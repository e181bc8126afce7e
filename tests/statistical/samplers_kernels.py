"""Correct chains of targets that can be drawn from exactly, which is where they start.

Kernels that leave the target as it is, started there, give rows that are exact draws of it.
"""

import numpy as np

from tests.statistical.samplers import (
    Array,
    Gaussian,
    Generator,
    State,
    Step,
    Target,
    state_at,
)


def equicorrelated_gaussian(dimension: int, correlation: float) -> Gaussian:
    """Unit variances, and the same correlation of each pair."""
    covariance = np.full((dimension, dimension), correlation)
    np.fill_diagonal(covariance, 1.0)
    return Gaussian(np.linalg.cholesky(covariance), np.linalg.inv(covariance))


def systematic_gibbs_step() -> Step:
    """One coordinate after the other, always in the same order, each from its conditional law.

    The chain of whole sweeps is not reversible.
    """

    def step(rng: Generator, target: Target, old: State) -> State:
        assert isinstance(target, Gaussian)
        draws = old.draws.copy()
        noise = rng.standard_normal(draws.shape)
        for one, row in enumerate(target.precision):
            others = draws @ row - draws[:, one] * row[one]
            draws[:, one] = -others / row[one] + noise[:, one] / np.sqrt(row[one])
        return state_at(target, draws)

    return step


def stretch_move(
    rng: Generator,
    target: Gaussian,
    ensembles: int,
    walkers: int,
    rows: int,
    *,
    longest: float = 2.0,
) -> Array:
    """The affine-invariant ensemble sampler of Goodman and Weare (2010), half by half.

    The walkers of one ensemble are neighbours in the result, of shape
    (ensembles * walkers, rows, d). They start as independent draws of the target.
    """
    dimension = len(target.scale)
    states = rng.standard_normal((ensembles, walkers, dimension)) @ target.scale.T
    kept = np.empty((rows, ensembles, walkers, dimension))
    half = walkers // 2
    for row in range(rows):
        for moving, standing in (
            (slice(half), slice(half, None)),
            (slice(half, None), slice(half)),
        ):
            states[:, moving] = stretched(
                rng, target, states[:, moving], states[:, standing], longest
            )
        kept[row] = states
    return kept.transpose(1, 2, 0, 3).reshape(ensembles * walkers, rows, dimension)


def stretched(
    rng: Generator, target: Gaussian, moving: Array, standing: Array, longest: float
) -> Array:
    """Each walker moves along the line to a random one of the other half, or stays.

    The factor Z has the density proportional to 1/sqrt(z) on [1/longest, longest].
    """
    ensembles, walkers, dimension = moving.shape
    picked = rng.integers(standing.shape[1], size=(ensembles, walkers, 1))
    anchors = np.take_along_axis(standing, picked, axis=1)
    low, high = longest**-0.5, longest**0.5
    factors = (low + (high - low) * rng.random((ensembles, walkers))) ** 2
    proposed = anchors + factors[..., None] * (moving - anchors)
    log_ratio = (dimension - 1) * np.log(factors)
    log_ratio += log_density(target, proposed) - log_density(target, moving)
    accept = np.log(rng.random((ensembles, walkers))) < log_ratio
    return np.where(accept[..., None], proposed, moving)


def log_density(target: Target, states: Array) -> Array:
    """One number for each walker of each ensemble."""
    return target.log_density(states.reshape(-1, states.shape[-1])).reshape(states.shape[:-1])
