"""Many sums over pairs are kept in single precision, wherever its range allows it."""

import numpy as np
import pytest

import polystein as ps
from polystein._lib.segments import Segments
from polystein.data.source import Block
from polystein.methods.check import batches as pair_sums
from polystein.methods.check.batches import PairJob, PairSums
from tests.rows import Array, arbitrary_rows

D, ROWS, BATCHES = 3, 24, 4
SEGMENTS = Segments(np.array([0, 6, 12, 20]), np.array([6, 12, 18, 24]), np.array([0, 1, 2, 2]))


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_sums, "_MANY_SUMS", 0)


def block(scale: float = 1.0, seed: int = 0, weights: Array | None = None) -> Block:
    draws, scores = arbitrary_rows(ROWS, D, seed)
    return Block(draws, scale * scores, weights, 0, 0)


def added(*blocks: Block) -> PairSums:
    sums = PairSums(PairJob(1, 0, D), BATCHES, D)
    for one in blocks:
        sums.add(one.scores, one.draws, one.weights, SEGMENTS)
    return sums


def expected(*blocks: Block) -> Array:
    sums = np.zeros((BATCHES, D, D))
    for one in blocks:
        for low, high, batch in zip(*SEGMENTS, strict=True):
            scores = one.scores[low:high] * one.weights_or_ones[low:high, None]
            sums[batch] += scores.T @ one.draws[low:high]
    return sums


def test_few_sums_are_in_double_precision() -> None:
    assert added(block()).sums.dtype == np.float64
    assert added(block()).sums == pytest.approx(expected(block()), rel=1e-12)


@pytest.mark.usefixtures("single")
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_in_single_precision_are_the_same_but_for_rounding(weighted: bool) -> None:
    weights = np.linspace(0.1, 1.0, ROWS) if weighted else None
    blocks = block(weights=weights), block(1e6, 1, weights)
    found = added(*blocks).sums
    assert found.dtype == np.float32
    assert found == pytest.approx(expected(*blocks), rel=1e-5, abs=10.0)


@pytest.mark.usefixtures("single")
@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e-30, 1e30, 1e200])
def test_scores_out_of_range_are_summed_in_double_precision(scale: float) -> None:
    """Also those that come after others, and together with others."""
    for blocks in ([block(scale)], [block(), block(scale, 1)]):
        found = added(*blocks).sums
        assert found.dtype == np.float64
        assert found == pytest.approx(expected(*blocks), rel=1e-5)


@pytest.mark.usefixtures("single")
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 1e30), (1e30, 1.0), (1e30, 1e30)])
def test_sums_of_both_precisions_merge(scales: tuple[float, float]) -> None:
    blocks = [block(scale, seed) for seed, scale in enumerate(scales)]
    first, second = (added(one) for one in blocks)
    first.merge(second)
    assert first.sums == pytest.approx(expected(*blocks), rel=1e-5, abs=1e-4)
    assert (first.sums.dtype == np.float32) == (max(scales) == 1.0)


@pytest.mark.parametrize("seed", range(2))
def test_the_verdict_does_not_depend_on_the_precision(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = np.random.default_rng(seed).standard_normal((4, 250, 6))
    draws[..., 1] += 0.15 * (seed % 2) * draws[..., 0]
    double = ps.check(draws, -draws, rng=seed)
    monkeypatch.setattr(pair_sums, "_MANY_SUMS", 0)
    single = ps.check(draws, -draws, rng=seed)
    assert single.pvalue == pytest.approx(double.pvalue, rel=1e-9)
    for one, other in zip(single.evidence.arms, double.evidence.arms, strict=True):
        assert [part.name for part in one.parts] == [part.name for part in other.parts]
        for part, same in zip(one.parts, other.parts, strict=True):
            assert part.pvalue == pytest.approx(same.pvalue, rel=1e-3)


@pytest.mark.parametrize("few_products", [0, 2**16])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_segments_are_multiplied_together(
    few_products: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments of several lengths, some of one batch; the sums are those of single products."""
    monkeypatch.setattr(pair_sums, "_FEW_PRODUCTS", few_products)
    edges = np.cumsum([0, *np.tile([3, 4, 3, 5], 10)])
    segments = Segments(edges[:-1], edges[1:], np.arange(40) // 3)
    draws, scores = arbitrary_rows(int(edges[-1]), D)
    weights = np.linspace(0.1, 1.0, len(draws)) if weighted else None
    sums = PairSums(PairJob(1, 0, D), 14, D)
    one = Block(draws, scores, weights, 0, 0)
    by_hand = np.zeros((14, D, D))
    for low, high, batch in zip(*segments, strict=True):
        own = scores[low:high] * one.weights_or_ones[low:high, None]
        by_hand[batch] += own.T @ draws[low:high]
    for times in (1.0, 2.0):
        sums.add(one.scores, draws, one.weights, segments)
        assert sums.sums == pytest.approx(times * by_hand, rel=1e-12)
