"""The loop over rows: every chosen row once, in time order, in blocks."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import block_rows, every_row, reduce_blocks, take_rows
from polystein.protocols import Block, Rows
from polystein.stein.basis import Monomial
from polystein.stein.moments import SteinMoments, add_block, merged
from tests.conftest import arbitrary_rows

pytestmark = pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")


def seen(sample: ps.Sample, rows: Any, n_jobs: int = 1) -> list[Block]:
    return reduce_blocks(
        sample,
        rows,
        list,
        lambda blocks, block: [*blocks, block],
        lambda first, second: first + second,
        n_jobs=n_jobs,
    )


def joined(blocks: list[Block]) -> Any:
    return np.concatenate([np.asarray(block.draws) for block in blocks])


@pytest.mark.parametrize("dimension", [1, 2, 16, 100, 1024, 5000])
def test_blocks_fit_the_cache_or_fill_a_product(dimension: int) -> None:
    rows = block_rows(dimension)
    assert 1 <= rows <= 8192
    assert rows * dimension <= 65_536 or rows <= 2 * dimension


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_every_row_comes_once_and_in_order(n_jobs: int) -> None:
    n = 2 * block_rows(2) + 17
    draws, scores = arbitrary_rows(n, 2)
    sample = ps.Sample(draws, scores)
    blocks = seen(sample, every_row(sample), n_jobs)
    assert len(blocks) == 3
    assert [block.start for block in blocks] == [0, block_rows(2), 2 * block_rows(2)]
    assert np.array_equal(joined(blocks), draws)


def test_more_threads_than_blocks_is_no_problem() -> None:
    draws, scores = arbitrary_rows(30, 2)
    sample = ps.Sample(draws, scores)
    assert np.array_equal(joined(seen(sample, every_row(sample), n_jobs=4)), draws)


def test_chains_are_never_mixed_in_a_block() -> None:
    draws, scores = arbitrary_rows(60, 2)
    sample = ps.Sample(draws.reshape(3, 20, 2), scores.reshape(3, 20, 2))
    blocks = seen(sample, every_row(sample))
    assert [(block.chain, block.start, block.rows) for block in blocks] == [
        (0, 0, 20),
        (1, 0, 20),
        (2, 0, 20),
    ]
    assert np.array_equal(joined(blocks), draws)


def test_masks_choose_rows_and_their_weights(xp: ModuleType) -> None:
    n = block_rows(2) + 100
    draws, scores = arbitrary_rows(n, 2)
    log_weights = np.log(np.arange(1.0, n + 1))
    sample = ps.Sample(xp.asarray(draws), xp.asarray(scores), log_weights=log_weights)
    mask = np.arange(10, n) % 3 == 0
    # All of the second block is masked out.
    mask[block_rows(2) - 10 :] = False
    chosen = np.arange(10, n)[mask]
    blocks = seen(sample, [Rows(0, 10, n, mask)])
    assert np.array_equal(joined(blocks), draws[chosen])
    weights = np.concatenate([block.weights for block in blocks if block.weights is not None])
    assert weights == pytest.approx((chosen + 1) / n, rel=1e-13)


def test_take_rows_works_in_every_library(xp: ModuleType) -> None:
    draws, _ = arbitrary_rows(10, 3)
    index = np.array([7, 2, 2])
    assert np.array_equal(np.asarray(take_rows(xp.asarray(draws), index)), draws[index])


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_two_threads_give_the_moments_of_one(xp: ModuleType, structure: Any) -> None:
    n = 2 * block_rows(2) + 500
    draws, scores = arbitrary_rows(n, 2)
    draws += [0.0, 50.0]
    sample = ps.Sample(xp.asarray(draws), xp.asarray(scores))

    def zero() -> SteinMoments:
        return SteinMoments.empty(Monomial(4), structure, norms=True)

    one, two = (
        reduce_blocks(sample, every_row(sample), zero, add_block, merged, n_jobs=jobs).finalise()
        for jobs in (1, 2)
    )
    assert two.norm() == pytest.approx(one.norm(), rel=1e-12)
    assert two.unbiased_square() == pytest.approx(one.unbiased_square(), rel=1e-11)
    for first, second in zip(one.matrices, two.matrices, strict=True):
        scale = np.max(np.abs(np.asarray(first)))
        assert np.asarray(second) == pytest.approx(np.asarray(first), abs=1e-12 * scale)


def test_several_blocks_give_the_answer_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results with blocks of 7 rows against those with all rows in one block."""
    draws, scores = arbitrary_rows(200, 3)

    def results() -> list[float]:
        return [
            ps.psd(draws, scores, order=4),
            ps.psd(draws, scores, order=4, estimator="u"),
            ps.lambda_psd(draws, scores, order=4),
            ps.o_psd(draws, scores, order=1),
            ps.psd_test(draws, scores, order=4, rng=0).statistic,
            ps.lambda_psd_test(draws, scores, order=4, weights=ps.ClosedForm(), rng=0).statistic,
        ]

    expected = results()
    monkeypatch.setattr("polystein.data.passes.block_rows", lambda dimension: 7)
    assert len(seen(ps.Sample(draws, scores), [Rows(0, 0, 200)])) == 29
    assert results() == pytest.approx(expected, rel=1e-10)
