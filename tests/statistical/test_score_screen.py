"""The guard says nothing about exact draws: thirty targets, a hundred seeds each."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.guard.scores import score_warnings
from tests.data.targets import TARGETS

pytestmark = pytest.mark.slow
SEEDS = 100


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_said(name: str) -> None:
    target = TARGETS[name]
    for seed in range(SEEDS):
        x = target.draw(np.random.default_rng([17, seed]), 1000)
        assert list(score_warnings(ps.Sample(x, target.score(x)))) == []
