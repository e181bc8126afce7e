"""Targets at the door: random ones and wrong scores are refused, rounding is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polystein.data.guard.target import require_sound_target
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array

DRAWS = np.random.default_rng(0).standard_normal((60, 3))
SEEDS = range(20)


def log_density(rows: Array) -> Array:
    return -0.5 * np.sum(rows**2, axis=1)


def score(rows: Array) -> Array:
    return -rows


def looked_at(
    density: Callable[[Array], Any], gradient: Any = score, draws: Array = DRAWS, seed: int = 1
) -> None:
    target = Target.of_functions(draws.shape[1], density, gradient)
    require_sound_target(target, draws, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda x: x, "Their sign is wrong"),
        (lambda x: -x + 1.0, "must be the gradient"),
        (lambda x: -0.98 * x, "must be the gradient"),
        (lambda x: -x[:, ::-1], "must be the gradient"),
    ],
)
def test_a_score_of_something_else_is_refused(gradient: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        looked_at(log_density, gradient)


class Regression:
    """A linear regression of many observations with an intercept far from 0, in one precision."""

    def __init__(self, kind: type, observations: int) -> None:
        rng = np.random.default_rng(5)
        self.kind, self.shift = kind, 40.0
        self.x = rng.standard_normal((observations, 3)).astype(kind)
        self.y = (self.x.sum(axis=1) + self.shift + rng.standard_normal(observations)).astype(kind)
        self.draws = np.array([1.0, 1.0, 1.0, self.shift]) + rng.standard_normal((60, 4)) / np.sqrt(
            observations
        )

    def _residuals(self, rows: Array) -> Array:
        rows = rows.astype(self.kind)
        return self.y - rows[:, :3] @ self.x.T - rows[:, 3:]

    def log_density(self, rows: Array) -> Array:
        return -0.5 * np.sum(self._residuals(rows) ** 2, axis=1, dtype=self.kind)

    def score(self, rows: Array) -> Array:
        residuals = self._residuals(rows)
        return np.column_stack([residuals @ self.x, residuals.sum(axis=1, dtype=self.kind)])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("observations", [20, 20_000])
def test_a_right_score_is_believed_in_every_precision(kind: type, observations: int) -> None:
    model = Regression(kind, observations)
    for seed in SEEDS:
        looked_at(model.log_density, model.score, model.draws, seed)
        # Values that are no longer those of single precision.
        looked_at(
            lambda x: model.log_density(x) / 3.0,
            lambda x: model.score(x) / 3.0,
            model.draws,
            seed,
        )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("observations", [20, 20_000])
@pytest.mark.parametrize("factor", [-1.0, 0.5, 0.0, 1.5])
def test_a_wrong_score_is_refused_in_every_precision(
    kind: type, observations: int, factor: float
) -> None:
    model = Regression(kind, observations)
    for seed in SEEDS:
        with pytest.raises(InputError, match="must be the gradient"):
            looked_at(
                model.log_density,
                lambda x: (factor * model.score(x)).astype(kind),
                model.draws + 0.3 * model.draws.std(axis=0),
                seed,
            )


@pytest.mark.parametrize("constant", [1e4, 1e6])
def test_a_large_constant_in_single_precision_hides_no_right_score(constant: float) -> None:
    for seed in SEEDS:
        looked_at(lambda x: (log_density(x) - constant).astype(np.float32), seed=seed)
        looked_at(
            lambda x: (log_density(x) - constant).astype(np.float32) / 3.0,
            lambda x: -x / 3.0,
            seed=seed,
        )


@pytest.mark.parametrize("noise", [0.1, 100.0])
@pytest.mark.parametrize("gradient", [score, None])
def test_a_random_log_density_is_refused(noise: float, gradient: Any) -> None:
    rng = np.random.default_rng(2)

    def random(rows: Array) -> Array:
        return log_density(rows) - 1e3 + noise * rng.standard_normal(len(rows))

    with pytest.raises(InputError, match="`log_density` must give the same for a draw"):
        looked_at(random, gradient)


def test_a_minibatch_of_the_data_is_refused() -> None:
    rng, data = np.random.default_rng(2), np.random.default_rng(3).standard_normal(1000)

    def batch(rows: Array) -> Array:
        chosen = rng.choice(data, size=100)
        return -5.0 * ((rows[:, :1] - chosen) ** 2).sum(axis=1)

    with pytest.raises(InputError, match="minibatch"):
        looked_at(batch, None)


def test_noise_that_is_the_same_at_every_call_is_refused() -> None:
    def seeded(rows: Array) -> Array:
        return log_density(rows) + 0.3 * np.random.default_rng(0).standard_normal(len(rows))

    with pytest.raises(InputError, match="mix the rows"):
        looked_at(seeded)


def test_random_scores_are_refused() -> None:
    rng = np.random.default_rng(2)
    with pytest.raises(InputError, match="`scores` must give the same"):
        looked_at(log_density, lambda x: -x + 0.1 * rng.standard_normal(x.shape))


def test_rows_outside_the_support_say_nothing() -> None:
    def half(rows: Array) -> Array:
        return np.where((rows > 0.0).all(axis=1), -rows.sum(axis=1), -np.inf)

    draws = np.random.default_rng(1).exponential(size=(60, 3))
    for seed in SEEDS:
        looked_at(half, lambda x: -np.ones(x.shape), draws, seed)
