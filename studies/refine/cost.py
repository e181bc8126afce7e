"""What `refine` costs beside the run of NUTS whose draws it looks at, on models of PyMC.

Running it needs PyMC and ArviZ: ``pip install '.[pymc]'``.
"""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.experiments.engine.store import package_commit, write_csv
from polystein.experiments.engine.summary import markdown_table
from studies._table import lines_by
from studies.refine import SEED

TABLE = Path(__file__).with_suffix(".csv")
GROUPS, EACH = 12, 4
#: Rows that the target is timed by, as often as this: the shortest time counts.
ROWS, TIMES = 2000, 7

Array = NDArray[np.float64]


def _data() -> tuple[NDArray[np.int64], Array, Array]:
    """The group, the predictor and the effect of the group of every observation."""
    rng, group = np.random.default_rng(1983), np.repeat(np.arange(GROUPS), EACH)
    return group, rng.standard_normal(len(group)), 0.6 * rng.standard_normal(GROUPS)[group]


def eight_schools(pm: Any) -> None:
    """Non-centred."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 5)
    pm.Normal("y", mu + tau * pm.Normal("z", 0, 1, shape=8), errors, observed=effects)


def varying_intercepts(pm: Any) -> None:
    """Non-centred, with Gaussian noise."""
    group, predictor, effects = _data()
    noise = np.random.default_rng(1984).standard_normal(len(group))
    mu, slope, tau = pm.Normal("mu", 0, 5), pm.Normal("slope", 0, 5), pm.HalfNormal("tau", 2)
    z, sigma = pm.Normal("z", 0, 1, shape=GROUPS), pm.HalfNormal("sigma", 2)
    mean = mu + slope * predictor + tau * z[group]
    pm.Normal("y", mean, sigma, observed=1.0 + 0.5 * predictor + effects + noise)


def poisson(pm: Any) -> None:
    """Counts of groups."""
    group, predictor, effects = _data()
    counts = np.random.default_rng(1985).poisson(np.exp(0.5 + 0.4 * predictor + effects))
    mu, slope, tau = pm.Normal("mu", 0, 5), pm.Normal("slope", 0, 5), pm.HalfNormal("tau", 1)
    z = pm.Normal("z", 0, 1, shape=GROUPS)
    pm.Poisson("y", pm.math.exp(mu + slope * predictor + tau * z[group]), observed=counts)


MODELS: dict[str, Callable[[Any], None]] = {
    "eight schools": eight_schools,
    "varying intercepts": varying_intercepts,
    "Poisson GLMM": poisson,
}


def measured(name: str) -> dict[str, object]:
    """One line: gradients and seconds of one processor, of NUTS and of `refine`."""
    import pymc as pm

    with pm.Model() as model:
        MODELS[name](pm)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        idata = pm.sample(
            1000, tune=1000, chains=4, cores=1, random_seed=SEED, model=model, progressbar=False,
            target_accept=0.9, discard_tuned_samples=False,
        )  # fmt: skip
        nuts = time.process_time() - started
        sample = ps.from_pymc(model, idata)
        started = time.process_time()
        refined = ps.refine(sample)
        seconds = time.process_time() - started
    steps = [idata.sample_stats, idata.warmup_sample_stats]
    ratio = _beside_bare_loop(sample, model)
    return {
        "model": name,
        "NUTS gradients": sum(int(one["n_steps"].sum()) for one in steps),
        "NUTS seconds": f"{nuts:.1f}",
        "gradients": refined.gradients,
        "seconds": f"{seconds:.1f}",
        "settled": "yes" if refined.settled else "no",
        "ratio": f"{ratio:.2f}",
        "seed": SEED,
        "commit": package_commit() or "unknown",
    }


def _beside_bare_loop(sample: ps.Sample, model: Any) -> float:
    """The time of the target for some rows, over that of a loop over PyMC's compiled function."""
    target, bare = sample.target, model.logp_dlogp_function(ravel_inputs=True)
    assert target is not None
    bare.set_extra_values({})
    rows = np.asarray(sample.draws).reshape(-1, target.dimension)[:ROWS]
    times = np.empty((2, TIMES))
    for attempt in range(TIMES):
        started = time.process_time()
        target.log_density_and_score(rows)
        times[0, attempt] = time.process_time() - started
        started = time.process_time()
        for row in rows:
            bare(row)
        times[1, attempt] = time.process_time() - started
    own, loop = times.min(axis=1)
    return float(own / loop)


class Costs:
    """The table, line by line; lines that are there stay."""

    def stored(self) -> dict[str, dict[str, str]]:
        """The lines by model."""
        return lines_by(TABLE, "model")

    def missing(self, only: str = "", *, anew: bool = False) -> list[str]:
        """Models that the table does not hold yet."""
        there = {} if anew else self.stored()
        return [name for name in MODELS if name not in there and only in name]

    def minutes(self, only: str = "", *, anew: bool = False) -> float:
        """About half a minute for each model, most of it to compile."""
        return 0.5 * len(self.missing(only, anew=anew))

    def run(self, only: str = "", jobs: int = 1, *, anew: bool = False) -> None:
        """Fill in what the table does not hold."""
        for name in self.missing(only, anew=anew):
            line = measured(name)
            print(*line.values(), sep="  ", flush=True)
            rows = {**self.stored(), name: line}
            write_csv(TABLE, [rows[one] for one in MODELS if one in rows])  # type: ignore[misc]


STUDY = Costs()


def markdown() -> list[str]:
    """The table of ``docs/refine.md``, line by line."""
    columns = ("NUTS gradients", "NUTS seconds", "gradients", "seconds", "settled", "ratio")
    rows = [[name, *(row[key] for key in columns)] for name, row in STUDY.stored().items()]
    head = ["model", "gradients of NUTS", "seconds", "gradients of refine", "seconds", "settled"]
    return markdown_table([*head, "target / bare loop"], rows)
