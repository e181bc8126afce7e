"""Fits of PyMC that are no chains: approximations of `pm.fit`, and fits of `pymc_extras`.

Their draws are independent rows. Where the density q of the fit is known, k-hat compares it with
the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polystein._lib.imports import imported
from polystein._lib.random import seed_sequence
from polystein.adapters.groups import POSTERIOR, STATISTICS, Groups
from polystein.types import RNG, Array, FloatArray

#: Where `pymc_extras.fit_laplace` keeps the normal law of its draws.
_LAPLACE = "fit"
#: Where `pymc_extras.fit_pathfinder` keeps what it says about its paths: a group of its own, or
#: the sampler's statistics (version 0.10), with this variable.
_PATHFINDER, _METHOD = "pathfinder", "importance_sampling_method"
#: What `pm.sample` notes about the posterior, and a variational fit does not.
_NOTED_BY_SAMPLERS = {"sampling_time", "tuning_steps"}


def is_approximation(value: Any) -> bool:
    """Whether this is what `pm.fit` returned, which keeps its model."""
    return all(hasattr(value, name) for name in ("groups", "symbolic_random", "model"))


def approximate_draws(
    approximation: Any, n_draws: int, rng: RNG
) -> tuple[dict[str, Array], FloatArray | None]:
    """Draws of the value variables, each of shape (1, draw, ...), and log q of every draw.

    The second is None for an approximation without a density, as that of SVGD.
    """
    functions = imported("pymc.pytensorf", "pymc")
    size = imported("pytensor.tensor", "pymc").iscalar()
    names = [value.name for value in approximation.model.value_vars]
    wanted = [approximation.rslice(name) for name in names]
    if approximation.has_logq:
        wanted.append(approximation.symbolic_logq)
    outputs = approximation.set_size_and_deterministic(wanted, size, 0)
    function = functions.compile([size], outputs)
    seed = seed_sequence(rng).generate_state(4)
    functions.reseed_rngs(functions.find_rng_nodes(outputs), [int(word) for word in seed])
    found = [np.asarray(array) for array in function(n_draws)]
    log_q = np.asarray(found[-1], dtype=np.float64) if approximation.has_logq else None
    return {name: array[None] for name, array in zip(names, found, strict=False)}, log_q


def are_independent(groups: Groups, chains: int) -> bool:
    """Whether the data say that their draws are those of a fit, and no chains.

    `Approximation.sample` stores one chain by PyMC, without anything that samplers note.
    """
    if _of_pathfinder(groups) is not None or _law_of_laplace(groups) is not None:
        return True
    noted = groups.attributes(POSTERIOR)
    by_pymc = noted.get("inference_library") == "pymc" and not _NOTED_BY_SAMPLERS & set(noted)
    return by_pymc and chains == 1 and groups.dataset(STATISTICS) is None


def _law_of_laplace(groups: Groups) -> Any:
    """The group with mean and covariance of a Laplace approximation, or None."""
    found = groups.dataset(_LAPLACE)
    whole = found is not None and {"mean_vector", "covariance_matrix"} <= set(found)
    return found if whole else None


def stored_log_q(groups: Groups, rows: FloatArray, names: Sequence[str]) -> FloatArray | None:
    """The log-density of a Laplace approximation at (n, d) rows with these names, if it is known.

    The fit orders the coordinates in its own way, and names them as in "theta[0,1]".
    """
    law = _law_of_laplace(groups)
    if law is None or "rows" not in law["mean_vector"].coords:
        return None
    labels = [_label(name) for name in law["mean_vector"].coords["rows"].values.tolist()]
    wanted = [_label(name) for name in names]
    if sorted(labels) != sorted(wanted):
        return None
    order = [labels.index(name) for name in wanted]
    mean = np.asarray(law["mean_vector"].values, dtype=np.float64)[order]
    covariance = np.asarray(law["covariance_matrix"].values, dtype=np.float64)[order][:, order]
    try:
        scaled = np.linalg.solve(np.linalg.cholesky(covariance), (rows - mean).T)
    except np.linalg.LinAlgError:  # singular: the draws have no density
        return None
    log_q: FloatArray = -0.5 * np.sum(scaled**2, axis=0)  # up to a constant
    return log_q


def _label(name: str) -> str:
    return str(name).replace(", ", ",")


def _of_pathfinder(groups: Groups) -> Any:
    """What Pathfinder said about its paths, or None."""
    own, beside = groups.dataset(_PATHFINDER), groups.dataset(STATISTICS)
    return beside if own is None and beside is not None and _METHOD in beside else own


def stored_pareto_k(groups: Groups) -> float | None:
    """The k-hat that `fit_pathfinder` stored, of its draws before they were resampled."""
    found = _of_pathfinder(groups)
    if found is None or "pareto_k" not in found:
        return None
    value = float(np.asarray(found["pareto_k"].values))
    return value if np.isfinite(value) else None


def without_repeats(rows: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Every row once, with the logarithm of how often it was there as its weight.

    Resampling repeats rows, and repeats are not independent. Their numbers are, nearly, and have
    the importance weights as their means.
    """
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if len(first) == len(rows):
        return rows, None
    order = np.argsort(first)
    return rows[first[order]], np.log(counts[order].astype(np.float64))
