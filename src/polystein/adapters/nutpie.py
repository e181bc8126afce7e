"""nutpie: unconstrained draws and gradients that the sampler stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from polystein.adapters.assemble import assemble, coordinate_labels
from polystein.adapters.bambi import made_by_bambi
from polystein.adapters.groups import (
    POSTERIOR,
    STATISTICS,
    UNCONSTRAINED,
    ArvizData,
    Groups,
    axes_of,
    complete_chains,
    labels_of,
    opened,
)
from polystein.data.facts import Facts
from polystein.data.sample import Sample
from polystein.data.selection import Selection, spellings
from polystein.errors import InputError
from polystein.types import Array

GRADIENT, DRAW, LABELS = "gradient", "unconstrained_draw", "unconstrained_parameter"
#: Its names of coordinates: a variable, an underscore, and indices with dots between them.
_LABEL = re.compile(r"(?P<name>.+)_(?P<indices>\d+(?:\.\d+)*)")
#: How PyMC's names of values end that are transformed one by one.
_OF_SINGLE_VALUES = ("_log__", "_logodds__", "_interval__")
#: What to pass to the sampler, by library and version: each takes other arguments.
_HOW_TO_STORE = {
    "pymc 6": (
        'With PyMC 6: `pm.sample(..., nuts={"store_gradient": True}, '
        'idata_kwargs={"include_transformed": True})`'
    ),
    "pymc 5": (
        'With PyMC 5: `pm.sample(..., nuts_sampler="nutpie", nuts_sampler_kwargs='
        '{"store_gradient": True, "store_unconstrained": True})`'
    ),
    "nutpie": "With nutpie: `nutpie.sample(..., store_gradient=True, store_unconstrained=True)`",
    "numpyro": "With NumPyro, pass the MCMC itself: `ps.check(mcmc)`",
    "cmdstan": (
        "With CmdStanPy, pass the fit itself, of `model.sample(..., save_latent_dynamics=True, "
        "sig_figs=18)`"
    ),
    "stan": "With PyStan: `ps.from_pystan(posterior, fit)`",
    "pyro": "With Pyro: `ps.from_torch(log_prob, draws)`, with unconstrained draws",
    "blackjax": "With BlackJAX, pass the states themselves: `ps.check(states)`",
}
#: What is said if the data do not tell what sampled them.
_COMMON = ("nutpie", "pymc 6", "pymc 5", "cmdstan")


def how_to_store(groups: Groups) -> str:
    """What to pass to the sampler that made the data; to the common ones if it is not known."""
    attributes = [groups.attributes(name) for name in groups.names]
    made = [
        f"{one.get('inference_library')} {one.get('inference_library_version')}"
        for one in attributes
    ]
    # nutpie signs what it samples for PyMC, which signs the other groups: PyMC comes first.
    known = [key for key in _HOW_TO_STORE if any(one.lower().startswith(key) for one in made)]
    advice = ". ".join(_HOW_TO_STORE[key] for key in known[:1] or _COMMON)
    if known and known[0] not in ("pymc 6", "pymc 5", "nutpie"):
        return advice
    return f"{advice}. With a PyMC model at hand, pass `model=model`, or `ps.from_pymc`"


def from_nutpie(
    trace: ArvizData,
    *,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
) -> Sample:
    """Take draws and gradients that nutpie stored, as a `Sample`; no model is needed.

    Parameters
    ----------
    trace : InferenceData, DataTree or path
        What `nutpie.sample` returned with ``store_gradient=True, store_unconstrained=True``, what
        PyMC returned for a model that nutpie sampled, or the file that it was saved to.
    var_names, thin, drop_first
        As for `Sample.select`.

    Returns
    -------
    Sample
        With the sampler's statistics among its facts. Draws of the warm-up are not included.

    Examples
    --------
    >>> import nutpie
    >>> import numpy as np
    >>> import pymc as pm
    >>> import polystein as ps
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0.0, 5.0)
    ...     tau = pm.HalfNormal("tau", 5.0)
    ...     y = pm.Normal("y", mu, tau, observed=np.linspace(-1.0, 2.0, 20))
    >>> trace = nutpie.sample(
    ...     nutpie.compile_pymc_model(model),
    ...     draws=500,
    ...     chains=4,
    ...     seed=1,
    ...     store_gradient=True,
    ...     store_unconstrained=True,
    ...     progress_bar=False,
    ... )
    >>> sample = ps.from_nutpie(trace)
    >>> sample.names
    ('mu', 'tau_log__')
    >>> ps.check(sample, rng=1).verdict  # or ps.check(trace, rng=1)
    'not rejected'
    """
    with opened(trace) as groups:
        return stored_gradients(groups, Selection(var_names, thin, drop_first))


def stored_gradients(groups: Groups, selection: Selection) -> Sample:
    """The sample of the gradients that are in the file, or an error that says how to store them."""
    stored = groups.variables(STATISTICS)
    if GRADIENT not in stored:
        raise InputError(
            f"`trace` must hold gradients, sample_stats['{GRADIENT}']; got {groups.source} "
            f"without them. {how_to_store(groups)}."
        )
    selection = groups.without_warm_up(selection)
    gradient = stored[GRADIENT].transpose("chain", "draw", ...)
    if gradient.ndim != 3:
        raise InputError(
            "`trace` must have gradients with the axes (chain, draw, parameter); got "
            f"{gradient.dims}"
        )
    labels = [str(label) for label in labels_of(gradient)[0]]
    scores = selection.rows(complete_chains(gradient.values, "the stored gradients"))
    draws = _unconstrained(groups, stored, labels, selection)
    return assemble(
        draws,
        scores,
        _names(labels, groups),
        selection,
        statistics=groups.statistics(selection),
        known=Facts(labels=_labels(labels, groups)),
    )


def _unconstrained(
    groups: Groups, stored: dict[str, Any], labels: list[str], selection: Selection
) -> Array:
    """The unconstrained draws in the order of the gradients' labels."""
    if DRAW in stored:
        found = stored[DRAW].transpose("chain", "draw", ...)
        if labels_of(found)[0] != labels_of(stored[GRADIENT])[0]:
            raise InputError(
                f"`trace` must have {DRAW} and {GRADIENT} of the same parameters; got "
                f"{labels_of(found)[0][:5]}... and {labels[:5]}..."
            )
        return selection.rows(complete_chains(found.values, "the stored draws"))
    transformed, own = groups.variables(UNCONSTRAINED), groups.variables(POSTERIOR)
    if not transformed:
        # A Stan model's labels do not tell whether a parameter is constrained: never guess.
        raise InputError(
            f"`trace` must hold unconstrained draws, sample_stats['{DRAW}'] or the group "
            f"'{UNCONSTRAINED}'; got {groups.source} with gradients alone. {how_to_store(groups)}."
        )
    if made_by_bambi(groups):
        raise InputError(
            "`trace` must hold the draws as they were sampled; Bambi changes intercepts "
            "afterwards. Pass `model=model`, the Bambi model."
        )
    columns = [_column(label, transformed, own, groups) for label in labels]
    return selection.rows(np.stack(columns, axis=2))


def _column(label: str, transformed: dict[str, Any], own: dict[str, Any], groups: Groups) -> Array:
    """One coordinate by its label: a transformed variable, under either name, or a plain one."""
    name, indices = nutpie_parts(label, {*transformed, *own})
    plain = spellings(name) - {name}
    schema_name = next((one for one in plain if one in transformed), None)
    for group, key in ((transformed, name), (transformed, schema_name), (own, name)):
        if key is not None and key in group:
            return complete_chains(group[key].values[(..., *indices)], f"draws of {key}")
    raise InputError(
        f"`trace` must hold the unconstrained draws of {label!r}; got neither {UNCONSTRAINED} nor "
        f"{POSTERIOR} with it. {how_to_store(groups)}."
    )


def nutpie_parts(label: str, variables: Iterable[str]) -> tuple[str, tuple[int, ...]]:
    """A variable and the indices of one coordinate: ``z_0.1`` is ``z``, (0, 1)."""
    found = _LABEL.fullmatch(label)
    if label in variables or found is None:
        return label, ()
    return found["name"], tuple(int(index) for index in found["indices"].split("."))


def _labels(labels: list[str], groups: Groups) -> tuple[dict[str, Any], ...]:
    """The labels of every coordinate by the names of its variable's axes.

    Transforms of single values keep the axes.
    """
    own, found = groups.variables(POSTERIOR), []
    for label in labels:
        name, indices = nutpie_parts(label, own)
        known = {name, *(name.removesuffix(end) for end in _OF_SINGLE_VALUES)}
        variable = next((own[one] for one in known if one in own), None)
        axes = [] if variable is None else axes_of(variable)
        axes = axes if len(axes) == len(indices) else []
        places = zip(axes, indices, strict=False)
        found.append({axis: along[index] for (axis, along), index in places})
    return tuple(found)


def _names(labels: list[str], groups: Groups) -> list[str]:
    """``z[Choate]`` for nutpie's ``z_0``: the labels of the variable's own axes, if it has them."""
    own, names = groups.variables(POSTERIOR), []
    for label in labels:
        name, indices = nutpie_parts(label, own)
        axes = labels_of(own[name]) if name in own else []
        if len(axes) == len(indices):
            places: list[Any] = [[axis[index]] for axis, index in zip(axes, indices, strict=True)]
        else:
            places = [[index] for index in indices]
        names += coordinate_labels(name, [1] * len(indices), places)
    return names
