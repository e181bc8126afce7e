"""What `lambda_psd_test` does by default: Algorithm 2, and a gap by the training rows."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import polystein as ps
from polystein._lib.random import Streams
from tests.conftest import RecordingSplit, arbitrary_rows
from tests.reference import algorithms
from tests.statistical.samplers import autoregressive


class InRounds:
    """The numbers of a generator as `CrossEntropy` draws them, candidate by candidate."""

    def __init__(self, rng: np.random.Generator, candidates: int = 1000) -> None:
        self._rng, self._candidates, self._candidate = rng, candidates, 0

    def random(self, size: int) -> Any:
        if self._candidate == 0:
            shape = (self._candidates, size)
            self._uniform, self._normal = self._rng.random(shape), self._rng.standard_normal(shape)
        return self._uniform[self._candidate]

    def normal(self, centre: Any, spread: Any) -> Any:
        numbers = centre + spread * self._normal[self._candidate]
        self._candidate = (self._candidate + 1) % self._candidates
        return numbers


@pytest.mark.parametrize("order", [1, 2, 4])
def test_lambda_psd_test_searches_by_algorithm_2_unless_told_otherwise(order: int) -> None:
    rng = np.random.default_rng(order)
    draws = rng.laplace(scale=0.5**0.5, size=(200, 4))
    split = RecordingSplit()
    result = ps.lambda_psd_test(draws, -draws, order=order, split=split, rng=3)
    rows, numbers = split.rows, InRounds(Streams(3).weights)
    literal = algorithms.lambda_psd_z_test(
        draws, -draws, order, rows["witness"], rows["weights"], rows["test"],
        algorithms.cross_entropy_solver(numbers),  # type: ignore[arg-type]
    )  # fmt: skip
    # Near its maximum SNR^2 is flat: rounding may choose between weights that differ by 1e-8.
    assert result.statistic == pytest.approx(literal[0], rel=1e-6)
    assert result.pvalue == pytest.approx(literal[1], rel=1e-5, abs=0.0)


class Empty(NamedTuple):
    """A rule without fields, which Python takes for false."""

    needs_covariance = False

    def solve(self, moments: Any, rng: Any = None) -> Any:
        return ps.Uniform().solve(moments)


def test_a_rule_that_python_takes_for_false_is_used() -> None:
    draws, scores = arbitrary_rows(120, 2)
    own, uniform = (
        ps.lambda_psd_test(draws, scores, order=2, weights=rule, rng=1)
        for rule in (Empty(), ps.Uniform())
    )
    assert own.weights == uniform.weights


def test_the_automatic_gap_is_that_of_the_training_rows() -> None:
    """Test rows of another speed change neither the gap nor the weights."""
    rng = np.random.default_rng(0)
    slow = autoregressive(rng, 4, 600, 2, 0.8)
    fast = slow.copy()
    fast[:, 300:] = rng.standard_normal((4, 300, 2))
    options: Any = {"split": ps.BlockSplit(), "variance": ps.InitialSequence(), "order": 2}
    first, second = (ps.lambda_psd_test(x, -x, rng=1, **options) for x in (slow, fast))
    assert first.n_gap == second.n_gap > 20
    assert first.weights == second.weights
