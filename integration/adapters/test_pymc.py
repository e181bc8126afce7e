"""PyMC 5 with ArviZ 0.x, and PyMC 6 with ArviZ 1.x: draws, gradients, names, traps."""

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import arviz
import numpy as np
import pymc as pm
import pytest
import xarray

import polystein as ps
from integration.adapters.pymc_models import (
    GRADIENTS,
    INFLATED,
    MAJOR,
    MODELS,
    NAMES,
    regression,
    sample,
    schools,
    stored,
)
from integration.posteriors import assert_exact, assert_gradient, assert_simplex, inflated
from polystein.adapters.pymc import log_density_gradient
from polystein.cli import main

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error::polystein.errors.ScoreWarning"),
]
KEEP = {"include_transformed": True}


@cache
def runs(name: str) -> tuple[Any, list[Any], Any]:
    """A model with draws of PyMC's own sampler, by two seeds, and of nutpie."""
    model = MODELS[name]()
    own = [
        sample(model, seed=seed, chains=2, nuts_sampler="pymc", idata_kwargs=KEEP)
        for seed in (1, 3)
    ]
    return model, own, stored(model, seed=2)


@pytest.fixture(params=MODELS)
def run(request: pytest.FixtureRequest) -> tuple[str, Any, Any, Any]:
    model, own, trace = runs(request.param)
    return request.param, model, own[0], trace


def variables(data: Any, group: str) -> Any:
    return data[group].to_dataset() if hasattr(data[group], "to_dataset") else data[group]


def test_scores_names_and_transforms(run: Any) -> None:
    name, model, own, nutpie_trace = run
    for data in (own, nutpie_trace):
        found = ps.from_pymc(model, data)
        assert found.names == NAMES[name]
        assert_gradient(found)
        assert_exact(found, GRADIENTS[name])
        assert set(found.facts.sampler_statistics) == {
            "diverging",
            "reached_max_treedepth",
            "energy",
        }
    if name == "constrained":
        assert_simplex(found)


def test_constrained_draws_are_transformed(run: Any) -> None:
    """Without stored unconstrained values the forward transforms are applied."""
    _, model, own, _ = run
    names = [variable.name for variable in model.unobserved_RVs]
    posterior = variables(own, "posterior")[names]
    plain = arviz.from_dict(
        {"posterior": {name: array.values for name, array in posterior.items()}}
    ) if MAJOR >= 6 else arviz.InferenceData(posterior=posterior)  # fmt: skip
    expected, found = ps.from_pymc(model, own), ps.from_pymc(model, plain)
    np.testing.assert_allclose(found.draws, expected.draws, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["value names", "names of the posterior"])
def test_unconstrained_values_in_a_group_of_their_own(run: Any, kind: str, tmp_path: Path) -> None:
    """PyMC and nutpie use the names of value variables there, ArviZ's schema those of the draws."""
    name, model, own, _ = run
    everything = variables(own, "posterior")
    posterior = everything[[variable.name for variable in model.unobserved_RVs]]
    # Fewer digits than the draws have, so that it shows where the values come from.
    values = {
        value.name: everything[value.name].round(6)
        for value in model.value_vars
        if value.name not in posterior
    }
    if kind == "names of the posterior":
        values = {short.rsplit("_", 3)[0]: array for short, array in values.items()}
    unconstrained = xarray.Dataset(values)
    if not values:
        assert name == "regression"
        return
    tree = xarray.DataTree.from_dict(
        {"posterior": posterior, "unconstrained_posterior": unconstrained}
    )
    tree.to_netcdf(str(tmp_path / "data.nc"))
    expected = np.array(ps.from_pymc(model, own).draws)
    rounded = [i for i, one in enumerate(NAMES[name]) if "__" in one]
    expected[..., rounded] = expected[..., rounded].round(6)
    for data in (tree, tmp_path / "data.nc"):
        found = ps.from_pymc(model, data)
        assert found.names == NAMES[name]
        assert np.array_equal(found.draws, expected)
        assert_exact(found, GRADIENTS[name])


def test_stored_gradients_are_those_of_the_model(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, model, _, trace = run
    expected, found = ps.from_pymc(model, trace), ps.from_nutpie(trace)
    assert found.names == expected.names
    np.testing.assert_allclose(found.draws, expected.draws, rtol=1e-12)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-9)
    trace.to_netcdf(str(tmp_path / "trace.nc"))
    again = ps.from_file(tmp_path / "trace.nc")
    assert np.array_equal(again.scores, found.scores)
    assert np.array_equal(again.draws, found.draws)
    monkeypatch.setattr("sys.argv", ["polystein", "check", str(tmp_path / "trace.nc"), "--json"])
    with pytest.raises(SystemExit):
        main()
    assert json.loads(capsys.readouterr().out)["pvalue"] == ps.check(found, rng=0).pvalue


@pytest.mark.parametrize("name", MODELS)
def test_verdicts(name: str) -> None:
    """NUTS passes with both samplers; one parameter 15 % too wide does not."""
    model, own, trace = runs(name)
    function = log_density_gradient(model)

    def score(rows: Any) -> Any:
        return np.array([function(row)[1] for row in rows])

    for data in (*own, trace):
        right = ps.from_pymc(model, data)
        assert ps.check(right, rng=0).pvalue > 0.001
        assert ps.check(inflated(right, INFLATED[name], score), rng=0).rejected()
    assert ps.check(own[0], model=model, rng=0).pvalue > 0.001
    assert ps.check(trace, rng=0).pvalue > 0.001


def test_the_verdict_survives_a_file(run: Any, tmp_path: Path) -> None:
    _, _, _, trace = run
    result = ps.check(trace, rng=0)
    groups = set(trace.groups() if callable(trace.groups) else trace.groups)
    beside = ps.to_arviz(ps.check(trace, rng=1), trace)
    beside = ps.to_arviz(result, beside)
    assert set(trace.groups() if callable(trace.groups) else trace.groups) == groups
    beside.to_netcdf(str(tmp_path / "with.nc"))
    again = variables(arviz.from_netcdf(str(tmp_path / "with.nc")), "polystein")
    assert float(again["pvalue"]) == result.pvalue
    assert again.attrs["verdict"] == result.verdict
    assert ps.GofResult.from_dict(json.loads(again.attrs["result"])).to_dict() == result.to_dict()
    assert ps.to_arviz(result)["polystein"].attrs["verdict"] == result.verdict


def test_traps_are_named() -> None:
    """Arrays taken by hand out of eight schools, in the ways in which it goes wrong."""
    model, _, trace = runs("schools")
    right = ps.from_pymc(model, trace)
    names, draws, scores = list(right.names or ()), np.array(right.draws), np.array(right.scores)
    tau = names.index("tau_log__")
    facts = {"log_density": right.facts.log_density}

    def words(x: Any, s: Any, **options: Any) -> str:
        with pytest.warns(ps.ScoreWarning) as caught:
            ps.check(ps.Sample(x, s, names=names, **options), rng=0)
        return next(str(one.message) for one in caught if one.category is ps.ScoreWarning)

    moved = [i for i in range(len(names)) if i != tau] + [tau]
    assert "columns were in another order" in words(draws[..., moved], scores)
    assert "sign were wrong" in words(draws, -scores)
    forgotten = scores - np.eye(len(names))[tau]
    assert "the Jacobian of a log transform" in words(draws, forgotten, facts=facts)
    constrained = draws.copy()
    constrained[..., tau] = np.exp(draws[..., tau])
    assert "Is this tau_log__ rather than log tau_log__" in words(constrained, scores)
    function = log_density_gradient(model)
    evaluated = np.array([function(row)[1] for row in constrained.reshape(-1, len(names))])
    assert "live on (0, inf)" in words(constrained, evaluated.reshape(draws.shape))
    with pytest.raises(ps.InputError, match=r"`scores` must not be 0 .* got zeros for mu"):
        ps.check(ps.Sample(draws, np.zeros_like(draws), names=names))


def test_centred_schools_have_exact_scores() -> None:
    """Their verdict is for the convergence diagnostics."""
    model = schools(centred=True)
    trace = stored(model, seed=1, chains=2, draws=300)
    for found in (ps.from_pymc(model, trace), ps.from_nutpie(trace)):
        assert found.names == NAMES["centred"]
        assert_exact(found, GRADIENTS["centred"])
    assert_gradient(ps.from_pymc(model, trace))
    # Few draws enter the neck, and the sampler says so.
    sampler = ps.check(trace, rng=0).diagnostics.sampler
    assert sampler.divergences > 0
    assert sampler.bfmi is not None


def test_gradients_in_two_processes() -> None:
    model, (own, _), _ = runs("regression")
    told: list[tuple[int, int]] = []
    found = ps.from_pymc(model, own, cores=2, progress=lambda *now: told.append(now))
    assert np.array_equal(found.scores, ps.from_pymc(model, own).scores)
    assert told[-1] == (2000, 2000)
    assert len(told) == 16
    few = ps.from_pymc(model, own, cores=2, thin=250)
    assert np.array_equal(few.scores, found.scores[:, ::250])


def test_warm_up_of_pymc_is_left_out() -> None:
    options = {"nuts_sampler": "pymc", "discard_tuned_samples": False}
    data = sample(regression(), seed=1, chains=2, draws=100, **options)
    assert ps.from_pymc(regression(), data).layout.lengths == (100, 100)


def test_gradients_take_at_most_twice_the_bare_calls() -> None:
    model, rng = regression(), np.random.default_rng(0)
    draws = 0.1 * rng.standard_normal((4, 1000, 4))
    posterior = {"alpha": draws[..., 0], "beta": draws[..., 1:]}
    data = arviz.from_dict({"posterior": posterior}) if MAJOR >= 6 else arviz.from_dict(posterior)
    function = log_density_gradient(model)
    import polystein.adapters.pymc as adapter

    ratios = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "log_density_gradient", lambda _: function)  # compilation aside
        for _ in range(5):
            start = time.perf_counter()
            for row in draws.reshape(-1, 4):
                function(row)
            middle = time.perf_counter()
            ps.from_pymc(model, data)
            ratios.append((time.perf_counter() - middle) / (middle - start))
    assert min(ratios) <= 2.0


def test_mean_field_variational_inference_is_rejected() -> None:
    """It ignores the correlation of the regression's coefficients."""
    model = regression()
    with model:
        approximation = pm.fit(20_000, method="advi", random_seed=1, progressbar=False)
        data = approximation.sample(4000, random_seed=2)
    assert ps.check(data, model=model, rng=0, iid=False).rejected()


def test_missing_gradients_say_what_to_pass() -> None:
    _, (own, _), _ = runs("regression")
    advice = r"With PyMC 6: .*nuts=\{" if MAJOR >= 6 else "With PyMC 5: .*nuts_sampler_kwargs"
    with pytest.raises(ps.InputError, match=advice):
        ps.check(own)
    with pytest.raises(ps.InputError, match="its posterior lacks"):
        ps.from_pymc(schools(), own)


def test_a_model_of_bambi() -> None:
    import bambi
    import pandas

    frame = pandas.DataFrame(data_of_regression())
    model = bambi.Model("y ~ a + b", frame, family="bernoulli")
    data = model.fit(draws=500, tune=500, chains=2, cores=1, random_seed=1, progressbar=False)
    result = ps.check(data, model=model, rng=0)
    assert result.pvalue > 0.001
    assert_gradient(ps.from_pymc(model, data))
    with pytest.raises(ps.InputError, match="must be the Bambi model, whose intercepts"):
        ps.check(data, model=model.backend.model)


def data_of_regression() -> dict[str, Any]:
    from integration.posteriors import OUTCOMES, PREDICTORS

    return {"y": OUTCOMES, "a": PREDICTORS[:, 0], "b": PREDICTORS[:, 1]}
