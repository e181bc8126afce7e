"""Objects of other libraries at the door: which adapter takes them, or what to do instead.

A type is known by the module that it comes from, so that no other library is imported here. The
adapters are imported when such an object is met.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from polystein._lib.arrays import is_array
from polystein.errors import InputError

FROM_ARVIZ = "polystein.adapters.arviz:from_arviz"
#: What takes ArviZ data together with a model of PyMC or Bambi.
FROM_PYMC = "polystein.adapters.pymc:from_pymc"
#: Module and name of a type, or the start of them, and the adapter that takes such objects.
ADAPTERS = {
    "arviz.data.inference_data.InferenceData": FROM_ARVIZ,
    "xarray.core.datatree.DataTree": FROM_ARVIZ,
    "pymc.variational.approximations.": FROM_PYMC,
    "pymc.variational.opvi.Approximation": FROM_PYMC,
    "numpyro.infer.mcmc.MCMC": "polystein.adapters.numpyro:from_numpyro",
    "blackjax.": "polystein.adapters.blackjax:from_blackjax",
    "cmdstanpy.stanfit.mcmc.CmdStanMCMC": "polystein.adapters.cmdstan:from_cmdstan",
}
#: Libraries whose arrays stay in a file until rows are asked for, and what makes sources of them.
STORES = ("zarr.", "h5py.", "netCDF4.")
FROM_STORE = "polystein.scale.door:from_store"
#: How the names of files end whose rows are read in blocks.
STORED_FILES = (".npy", ".parquet", ".zarr", ".h5", ".hdf5")
#: Arrays of Dask, whose chunks are summed where they are.
DASK_ARRAY = "dask.array.core.Array"
#: Objects that do not carry all that is needed, and what to do.
REMEDIES = {
    "stan.fit.Fit": "Pass `ps.from_pystan(posterior, fit)`: gradients need the posterior, too",
    "stan.model.Model": "Pass `ps.from_pystan(posterior, fit)`: draws come from the fit",
    "bridgestan.": "Pass `ps.from_bridgestan(model, draws)`",
    "cmdstanpy.": "Only CmdStanMCMC fits with `save_latent_dynamics=True` carry gradients",
    "pymc.model": "Pass the draws first: `ps.check(idata, model=model)`",
    "bambi.": "Pass the draws first: `ps.check(idata, model=model)`",
    "pymc.backends": (
        "Pass an InferenceData or a DataTree (`return_inferencedata=True`) with `model=model`"
    ),
    "nutpie.sample.": "Pass the trace: `ps.check(sampler.wait())`",
    "pymc.variational.": "Pass what `pm.fit` returned, an approximation",
    "numpyro.infer.svi.": (
        "Pass `ps.from_numpyro(svi, svi_result, *args)` with the arguments of the model"
    ),
    "numpyro.infer.": "Pass the MCMC after `run`, or `ps.from_jax(logdensity, draws)`",
    "xarray.core.dataset.Dataset": (
        "Pass one of its variables with its scores, or the whole InferenceData or DataTree that "
        "it is a group of"
    ),
    "pyro.infer": (
        "Pass `ps.from_torch(log_prob, draws)` with the log-density of the unconstrained draws"
    ),
    "tensorflow_probability.": (
        "Pass `ps.from_jax(logdensity, draws)` with the log-density of the unconstrained draws"
    ),
    "emcee.": (
        "Pass `ps.Sample(sampler.get_chain().swapaxes(0, 1), scores)`, or `ps.from_jax` with a "
        "log-density"
    ),
}

_KNOWS_ITS_MODEL = ", which knows its model: leave `model` out"
#: Fits of NumPyro give their draws as a dict.
_FOR_NUMPYRO = (
    ". For NumPyro pass `ps.from_numpyro(svi, svi_result, *args)` with the arguments of the model, "
    "or `ps.from_numpyro(mcmc)`"
)


def type_name(value: object) -> str:
    """The name of a type with its module, as in ``arviz.data.inference_data.InferenceData``."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def adapted(draws: Any, scores: Any, model: object) -> Any:
    """A source of an object that an adapter takes; None for anything else."""
    name, array = type_name(draws), is_array(draws)
    stored = is_with_dask(draws, scores) or is_stored(draws) or (array and is_stored(scores))
    entry = None if stored or array else _entry(ADAPTERS, name)
    if model is not None:
        if entry != FROM_ARVIZ:
            raise InputError(
                "`model` must be given with an InferenceData or a DataTree only; got a "
                f"{type_name(model)} beside a {name}"
                + (_FOR_NUMPYRO if isinstance(draws, Mapping) else "")
                + (_KNOWS_ITS_MODEL if name.startswith("pymc.variational") else "")
            )
        if scores is not None:
            raise InputError(
                "`scores` must not be given with `model`, which gives them; got "
                f"{type_name(scores)}"
            )
        return _call(FROM_PYMC, model, draws)
    if stored:
        return _call(FROM_STORE, draws, scores)
    if array:
        return None
    if entry is not None:
        if scores is not None and entry != FROM_ARVIZ:
            raise InputError(
                f"`scores` must not be given with a {name}, which carries its own; got "
                f"{type_name(scores)}"
            )
        return _call(entry, draws) if scores is None else _call(entry, draws, scores)
    if (remedy := _entry(REMEDIES, name)) is not None:
        raise InputError(f"`draws` must carry draws and scores; got a {name}. {remedy}.")
    if isinstance(draws, str | os.PathLike):
        raise InputError(
            f"`draws` must be an array; got a {name}. Pass `ps.from_file({os.fspath(draws)!r})`."
        )
    return _call(FROM_STORE, draws, scores) if _is_blocks(draws, scores) else None


def _entry(table: dict[str, str], name: str) -> str | None:
    """What a table has for a type of this name, found by the start of the name."""
    return next((entry for prefix, entry in table.items() if name.startswith(prefix)), None)


def _call(entry: str, *arguments: Any) -> Any:
    """Import a function, given as "module:function", and call it."""
    module, _, function = entry.partition(":")
    return getattr(importlib.import_module(module), function)(*arguments)


def is_with_dask(draws: Any, scores: Any) -> bool:
    """Whether draws or scores are an array of Dask, beside another array or a function."""
    if type_name(draws) == DASK_ARRAY:
        return True
    return type_name(scores) == DASK_ARRAY and hasattr(draws, "dtype") and hasattr(draws, "shape")


def refuse_dask(value: Any, argument: str) -> None:
    """A sample would fetch the rows of a Dask array to look at them here."""
    if type_name(value) == DASK_ARRAY:
        raise InputError(
            f"`{argument}` must be an array in memory for a `Sample`; got a Dask array. Pass it to "
            "the function itself, as in `ps.check(draws, scores)`, or make a source of it by "
            "`ps.from_store(draws, scores, names=...)`: its chunks are then summed where they are."
        )


def is_stored(value: Any) -> bool:
    """Whether rows stay in a file, or with Dask, until they are asked for."""
    if isinstance(value, np.memmap):
        return value.ndim > 1
    if isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        return path.lower().endswith(STORED_FILES) or os.path.isdir(path)
    name = type_name(value)
    if name.startswith("xarray.") and name.endswith((".DataArray", ".Dataset")):
        return bool(getattr(value, "chunks", None))
    return name.startswith(STORES) and hasattr(value, "shape")


def _is_blocks(draws: Any, scores: Any) -> bool:
    """Whether blocks are walked over: an iterable that is no array, or a function that makes one.

    Lists and tuples are arrays to NumPy, unless they hold pairs and come without scores.
    """
    if scores is not None and (not callable(scores) or is_array(scores)):
        return False
    if any(hasattr(draws, name) for name in ("layout", "__array__", "__dlpack__", "read")):
        return False
    if isinstance(draws, str | bytes | Mapping) or draws is None:
        return False
    if isinstance(draws, list | tuple):
        return (
            scores is None
            and bool(draws)
            and all(
                isinstance(block, tuple) and len(block) == 2 and all(map(is_array, block))
                for block in draws
            )
        )
    return isinstance(draws, Iterable) or callable(draws)
