"""Draws that come with the model that they were drawn from, as in ``check(idata, model=model)``."""

from __future__ import annotations

from typing import Any

from polystein.adapters.pymc import from_pymc
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.errors import InputError


def with_model(draws: Any, model: Any, scores: Any) -> Sample:
    """The sample of ArviZ data and the PyMC or Bambi model that gives the gradients."""
    if scores is not None:
        raise InputError(
            f"`scores` must not be given with `model`, which gives them; got {type_name(scores)}"
        )
    if not type_name(draws).endswith(("InferenceData", "DataTree")):
        raise InputError(
            "`model` must be given with an InferenceData or a DataTree only; got a "
            f"{type_name(draws)}"
        )
    return from_pymc(model, draws)
