"""What samplers say about themselves, under all their names."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.sampler_statistics import SamplerSummary, known_statistics, sampler_summary

DRAWS = np.random.default_rng(0).standard_normal((2, 50, 1))


def sample(**statistics: object) -> ps.Sample:
    return ps.Sample(DRAWS, -DRAWS, facts={"sampler_statistics": statistics})


@pytest.mark.parametrize(
    "name", ["reached_max_treedepth", "maxdepth_reached", "reached_max_tree_depth"]
)
def test_every_spelling_is_known(name: str) -> None:
    assert list(known_statistics({name: 1, "other": 2})) == ["reached_max_treedepth"]


def test_counts_and_energy() -> None:
    rng = np.random.default_rng(1)
    energy = rng.standard_normal((2, 50))
    found = sampler_summary(sample(divergent__=np.arange(100).reshape(2, 50) < 3, energy__=energy))
    expected = [np.sum(np.diff(row) ** 2) / np.sum((row - row.mean()) ** 2) for row in energy]
    assert found is not None
    assert (found.divergences, found.tree_depth_saturated, found.draws) == (3, None, 100)
    assert found.bfmi == pytest.approx(min(expected) * 50 / 49)


def test_nothing_is_known_without_statistics() -> None:
    assert sampler_summary(sample()) is None


def test_slow_energy_is_warned_about() -> None:
    energy = np.linspace(0.0, 5.0, 100).reshape(2, 50)
    found = sampler_summary(sample(energy=energy))
    assert found is not None
    assert "fraction of missing information" in str(found.warning())


def test_a_clean_run_is_not_warned_about() -> None:
    assert SamplerSummary(100, 0, 0, 0.9).warning() is None
    assert "5 of 100 transitions reached" in str(SamplerSummary(100, 0, 5).warning())
