"""Seeds of the blocks of a test: distinct, far apart, and the same for one `rng`."""

import numpy as np
import pytest

import polystein as ps
from polystein.testing.seeds import MOST_SEEDS, Seeds, number_of


@pytest.mark.parametrize(("most", "apart"), [(1000, 2000), (100_000, 2000), (10**6, 200)])
def test_seeds_are_far_apart_and_below_what_libraries_take(most: int, apart: int) -> None:
    seeds = np.sort(Seeds(3, most).between(0, min(most, 100_000)))
    assert seeds.min() >= 0
    assert seeds.max() < 2**31
    assert np.diff(seeds).min() > apart


def test_no_two_of_very_many_seeds_are_neighbours() -> None:
    seeds = np.sort(Seeds(0, MOST_SEEDS).between(0, 50_000))
    assert np.diff(seeds).min() > 1


def test_seeds_are_the_same_whatever_is_asked_for_first() -> None:
    whole, parts = Seeds(5, 1000), Seeds(5, 1000)
    later = parts.between(300, 700)
    assert whole.between(0, 700) == parts.between(0, 300) + later
    assert Seeds(6, 1000).between(0, 10) != whole.between(0, 10)


def test_seeds_are_no_arithmetic_progression() -> None:
    """Uniform over all numbers, and each without regard to the last one."""
    seeds = np.array(Seeds(1, 1000).between(0, 1000)) / 2**31
    assert np.abs(np.sort(seeds) - (np.arange(1000) + 0.5) / 1000).max() < 1.95 / np.sqrt(1000)
    assert len(set(np.diff(seeds))) == 999


def test_the_number_of_a_rng_gives_its_stream_again() -> None:
    assert number_of(4) == number_of(np.random.SeedSequence(4)) == 4
    generator = np.random.default_rng(0)
    assert number_of(generator) != number_of(generator)
    sequence = np.random.SeedSequence(4).spawn(1)[0]
    assert number_of(sequence) == number_of(sequence)
    assert number_of(None) != number_of(None)
    with pytest.raises(ps.InputError, match="`rng` must be a non-negative int"):
        number_of(-1)
