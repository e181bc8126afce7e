"""Bambi: models on top of PyMC, whose intercepts are changed after sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from polystein.adapters.assemble import flat_draws
from polystein.adapters.groups import POSTERIOR, Groups
from polystein.data.foreign import type_name
from polystein.errors import InputError
from polystein.types import Array


def is_bambi(model: Any) -> bool:
    """Whether this is a model of Bambi."""
    return type_name(model).startswith("bambi.")


def pymc_model(model: Any) -> Any:
    """The PyMC model of a Bambi model that was built."""
    backend = getattr(model, "backend", None)
    if backend is None or getattr(backend, "model", None) is None:
        raise InputError("`model` must be a Bambi model that was built; call `model.build()`")
    return backend.model


def made_by_bambi(groups: Groups) -> bool:
    """Whether draws went through Bambi, which changes intercepts."""
    return bool(groups.attributes(POSTERIOR).get("modeling_interface") == "bambi")


def sampled_intercepts(model: Any, own: dict[str, Any]) -> dict[str, Array]:
    """The intercepts as they were sampled, by name.

    Bambi centres the predictors, and shifts the intercept back after sampling by the mean
    predictors times their coefficients.
    """
    found: dict[str, Array] = {}
    if not model.center_predictors:
        return found
    for part in model.backend.distributional_components.values():
        component = part.component
        if not (component.intercept_term and component.common_terms):
            continue
        name = _name(component.intercept_term)
        if own[name].ndim != 2:
            raise InputError(
                "`model` must have one intercept for each component; got "
                f"{name} of shape {own[name].shape[2:]}. Build it with `center_predictors=False`."
            )
        means = np.asarray(part.design_matrix_without_intercept).mean(axis=0)
        terms = (own[_name(term)].values for term in component.common_terms.values())
        coefficients = flat_draws(terms)
        found[name] = own[name].values + coefficients @ means
    return found


def _name(term: Any) -> str:
    return str(getattr(term, "alias", None) or term.name)
