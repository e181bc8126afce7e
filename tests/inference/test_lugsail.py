"""Lugsail batch means against loops over rows and batches."""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import binomtest, t

from polystein.errors import DegenerateError
from polystein.inference.lugsail import ChainHalves, LugsailBatches
from polystein.inference.variance import LongRun
from tests.conftest import Array
from tests.reference import lugsail as literal


class Case:
    """Test rows ``starts`` and so on of several chains, cut into halves of batches."""

    def __init__(
        self, lengths: list[int], halves: list[int], *, halved: bool = True, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.lengths, self.halves, self.halved = lengths, halves, halved
        self.starts = rng.integers(0, 50, len(lengths)).tolist()
        noise = [rng.standard_normal((length, 3)) for length in lengths]
        self.columns = [np.cumsum(own, axis=0) * 0.3 + own + [0.0, 2.0, -9.0] for own in noise]
        self.weights: list[Array] | None = None
        self.firsts = [int(first) for first in np.cumsum([0, *halves[:-1]])]

    def weigh(self, seed: int = 1) -> "Case":
        rng = np.random.default_rng(seed)
        self.weights = [rng.exponential(size=length) for length in self.lengths]
        return self

    def accumulator(self, chains: list[int] | None = None) -> LugsailBatches:
        numbers = range(len(self.lengths)) if chains is None else chains
        stretches = {
            number: ChainHalves(start, start + length, halves, first)
            for number, start, length, halves, first in zip(
                numbers, self.starts, self.lengths, self.halves, self.firsts, strict=True
            )
        }
        return LugsailBatches(stretches, 3, halved=self.halved)

    def blocks(self, rows: int) -> list[tuple[Array, Array | None, int, int]]:
        """What `update` takes, so many rows at a time."""
        return [
            (
                own[low : low + rows],
                None if self.weights is None else self.weights[chain][low : low + rows],
                chain,
                self.starts[chain] + low,
            )
            for chain, own in enumerate(self.columns)
            for low in range(0, len(own), rows)
        ]

    def taken(self, rows: int = 1000) -> LugsailBatches:
        accumulator = self.accumulator()
        for block in self.blocks(rows):
            accumulator.update(*block)
        return accumulator

    def expected(self) -> literal.LongRun:
        ones = [np.ones(length) for length in self.lengths]
        return literal.long_run(self.columns, self.weights or ones, self.halves, halved=self.halved)


def assert_is(found: LongRun, expected: Any, tolerance: float = 1e-10) -> None:
    for value, wanted in zip(found, expected, strict=True):
        size = float(np.max(np.abs(wanted)))
        assert value == pytest.approx(
            np.broadcast_to(wanted, np.shape(value)), abs=tolerance * size
        )


CASES = {
    "one chain": lambda: Case([97], [32]),
    "four chains": lambda: Case([40, 40, 40, 40], [8, 8, 8, 8]),
    "ragged chains": lambda: Case([17, 90, 41], [8, 40, 12]),
    "whole chains": lambda: Case([9, 5, 30, 1, 14, 2], [1] * 6, halved=False),
    "two halves": lambda: Case([11, 4], [2, 2]),
}
every_case = pytest.mark.parametrize("name", CASES)


@every_case
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_lugsail_batch_means_are_the_loop(name: str, weighted: bool, rows: int) -> None:
    case = CASES[name]()
    if weighted:
        case.weigh()
    assert_is(case.taken(rows).finalise(), case.expected())


@every_case
def test_weights_are_rows_that_repeat_but_for_kish(name: str) -> None:
    """Equal weights of any size change nothing."""
    plain, weighted = CASES[name](), CASES[name]()
    weighted.weights = [np.full(length, 0.25) for length in weighted.lengths]
    assert_is(weighted.taken().finalise(), plain.taken().finalise())


def test_whole_numbers_as_weights_are_rows_that_repeat() -> None:
    """Mean and covariance; only Kish's number of rows differs."""
    case, long = Case([40, 40], [8, 8]), Case([40, 40], [8, 8])
    times = np.random.default_rng(2).integers(1, 4, (2, 8))
    # The same weight for all rows of a half keeps halves where they are.
    case.weights = [np.repeat(own, 5).astype(float) for own in times]
    sums, sizes = literal.parts_of(case.columns, case.weights, case.halves)
    long.columns = [
        np.repeat(own, weight.astype(int), axis=0)
        for own, weight in zip(case.columns, case.weights, strict=True)
    ]
    mean = np.concatenate(long.columns).mean(axis=0)
    found = case.taken().finalise()
    assert found.mean == pytest.approx(mean, rel=1e-12)
    joint = [sums[k] + sums[k + 1] for k in range(0, 16, 2)]
    lengths = [sizes[k] + sizes[k + 1] for k in range(0, 16, 2)]
    batches, _ = literal.covariance_of(joint, lengths, mean)
    assert np.all(np.diag(found.covariance) >= np.diag(batches) * (1.0 - 1e-12))


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_are_merged_in_any_order(name: str, weighted: bool) -> None:
    case = CASES[name]()
    if weighted:
        case.weigh()
    whole, blocks = case.taken().finalise(), case.blocks(6)
    for order in itertools.permutations(range(4)):
        parts = [case.accumulator().zero() for _ in range(4)]  # the last one stays empty
        for number, block in enumerate(blocks):
            parts[number % 3].update(*block)
        first, *others = (parts[number] for number in order)
        for other in others:
            assert first.merge(other) is first
        assert_is(first.finalise(), whole, 1e-12)


def test_merging_leaves_the_other_alone() -> None:
    case = Case([40, 40], [8, 8]).weigh()
    other = case.taken()
    before = other.finalise()
    merged = case.accumulator().merge(other)
    merged.update(*case.blocks(6)[0])
    assert_is(other.finalise(), before, 0.0)


@every_case
def test_a_fresh_one_has_no_rows(name: str) -> None:
    case = CASES[name]()
    fresh = case.taken().zero()
    for block in case.blocks(1000):
        fresh.update(*block)
    assert_is(fresh.finalise(), case.taken().finalise(), 0.0)


@every_case
def test_it_survives_pickling(name: str) -> None:
    case = CASES[name]().weigh()
    accumulator = case.accumulator()
    for block in case.blocks(6):
        accumulator = pickle.loads(pickle.dumps(accumulator))
        accumulator.update(*block)
    assert_is(accumulator.finalise(), case.taken().finalise(), 1e-12)


@given(st.lists(st.integers(4, 60), min_size=2, max_size=5), st.integers(0, 10**6))
def test_the_variance_is_at_least_that_of_batches(lengths: list[int], seed: int) -> None:
    case = Case(lengths, [2] * len(lengths), seed=seed)
    sums, sizes = literal.parts_of(case.columns, [np.ones(n) for n in lengths], case.halves)
    found = case.taken().finalise()
    joint = [sums[k] + sums[k + 1] for k in range(0, len(sums), 2)]
    whole = [sizes[k] + sizes[k + 1] for k in range(0, len(sums), 2)]
    batches, count = literal.covariance_of(joint, whole, found.mean)
    assert np.all(np.diag(found.covariance) >= np.diag(batches) * (1.0 - 1e-9))
    assert np.all(np.linalg.eigvalsh(found.covariance) >= -1e-9 * np.trace(found.covariance))
    assert found.df == pytest.approx(np.full(3, max(1.0, (count - 1.0) / 2.0)))
    assert np.all(found.ess <= sum(lengths) * (1.0 + 1e-12))


@given(st.floats(-50.0, 50.0), st.floats(0.01, 100.0))
def test_shifts_and_units_come_through(shift: float, unit: float) -> None:
    case, moved = Case([40, 31], [8, 6]), Case([40, 31], [8, 6])
    moved.columns = [unit * (own + shift) for own in case.columns]
    here, there = case.taken().finalise(), moved.taken().finalise()
    assert there.mean == pytest.approx(unit * (here.mean + shift), rel=1e-9, abs=1e-9)
    assert there.covariance == pytest.approx(unit**2 * here.covariance, rel=1e-8)
    assert there.ess == pytest.approx(here.ess, rel=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1e100, 1e140])
def test_scales_do_not_matter(scale: float) -> None:
    case, scaled = Case([40, 31], [8, 6]), Case([40, 31], [8, 6])
    scaled.columns = [scale * own for own in case.columns]
    here, there = case.taken().finalise(), scaled.taken().finalise()
    error = np.sqrt(np.diag(there.covariance))
    assert there.mean / error == pytest.approx(here.mean / np.sqrt(np.diag(here.covariance)))
    assert there.ess == pytest.approx(here.ess, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_constant_column_has_no_variance() -> None:
    case = Case([40, 40], [8, 8])
    for own in case.columns:
        own[:, 1] = 0.0
    found = case.taken().finalise()
    assert found.mean[1] == found.covariance[1, 1] == found.ess[1] == 0.0
    assert np.all(np.isfinite(found.covariance))
    expected = Case([40, 40], [8, 8]).taken().finalise()
    assert found.covariance[::2, ::2] == pytest.approx(expected.covariance[::2, ::2], rel=1e-12)


def test_one_row_with_all_the_weight_is_refused() -> None:
    case = Case([40, 40], [8, 8])
    case.weights = [np.full(40, 1e-30), np.full(40, 1e-30)]
    case.weights[0][7] = 1.0
    with pytest.raises(DegenerateError, match="effective test rows"):
        case.taken().finalise()


def test_degrees_of_freedom_are_half_those_of_the_batches() -> None:
    assert Case([80, 80], [16, 16]).taken().finalise().df.tolist() == [7.5] * 3
    whole = Case([8] * 20, [1] * 20, halved=False)
    assert whole.taken().finalise().df.tolist() == [19.0] * 3
    assert Case([11], [4]).taken().finalise().df.tolist() == [1.0] * 3


def chains(seed: int, rho: float, count: int, rows: int) -> Array:
    """Stationary chains, each column one of them."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((count, rows, 3))
    noise[:, 0] /= np.sqrt(1.0 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=1))


def finalised(rows: Array, batches: int, *, halved: bool = True) -> LongRun:
    count, length, _ = rows.shape
    halves = 2 * batches if halved else 1
    stretches = {chain: ChainHalves(0, length, halves, halves * chain) for chain in range(count)}
    accumulator = LugsailBatches(stretches, 3, halved=halved)
    for chain, own in enumerate(rows):
        accumulator.update(own, None, chain, 0)
    return accumulator.finalise()


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_variance_of_autoregressions_is_near_the_truth(rho: float) -> None:
    """Batches of 50 rows: those of AR(.9) alone would give 0.81 of it.

    The truth is that of the mean over a chain, less 1/n of it for the mean that is taken off.
    """
    found = [np.diag(finalised(chains(seed, rho, 4, 200), 4).covariance) for seed in range(400)]
    truth = 1.0 / (1.0 - rho) ** 2 / 800.0
    mean, error = np.mean(found) / truth, np.std(found) / truth / (400 * 3) ** 0.5
    # The larger of two variances is larger than either on average.
    assert 0.97 - 4.0 * error < mean < 1.25
    assert error < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rho", "batches", "halved"), [(0.0, 4, True), (0.9, 4, True), (0.95, 1, False)]
)
def test_the_reference_holds(rho: float, batches: int, halved: bool) -> None:
    """At 0.05 and 0.01, four chains of 400 rows, or 20 whole ones of 40."""
    count, rows = (4, 400) if halved else (20, 40)
    inside = []
    for seed in range(500):
        found = finalised(chains(seed, rho, count, rows), batches, halved=halved)
        z = found.mean / np.sqrt(np.diag(found.covariance))
        inside.append(t.sf(z[0], found.df[0]))
    for level in (0.05, 0.01):
        rejected = int(np.count_nonzero(np.array(inside) <= level))
        assert binomtest(rejected, 500, level, alternative="greater").pvalue > 0.01


def test_whole_chains_are_a_t_test_of_their_means() -> None:
    rows = chains(1, 0.9, 20, 40)
    found = finalised(rows, 1, halved=False)
    means = rows.mean(axis=1)
    assert found.mean == pytest.approx(means.mean(axis=0), rel=1e-12)
    assert found.covariance == pytest.approx(np.cov(means.T) / 20.0, rel=1e-10)
