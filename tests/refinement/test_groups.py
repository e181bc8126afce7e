"""Separate groups are found where there is a gap, and nowhere else."""

import numpy as np
import pytest

from polystein.refinement.groups import separate_groups
from polystein.types import FloatArray

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("d", "share"), [(2, 0.5), (10, 0.5), (10, 0.15), (30, 0.5)])
def test_two_groups_that_are_far_apart(d: int, share: float) -> None:
    points = RNG.standard_normal((600, d))
    second = RNG.random(600) < share
    points[:, 0] += 8.0 * second
    labels = separate_groups(points)
    assert sorted(set(labels.tolist())) == [0, 1]
    assert np.mean((labels == labels[np.argmax(second)]) == second) > 0.99


def test_three_groups_of_other_units() -> None:
    which = RNG.integers(0, 3, size=600)
    points = RNG.standard_normal((600, 4)) + 9.0 * np.eye(4)[:3][which]
    labels = separate_groups(points * [1e-6, 1.0, 1e6, 1.0])
    assert len(set(labels.tolist())) == 3


def funnel() -> FloatArray:
    v = 3.0 * RNG.standard_normal(600)
    return np.column_stack([v, np.exp(0.5 * v)[:, None] * RNG.standard_normal((600, 4))])


@pytest.mark.parametrize(
    "points",
    [
        RNG.standard_normal((600, 2)),
        RNG.standard_normal((600, 12)) @ RNG.standard_normal((12, 12)),
        RNG.standard_t(3.0, size=(600, 5)),
        RNG.random((600, 3)),
        funnel(),
        np.ones((100, 2)),
        RNG.standard_normal((60, 30)),
    ],
)
def test_one_group_is_not_split(points: FloatArray) -> None:
    assert not separate_groups(points).any()
