"""PyStan with a real Stan program, and CmdStan 2.37 as the wheel of prophet carries it."""

import json
import math
import subprocess
import sys
import warnings
from functools import cache
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
  int<lower=0, upper=1> centred;  // whether z is theta itself
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
transformed parameters {
  vector[8] theta;
  if (centred) theta = z; else theta = mu + tau * z;
}
model {
  mu ~ normal(0, 5); tau ~ normal(0, 5); effects ~ normal(theta, errors);
  if (centred) z ~ normal(mu, tau); else z ~ std_normal();
  alpha ~ normal(0, 2); beta ~ std_normal(); outcomes ~ bernoulli_logit(alpha + predictors * beta);
  sigma ~ std_normal(); cut ~ normal(0, 2); measured ~ normal(cut[level], sigma);
  w ~ dirichlet(concentration); counts ~ multinomial(w);
}
"""
VALUES = {
    "centred": 0,
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


#: The parameters of each posterior, and one whose spread is made wrong.
MODELS = {"schools": ["mu", "tau", "z"], "regression": ["alpha", "beta"],
          "constrained": ["sigma", "cut", "w"]}  # fmt: skip
INFLATED = {"schools": "mu", "regression": "beta[2]", "constrained": "cut[1]"}
DRAWS = 1000


@cache
def fitted(seed: int) -> tuple[Any, Any]:
    posterior = stan.build(PROGRAM, data=VALUES, random_seed=seed)
    options = {"num_chains": 2, "num_samples": DRAWS, "num_warmup": 500, "save_warmup": True}
    return posterior, posterior.sample(**options)


@cache
def sampled(seed: int) -> ps.Sample:
    return ps.from_pystan(*fitted(seed))


def test_pystan() -> None:
    _, fit = fitted(1)
    sample = sampled(1)
    assert sample.layout.lengths == (DRAWS, DRAWS)
    assert sample.names == NAMES
    data.assert_gradient(sample, count=1)
    data.assert_simplex(sample)
    for gradient in (
        data.schools_gradient,
        data.regression_gradient,
        data.constrained_gradient,
    ):
        data.assert_exact(sample, gradient)
    own = fit["tau"].reshape(500 + DRAWS, 2).T[:, 500:]
    # What PyStan itself holds has the axes (parameter, draw, chain).
    held = fit._draws[len(fit.sample_and_sampler_param_names) + 1, 500:].T
    np.testing.assert_array_equal(own, held)
    np.testing.assert_allclose(np.exp(sample.draws[..., 1]), own, rtol=1e-9)
    statistics = {"diverging", "energy", "reached_max_treedepth"}
    assert set(sample.facts.sampler_statistics) == statistics
    with pytest.raises(ps.InputError, match=r"Pass `ps\.from_pystan\(posterior, fit\)`"):
        ps.check(fit)


def test_pystan_gives_the_models_own_parameters() -> None:
    posterior, fit = fitted(1)
    sample = ps.from_pystan(posterior, fit, thin=100)
    transform = sample.facts.transform
    assert transform is not None
    found = transform(np.asarray(sample.draws).reshape(-1, len(NAMES)))
    for name in ("tau", "z", "cut", "w"):
        own = fit[name].reshape(-1, 500 + DRAWS, 2)[:, 500::100]
        expected = own.transpose(2, 1, 0).reshape(2 * DRAWS // 100, -1)
        np.testing.assert_allclose(found[name].reshape(expected.shape), expected, rtol=1e-9)


def test_centred_schools_have_exact_scores() -> None:
    """The same program with other data, which is not built again."""
    posterior = stan.build(PROGRAM, data={**VALUES, "centred": 1}, random_seed=1)
    fit = posterior.sample(num_chains=1, num_samples=20, num_warmup=200)
    sample = ps.from_pystan(posterior, fit)
    renamed = [name.replace("z[", "theta[") for name in NAMES]
    theirs = ps.Sample(sample.draws, sample.scores, names=renamed)
    data.assert_exact(theirs, data.centred_gradient)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_verdicts(model: str, seed: int) -> None:
    """NUTS passes; one parameter 15 % too wide does not. The three posteriors are independent."""
    names = MODELS[model]
    assert ps.check(sampled(seed).select(var_names=names), rng=0).pvalue > 0.001
    assert ps.check(inflated(seed).select(var_names=names), rng=0).rejected()


@cache
def inflated(seed: int) -> ps.Sample:
    """One parameter of each posterior 15 % too wide, with the scores there."""
    posterior, _ = fitted(seed)

    def score(rows: Any) -> Any:
        return np.array([posterior.grad_log_prob(row.tolist()) for row in rows])

    wide = data.wide_draws(sampled(seed), *INFLATED.values())
    return ps.Sample(wide, score, names=NAMES)


class BridgedModel:
    """PyStan's compiled program behind the interface of BridgeStan."""

    def __init__(self, posterior: Any) -> None:
        self._posterior = posterior

    def param_names(self) -> list[str]:
        found = [
            name if size == 1 else f"{name}.{i}"
            for name, size in (("mu", 1), ("tau", 1), ("z", 8), ("alpha", 1), ("beta", 3),
                               ("sigma", 1), ("cut", 3), ("w", 3))
            for i in range(1, size + 1)
        ]  # fmt: skip
        return found

    def param_unc_names(self) -> list[str]:
        return self.param_names()[:-1]

    def param_unconstrain(self, theta: Any) -> Any:
        values = dict(zip(self.param_names(), theta.tolist(), strict=True))
        lists: dict[str, Any] = {}
        for name, value in values.items():
            base, _, index = name.partition(".")
            if index:
                lists.setdefault(base, []).append(value)
            else:
                lists[base] = value
        return np.array(self._posterior.unconstrain_pars(lists))

    def param_constrain(self, theta_unc: Any) -> Any:
        return np.array(self._posterior.constrain_pars(theta_unc.tolist(), False, False))

    def log_density(self, theta_unc: Any) -> float:
        return float(self._posterior.log_prob(theta_unc.tolist()))

    def log_density_gradient(self, theta_unc: Any) -> tuple[float, Any]:
        return 0.0, np.array(self._posterior.grad_log_prob(theta_unc.tolist()))


def test_bridgestan_by_its_interface() -> None:
    """Draws by name, constrained and unconstrained rows: the same as by PyStan."""
    posterior, fit = fitted(1)
    expected = ps.from_pystan(posterior, fit, thin=20)
    model = BridgedModel(posterior)
    free = np.asarray(expected.draws)
    own = np.stack([[model.param_constrain(row) for row in chain] for chain in free])
    by_name = {
        name: _by_chain(fit, name)[:, ::20]
        for name in ("mu", "tau", "z", "alpha", "beta", "sigma", "cut", "w")
    }
    for draws in (free, own, by_name):
        found = ps.from_bridgestan(model, draws)
        assert found.names == expected.names
        np.testing.assert_allclose(found.draws, free, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6, atol=1e-6)
    data.assert_gradient(found, count=1)


def _by_chain(fit: Any, name: str) -> Any:
    own = fit[name].reshape(-1, 500 + DRAWS, 2).transpose(2, 1, 0)[:, 500:]
    return own[..., 0] if own.shape[2] == 1 else own


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


def prophet_gradient(folder: Path) -> Any:
    """The gradient of prophet's log-density by hand, for a linear trend."""
    values = json.loads((folder / "data.json").read_text())
    t, y, x = np.array(values["t"]), np.array(values["y"]), np.array(values["X"])[:, 0]
    bends = [(t >= change) * (t - change) for change in values["t_change"]]

    def gradient(rows: Any) -> Any:
        k, m, first, second, log_sigma, beta = np.moveaxis(rows, -1, 0)[..., None]
        rest = y - (k * t + m + first * bends[0] + second * bends[1] + beta * x)
        sigma = np.exp(log_sigma)[..., 0]
        pull = rest / sigma[..., None] ** 2
        parts = [
            np.sum(pull * t, axis=-1) - k[..., 0] / 25.0,
            np.sum(pull, axis=-1) - m[..., 0] / 25.0,
            np.sum(pull * bends[0], axis=-1) - np.sign(first[..., 0]) / values["tau"],
            np.sum(pull * bends[1], axis=-1) - np.sign(second[..., 0]) / values["tau"],
            1.0 - t.size + np.sum(rest * pull, axis=-1) - sigma**2 / 0.25,
            np.sum(pull * x, axis=-1) - beta[..., 0] / 100.0,
        ]
        return np.stack(parts, axis=-1)

    return gradient


@pytest.mark.parametrize("seed", [1, 2])
def test_cmdstan(tmp_path: Path, seed: int) -> None:
    """Gradients are known; NUTS is not rejected, one parameter 15 % too wide is."""
    found = ps.from_cmdstan(prophet_run(tmp_path, seed))
    assert found.layout.lengths == (1000,) * 4
    assert found.names == ("k", "m", "delta[1]", "delta[2]", "sigma_obs", "beta[1]")
    gradient = prophet_gradient(tmp_path)
    np.testing.assert_allclose(
        found.scores, gradient(np.asarray(found.draws)), rtol=1e-6, atol=1e-6
    )
    statistics = {"diverging", "energy", "reached_max_treedepth"}
    assert set(found.facts.sampler_statistics) == statistics
    assert ps.check(found, rng=0).pvalue > 0.001
    assert ps.check(data.inflated(found, "beta[1]", gradient), rng=0).rejected()
    with pytest.raises(ps.InputError, match="got Stan's ordinary output"):
        ps.from_cmdstan(str(tmp_path / "output_*.csv"))
    script = Path(__file__).parents[2] / "examples" / "check_cmdstan.py"
    for program in ([str(script)], ["-m", "polystein", "check", "--cmdstan"]):
        command = [sys.executable, *program, str(tmp_path / "diag_*.csv")]
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
