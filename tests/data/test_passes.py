"""The loop over rows: every chosen row once, in time order, in blocks."""

import threading
import time
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import DrawMoments
from polystein.data.passes import (
    SERIAL,
    Tick,
    block_rows,
    cores,
    every_row,
    executed_by,
    first_block,
    gathered,
    on_threads,
    run_pass,
    visit_blocks,
)
from polystein.data.source import Block, Rows
from polystein.data.weight_sums import WeightSums, effective_weights
from polystein.scale.threads import Threads
from polystein.stein.basis import Monomial
from polystein.stein.moments import SteinMoments, SteinSums, stein_moments
from tests.data.blocks import Recorder, joined, runs, seen, small_blocks
from tests.rows import arbitrary_rows, arbitrary_weights
from tests.sources import CountingSample

pytestmark = pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
EXECUTORS: list[Any] = [SERIAL, Threads(1, 1), Threads(2, 1), Threads(3, 1)]


@pytest.mark.parametrize("dimension", [1, 2, 16, 100, 1024, 5000])
def test_blocks_fit_the_cache_or_fill_a_product(dimension: int) -> None:
    rows = block_rows(dimension)
    assert 1 <= rows <= 8192
    assert rows * dimension <= 65_536 or rows <= 2 * dimension


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_every_row_comes_once_and_in_order(executor: Any) -> None:
    n = 2 * block_rows(2) + 17
    draws, scores = arbitrary_rows(n, 2)
    sample = ps.Sample(draws, scores)
    blocks = seen(sample, every_row(sample), executor=executor)
    assert len(blocks) == 3
    assert [block.start for block in blocks] == [0, block_rows(2), 2 * block_rows(2)]
    assert np.array_equal(joined(blocks), draws)


def test_more_threads_than_blocks_is_no_problem() -> None:
    draws, scores = arbitrary_rows(30, 2)
    sample = ps.Sample(draws, scores)
    assert np.array_equal(joined(seen(sample, every_row(sample), executor=Threads(4, 1))), draws)


def test_chains_are_never_mixed_in_a_run() -> None:
    """Short chains share a block, whose runs keep them apart."""
    draws, scores = arbitrary_rows(60, 2)
    sample = ps.Sample(draws.reshape(3, 20, 2), scores.reshape(3, 20, 2))
    blocks = seen(sample, every_row(sample))
    assert runs(blocks) == [(0, 0, 20), (1, 0, 20), (2, 0, 20)]
    assert np.array_equal(joined(blocks), draws)
    assert len(blocks) == 1


def test_masks_choose_rows_and_their_weights() -> None:
    n = block_rows(2) + 100
    draws, scores = arbitrary_rows(n, 2)
    log_weights = np.log(np.arange(1.0, n + 1))
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    mask = np.arange(10, n) % 3 == 0
    # All of the last rows are masked out.
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
    small_blocks(monkeypatch, 7)
    assert len(seen(ps.Sample(draws, scores), [Rows(0, 0, 200)])) == 29
    assert results() == pytest.approx(expected, rel=1e-10)


def test_blocks_are_visited_one_after_the_other() -> None:
    draws, scores = arbitrary_rows(2 * block_rows(2) + 17, 2)
    sample = ps.Sample(draws, scores)
    recorder, counted = Recorder(), []
    tick = Tick(lambda *done: counted.append(done), len(draws))
    with executed_by(SERIAL, tick):
        visit_blocks(sample, every_row(sample), recorder.update)
    assert [block.start for block in recorder.blocks] == [0, block_rows(2), 2 * block_rows(2)]
    assert np.array_equal(joined(recorder.blocks), draws)
    done = (block_rows(2), 2 * block_rows(2), len(draws))
    assert counted == [(rows, len(draws)) for rows in done]


# Several accumulators


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_one_pass_feeds_several_accumulators(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is read once, however many there are, and none sees what another does."""
    small_blocks(monkeypatch, 16)
    draws, scores = arbitrary_rows(100, 2)
    sample = CountingSample(draws, scores, log_weights=arbitrary_weights(100)[0])
    sums = SteinSums(SteinMoments.empty(Monomial(3), "full"), sample.log_scale)
    moments, weights, recorder = DrawMoments(2), WeightSums(), Recorder()
    run_pass(sample, every_row(sample), sums, moments, weights, recorder, executor=executor)
    assert np.array_equal(sample.reads[0], np.ones(100))
    alone = stein_moments(sample, every_row(sample), Monomial(3)).finalise()
    assert sums.moments.finalise().norm() == pytest.approx(alone.norm(), rel=1e-13)
    mean = np.average(draws, axis=0, weights=sample.read(0, 0, 100).weights)
    assert moments.standard_frame().centre == pytest.approx(mean, rel=1e-13)
    assert weights.total**2 / weights.squares == pytest.approx(effective_weights(sample))
    assert np.array_equal(joined(recorder.blocks), draws)


def test_accumulators_are_fed_in_their_order_block_by_block() -> None:
    order: list[tuple[str, int]] = []

    class Noted(Recorder):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def update(self, block: Block) -> None:
            order.append((self.name, block.start))

    sample = ps.Sample(*arbitrary_rows(30, 2))
    run_pass(sample, every_row(sample), Noted("a"), Noted("b"), most=20)
    assert order == [("a", 0), ("b", 0), ("a", 20), ("b", 20)]


def test_an_error_of_an_accumulator_reaches_the_caller() -> None:
    class Failing(Recorder):
        def zero(self) -> "Failing":
            return Failing()

        def update(self, block: Block) -> None:
            raise ArithmeticError(str(block.start))

    sample = ps.Sample(*arbitrary_rows(30, 2))
    for executor in EXECUTORS:
        with pytest.raises(ArithmeticError, match="0"):
            run_pass(sample, every_row(sample), Failing(), executor=executor)


# Progress


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_progress_grows_up_to_the_total(executor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over two passes and any number of threads, every row of either is counted."""
    small_blocks(monkeypatch, 7)
    sample = ps.Sample(*arbitrary_rows(100, 2))
    told: list[tuple[int, int]] = []
    tick = Tick(lambda *done: told.append(done), 200)
    for _ in range(2):
        with executed_by(executor, tick):
            run_pass(sample, every_row(sample), WeightSums())
    assert {total for _, total in told} == {200}
    done = [rows for rows, _ in told]
    assert np.all(np.diff(done) > 0)
    assert (done[0], done[-1]) == (7, 200) if executor == SERIAL else done[-1] == 200


def test_progress_may_read_rows_itself() -> None:
    """What it reads is neither counted nor waited for."""
    draws = np.random.default_rng(0).standard_normal((300, 2))
    alone: list[tuple[int, int]] = []
    ps.psd_test(draws, -draws, order=1, rng=0, progress=lambda *done: alone.append(done))
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        ps.SteinMoments(1).update(draws[:50], -draws[:50])
        ps.effects(draws[:200], -draws[:200], iid=True)
        told.append((done, total))

    ps.psd_test(draws, -draws, order=1, rng=0, progress=progress)
    assert told == alone


def test_progress_never_goes_beyond_the_total() -> None:
    told: list[tuple[int, int]] = []
    tick = Tick(lambda *done: told.append(done), 10)
    for rows in (4, 4, 4, 4):
        tick(rows)
    assert told == [(4, 10), (8, 10), (10, 10), (10, 10)]
    Tick()(5)


def test_progress_is_told_by_one_thread_at_a_time() -> None:
    """In the order of the counts, none of which is lost."""
    told: list[int] = []
    at_once: list[int] = []

    def progress(done: int, total: int) -> None:
        at_once.append(done)
        time.sleep(0.001)
        told.append(done)
        assert at_once.pop() == done

    sample = ps.Sample(*arbitrary_rows(400, 2))
    tick = Tick(progress, 400)
    with executed_by(Threads(8, 1), tick):
        run_pass(sample, every_row(sample), most=4)
    assert told == list(range(4, 401, 4))


def test_check_reports_progress() -> None:
    told: list[tuple[int, int]] = []
    draws = np.random.default_rng(0).standard_normal((2, 500, 2))
    ps.check(draws, lambda x: -x, rng=0, progress=lambda *done: told.append(done))
    done = [rows for rows, _ in told]
    assert len(done) > 3
    assert np.all(np.diff(done) >= 0)
    assert all(0 < rows <= total for rows, total in told)


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


def test_the_first_block_is_no_longer_than_its_chain() -> None:
    draws, scores = arbitrary_rows(block_rows(2) + 5, 2)
    assert first_block(ps.Sample(draws, scores)).rows == block_rows(2)
    short = first_block(ps.Sample(draws[:40].reshape(2, 20, 2), scores[:40].reshape(2, 20, 2)))
    assert np.array_equal(short.draws, draws[:20])


# Overflow


class Squares(Recorder):
    """Squares beyond the largest number."""

    def zero(self) -> "Squares":
        return Squares()

    def update(self, block: Block) -> None:
        self.blocks.append(block._replace(draws=(block.draws * 1e300) ** 2))


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
@pytest.mark.filterwarnings("error")
def test_overflow_in_a_pass_is_no_warning(executor: Any) -> None:
    """Who reads the sums finds out, and says what overflowed."""
    squares, sample = Squares(), ps.Sample(*arbitrary_rows(30, 2))
    run_pass(sample, every_row(sample), squares, executor=executor)
    assert np.isinf(joined(squares.blocks)).any()
    visit_blocks(sample, every_row(sample), squares.update)
    with pytest.raises(RuntimeWarning, match="overflow"):
        squares.update(sample.read(0, 0, 30))


def test_rows_without_weight_are_gathered_with_weights_of_zero() -> None:
    draws = np.random.default_rng(0).standard_normal((40, 2))
    log_weights = np.where(np.arange(40) < 20, 0.0, -np.inf)
    sample = ps.Sample(draws, -draws, log_weights=log_weights)
    assert gathered(sample, [Rows(0, 20, 40)])[2].tolist() == [0.0] * 20
    assert gathered(sample, [Rows(0, 0, 40)])[2].sum() == pytest.approx(1.0)


def test_parts_are_worked_on_in_their_order() -> None:
    met, here = threading.Barrier(2), threading.get_ident()

    def work(part: int) -> tuple[int, bool]:
        met.wait(timeout=60)  # both are at work at the same time
        return part, threading.get_ident() == here

    with executed_by(Threads(2)):
        assert cores() == 2
        assert on_threads(work, [3, 4]) == [(3, False), (4, False)]
    alone = on_threads(lambda part: (part, threading.get_ident() == here), [3, 4])
    assert alone == [(3, True), (4, True)]
