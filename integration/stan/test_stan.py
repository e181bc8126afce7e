"""PyStan with a real Stan program, and CmdStan 2.37 as the wheel of prophet carries it."""

import json
import math
import subprocess
import sys
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from integration import posteriors as data

with warnings.catch_warnings():
    # Their dependencies announce what they will change.
    warnings.simplefilter("ignore")
    import prophet
    import stan

pytestmark = pytest.mark.filterwarnings("default")
#: All posteriors in one program, which takes a minute to build.
PROGRAM = """
data {
  int<lower=0, upper=2> which;
  vector[8] effects; vector[8] errors;
  matrix[200, 3] predictors; array[200] int outcomes;
  vector[60] measured; array[60] int level; array[3] int counts; vector[3] concentration;
}
parameters {
  // eight schools
  real mu; real<lower=0> tau; vector[8] z;
  // the regression
  real alpha; vector[3] beta;
  /* constraints */
  real<lower=0> sigma; ordered[3] cut; simplex[3] w;
}
transformed parameters { vector[8] theta = mu + tau * z; }
model {
  mu ~ normal(0, 5); tau ~ normal(0, 5); z ~ std_normal(); effects ~ normal(theta, errors);
  alpha ~ normal(0, 2); beta ~ std_normal(); outcomes ~ bernoulli_logit(alpha + predictors * beta);
  sigma ~ std_normal(); cut ~ normal(0, 2); measured ~ normal(cut[level], sigma);
  w ~ dirichlet(concentration); counts ~ multinomial(w);
}
"""
VALUES = {
    "which": 0,
    "effects": data.EFFECTS.tolist(),
    "errors": data.ERRORS.tolist(),
    "predictors": data.PREDICTORS.tolist(),
    "outcomes": data.OUTCOMES.tolist(),
    "measured": data.MEASURED.tolist(),
    "level": (data.LEVELS + 1).tolist(),
    "counts": data.COUNTS.tolist(),
    "concentration": data.CONCENTRATION.tolist(),
}
NAMES = (
    "mu", "tau", *(f"z[{i}]" for i in range(1, 9)), "alpha", "beta[1]", "beta[2]", "beta[3]",
    "sigma", "cut[1]", "cut[2]", "cut[3]", "w[1]", "w[2]",
)  # fmt: skip


@pytest.fixture(scope="module", params=[1, 2])
def fitted(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    posterior = stan.build(PROGRAM, data=VALUES, random_seed=request.param)
    options = {"num_chains": 2, "num_samples": 250, "num_warmup": 500, "save_warmup": True}
    return posterior, posterior.sample(**options)


def test_pystan(fitted: Any) -> None:
    posterior, fit = fitted
    sample = ps.from_pystan(posterior, fit)
    assert sample.layout.lengths == (250, 250)
    assert sample.names == NAMES
    data.assert_gradient(sample, count=1)
    for gradient in (
        data.schools_gradient,
        data.regression_gradient,
        data.constrained_gradient,
    ):
        data.assert_exact(sample, gradient)
    own = fit["tau"].reshape(2, 750)[:, 500:]
    np.testing.assert_allclose(np.exp(sample.draws[..., 1]), own, rtol=1e-9)
    assert set(sample.facts.sampler_statistics) == {"diverging", "energy"}
    assert ps.check(sample, rng=0).pvalue > 0.001
    with pytest.raises(ps.InputError, match=r"Pass `ps\.from_pystan\(posterior, fit\)`"):
        ps.check(fit)


def prophet_run(folder: Path, seed: int, *, digits: int = 18, warm_up: int = 0) -> str:
    """Four chains of prophet's model, as CmdStan writes them."""
    t = np.linspace(0.0, 1.0, 60)
    rng = np.random.default_rng(3)
    values = {
        "T": 60, "K": 1, "S": 2, "t": t.tolist(), "cap": [1.0] * 60, "t_change": [0.3, 0.6],
        "y": (0.1 + t + 0.05 * np.sin(9.0 * t) + 0.05 * rng.standard_normal(60)).tolist(),
        "X": np.sin(9.0 * t)[:, None].tolist(), "sigmas": [10.0], "tau": 0.5,
        "trend_indicator": 0, "s_a": [1.0], "s_m": [0.0],
    }  # fmt: skip
    (folder / "data.json").write_text(json.dumps(values))
    model = next(Path(str(files(prophet))).glob("stan_model/*.bin"))
    command = [
        str(model), "sample", "num_chains=4", "num_samples=1000", "num_warmup=1000",
        f"save_warmup={warm_up}", "data", f"file={folder / 'data.json'}", "random", f"seed={seed}",
        "output", f"file={folder / 'output.csv'}", f"diagnostic_file={folder / 'diag.csv'}",
        f"sig_figs={digits}",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return str(folder / "diag_*.csv")


@pytest.mark.parametrize("seed", [1, 2])
def test_cmdstan(tmp_path: Path, seed: int) -> None:
    """Gradients of the noise and of the base trend are known; NUTS is not rejected."""
    found = ps.from_cmdstan(prophet_run(tmp_path, seed))
    assert found.layout.lengths == (1000,) * 4
    assert found.names == ("k", "m", "delta[1]", "delta[2]", "sigma_obs", "beta[1]")
    k, m, first, second, log_sigma, beta = np.moveaxis(np.asarray(found.draws), 2, 0)[..., None]
    values = json.loads((tmp_path / "data.json").read_text())
    t, y, x = np.array(values["t"]), np.array(values["y"]), np.array(values["X"])[:, 0]
    after = [(t >= change) * (t - change) for change in (0.3, 0.6)]
    rest = y - (k * t + m + first * after[0] + second * after[1] + beta * x)
    sigma = np.exp(log_sigma)[..., 0]
    scores = np.asarray(found.scores)
    by_k = np.sum(rest * t, axis=-1) / sigma**2 - k[..., 0] / 25.0
    by_sigma = 1.0 - 60.0 + np.sum(rest**2, axis=-1) / sigma**2 - sigma**2 / 0.25
    np.testing.assert_allclose(scores[..., 0], by_k, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scores[..., 4], by_sigma, rtol=1e-6, atol=1e-6)
    assert ps.check(found, rng=0).pvalue > 0.001
    with pytest.raises(ps.InputError, match="got Stan's ordinary output"):
        ps.from_cmdstan(str(tmp_path / "output_*.csv"))
    script = Path(__file__).parents[2] / "examples" / "check_cmdstan.py"
    command = [sys.executable, str(script), str(tmp_path / "diag_*.csv")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert "Do these draws come from the target?" in done.stdout


def test_warm_up_and_digits_of_cmdstan(tmp_path: Path) -> None:
    with pytest.warns(ps.ScoreWarning, match="with 6 digits"):
        found = ps.from_cmdstan(prophet_run(tmp_path, 1, digits=6, warm_up=1))
    assert found.layout.lengths == (1000,) * 4
    assert math.isfinite(float(np.asarray(found.scores).sum()))


def test_cmdstanpy_names_what_to_save() -> None:
    import cmdstanpy

    assert f"{cmdstanpy.CmdStanMCMC.__module__}.CmdStanMCMC" == "cmdstanpy.stanfit.mcmc.CmdStanMCMC"


def test_bridgestan_has_the_interface_of_the_adapter() -> None:
    """Its sources cannot be had everywhere, so that the double of the unit tests stands for it."""
    import inspect

    from bridgestan import StanModel

    from tests.adapters.test_bridgestan import StanModel as Double

    for name in ("param_names", "param_unc_names", "param_unconstrain", "param_constrain",
                 "log_density", "log_density_gradient"):  # fmt: skip
        real = inspect.signature(getattr(StanModel, name)).parameters
        double = inspect.signature(getattr(Double, name)).parameters
        assert list(real)[: len(double)] == list(double)
