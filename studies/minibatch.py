"""Does `check` hold its level with scores of minibatches? ``python -m studies.minibatch``.

The posterior of a logistic regression with 1,000 observations; every row has a minibatch of its
own, of 1 % of them. 500 sets of independent rows from the posterior, and 500 of four chains of
MALA that start in it, are checked: how often are they rejected at level 0.05, how often are
draws with a spread that is off, and how often is one batch noticed that rows share? The step sizes
of SGLD of ``studies.compare`` are ranked again, by minibatches of 5 %. Prints and stores rates in
``studies/minibatch.csv``, with the commit of the code. Takes two minutes; a second run gives the
same table.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import multivariate_t, spearmanr

import polystein as ps
from polystein.experiments.engine.store import package_commit, write_csv
from studies import compare
from studies._table import lines_by
from studies.compare import Array, Posterior

TABLE = Path(__file__).with_suffix(".csv")
OBSERVATIONS, BATCH, RUNS, LEVEL = 1_000, 10, 500, 0.05
ROWS, CHAINS, DRAWS = 1_000, 4, 500
#: Steps of MALA, in units of the smallest posterior variance.
STEP = 0.5
#: Draws that are off: their spread around the mean, times this.
SPREAD = 1.2
#: For ranks: 5 % of 200 observations.
RANK_BATCH = 10


def posterior_rows(target: Posterior, count: int, rng: np.random.Generator) -> Array:
    """Independent draws, by rejection from a t distribution around the mode."""
    mode, covariance = target.laplace()
    law = multivariate_t(mode, 1.1 * covariance, df=8, seed=rng)
    # The ratio is largest near the mode; a margin of two allows for skewness.
    highest = target.log_density(mode[None])[0] - law.logpdf(mode) + np.log(2.0)
    kept: list[Array] = []
    while sum(map(len, kept)) < count:
        points = law.rvs(4_000)
        ratios = target.log_density(points) - law.logpdf(points) - highest
        if ratios.max() > 0.0:
            raise ValueError("the t distribution does not cover the posterior")
        kept.append(points[np.log(rng.random(len(points))) < ratios])
    return np.concatenate(kept)[:count]


def mala(target: Posterior, starts: Array, rng: np.random.Generator) -> Iterator[Array]:
    """All chains after each step of MALA, from draws of the posterior."""
    step = STEP * np.linalg.eigvalsh(target.laplace()[1])[0]
    x, density, score = starts, target.log_density(starts), target.score(starts)
    for _ in range(DRAWS):
        noise = np.sqrt(2.0 * step) * rng.standard_normal(x.shape)
        moved = x + step * score + noise
        new_density, new_score = target.log_density(moved), target.score(moved)
        back = x - moved - step * new_score
        log_ratio = new_density - density + (np.sum(noise**2, 1) - np.sum(back**2, 1)) / (4 * step)
        taken = np.log(rng.random(len(x))) < log_ratio
        x = np.where(taken[:, None], moved, x)
        score = np.where(taken[:, None], new_score, score)
        density = np.where(taken, new_density, density)
        yield x


def minibatch_scores(
    target: Posterior, x: Array, rng: np.random.Generator, batch: int = BATCH, shared: str = "fresh"
) -> Array:
    """Scores of draws (..., d) by minibatches: fresh for each row, or shared by rows.

    ``shared`` is "all" (one batch), "chains" (one for each time), "tens" (ten rows in a row),
    "pool" (each row has one of 100 at random), or "epochs" (an epoch's batches in the same order).
    """
    rows = x.reshape(-1, x.shape[-1])
    chosen = rng.integers(len(target.rows), size=(*x.shape[:-1], batch))
    if shared == "all":
        chosen[...] = chosen[(0,) * (x.ndim - 1)]
    elif shared == "chains":
        chosen[...] = chosen[:1]
    elif shared == "tens":
        chosen = np.repeat(chosen[..., ::10, :], 10, axis=-2)
    elif shared == "pool":
        chosen = chosen.reshape(-1, batch)[rng.integers(100, size=x.shape[:-1])]
    elif shared == "epochs":
        epoch = rng.permutation(len(target.rows)).reshape(-1, batch)
        chosen = np.broadcast_to(epoch[np.arange(x.shape[-2]) % len(epoch)], chosen.shape)
    return target.batch_score(rows, chosen.reshape(len(rows), batch)).reshape(x.shape)


def checked(x: Array, scores: Array, *, minibatch: bool = True) -> tuple[bool, bool]:
    """Whether draws are rejected, and whether it is said that rows share their batches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ps.check(x, scores, iid=x.ndim == 2, minibatch=minibatch)
    return result.pvalue <= LEVEL, any("fresh minibatch" in words for words in result.warnings)


def cases(target: Posterior, runs: int) -> Iterator[tuple[str, Array]]:
    """Runs of each way of sampling, of shape (run, ..., d)."""
    rows = posterior_rows(target, runs * ROWS, np.random.default_rng([29, 6, 1]))
    yield "independent rows", rows.reshape(runs, ROWS, -1)
    rng = np.random.default_rng([29, 6, 2])
    chains = np.stack(list(mala(target, posterior_rows(target, runs * CHAINS, rng), rng)), axis=1)
    yield "chains of MALA", chains.reshape(runs, CHAINS, DRAWS, -1)


def rates(runs: int = RUNS) -> Iterator[dict[str, str]]:
    """The lines of sizes, of a fault, and of shared batches."""
    target = Posterior.of(np.random.default_rng([29, 6, 0]), OBSERVATIONS)
    for case, (name, every) in enumerate(cases(target, runs)):
        ways = {"fresh": (1.0, "fresh", runs)}
        ways |= {
            f"{what}, sd times {SPREAD:g}": (SPREAD, what, 50) for what in ("fresh", "all data")
        }
        ways["one batch for all rows"] = 1.0, "all", 50
        ways["a pool of 100 batches"] = 1.0, "pool", 50
        if name.startswith("chains"):
            ways["the batches of an epoch, again and again"] = 1.0, "epochs", 50
            ways["one batch for ten rows in a row"] = 1.0, "tens", 50
            ways["one batch for all chains"] = 1.0, "chains", 50
        for way, (label, (scale, shared, count)) in enumerate(ways.items()):
            rng = np.random.default_rng([29, 6, 3, case, way])
            found = []
            for x in every[:count]:
                middle = x.reshape(-1, x.shape[-1]).mean(axis=0)
                x = middle + scale * (x - middle) if scale != 1.0 else x
                if shared == "all data":
                    given = target.score(x.reshape(-1, x.shape[-1])).reshape(x.shape)
                else:
                    given = minibatch_scores(target, x, rng, BATCH, shared)
                found.append(checked(x, given, minibatch=shared != "all data"))
            rejected, said = np.sum(found, axis=0).tolist()
            yield {
                "cell": f"{name}, {label}",
                "runs": str(len(found)),
                "rejected": str(rejected),
                "said to share": str(said),
            }


def ranks() -> dict[str, str]:
    """Spearman's correlation of SGLD's step sizes with their true errors, by minibatches."""
    number = compare.SAMPLERS.index("SGLD")
    data, _, run, noise = (np.random.default_rng([29, number, part]) for part in range(4))
    target = Posterior.of(data)
    draws = compare.langevin(target, "SGLD", compare.CHAINS, compare.DRAWS, run)
    sets = {}
    for step, rows in zip(compare.STEPS, draws, strict=True):
        scores = minibatch_scores(target, rows, noise, RANK_BATCH)
        sets[f"{step:g}"] = ps.Sample(rows, scores, facts={"minibatch": True})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ps.compare(sets)
    stored = lines_by(compare.TABLE)
    errors = [float(stored[f"SGLD {step:g}"]["error"]) for step in compare.STEPS]
    squares = [found[name].discrepancy.square for name in sets]
    correlation = float(spearmanr(errors, squares).statistic)
    return {"cell": "ranks of SGLD", "runs": "1", "spearman": f"{correlation:.3f}"}


if __name__ == "__main__":
    columns = ("cell", "runs", "rejected", "said to share", "spearman", "commit")
    # Asked for at once, as the files may change under way.
    commit = package_commit() or "unknown"
    every_line = []
    for line in (ranks(), *rates()):
        line["commit"] = commit
        every_line.append({column: line.get(column, "") for column in columns})
        print(*every_line[-1].values(), sep="  ", flush=True)
    write_csv(TABLE, every_line)
