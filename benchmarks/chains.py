"""Chains: what the handling of dependence adds to `lambda_psd_test`."""

from collections.abc import Iterator

import numpy as np

import polystein as ps
from benchmarks.harness import Case, Side, Target, compared

ROWS, DIMENSION, ORDER = 10_000, 16, 4


def dependence(weights: ps.ClosedForm | ps.CrossEntropy) -> Case:
    """Blocks and the initial sequence against a random split and independent rows.

    Both train on 70 % of the rows of one chain.
    """

    def lines(quick: bool) -> Iterator[list[str]]:
        draws = np.random.default_rng(20).standard_normal((ROWS, DIMENSION))
        scores = -draws

        def test(
            split: ps.BlockSplit | ps.RandomSplit, variance: ps.InitialSequence | ps.IID
        ) -> Side:
            return lambda seed: ps.lambda_psd_test(
                draws, scores, order=ORDER, weights=weights, split=split, variance=variance,
                rng=seed,
            )  # fmt: skip

        rule = type(weights).__name__
        title = (
            f"lambda_psd_test, {rule}, n={ROWS:,}, d={DIMENSION}, BlockSplit and InitialSequence "
            "against RandomSplit and IID"
        )
        chains = test(ps.BlockSplit(0.7), ps.InitialSequence())
        independent = test(ps.RandomSplit(0.7), ps.IID())
        yield compared(title, chains, independent, Target("at most", 1.5), quick=quick)

    return Case(f"chains-{type(weights).__name__}", lines)


CASES = [dependence(ps.ClosedForm()), dependence(ps.CrossEntropy())]
