"""Verdicts with finer weights: the literal ones, chains, repeats, and what they are good for."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from tests.conftest import Array, RecordingSplit, arbitrary_rows
from tests.reference import algorithms
from tests.reference import resolution as literal
from tests.weights.literal import literal_u

FINE = ["coordinate", "hierarchical", "entry"]
STRUCTURES = ["full", "diagonal"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_the_verdict_is_the_z_test_of_the_literal_u(resolution: Any, structure: Any) -> None:
    draws, scores = arbitrary_rows(120, 2)
    sample, split = ps.Sample(draws, scores), RecordingSplit()
    result = ps.lambda_psd_test(
        sample, order=2, weights=ps.SoftThreshold(), resolution=resolution, structure=structure,
        standardise=True, split=split, rng=4,
    )  # fmt: skip
    solve, w = literal.soft_threshold(1.0), np.full(120, 1 / 120)
    u, norms = literal_u(sample, split, "monomial", 2, structure, resolution, solve, w)
    z, pvalue = algorithms.z_statistic(u[split.rows["test"]])
    assert (result.statistic, result.pvalue) == pytest.approx((z, pvalue), rel=1e-9)
    assert result.weights == pytest.approx(dict(zip(["x", "x^2", "score"], norms, strict=True)))
    assert [part.weight for part in result.components] == list(result.weights.values())
    assert result.settings["weights"] == "SoftThreshold(level=1.0)"


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("basis", ["monomial", "bounded-hermite"])
@pytest.mark.parametrize("resolution", FINE)
def test_scores_and_their_function_give_the_same_verdict(
    resolution: Any, basis: Any, structure: Any
) -> None:
    draws, scores = arbitrary_rows(100, 3)
    for rule in (ps.ClosedForm(), ps.SoftThreshold()):
        options: dict[str, Any] = {
            "order": 2, "weights": rule, "basis": basis, "structure": structure,
            "resolution": resolution, "standardise": True, "rng": 2,
        }  # fmt: skip
        expected = ps.lambda_psd_test(draws, scores, **options)
        result = ps.lambda_psd_test(draws, lambda x: scores, **options)
        assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
        assert result.weights == pytest.approx(expected.weights, rel=1e-10)


# Relations between resolutions


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_equal_weights_are_those_of_orders(resolution: Any, structure: Any) -> None:
    """Up to the sign, which the mean of u on the weights rows decides for both."""
    draws, scores = arbitrary_rows(150, 3)
    options: dict[str, Any] = {
        "order": 2, "weights": ps.Uniform(), "structure": structure, "standardise": True, "rng": 3,
    }  # fmt: skip
    coarse = ps.lambda_psd_test(draws, scores, **options)
    fine = ps.lambda_psd_test(draws, scores, resolution=resolution, **options)
    assert fine.statistic == pytest.approx(coarse.statistic, rel=1e-10)
    assert [abs(part.z) for part in fine.components] == pytest.approx(
        [abs(part.z) for part in coarse.components], rel=1e-10
    )


def test_entries_of_a_diagonal_matrix_are_its_coordinates() -> None:
    draws, scores = arbitrary_rows(150, 3)
    options: dict[str, Any] = {
        "order": 2, "structure": "diagonal", "standardise": True, "rng": 3,
    }  # fmt: skip
    first, second = (
        ps.lambda_psd_test(draws, scores, resolution=name, **options)
        for name in ("coordinate", "entry")
    )
    assert first.statistic == second.statistic
    assert first.evidence.coordinates == second.evidence.coordinates


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_units_and_the_order_of_coordinates_do_not_matter(resolution: Any, structure: Any) -> None:
    draws, scores = arbitrary_rows(200, 4)
    names, places = np.array(["a", "b", "c", "d"]), np.array([2, 0, 3, 1])
    scale, shift = np.array([1e-3, 1.0, 7.0, 1e4]), np.array([5.0, 0.0, -1.0, 1e3])
    options: dict[str, Any] = {
        "order": 2, "structure": structure, "standardise": True, "rng": 3,
        "weights": ps.SoftThreshold(0.5), "resolution": resolution,
    }  # fmt: skip
    plain = ps.lambda_psd_test(ps.Sample(draws, scores, names=list(names)), **options)
    moved = ps.Sample(
        (draws * scale + shift)[:, places], (scores / scale)[:, places], names=list(names[places])
    )
    result = ps.lambda_psd_test(moved, **options)
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-8)
    assert result.weights == pytest.approx(plain.weights, rel=1e-8)
    for kind in ("coordinates", "entries"):
        found, expected = (dict(getattr(own.evidence, kind)) for own in (result, plain))
        assert found == pytest.approx(expected, rel=1e-8)
    assert plain.evidence.coordinates


# What a result says


def test_orders_say_nothing_of_resolutions() -> None:
    draws, scores = arbitrary_rows(100, 2)
    result = ps.lambda_psd_test(draws, scores, order=2, rng=1)
    assert not {"resolution", "coordinates", "entries"} & set(result.settings)
    assert result.evidence.coordinates == result.evidence.entries == ()


# Chains, repeats, power


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
    assert result.evidence.coordinates[0].name == "x[2]"


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
