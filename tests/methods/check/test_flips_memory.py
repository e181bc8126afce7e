"""Sign flips of chains: slow features, and memory that is long or unknown."""

import numpy as np
import pytest
from scipy.stats import binomtest

from polystein.methods.check.statistics import (
    FEWEST_BATCHES,
)
from polystein.results.evidence import Abstention
from tests.methods.check.flips import (
    assert_is_loop,
    flips_of,
    judged,
    literal_pools,
    remembering_sums,
)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.slow
def test_slow_features_are_flipped_in_longer_batches() -> None:
    """Two pools at least of the family of the slow coordinate, each with its own batches."""
    sums = remembering_sums(5, [64] * 4, 3, 0.0, slow=(1,))
    pools = literal_pools(sums, "score", sums.diagonal[:, 0], ())
    assert len(pools) == 2
    assert [own.columns for own in pools] == [[0, 2], [1]]
    assert len(pools[0].groups) > len(pools[1].groups)
    assert_is_loop(sums, 5)


@pytest.mark.usefixtures("few_flips")
def test_features_of_which_too_little_is_seen_are_not_judged() -> None:
    """Straight lines: V_L grows like L squared up to the longest batches."""
    sums = remembering_sums(5, [64] * 4, 2, 0.0)
    ramp = np.tile(np.linspace(-1.0, 1.0, 64), 4)
    sums.diagonal[:] = 0.01 * sums.diagonal + ramp[:, None, None]
    sums.tails[:] = sums.diagonal[:, 2:4]
    sums.waves[:] = sums.diagonal[:, 2:5]
    sums.distant_means[:] = 0.0
    arm = assert_is_loop(sums, 5)
    assert {part.name.split(":")[0] for part in arm.parts} <= {
        "x pairs",
        "G2 pairs",
        "magnitude pairs",
    }
    # What is not judged is said.
    found, *abstained = flips_of(sums, 5)
    assert found == arm
    assert [one.name for one in abstained] == [
        "sign flips of location",
        "sign flips of spread",
        "sign flips of spread, shape",
        "sign flips of tails",
        "sign flips of fine structure",
        "sign flips of overall spread",
        "sign flips of location along directions",
        "sign flips of spread along directions",
    ]
    for one in abstained:
        assert isinstance(one, Abstention)
        assert "longer than the longest batches" in one.reason


def test_families_that_are_all_too_slow_leave_nothing_to_judge() -> None:
    """One coordinate has no pairs."""
    sums = remembering_sums(5, [64] * 4, 1, 0.0)
    sums.diagonal[:] = 0.01 * sums.diagonal + np.tile(np.linspace(-1.0, 1.0, 64), 4)[:, None, None]
    sums.tails[:] = sums.diagonal[:, 2:4]
    sums.waves[:] = sums.diagonal[:, 2:5]
    found = flips_of(sums, 5)
    assert all(isinstance(one, Abstention) for one in found)
    assert [one.name for one in found][1:] == [
        "sign flips of location",
        "sign flips of spread",
        "sign flips of spread, shape",
        "sign flips of tails",
        "sign flips of fine structure",
    ]


@pytest.mark.parametrize("counts", [[7] * 8, [7, 7, 7, 7], [1, 2, 3]])
def test_chains_of_unknown_memory_are_not_judged(counts: list[int]) -> None:
    sums = remembering_sums(5, counts, 2, 0.0, mean=5.0)
    (found,) = flips_of(sums)
    assert isinstance(found, Abstention)
    assert found.name == "sign flips"
    assert "too short to tell how long their autocorrelation lasts" in found.reason
    # Chains of eight batches are, and what is remembered by none.
    assert judged(remembering_sums(5, [8] * 8, 2, 0.0, mean=5.0)).pvalue < 0.01
    sums.chains = np.arange(sums.count)
    if sums.count >= FEWEST_BATCHES:
        assert judged(sums).pvalue < 0.01


@pytest.mark.slow
@pytest.mark.usefixtures("few_flips")
def test_memory_makes_the_flips_careful() -> None:
    """Of sums that remember, the flips of unjoined batches would reject 0.3 and more."""
    rejected = plain = 0
    for seed in range(100):
        sums = remembering_sums(seed, [64] * 4, 2, 0.7)
        rejected += judged(sums, seed).pvalue <= 0.05
        sums.chains = np.arange(256)
        plain += judged(sums, seed).pvalue <= 0.05
    assert plain > 30
    assert binomtest(rejected, 100, 0.07, alternative="greater").pvalue > 0.01
