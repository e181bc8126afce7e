"""What samplers say about themselves, under all their names."""

import numpy as np
import pytest

from polystein.data.sampler_statistics import known_statistics, smallest_bfmi


@pytest.mark.parametrize(
    "name", ["reached_max_treedepth", "maxdepth_reached", "reached_max_tree_depth"]
)
def test_every_spelling_is_known(name: str) -> None:
    assert list(known_statistics({name: 1, "other": 2})) == ["reached_max_treedepth"]


def test_energy_of_the_worst_chain() -> None:
    energy = np.random.default_rng(1).standard_normal((2, 50))
    expected = [np.mean(np.diff(row) ** 2) / np.mean((row - row.mean()) ** 2) for row in energy]
    assert smallest_bfmi(energy) == pytest.approx(min(expected))
    assert smallest_bfmi(np.linspace(0.0, 1.0, 50)) < 0.3  # type: ignore[operator]


@pytest.mark.parametrize("energy", [np.zeros((2, 2)), np.ones((2, 50)), np.full((1, 9), np.nan)])
def test_energies_that_say_nothing(energy: np.ndarray) -> None:
    assert smallest_bfmi(energy) is None
