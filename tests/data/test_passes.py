"""The loop over rows: every chosen row once, in time order, in blocks."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import (
    block_rows,
    effective_weights,
    every_row,
    gathered,
    read_blocks,
    reduce_blocks,
    short_stretches,
)
from polystein.data.source import Block, Rows
from tests.rows import arbitrary_rows, arbitrary_weights

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
    return np.concatenate([block.draws for block in blocks])


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


def test_masks_choose_rows_and_their_weights() -> None:
    n = block_rows(2) + 100
    draws, scores = arbitrary_rows(n, 2)
    log_weights = np.log(np.arange(1.0, n + 1))
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    mask = np.arange(10, n) % 3 == 0
    # All of the second block is masked out.
    mask[block_rows(2) - 10 :] = False
    chosen = np.arange(10, n)[mask]
    blocks = seen(sample, [Rows(0, 10, n, mask)])
    assert np.array_equal(joined(blocks), draws[chosen])
    weights = np.concatenate([block.weights for block in blocks if block.weights is not None])
    assert weights == pytest.approx((chosen + 1) / n, rel=1e-13)


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


def test_blocks_are_read_one_after_the_other() -> None:
    draws, scores = arbitrary_rows(2 * block_rows(2) + 17, 2)
    sample = ps.Sample(draws, scores)
    blocks = list(read_blocks(sample, every_row(sample)))
    assert [block.start for block in blocks] == [0, block_rows(2), 2 * block_rows(2)]
    assert np.array_equal(joined(blocks), draws)


# Short stretches


@pytest.mark.parametrize(("rows", "stops"), [(8, [8, 16, 20]), (20, [20]), (1000, [20])])
def test_short_stretches_end_with_their_chain(rows: int, stops: list[int]) -> None:
    draws, scores = (table.reshape(2, 20, 2) for table in arbitrary_rows(40, 2))
    stretches = list(short_stretches(ps.Sample(draws, scores), rows))
    starts = [0, *stops[:-1]]
    expected = [Rows(chain, *ends) for chain in (0, 1) for ends in zip(starts, stops, strict=True)]
    assert stretches == expected


def test_a_short_stretch_has_a_row_at_least() -> None:
    sample = ps.Sample(*arbitrary_rows(5, 2))
    assert list(short_stretches(sample, 0)) == [Rows(0, row, row + 1) for row in range(5)]


# Rows at once


def test_rows_are_gathered_from_all_stretches() -> None:
    draws, scores = arbitrary_rows(40, 2)
    log_weights, weights = arbitrary_weights(40)
    shape = (2, 20, 2)
    sample = ps.Sample(
        draws.reshape(shape), scores.reshape(shape), log_weights=log_weights.reshape(2, 20)
    )
    mask = np.arange(10) % 2 == 0
    chosen = np.concatenate([np.arange(0, 10, 2), np.arange(25, 40)])
    found = gathered(sample, [Rows(0, 0, 10, mask), Rows(1, 5, 20)])
    assert np.array_equal(found[0], draws[chosen])
    assert np.array_equal(found[1], scores[chosen])
    assert found[2] == pytest.approx(weights[chosen] / weights[chosen].sum(), rel=1e-13)


def test_one_stretch_is_gathered_whole_without_a_copy() -> None:
    draws, scores = arbitrary_rows(2 * block_rows(2) + 17, 2)
    sample = ps.Sample(draws, scores)
    found_draws, found_scores, weights = gathered(sample, [Rows(0, 5, len(draws))])
    assert np.shares_memory(found_draws, draws)
    assert np.shares_memory(found_scores, scores)
    assert np.array_equal(found_draws, draws[5:])
    assert np.array_equal(weights, np.full(len(draws) - 5, 1.0 / (len(draws) - 5)))


# Effective weights


def test_without_weights_every_row_counts() -> None:
    draws, scores = (table.reshape(2, 20, 2) for table in arbitrary_rows(40, 2))
    assert effective_weights(ps.Sample(draws, scores)) == 40.0
    equal = ps.Sample(draws, scores, log_weights=np.full((2, 20), -3.0))
    assert effective_weights(equal) == pytest.approx(40.0, rel=1e-14)


def test_effective_weights_are_kishs_size() -> None:
    """Over several blocks, whatever the scale of the log-weights."""
    n = block_rows(2) + 100
    log_weights, weights = arbitrary_weights(n)
    sample = ps.Sample(*arbitrary_rows(n, 2), log_weights=log_weights)
    assert effective_weights(sample) == pytest.approx(1.0 / float(weights @ weights), rel=1e-12)
