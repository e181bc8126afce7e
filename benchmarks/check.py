"""`check`: its cost beside `lambda_psd_test` at order 4, and its time linear in the draws."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import polystein as ps
from benchmarks.harness import Case, Target, compared
from benchmarks.rivals_linear import linear

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


CASES = [
    cost(16, 10.0),
    cost(128, 15.0),
    linear("check", partial(ps.check, iid=True)),
    linear("check-chain", ps.check),
]
