"""PyStan 3: gradients of the posterior at the draws of a fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from polystein._lib.arguments import integer
from polystein.adapters.assemble import assemble, coordinate_labels, pointwise, require_members
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress

_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_BLOCK = re.compile(r"\bparameters\s*\{(?P<body>[^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_DECLARATION = re.compile(
    r"(?P<array>array\s*\[[^\]]*\]\s*)?(?P<type>[a-z_]+)\s*(?:<[^;]*?>\s*)?(?:\[[^\]]*\]\s*)?"
    r"(?P<name>\w+)\s*(?:=[^;]*)?;"
)


def from_pystan(
    posterior: Any,
    fit: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    max_depth: int = 10,
    progress: Progress | None = None,
) -> Sample:
    """Compute the gradients of a PyStan posterior at the draws of its fit, as a `Sample`.

    Parameters
    ----------
    posterior : stan.model.Model
        What `stan.build` returned.
    fit : stan.fit.Fit
        What ``posterior.sample`` returned.
    var_names, thin, drop_first
        As for `Sample.select`.
    max_depth : int
        The largest depth of trees that the sampler was given; 10 is that of Stan. PyStan keeps the
        depth of every tree, but not the largest one that was allowed.
    progress : callable, optional
        Called as ``progress(done, total)`` while gradients are computed.

    Returns
    -------
    Sample
        With the model as its ``target``, and the sampler's statistics among its facts.
        Draws of the warm-up are not included.

    Notes
    -----
    PyStan makes two calls of some milliseconds for each draw: 4,000 draws take half a minute. Use
    `thin` for a first look. `refine` makes some hundred thousand calls with its defaults: use
    BridgeStan for it.

    Examples
    --------
    >>> import polystein as ps
    >>> import stan
    >>> program = '''
    ... parameters { real mu; real<lower=0> tau; }
    ... model { mu ~ normal(0, 1); tau ~ lognormal(0, 1); }
    ... '''
    >>> posterior = stan.build(program, random_seed=1)  # doctest: +ELLIPSIS
    Building...
    >>> fit = posterior.sample(num_chains=4, num_samples=500)
    >>> sample = ps.from_pystan(posterior, fit, thin=2)
    >>> sample.names, sample.layout.lengths
    (('mu', 'tau'), (250, 250, 250, 250))
    >>> ps.check(sample, rng=1).verdict
    'not rejected'
    """
    selection = Selection(var_names, thin, drop_first)
    require_members(
        posterior, "posterior", "what `stan.build` returned", "program_code", "grad_log_prob"
    )
    require_members(fit, "fit", "what `posterior.sample` returned", "num_chains", "num_warmup")
    parameters = _declared(posterior)
    own = {name: selection.rows(_by_chain(fit, name)) for name in parameters}
    leading = next(iter(own.values())).shape[:2]
    rows = np.stack(_unconstrained(posterior, own, leading))
    gradients = np.asarray(
        pointwise(lambda row: posterior.grad_log_prob(row.tolist()), rows, progress)
    )
    shape = (*leading, rows.shape[1])
    return assemble(
        rows.reshape(shape),
        gradients.reshape(shape),
        _names(parameters, own, rows.shape[1]),
        selection,
        statistics=_statistics(fit, selection, integer(max_depth, "max_depth", least=1)),
        target=_target(posterior, parameters, rows.shape[1]),
    )


def _target(posterior: Any, parameters: Mapping[str, str], dimension: int) -> Target:
    """The posterior's log-density and gradient: two calls of the server for each row, so slow.

    PyStan raises a RuntimeError where Stan rejects a point, whose density is 0.
    """

    def density(points: FloatArray) -> FloatArray:
        found = np.full(len(points), -np.inf)
        for place, point in enumerate(points):
            with suppress(RuntimeError):
                found[place] = posterior.log_prob(point.tolist())
        return found

    def score(points: FloatArray) -> FloatArray:
        found = np.full(points.shape, np.nan)
        for place, point in enumerate(points):
            with suppress(RuntimeError):
                found[place] = posterior.grad_log_prob(point.tolist())
        return found

    return Target(
        dimension,
        density,
        lambda points: (density(points), score(points)),
        transform=lambda points: _constrained_values(posterior, parameters, points),
        vectorised=False,
    )


def _declared(posterior: Any) -> dict[str, str]:
    """The names and types of the variables in the parameters block, in their order."""
    code = _COMMENT.sub("", posterior.program_code)
    # "transformed parameters" has a block of its own.
    block = _BLOCK.search(re.sub(r"\btransformed\s+parameters\b", "transformed_parameters", code))
    found = (
        {one["name"]: one["type"] for one in _DECLARATION.finditer(block["body"])} if block else {}
    )
    unknown = [name for name in found if name not in posterior.param_names]
    if not found or unknown:
        raise InputError(
            "`posterior` must have a parameters block that can be read; got one with "
            f"{', '.join(unknown) or 'no parameters'}"
        )
    return found


def _by_chain(fit: Any, name: str) -> FloatArray:
    """(chain, draw, ...) of a parameter or statistic, without the warm-up."""
    values = np.asarray(fit[name], dtype=np.float64)
    # PyStan has (..., draw and chain): the first draw of every chain, then the second ones.
    per_chain = values.shape[-1] // fit.num_chains
    chains = values.reshape(*values.shape[:-1], per_chain, fit.num_chains)
    chains = np.moveaxis(chains, (-1, -2), (0, 1))
    if name.endswith("__"):
        chains = chains.reshape(*chains.shape[:2])
    warm_up = -(-fit.num_warmup // fit.num_thin) if fit.save_warmup else 0
    return chains[:, warm_up:]


def _unconstrained(
    posterior: Any, own: Mapping[str, FloatArray], leading: tuple[int, ...]
) -> list[FloatArray]:
    dims = dict(zip(posterior.param_names, posterior.dims, strict=True))
    shaped = {name: array.reshape(*leading, *dims[name]) for name, array in own.items()}
    return [
        np.asarray(
            posterior.unconstrain_pars(
                {name: array[chain, draw].tolist() for name, array in shaped.items()}
            )
        )
        for chain in range(leading[0])
        for draw in range(leading[1])
    ]


def _names(
    parameters: Mapping[str, str], own: Mapping[str, FloatArray], dimension: int
) -> list[str] | None:
    """Names of the unconstrained coordinates; None if their numbers are not understood."""
    names: list[str] = []
    for name, kind in parameters.items():
        shape = own[name].shape[2:]
        shape = () if kind == "real" and shape in ((), (1,)) else shape
        free = _free_shape(kind, shape)
        if free is None:
            return None
        names += coordinate_labels(name, free, [range(1, size + 1) for size in free])
    return names if len(names) == dimension else None


def _free_shape(kind: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the unconstrained values of a Stan type."""
    plain = ("real", "vector", "row_vector", "matrix", "ordered", "positive_ordered", "unit_vector")
    if kind in plain:
        return shape
    if kind in ("simplex", "sum_to_zero_vector"):
        return (*shape[:-1], shape[-1] - 1)
    size = shape[-1] if shape else 0
    if kind in ("corr_matrix", "cholesky_factor_corr"):
        return (*shape[:-2], size * (size - 1) // 2)
    return (*shape[:-2], size * (size + 1) // 2) if kind == "cov_matrix" else None


def _constrained_values(
    posterior: Any, parameters: Mapping[str, str], points: FloatArray
) -> dict[str, Array]:
    """The declared parameters of (n, d) points; Stan writes arrays with the first index fastest."""
    own = np.array([posterior.constrain_pars(one.tolist(), False, False) for one in points])
    dims = dict(zip(posterior.param_names, posterior.dims, strict=True))
    found, low = {}, 0
    for name in parameters:
        high = low + int(np.prod(dims[name], dtype=int))
        found[name] = np.stack([row[low:high].reshape(dims[name], order="F") for row in own])
        low = high
    return found


def _statistics(fit: Any, selection: Selection, max_depth: int) -> dict[str, Array]:
    known = getattr(fit, "sample_and_sampler_param_names", ())
    kept = ("divergent__", "energy__", "treedepth__")
    found: dict[str, Array] = {
        name: selection.rows(_by_chain(fit, name)) for name in kept if name in known
    }
    if "treedepth__" in found:
        found["reached_max_treedepth"] = found.pop("treedepth__") >= max_depth
    return found
