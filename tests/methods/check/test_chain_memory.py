"""How long features remember, in rows and in batches, against loops."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import RAW, Frame
from polystein.data.passes import every_row
from polystein.data.source import Rows
from polystein.data.split import StretchPartition
from polystein.methods.check import chain_memory as memory
from polystein.methods.check.chain_memory import Times, last_rows, memory_in_batches, slowest_times
from tests.conftest import Array, arbitrary_weights
from tests.inference.walks import walks
from tests.methods.check.sums import literal_families, random_sums
from tests.reference import autocorrelation
from tests.reference import check as literal
from tests.sources import CountingSample

# Batches


@pytest.mark.parametrize("seed", range(4))
def test_the_memory_is_that_of_the_largest_lag_one_correlation(seed: int) -> None:
    """Mixed with their neighbours by more and more, in one feature: as the loop says."""
    found = []
    for mixed in np.linspace(0.0, 1.0, 7):
        sums = random_sums(np.random.default_rng(seed), 90, 2)
        column = next(sums.pairs(1))[:, 0, 1]
        for k in range(1, 90):
            column[k] += mixed * column[k - 1]
        columns = np.concatenate(list(literal_families(sums).values()), axis=1)
        found.append(memory_in_batches(sums))
        assert found[-1] == pytest.approx(literal.memory(columns), rel=1e-10)
    assert found[0] == 1.0
    assert found[-1] > 3.0


# Rows


def literal_slowest(draws: Any, scores: Any) -> float:
    """The largest over coordinates of s and of s x + 1, chains first; at least 1."""
    slowest = 1.0
    for column in range(draws[0].shape[1]):
        pairs = [(x[:, column], s[:, column]) for x, s in zip(draws, scores, strict=True)]
        for parts in ([s for _, s in pairs], [s * x + 1.0 for x, s in pairs]):
            variance = autocorrelation.autocovariance(parts, 0)
            slowest = max(slowest, autocorrelation.long_run_variance(parts) / variance)
    return slowest


def slow_sample(d: int, slow: int, *, in_spread: bool = False) -> tuple[Array, Array]:
    """Independent rows but for one coordinate, whose location or spread remembers."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((2, 90, d))
    walk = np.stack(walks((90, 90), columns=1, seed=1))[..., 0]
    walk = (walk - walk.mean()) / walk.std()
    draws[..., slow] = np.sign(draws[..., slow]) * np.exp(0.5 * walk) if in_spread else walk
    return draws, -draws


def found(sample: ps.Sample, training: list[tuple[int, int]], frame: Frame, of_all: Frame) -> Times:
    """Times of a round whose training rows are these stretches, one of each chain."""
    chains: Any = tuple(
        {"witness": (start, middle(start, stop)), "weights": (middle(start, stop), stop)}
        for start, stop in training
    )
    test, partition = SimpleNamespace(source=sample), StretchPartition(chains)
    rows: Any = SimpleNamespace(test=test, partition=partition, frame=frame)
    return slowest_times(rows, of_all)


def middle(start: int, stop: int) -> int:
    return (start + stop) // 2


@pytest.mark.parametrize("in_spread", [False, True])
@pytest.mark.parametrize(("d", "slow"), [(1, 0), (3, 2), (5, 0)])
def test_the_slowest_time_is_the_largest_of_all(
    d: int, slow: int, in_spread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, scores = slow_sample(d, slow, in_spread=in_spread)
    expected = literal_slowest(draws, scores)
    assert expected > 3.0
    whole = [(0, 90), (0, 90)]
    times = found(ps.Sample(draws, scores), whole, RAW, RAW)
    assert times == pytest.approx((expected, expected), rel=1e-10)
    # However many rows are read at once.
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", 1)
    times = found(ps.Sample(draws, scores), whole, RAW, RAW)
    assert times == pytest.approx((expected, expected), rel=1e-10)


def test_the_slowest_times_are_those_of_their_rows_in_their_frames() -> None:
    draws, scores = slow_sample(2, 0, in_spread=True)
    centre, scale = np.array([0.7, -0.2]), np.array([2.0, 0.5])
    other = Frame(np.array([-0.4, 0.1]), np.array([0.3, 3.0]))
    times = found(ps.Sample(draws, scores), [(10, 70), (10, 70)], Frame(centre, scale), other)
    part = np.s_[:, 10:70]
    expected = literal_slowest((draws[part] - centre) / scale, scores[part] * scale)
    assert times.of_training == pytest.approx(expected, rel=1e-10)
    assert times.of_training != pytest.approx(literal_slowest(draws[part], scores[part]), rel=1e-3)
    assert times.of_training != pytest.approx(literal_slowest(draws, scores), rel=1e-3)
    assert times.of_all == pytest.approx(literal_slowest(*other.apply(draws, scores)), rel=1e-10)
    assert times.of_all != pytest.approx(times.of_training, rel=1e-3)


def test_rows_count_by_their_importance_weights() -> None:
    draws, scores = slow_sample(2, 1)
    log_weights, weights = (array.reshape(2, 90) for array in arbitrary_weights(180))
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    times = found(sample, [(0, 45), (0, 45)], RAW, RAW)
    columns = np.concatenate([scores, scores * draws + 1.0], axis=2) * weights[..., None]
    for time, rows in zip(times, (90, 45), strict=True):
        features = [list(columns[:, :rows, k]) for k in range(4)]
        slowest = max(
            autocorrelation.long_run_variance(parts) / autocorrelation.autocovariance(parts, 0)
            for parts in features
        )
        assert time == pytest.approx(max(1.0, slowest), rel=1e-10)


def test_the_slowest_time_is_at_least_one() -> None:
    still = np.full((1, 100, 1), 2.0)
    alternating = np.tile([1.0, -1.0], 50)[None, :, None] * np.linspace(1.0, 2.0, 100)[:, None]
    parts = [alternating[0, :, 0]]
    variance = autocorrelation.autocovariance(parts, 0)
    assert autocorrelation.long_run_variance(parts) < 0.5 * variance
    for scores in (alternating, still):
        assert found(ps.Sample(still, scores), [(0, 100)], RAW, RAW) == (1.0, 1.0)


def test_the_training_time_does_not_depend_on_test_rows() -> None:
    draws, scores = slow_sample(2, 0)
    first = found(ps.Sample(draws, scores), [(0, 50), (0, 50)], RAW, RAW)
    draws[:, 50:], scores[:, 50:] = 40.0 + draws[:, 50:] ** 3, 7.0
    second = found(ps.Sample(draws, scores), [(0, 50), (0, 50)], RAW, RAW)
    assert second.of_training == first.of_training
    assert second.of_all != first.of_all


# Some of many rows


@pytest.mark.parametrize(("setting", "most"), [("MOST_ROWS", 60), ("MOST_NUMBERS", 240)])
@pytest.mark.parametrize("training", [[(0, 45), (0, 45)], [(5, 25), (0, 80)]])
def test_of_many_rows_the_last_ones_of_every_stretch_are_looked_at(
    training: list[tuple[int, int]], setting: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 of 180 rows, which are 240 numbers of two coordinates, and 60 of 90 or 100."""
    monkeypatch.setattr(memory, setting, most)
    draws, scores = slow_sample(2, 0)
    total = sum(stop - start for start, stop in training)
    last = [slice(stop - (stop - start) * 60 // total, stop) for start, stop in training]
    parts = [[array[c, own] for c, own in enumerate(last)] for array in (draws, scores)]
    times = found(ps.Sample(draws, scores), training, RAW, RAW)
    assert times.of_training == pytest.approx(literal_slowest(*parts), rel=1e-10)
    expected = literal_slowest(draws[:, 60:], scores[:, 60:])
    assert times.of_all == pytest.approx(expected, rel=1e-10)
    assert times.of_all != pytest.approx(literal_slowest(draws, scores), rel=1e-3)


@pytest.mark.parametrize("most", [30, 60, 89, 90, 100, 179, 180])
def test_no_row_is_looked_at_twice(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_ROWS", most)
    sample = CountingSample(*slow_sample(2, 0))
    found(sample, [(0, 45), (0, 45)], RAW, RAW)
    assert np.max(sample.reads) == 1


def test_last_rows_are_shared_out_by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Rows(0, 0, 100), Rows(1, 50, 80), Rows(2, 7, 8)]
    assert last_rows(rows, 3) is rows
    monkeypatch.setattr(memory, "MOST_ROWS", 131)
    assert last_rows(rows, 3) is rows
    monkeypatch.setattr(memory, "MOST_ROWS", 65)
    assert last_rows(rows, 3) == [Rows(0, 51, 100), Rows(1, 66, 80), Rows(2, 7, 8)]
    monkeypatch.setattr(memory, "MOST_ROWS", 130)
    monkeypatch.setattr(memory, "MOST_NUMBERS", 2 * 3 * 65)
    assert last_rows(rows, 3) == [Rows(0, 51, 100), Rows(1, 66, 80), Rows(2, 7, 8)]


def test_as_many_rows_as_are_looked_at_are_all_of_most_samples() -> None:
    rows = list(every_row(ps.Sample(np.ones((4, 16_384, 1)), np.ones((4, 16_384, 1)))))
    assert last_rows(rows, 64) is rows
    assert last_rows(rows, 65) != rows
