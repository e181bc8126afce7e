"""What `pm.fit` itself returns, rows of a library that are said to be independent, and selections.

The posterior of a linear regression is known: it is normal, with two correlated slopes.
"""

from functools import cache
from typing import Any

import arviz
import numpy as np
import pymc as pm
import pytest

import polystein as ps
from integration.adapters.test_fits import SDS, WRONG, known_model

pytestmark = pytest.mark.filterwarnings("default")

RNG = np.random.default_rng(0)
#: Two predictors with a part in common, so that their slopes have a posterior correlation of -0.5.
PREDICTORS = RNG.standard_normal((40, 1)) + 0.8 * RNG.standard_normal((40, 2))
OUTCOMES = PREDICTORS @ [1.0, -0.5] + RNG.standard_normal(40)
COVARIANCE = np.linalg.inv(PREDICTORS.T @ PREDICTORS + np.eye(2) / 4.0)
#: Steps, draws for each step and its size. The last ones are small, since `check` sees what coarse
#: steps leave of a full-rank fit.
STEPS = {
    "advi": [(2000, 1, 0.02)],
    "fullrank_advi": [(1500, 20, 0.02), (1000, 100, 0.003), (1000, 200, 0.0005)],
}


@cache
def regression() -> Any:
    with pm.Model(coords={"slope": ["first", "second"]}) as model:
        slopes = pm.Normal("b", 0.0, 2.0, dims="slope")
        pm.Deterministic("total", slopes.sum())
        pm.Normal("y", pm.math.dot(PREDICTORS, slopes), 1.0, observed=OUTCOMES)
    return model


@cache
def fitted(method: str) -> Any:
    kind = {"advi": pm.ADVI, "fullrank_advi": pm.FullRankADVI}[method]
    inference = kind(model=regression(), random_seed=1)
    for steps, draws, size in STEPS[method]:
        approximation = pm.fit(
            steps,
            method=inference,
            model=regression(),
            progressbar=False,
            obj_n_mc=draws,
            obj_optimizer=pm.adam(learning_rate=size),
        )
    return approximation


@pytest.mark.parametrize(("method", "rejected"), [("advi", True), ("fullrank_advi", False)])
def test_fits_of_pymc(method: str, rejected: bool) -> None:
    """A mean-field fit has sds that are too small; a full-rank one has the posterior's."""
    approximation = fitted(method)
    found = np.sqrt(np.diag(approximation.cov.eval()) / np.diag(COVARIANCE))
    assert np.all(found < 0.9) == rejected
    data = approximation.sample(3000, random_seed=2)
    for result in (ps.check(approximation, rng=0), ps.check(data, model=regression(), rng=0)):
        assert result.settings["iid"]
        assert result.rejected(0.01) == rejected
        assert ("sd" in {row.what for row in result.effects.found}) == rejected


def test_a_parameter_that_the_model_computes() -> None:
    """It has no score and cannot be chosen; the error names what corrects its mean and sd."""
    approximation = fitted("advi")
    for name in ("total", ["b", "total"]):
        with pytest.raises(ps.InputError, match=r"got 'total', which the model computes") as told:
            ps.check(approximation, var_names=name)
    assert "`ps.expectations(sample, ['total'])`" in str(told.value)
    table = ps.expectations(ps.from_pymc(approximation, n_draws=2000), ["total"])
    assert {(row.name, row.what) for row in table} == {("total", "mean"), ("total", "sd")}


def prior_draws(model: Any) -> Any:
    """Independent draws of a model without data, as the posterior of another program's file."""
    with model:
        drawn = pm.sample_prior_predictive(4000, random_seed=3).prior
    posterior = {name: drawn[name].values for name in ("x", "s")}
    return arviz.from_dict(
        posterior=posterior, coords={"arm": ["a", "b", "c"]}, dims={"x": ["arm"]}
    )


def test_one_chain_whose_rows_are_said_to_be_independent() -> None:
    model = known_model()
    right, wrong = prior_draws(model), prior_draws(known_model(WRONG))
    assert not ps.check(right, model=model, rng=0).settings["iid"]
    for data, rejected in ((right, False), (wrong, True)):
        result = ps.check(data, model=model, iid=True, rng=0)
        assert result.settings["iid"]
        assert result.diagnostics is None or result.diagnostics.of_chains is None
        assert result.rejected(0.01) is rejected


def test_parameters_that_are_chosen_have_verdicts_of_their_own() -> None:
    """Of three arms that are independent in the target one is 30 % too wide."""
    model = known_model()
    data = prior_draws(known_model(SDS * [1.0, 1.3, 1.0, 1.0]))
    chosen: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"var_names": "x"}, True),
        ({"var_names": "s"}, False),
        ({"var_names": ["x[a]", "s"]}, False),
        ({"coords": {"arm": ["a", "c"]}}, False),
        ({"var_names": "x", "coords": {"arm": ["b"]}}, True),
    ]
    for options, rejected in chosen:
        result = ps.check(data, model=model, iid=True, rng=0, **options)
        assert result.rejected(0.01) is rejected, options
