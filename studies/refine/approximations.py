"""Gaussian approximations of posteriors, as users make them."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LbfgsInvHessProduct, minimize

from studies.effects.posteriors import Posterior, laplace, mean_field

Array = NDArray[np.float64]

BASE_DRAWS = 1024
#: Pairs of steps and changes of gradients that the curvature along the path is estimated by.
PAIRS = 6
PATH_DRAWS = 100


def full_rank(target: Posterior) -> tuple[Array, Array]:
    """The Gaussian that maximises the ELBO over fixed base draws."""
    d = len(target.centre)
    base = np.random.default_rng(1976).standard_normal((BASE_DRAWS // 2, d))
    base = np.concatenate([base, -base])
    lower = np.tril_indices(d)
    diagonal = lower[0] == lower[1]

    def unpacked(values: Array) -> tuple[Array, Array]:
        factor = np.zeros((d, d))
        factor[lower] = np.where(diagonal, np.exp(values[d:]), values[d:])
        return values[:d], factor

    def loss(values: Array) -> tuple[float, Array]:
        mean, factor = unpacked(values)
        draws = mean + base @ factor.T
        scores = target.score(draws)
        of_factor = (scores.T @ base / len(base))[lower]
        of_factor = np.where(diagonal, of_factor * factor[lower] + 1.0, of_factor)
        elbo = float(target.log_density(draws).mean()) + float(values[d:][diagonal].sum())
        return -elbo, -np.concatenate([scores.mean(axis=0), of_factor])

    begin = np.where(diagonal, np.log(np.maximum(target.scale[lower], 1e-6)), target.scale[lower])
    found = minimize(
        loss,
        np.concatenate([target.centre, begin]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 1000},
    )
    return unpacked(found.x)


def pathfinder(target: Posterior) -> tuple[Array, Array]:
    """The best of the Gaussians along the path of L-BFGS to a mode (Zhang et al. 2022), by ELBO.

    The covariance is the inverse Hessian that L-BFGS has at that point of the path.
    """
    rng = np.random.default_rng(1977)
    d = len(target.centre)
    path = [rng.uniform(-1.0, 1.0, size=d)]
    minimize(
        lambda x: -float(target.log_density(x[None])[0]),
        path[0],
        jac=lambda x: -target.score(x[None])[0],
        method="L-BFGS-B",
        options={"maxiter": 200, "maxcor": PAIRS},
        callback=lambda x: path.append(x.copy()),
    )
    points, base = np.array(path), rng.standard_normal((PATH_DRAWS, d))
    steps, changes = np.diff(points, axis=0), -np.diff(target.score(points), axis=0)
    best, found = -np.inf, (points[0], np.eye(d))
    for place in range(1, len(points)):
        own = [k for k in range(max(0, place - PAIRS), place) if steps[k] @ changes[k] > 0.0]
        if not own:
            continue
        covariance = _inverse_hessian(steps[own], changes[own])
        try:
            factor = np.linalg.cholesky(0.5 * (covariance + covariance.T))
        except np.linalg.LinAlgError:  # where the density is not bounded
            continue
        mean = points[place] + covariance @ target.score(points[place][None])[0]
        with np.errstate(all="ignore"):
            density = target.log_density(mean + base @ factor.T).mean()
        elbo = float(density) + float(np.log(np.diagonal(factor)).sum())
        if elbo > best:
            best, found = elbo, (mean, factor)
    return found


def _inverse_hessian(steps: Array, changes: Array) -> Array:
    """That of L-BFGS, which begins with the scale of the last pair."""
    scale = (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    root = np.sqrt(scale)
    return scale * np.asarray(LbfgsInvHessProduct(steps / root, changes * root).todense())


APPROXIMATIONS = {
    "mean-field": mean_field,
    "full-rank": full_rank,
    "Laplace": laplace,
    "Pathfinder-like": pathfinder,
}
