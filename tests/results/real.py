"""One small result of every test, as the tests return them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import polystein as ps
from tests.statistical.samplers import autoregressive

Test = Callable[[], ps.GofResult]


def normal_score(draws: Any) -> Any:
    return -draws


@cache
def rows(scale: float = 1.0) -> Any:
    return scale * np.random.default_rng(0).standard_normal((200, 3))


def weighted() -> ps.Sample:
    log_weights = np.random.default_rng(1).normal(0.0, 0.1, 200)
    return ps.Sample(rows(), normal_score, log_weights=log_weights, names=["a", "b", "c"])


@cache
def chains(memory: float = 0.5, count: int = 4, length: int = 300) -> Any:
    return autoregressive(np.random.default_rng(0), count, length, 3, memory)


def slow_chains() -> Any:
    """Too slow to be trained on, and too short to be compared."""
    return chains(0.8, 4, 100)


def slower_chains() -> Any:
    """Too slow for any judgement."""
    return chains(0.99, 10, 100)


FINER: Any = {"order": 1, "standardise": True, "rng": 0}
TESTS: dict[str, Test] = {
    "psd": lambda: ps.psd_test(rows(), normal_score, order=2, rng=0),
    "psd repeats": lambda: ps.psd_test(rows(), normal_score, order=2, repeats=3, rng=0),
    "psd weighted": lambda: ps.psd_test(weighted(), order=1, rng=0),
    "psd chains": lambda: ps.psd_test(
        chains(), normal_score, order=1, split=ps.BlockSplit(), variance=ps.InitialSequence(), rng=0
    ),
    "lambda-psd": lambda: ps.lambda_psd_test(rows(), normal_score, order=2, rng=0),
    "lambda-psd order 0": lambda: ps.lambda_psd_test(rows(), normal_score, order=0, rng=0),
    "lambda-psd repeats": lambda: ps.lambda_psd_test(
        rows(), normal_score, order=2, repeats=3, rng=0
    ),
    "lambda-psd coordinate": lambda: ps.lambda_psd_test(
        rows(), normal_score, resolution="coordinate", **FINER
    ),
    "lambda-psd entry": lambda: ps.lambda_psd_test(weighted(), resolution="entry", **FINER),
    "check": lambda: ps.check(chains(), normal_score, rng=0),
    "check rejected": lambda: ps.check(rows(1.5), normal_score, iid=True, rng=0),
    "check flips alone": lambda: ps.check(slow_chains(), normal_score, rng=0),
    "check without arms": lambda: ps.check(slower_chains(), normal_score, rng=0),
    "check trained alone": lambda: ps.check(rows()[:30], normal_score, iid=True, rng=0),
    "check weighted": lambda: ps.check(weighted(), iid=True, rng=0),
    "psd-bootstrap": lambda: ps.psd_bootstrap_test(
        rows(), normal_score, order=1, n_bootstrap=19, rng=0
    ),
    "psd-bootstrap chains": lambda: ps.psd_bootstrap_test(
        chains(), normal_score, order=1, n_bootstrap=19, rng=0
    ),
    "ksd": lambda: ps.ksd_test(
        rows(), normal_score, kernel=ps.GaussianKernel(), n_bootstrap=19, rng=0
    ),
    "ksdagg": lambda: ps.ksdagg_test(rows(), normal_score, n_bootstrap=19, n_correction=19, rng=0),
    "ksdagg bandwidths": lambda: ps.ksdagg_test(
        rows(), normal_score, bandwidths=[1, 2.5], n_bootstrap=19, n_correction=19, rng=0
    ),
    "nystrom-ksd": lambda: ps.nystrom_ksd_test(rows(), normal_score, n_bootstrap=19, rng=0),
    "psd-l2": lambda: ps.psd_l2_test(rows(), normal_score, order=2, n_bootstrap=19, rng=0),
    "fssd": lambda: ps.fssd_test(rows(), normal_score, n_locations=2, n_simulations=99, rng=0),
    "rfsd": lambda: ps.rfsd_test(rows(), normal_score, n_features=2, n_bootstrap=19, rng=0),
}


@cache
def real(name: str) -> ps.GofResult:
    """The result of this name, computed once."""
    return TESTS[name]()
