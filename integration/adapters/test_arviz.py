"""ArviZ data and files of both generations, with scores from everywhere."""

from pathlib import Path
from typing import Any

import arviz
import numpy as np
import pytest

import polystein as ps
from polystein.cli import main

pytestmark = pytest.mark.filterwarnings("default")
RNG = np.random.default_rng(0)
MU, THETA = RNG.standard_normal((4, 500)), RNG.standard_normal((4, 500, 2))
OLD = int(arviz.__version__.split(".")[0]) == 0


@pytest.fixture
def data() -> Any:
    """Draws, a group of scores, and one variable with all scores in another order."""
    posterior = {"mu": MU, "theta": THETA, "total": MU + THETA.sum(axis=2)}
    gradients = {"mu": -MU, "theta": -THETA}
    together = np.concatenate([-THETA, -MU[..., None]], axis=2)
    statistics = {"score": together, "diverging": MU > 3.0}
    dims, coords = {"theta": ["k"], "score": ["label"]}, {
        "k": ["a", "b"],
        "label": ["theta[a]", "theta[b]", "mu"],
    }  # fmt: skip
    if OLD:
        made = arviz.from_dict(
            posterior=posterior, sample_stats=statistics, coords=coords, dims=dims
        )
        gradient = arviz.from_dict(posterior=gradients, coords={"k": ["a", "b"]}, dims=dims)
        made.add_groups({"gradients": gradient.posterior}, warn_on_custom_groups=False)
        return made
    groups = {"posterior": posterior, "sample_stats": statistics, "gradients": gradients}
    return arviz.from_dict(groups, coords=coords, dims=dims)


EXPECTED = np.concatenate([MU[..., None], THETA], axis=2)


@pytest.mark.parametrize(
    ("scores", "names"),
    [
        ("gradients", None),
        ("sample_stats/score", ["mu", "theta"]),
        (-EXPECTED, ["mu", "theta"]),
        (lambda x: -x, ["mu", "theta"]),
    ],
)
@pytest.mark.parametrize("file", ["", "nc", "zarr"])
def test_scores_from_everywhere(
    data: Any, scores: Any, names: Any, file: str, tmp_path: Path
) -> None:
    where = data
    if file:
        where = tmp_path / f"data.{file}"
        # ArviZ 0.x writes Zarr stores of version 3 through xarray.
        tree = data.to_datatree() if OLD and file == "zarr" else data
        (tree.to_netcdf if file == "nc" else tree.to_zarr)(str(where))
    if file == "zarr" and names is None:
        # A Zarr store has its variables in no certain order.
        names = ["mu", "theta"]
    found = ps.from_arviz(where, scores, var_names=names, drop_first=100, thin=2)
    assert found.names == ("mu", "theta[a]", "theta[b]")
    assert np.array_equal(found.draws, EXPECTED[:, 100::2])
    assert np.array_equal(found.scores, -EXPECTED[:, 100::2])
    assert found.facts.sampler_statistics["diverging"].shape == (4, 200)


def test_variables_in_the_order_that_was_asked_for(data: Any) -> None:
    found = ps.from_arviz(data, lambda x: -x, var_names=["theta", "mu"])
    assert found.names == ("theta[a]", "theta[b]", "mu")


def test_coordinates_of_a_group(data: Any) -> None:
    assert ps.from_arviz(data, "gradients", var_names="theta[b]").names == ("theta[b]",)


def test_check_takes_the_data(data: Any) -> None:
    assert ps.check(data, "gradients", rng=0).pvalue > 0.001
    with pytest.raises(ps.InputError, match="holds no gradients"):
        ps.check(data)


@pytest.mark.parametrize(
    ("scores", "names", "message"),
    [
        ("nothing", None, "must have a group 'nothing'"),
        ("sample_stats/nothing", ["mu"], "but there are"),
        ("sample_stats/score", None, "must have the coordinates of the draws"),
        (-EXPECTED, None, "Choose the variables by `var_names`"),
        ("gradients", "nu", "but there are mu, theta"),
    ],
)
def test_what_does_not_fit_is_named(data: Any, scores: Any, names: Any, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        ps.from_arviz(data, scores, var_names=names)


@pytest.mark.parametrize(
    ("library", "version", "advice"),
    [
        (
            "pymc",
            "6.3.2",
            r"With PyMC 6: `pm\.sample\(.*nuts=\{\"store_gradient\": True\}.*model=model",
        ),
        ("pymc", "5.28.5", r"With PyMC 5: .*nuts_sampler_kwargs=.*model=model"),
        ("nutpie", "0.16.8", "With nutpie: .*store_gradient=True, store_unconstrained=True"),
        ("numpyro", "0.22.0", r"pass the MCMC itself: `ps\.check\(mcmc\)`\.$"),
        ("cmdstanpy", "1.3.0", "save_latent_dynamics=True, sig_figs=18"),
        ("stan", "3.10.0", r"`ps\.from_pystan\(posterior, fit\)`"),
        ("other", "1", "With nutpie: .*With PyMC 6: .*With PyMC 5: .*With CmdStanPy"),
    ],
)
def test_what_to_tell_the_sampler(data: Any, library: str, version: str, advice: str) -> None:
    data["posterior"].attrs |= {
        "inference_library": library,
        "inference_library_version": version,
    }
    with pytest.raises(ps.InputError, match=advice):
        ps.check(data)


def test_one_group_is_not_enough(data: Any) -> None:
    group = data["posterior"]
    group = group if OLD else group.to_dataset()
    with pytest.raises(ps.InputError, match="or the whole InferenceData or DataTree"):
        ps.check(group)


def test_the_command_line_reads_files(
    data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.to_netcdf(str(tmp_path / "data.nc"))
    np.save(tmp_path / "scores.npy", -MU[..., None])
    for options in (
        ["--scores-from", "gradients"],
        ["--scores-from", "sample_stats/score", "--var-names", "mu", "--var-names", "theta"],
        ["--scores-from", str(tmp_path / "scores.npy"), "--var-names", "mu"],
    ):
        monkeypatch.setattr("sys.argv", ["polystein", "check", str(tmp_path / "data.nc"), *options])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code in (0, 1, None)


def test_files_that_are_no_data(tmp_path: Path) -> None:
    (tmp_path / "data.nc").write_text("nothing")
    with pytest.raises(ps.InputError, match="must be a netCDF file or a Zarr store"):
        ps.from_arviz(tmp_path / "data.nc")
