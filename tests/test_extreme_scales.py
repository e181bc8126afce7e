"""Numbers at the ends of the range of a float64: an answer, or an error that says what to do.

Warnings of NumPy are errors in these tests, as in all others.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polystein as ps

X = np.random.default_rng(0).standard_normal((4, 100, 3))
FLAT = X.reshape(-1, 3)


def of_order(test: Callable[..., Any]) -> Callable[..., Any]:
    return lambda draws, scores: test(draws, scores, order=2)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "check": lambda draws, scores: ps.check(draws.reshape(X.shape), scores.reshape(X.shape)),
    "psd": of_order(ps.psd),
    "lambda_psd": of_order(ps.lambda_psd),
    "psd_test": of_order(ps.psd_test),
    "lambda_psd_test": of_order(ps.lambda_psd_test),
    "psd_bootstrap_test": of_order(ps.psd_bootstrap_test),
    "psd_l2_test": of_order(ps.psd_l2_test),
    "ksd": ps.ksd,
    "ksd_test": ps.ksd_test,
    "fssd_test": ps.fssd_test,
    "rfsd_test": ps.rfsd_test,
    "ksdagg_test": lambda draws, scores: ps.ksdagg_test(draws, scores, n_bootstrap=100),
    "nystrom_ksd_test": ps.nystrom_ksd_test,
    "effects": ps.effects,
    "expectations": ps.expectations,
    "blocks": lambda draws, scores: ps.psd_test(
        draws, scores, order=2, split=ps.BlockSplit(), variance=ps.InitialSequence()
    ),
}
SCALES: list[Any] = [1e307, 1e152, 1e-160, 1e-307]
SCALES += [pytest.param(scale, marks=pytest.mark.slow) for scale in (1e80, 1e-80)]


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        yield


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_answer_or_an_error_of_ours(name: str, scale: float) -> None:
    for of_draws, of_scores in ((scale, 1.0), (1.0, scale), (scale, scale)):
        try:
            found = FUNCTIONS[name](of_draws * FLAT, -of_scores * FLAT)
        except (ps.ScaleError, ps.DegenerateError, ps.InputError):
            continue
        if isinstance(found, ps.GofResult):
            assert 0.0 <= found.pvalue <= 1.0


def test_check_of_huge_draws_says_what_overflows() -> None:
    with pytest.raises(ps.ScaleError, match="rescale draws"):
        ps.check(1e307 * X, -X)


def test_huge_scores_with_blocks_say_what_overflows() -> None:
    with pytest.raises(ps.ScaleError, match="the autocorrelation of the training features"):
        FUNCTIONS["blocks"](FLAT, -1e152 * FLAT)


def test_tiny_draws_of_fssd_say_what_overflows() -> None:
    with pytest.raises(ps.ScaleError, match="rescale draws"):
        ps.fssd_test(1e-160 * FLAT, -FLAT)
