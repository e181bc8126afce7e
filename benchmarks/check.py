"""`check`: its cost beside one pass over the rows, other tests and ArviZ; linear in the draws."""

import os
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from benchmarks.harness import Case, Side, Target, compared
from benchmarks.rivals import linear

Array = NDArray[np.float64]
ROWS, CHAINS, ORDER = 10_000, 4, 4


def cost(dimension: int, bound: float) -> Case:
    """Independent rows, and as many rows of chains, each against one test of the same draws."""

    def lines(quick: bool) -> Iterator[list[str]]:
        draws = np.random.default_rng(20).standard_normal((ROWS, dimension))
        chains = draws.reshape(CHAINS, -1, dimension)

        def theirs(seed: int) -> object:
            return ps.lambda_psd_test(draws, -draws, order=ORDER, rng=seed)

        def independent(seed: int) -> object:
            return ps.check(draws, -draws, iid=True, rng=seed)

        def dependent(seed: int) -> object:
            return ps.check(chains, -chains, rng=seed)

        def theirs_on_chains(seed: int) -> object:
            split, variance = ps.BlockSplit(), ps.InitialSequence()
            return ps.lambda_psd_test(
                chains, -chains, order=ORDER, split=split, variance=variance, rng=seed
            )

        where = f"n={ROWS:,}, d={dimension}, against lambda_psd_test at order {ORDER}"
        target = Target("at most", bound)
        yield compared(f"check, iid=True, {where}", independent, theirs, target, quick=quick)
        yield compared(
            f"check, {CHAINS} chains, {where}", dependent, theirs_on_chains, target, quick=quick
        )

    return Case(f"check-{dimension}", lines)


def autoregressive(chains: int, rows: int, dimension: int, memory: float) -> Array:
    """AR(1) chains with the law N(0, I), started in it."""
    noise = np.random.default_rng(20).standard_normal((chains, rows, dimension))
    noise[:, 1:] *= np.sqrt(1.0 - memory**2)
    for t in range(1, rows):
        noise[:, t] += memory * noise[:, t - 1]
    return noise


def beside_one_pass(quick: bool) -> Iterator[list[str]]:
    """A million rows: everything that `check` does in units of one `psd` of order 4."""
    rows = 25_000 if quick else 250_000
    chains = autoregressive(CHAINS, rows, 16, 0.9)
    flat = chains.reshape(-1, 16)
    chain_scores, flat_scores = -chains, -flat

    def psd(seed: int) -> object:
        return ps.psd(flat, flat_scores, order=ORDER)

    where = f"d=16, against psd(order={ORDER}) on the same rows"
    for title, side, bound in (
        (
            f"check, {CHAINS} AR(0.9) chains of {rows:,}, {where}",
            lambda seed: ps.check(chains, chain_scores, rng=seed),
            20.0,
        ),
        (
            f"check, iid=True, n={CHAINS * rows:,}, {where}",
            lambda seed: ps.check(flat, flat_scores, iid=True, rng=seed),
            12.0,
        ),
    ):
        yield compared(title, side, psd, Target("at most", bound), quick=quick)


def short_chains(quick: bool) -> Iterator[list[str]]:
    """As many rows in a thousand chains as in four."""
    draws = np.random.default_rng(20).standard_normal((20_000, 5))
    many, few = draws.reshape(1000, 20, 5), draws.reshape(4, 5000, 5)

    def check(chains: Array) -> Side:
        return lambda seed: ps.check(chains, -chains, rng=seed)

    title = "check, 1,000 chains of 20, d=5, against 4 chains of 5,000"
    yield compared(title, check(many), check(few), Target("at most", 3.0), quick=quick)


def beside_arviz(quick: bool) -> Iterator[list[str]]:
    """The convergence diagnostics that everybody runs, on the same draws."""
    title = "check, 4 chains of 1,000, d=16, against ArviZ's rhat and ess"
    try:
        import arviz
    except ImportError:
        yield [title, "", "", "ArviZ is not installed", "", ""]
        return
    chains = np.random.default_rng(20).standard_normal((4, 1000, 16))
    data = arviz.convert_to_dataset({"x": chains})
    bound = 0.7 if os.environ.get("OMP_NUM_THREADS") == "1" else 1.0

    def check(seed: int) -> object:
        return ps.check(chains, -chains, rng=seed)

    def diagnostics(seed: int) -> object:
        return arviz.rhat(data), arviz.ess(data)

    yield compared(title, check, diagnostics, Target("at most", bound), quick=quick)


CASES = [
    Case("check-pass", beside_one_pass),
    Case("check-short", short_chains),
    Case("check-arviz", beside_arviz),
    cost(16, 10.0),
    cost(128, 15.0),
    linear("check", partial(ps.check, iid=True)),
    linear("check-chain", ps.check),
]
