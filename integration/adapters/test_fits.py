"""Variational fits of PyMC and NumPyro, Laplace and Pathfinder: a right fit and a wrong one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arviz
import numpy as np
import pymc as pm
import pytest
import xarray

import polystein as ps
from polystein.cli import main
from polystein.inference.pareto import psis_index

pytestmark = pytest.mark.filterwarnings("default")

#: The target: three normal coordinates and a log-normal one.
MEANS, SDS = np.array([1.0, 2.0, 3.0, 0.5]), np.array([0.5, 1.0, 2.0, 0.7])
NAMES = ("x[a]", "x[b]", "x[c]", "s_log__")
WRONG = 0.7 * SDS


def known_model(sds: Any = SDS) -> Any:
    with pm.Model(coords={"arm": ["a", "b", "c"]}) as model:
        pm.Normal("x", MEANS[:3], sds[:3], dims="arm")
        pm.LogNormal("s", MEANS[3], sds[3])
    return model


def mean_field(model: Any, sds: Any) -> Any:
    """What ADVI returns, with parameters that are known to be right or wrong."""
    approximation = pm.MeanField(model=model)
    parameters = approximation.groups[0].params_dict
    parameters["mu"].set_value(MEANS)
    parameters["rho"].set_value(np.log(np.expm1(sds)))
    return approximation


def posterior(draws: Any) -> Any:
    """Unconstrained draws of shape (chain, draw, 4) as the posterior of the known model."""
    coords = {"chain": range(len(draws)), "draw": range(draws.shape[1]), "arm": ["a", "b", "c"]}
    axes = ("chain", "draw")
    return xarray.Dataset(
        {"x": ((*axes, "arm"), draws[..., :3]), "s": (axes, np.exp(draws[..., 3]))}, coords
    )


def tree(groups: dict[str, Any]) -> Any:
    return xarray.DataTree.from_dict(groups)


def exact(rng: Any, sds: Any, shape: tuple[int, ...] = (1, 4000)) -> Any:
    return MEANS + sds * rng.standard_normal((*shape, 4))


def test_approximations_of_pymc_and_their_draws() -> None:
    model = known_model()
    right, wrong = mean_field(model, SDS), mean_field(model, WRONG)
    for approximation, rejected in ((right, False), (wrong, True)):
        sample = ps.from_pymc(approximation, n_draws=3000, rng=1)
        assert sample.names == NAMES
        assert sample.draws.shape == (3000, 4)
        np.testing.assert_allclose(sample.scores, -(sample.draws - MEANS) / SDS**2, atol=1e-9)
        assert np.array_equal(sample.draws, ps.from_pymc(approximation, n_draws=3000, rng=1).draws)
        result = ps.check(approximation, rng=0)
        assert result.rejected(0.01) is rejected
        assert result.settings["iid"]
        # Its draws, as ArviZ data, are known to be independent, too.
        data = approximation.sample(2000, random_seed=2)
        stored = ps.check(data, model=model, rng=0)
        assert stored.settings["iid"]
        assert stored.rejected(0.01) is rejected
    sample = ps.from_pymc(wrong, n_draws=3000, rng=1)
    log_p = -0.5 * np.sum(((sample.draws - MEANS) / SDS) ** 2, axis=1)
    log_q = -0.5 * np.sum(((sample.draws - MEANS) / WRONG) ** 2, axis=1)
    expected = float(arviz.psislw(log_p - log_q)[1])
    result = ps.check(sample)
    assert result.diagnostics.pareto_k == pytest.approx(expected, rel=1e-6)
    assert "Pareto k-hat" in str(result)
    with pytest.raises(ps.InputError, match="`idata` must not be given with an approximation"):
        ps.from_pymc(right, data)


def test_chains_of_pymc_are_no_independent_rows() -> None:
    """One chain of a sampler has statistics; only data of a variational fit have none."""
    model, draws = known_model(), exact(np.random.default_rng(1), SDS, (1, 500))
    own = posterior(draws)
    own.attrs["inference_library"] = "pymc"
    assert ps.from_pymc(model, tree({"posterior": own})).facts.independent
    noted = own.copy()
    noted.attrs["sampling_time"] = 1.0
    of_sampler = {"posterior": own, "sample_stats": own[["s"]].rename(s="energy")}
    two = posterior(exact(np.random.default_rng(1), SDS, (2, 250)))
    two.attrs["inference_library"] = "pymc"
    for groups in ({"posterior": noted}, of_sampler, {"posterior": two}):
        assert not ps.from_pymc(model, tree(groups)).facts.independent


def test_both_orders_of_arguments_and_labels(tmp_path: Path) -> None:
    model, draws = known_model(), exact(np.random.default_rng(2), SDS, (2, 300))
    data = tree({"posterior": posterior(draws)})
    expected = ps.from_pymc(model, data)
    data.to_netcdf(str(tmp_path / "data.nc"))
    for found in (ps.from_pymc(data, model), ps.from_pymc(tmp_path / "data.nc", model)):
        assert np.array_equal(found.scores, expected.scores)
    chosen = {"var_names": "x", "coords": {"arm": ["a", "c"]}}
    assert expected.select(**chosen).names == ("x[a]", "x[c]")
    assert ps.check(data, model=model, **chosen).dimension == 2
    with pytest.raises(ps.InputError, match=r"must hold labels of the axis 'arm'.* got 'd'"):
        ps.check(data, model=model, coords={"arm": "d"})


def test_fits_as_pymc_extras_stores_them() -> None:
    """Groups as pymc_extras writes them; its own fits are in `test_pymc_extras`."""
    model, rng = known_model(), np.random.default_rng(3)
    for sds, rejected in ((SDS, False), (WRONG, True)):
        draws = exact(rng, sds, (2, 2000))
        # The fit has another order than the model.
        order = [3, 0, 1, 2]
        law = {
            "mean_vector": ("rows", MEANS[order]),
            "covariance_matrix": (("rows", "columns"), np.diag(sds[order] ** 2)),
        }
        fit = xarray.Dataset(law, {"rows": [NAMES[place] for place in order]})
        laplace = tree({"posterior": posterior(draws), "fit": fit})
        sample = ps.from_pymc(model, laplace)
        assert sample.draws.shape == (4000, 4)
        assert ps.check(laplace, model=model, rng=0).rejected(0.01) is rejected
        if rejected:
            flat = draws.reshape(-1, 4)
            squares = (flat - MEANS) ** 2
            ratios = -0.5 * np.sum(squares / SDS**2 - squares / sds**2, axis=1)
            assert sample.facts.pareto_k == pytest.approx(psis_index(ratios), rel=1e-6)
        # Rows that were resampled by importance weights repeat.
        weights = np.exp(-0.3 * rng.standard_normal(4000))
        again = rng.choice(4000, 3000, p=weights / weights.sum())
        repeated = posterior(draws.reshape(1, 4000, 4)[:, again])
        about = xarray.Dataset({"importance_sampling_method": "psir", "pareto_k": 0.31})
        pathfinder = tree({"posterior": repeated, "sample_stats": about})
        result = ps.check(pathfinder, model=model, rng=0)
        assert result.diagnostics.pareto_k == 0.31
        assert result.rejected(0.01) is rejected


def discrete_model() -> Any:
    with pm.Model() as model:
        mu, k = pm.Normal("mu", 0.0, 2.0), pm.Bernoulli("k", 0.4, shape=2)
        pm.Normal("y", mu + k.sum(), 1.0, observed=[0.3, 1.2, 2.0])
    return model


def test_discrete_variables_are_given(tmp_path: Path) -> None:
    """The score of mu, given k, at draws of a compound step; k itself is not seen."""
    model = discrete_model()
    data = pm.sample(
        1000, tune=300, chains=2, cores=1, model=model, random_seed=3, progressbar=False
    )
    with pytest.warns(ps.PolysteinWarning, match="k is discrete and has no score"):
        sample = ps.from_pymc(model, data)
    own = data.posterior
    mu, total = own["mu"].values, own["k"].values.sum(axis=-1)
    exact_scores = -mu / 4.0 + 3.5 - 3.0 * (mu + total)
    np.testing.assert_allclose(sample.scores[..., 0], exact_scores, atol=1e-9)
    assert sample.target is None
    right = ps.check(sample, rng=0)
    assert right.pvalue > 0.001
    assert any("does not see it" in words for words in right.warnings)
    # 30 % too wide around its mean.
    wide = data.copy()
    wide["posterior"]["mu"] = own["mu"] + 0.3 * (own["mu"] - own["mu"].mean())
    with pytest.warns(ps.PolysteinWarning, match="k is discrete"):
        assert ps.check(wide, model=model, rng=0).rejected()
    with pm.Model() as counts:
        pm.Poisson("count", 3.0)
    one = arviz.from_dict({"count": np.ones((2, 50), dtype=int)})
    with pytest.raises(ps.InputError, match="must have continuous free variables"):
        ps.from_pymc(counts, one)


def test_a_model_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import pymc as pm\n\n\ndef build():\n    with pm.Model() as model:\n"
        "        pm.Normal('x', 0.0, 1.0, shape=2)\n    return model\n"
    )
    (tmp_path / "written_model.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    for name, scale, expected in (("right", 1.0, 0), ("wrong", 1.3, 1)):
        own = {"x": (("chain", "draw", "i"), scale * rng.standard_normal((2, 1000, 2)))}
        tree({"posterior": xarray.Dataset(own)}).to_netcdf(str(tmp_path / f"{name}.nc"))
        words = ["polystein", "check", f"{name}.nc", "--model", "written_model:build"]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == expected
    monkeypatch.setattr("sys.argv", [*words[:-1], "written_model:other"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "`--model` must name a PyMC model" in capsys.readouterr().err


def test_k_hat_is_that_of_arviz() -> None:
    rng = np.random.default_rng(5)

    def expected(ratios: Any) -> float:
        return float(arviz.psislw(ratios)[1])

    laws: list[Callable[[int], Any]] = [
        lambda n: 0.4 * rng.standard_normal(n) ** 2,
        lambda n: -0.3 * rng.standard_normal(n) ** 2,
        lambda n: rng.standard_t(2, n) - 700.0,
        lambda n: rng.exponential(1.5, n),
    ]
    for law in laws:
        for n in (30, 100, 1000, 4001):
            ratios = law(n)
            assert psis_index(ratios) == pytest.approx(expected(ratios), rel=1e-7)
    assert psis_index(np.zeros(100)) == expected(np.zeros(100)) == np.inf
