"""Families of features under sign flips: worked on together, they are what each is alone."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.methods.check import flips_arm
from tests.conftest import Array


def chains(memory: float, dimension: int) -> Array:
    """Four AR(1) chains with the law N(0, 1.1 I), the last coordinate slower than the others."""
    rng, memories = np.random.default_rng(5), np.full(dimension, memory)
    memories[-1] = max(memory, 0.8)
    draws = rng.standard_normal((4, 400, dimension))
    for t in range(1, 400):
        draws[:, t] = memories * draws[:, t - 1] + np.sqrt(1.0 - memories**2) * draws[:, t]
    return np.sqrt(1.1) * draws


def parts_of(draws: Array, **options: Any) -> list[tuple[str, tuple[str, ...], float, float]]:
    """Every part of the sign flips: its name, where it is, its p-value and its share."""
    arms = ps.check(draws, -draws, **options).evidence.arms
    (flips,) = (arm for arm in arms if arm.name == "sign flips")
    shown = [(one.name, one.coordinates, one.pvalue, one.level_share) for one in flips.parts]
    return [("p-value", (), flips.pvalue, 1.0), *shown]


@pytest.mark.parametrize("memory", [0.0, 0.6, 0.85])
@pytest.mark.parametrize("dimension", [1, 3])
def test_families_together_are_what_each_is_alone(
    memory: float, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = chains(memory, dimension)
    together = parts_of(draws)
    monkeypatch.setattr(flips_arm, "MOST_TOGETHER", 0)
    alone = parts_of(draws)
    assert len(together) == len(alone) > 3
    for one, other in zip(together, alone, strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], rel=1e-4)


def test_independent_rows_have_one_stack_of_families(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(2).standard_normal((2000, 4))
    together = parts_of(draws, iid=True)
    monkeypatch.setattr(flips_arm, "MOST_TOGETHER", 0)
    assert [one[:2] for one in together] == [one[:2] for one in parts_of(draws, iid=True)]
