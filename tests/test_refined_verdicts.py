"""Verdicts with finer weights: any library, chains, repeats, and what they are good for."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import polystein as ps
from tests.conftest import arbitrary_rows

Array = NDArray[np.float64]
FINE = ["coordinate", "hierarchical", "entry"]


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("basis", ["monomial", "bounded-hermite"])
@pytest.mark.parametrize("resolution", FINE)
def test_libraries_give_the_same_verdict(
    xp: ModuleType, resolution: Any, basis: Any, structure: Any
) -> None:
    draws, scores = arbitrary_rows(100, 3)
    for rule in (ps.ClosedForm(), ps.SoftThreshold()):
        options: dict[str, Any] = {
            "order": 2, "weights": rule, "basis": basis, "structure": structure,
            "resolution": resolution, "standardise": True, "rng": 2,
        }  # fmt: skip
        expected = ps.lambda_psd_test(draws, scores, **options)
        result = ps.lambda_psd_test(xp.asarray(draws), xp.asarray(scores), **options)
        assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
        assert result.weights == pytest.approx(expected.weights, rel=1e-10)


def correlated_chains(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    chains = np.empty((3, 400, 5))
    chains[:, 0] = rng.standard_normal((3, 5))
    for t in range(1, 400):
        chains[:, t] = 0.8 * chains[:, t - 1] + 0.6 * rng.standard_normal((3, 5))
    return chains


@pytest.mark.parametrize("resolution", FINE)
def test_chains_keep_a_gap_that_the_refined_features_ask_for(resolution: Any) -> None:
    """Most weights are zero here, and an order without any has nothing to say of the gap."""
    chains = correlated_chains(0)
    chains[..., 2] *= 2.0
    result = ps.lambda_psd_test(
        chains, lambda x: -x, order=3, basis="bounded-hermite", structure="diagonal",
        weights=ps.SoftThreshold(level=6.0), resolution=resolution, standardise=True,
        split=ps.BlockSplit(0.5, gap="auto"), variance=ps.InitialSequence(), rng=0,
    )  # fmt: skip
    assert result.weights is not None
    assert min(result.weights.values()) == 0.0
    assert result.n_gap > 0
    assert result.pvalue < 0.01
    assert next(iter(result.settings["coordinates"])) == "2"


def test_repeats_are_combined() -> None:
    draws, scores = arbitrary_rows(100, 2)
    result = ps.lambda_psd_test(
        draws, scores, order=1, resolution="coordinate", standardise=True, repeats=3, rng=0
    )
    assert result.settings["repeats"] == 3
    assert result.settings["resolution"] == "coordinate"


def test_one_variance_of_64_is_found_by_weights_of_coordinates() -> None:
    """Paired replicates: a sign test of those in which only one of the two rejects."""
    rejected = {"order": [], "coordinate": []}  # type: dict[Any, list[bool]]
    for seed in range(20):
        draws = np.random.default_rng(seed).standard_normal((1000, 64))
        draws[:, 0] *= 1.7**0.5
        for resolution, verdicts in rejected.items():
            result = ps.lambda_psd_test(
                draws, lambda x: -x, order=2, resolution=resolution, standardise=True, rng=seed
            )  # fmt: skip
            verdicts.append(result.pvalue < 0.05)
    fine, coarse = np.array(rejected["coordinate"]), np.array(rejected["order"])
    wins, losses = int(np.sum(fine & ~coarse)), int(np.sum(coarse & ~fine))
    assert stats.binomtest(wins, wins + losses, alternative="greater").pvalue < 0.01
    # With a power of 0.9, fewer than 15 of 20 have a probability of 1.1 %.
    assert fine.sum() >= 15
