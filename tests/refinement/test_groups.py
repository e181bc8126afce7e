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


@pytest.mark.parametrize("seed", range(6))
def test_a_few_points_of_a_mode_far_away_are_a_group(seed: int) -> None:
    """As many as a handful of heated pilots leave in a mode that the draws missed."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((250, 10))
    points[:10, 0] += 7.0
    labels = separate_groups(points)
    assert labels.max() >= 1
    assert len(set(labels[:10].tolist())) == 1
    assert np.count_nonzero(labels == labels[0]) <= 12


@pytest.mark.parametrize(
    ("d", "law", "most"),
    [
        (2, "normal", 0),
        (5, "t", 3),
        (10, "elliptical t", 3),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (2, "t", 3),
                (2, "elliptical t", 3),
                (5, "normal", 0),
                (5, "elliptical t", 3),
                (10, "normal", 0),
                (10, "t", 3),
            )
        ),
    ],
)
def test_one_group_is_hardly_ever_split(d: int, law: str, most: int) -> None:
    """In ten samples. A false group costs some steps, and a missed one a wrong answer.

    Samples with heavy tails are split at a rate of up to 0.1, which exceeds 3 of 10 with
    probability 0.013.
    """
    rng = np.random.default_rng(d)
    split = 0
    for _ in range(10):
        points = rng.standard_t(4.0, (250, d)) if law == "t" else rng.standard_normal((250, d))
        if law == "elliptical t":
            points /= np.sqrt(rng.chisquare(4.0, size=(250, 1)) / 4.0)
        split += bool(separate_groups(points).any())
    assert split <= most


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
