"""Objects of other libraries at the door, by doubles of their types."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.foreign import type_name


def double(module: str, name: str, **attributes: Any) -> Any:
    """An object whose type has the name of another library's."""
    return type(name, (), {"__module__": module, **attributes})()


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("stan.fit", "Fit", "got a stan.fit.Fit. Pass `ps.from_pystan"),
        ("bridgestan.model", "StanModel", "Pass `ps.from_bridgestan"),
        ("pymc.model.core", "Model", r"Pass the draws first: `ps.check\(idata, model=model\)`"),
        ("pymc.backends.base", "MultiTrace", "return_inferencedata=True"),
        ("pymc.variational.inference", "ADVI", "Pass what `pm.fit` returned, an approximation"),
        ("numpyro.infer.svi", "SVI", r"Pass `ps\.from_numpyro\(svi, svi_result, "),
        ("nutpie.sample", "_BackgroundSampler", r"Pass the trace: `ps\.check\(sampler\."),
        ("numpyro.infer.hmc", "NUTS", "Pass the MCMC after `run`"),
        ("xarray.core.dataset", "Dataset", "or the whole InferenceData or DataTree"),
        ("bambi.models", "Model", "Pass the draws first"),
        ("cmdstanpy.stanfit.vb", "CmdStanVB", "save_latent_dynamics=True"),
        ("emcee.ensemble", "EnsembleSampler", "swapaxes"),
        ("somebody.else", "Thing", "got a somebody.else.Thing"),
    ],
)
def test_objects_that_cannot_be_used_say_what_to_do(module: str, name: str, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        ps.check(double(module, name), lambda x: -x)


def test_a_path_is_pointed_to_the_reader() -> None:
    for path in ("run.npz", Path("run.npz")):
        with pytest.raises(ps.InputError, match=r"Pass `ps.from_file\('run.npz'\)`"):
            ps.check(path)


def test_a_model_beside_arrays_is_refused() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 100, 2))
    model = double("pymc.model.core", "Model")
    with pytest.raises(ps.InputError, match="`model` must be given with an InferenceData"):
        ps.check(draws, -draws, model=model)
    with pytest.raises(ps.InputError, match="`model` must be given with an InferenceData"):
        ps.check(ps.Sample(draws, -draws), model=model)


def test_fits_of_numpyro_are_pointed_to_their_adapter() -> None:
    with pytest.raises(ps.InputError, match=r"For NumPyro pass `ps.from_numpyro\(svi, svi_result"):
        ps.check({"mu": np.zeros(9)}, model=double("pymc.model.core", "Model"))
    with pytest.raises(ps.InputError, match=r"the arguments of the model follow .*; got a tuple"):
        ps.from_numpyro(object(), model_args=(3,))


def test_states_of_blackjax_without_gradients_are_pointed_to_jax() -> None:
    state = double("blackjax.mcmc.random_walk", "RWState", position=0.0)
    with pytest.raises(ps.InputError, match=r"Pass `ps.from_jax\(logdensity, states.position\)`"):
        ps.check(state)


def test_a_fit_of_cmdstanpy_without_gradients_says_what_to_pass() -> None:
    runset = double("cmdstanpy", "RunSet", diagnostic_files=["", ""])
    fit = double("cmdstanpy.stanfit.mcmc", "CmdStanMCMC", runset=runset)
    with pytest.raises(ps.InputError, match="save_latent_dynamics=True, sig_figs=18"):
        ps.check(fit)


def test_types_are_named_with_their_module() -> None:
    assert type_name(3) == "int"
    assert type_name(np.float64(1.0)) == "numpy.float64"
