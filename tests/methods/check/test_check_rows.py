"""How `check` reads rows: how often, in blocks of any size, with progress, on one thread."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import polystein as ps
from polystein.data import passes
from polystein.errors import DegenerateError
from polystein.methods.check import flips, sums
from tests.conftest import Array
from tests.sources import CountingSample, MinimalSource
from tests.statistical.samplers import autoregressive

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


def chains(count: int, rows: int, dimension: int, rho: float) -> Array:
    return autoregressive(np.random.default_rng(0), count, rows, dimension, rho)


def normal_score(draws: Any) -> Any:
    return -draws


# How often rows are read


def most_reads(sample: CountingSample) -> int:
    return max(int(reads.max()) for reads in sample.reads)


@pytest.mark.parametrize(("d", "rows", "rho"), [(1, 2000, 0.9), (3, 2000, 0.0), (200, 300, 0.0)])
def test_check_reads_each_row_of_a_chain_four_times_at_most(d: int, rows: int, rho: float) -> None:
    """For a first look and for sums, and then to cross-fit or to test, not both."""
    sample = CountingSample(chains(2, rows, d, rho), normal_score)
    ps.check(sample, rng=0)
    assert most_reads(sample) <= 4
    # A few rows are looked at before all else; rows of the gap neither train nor test.
    often = np.concatenate(sample.reads) > 3
    assert np.count_nonzero(often) <= 64
    assert 2.0 < sample.mean_reads <= 3.1


@pytest.mark.parametrize(("d", "rows"), [(1, 4000), (3, 4000), (200, 600)])
def test_check_reads_each_independent_row_three_times_or_four(d: int, rows: int) -> None:
    sample = CountingSample(chains(1, rows, d, 0.0)[0], normal_score)
    ps.check(sample, iid=True, rng=0)
    assert most_reads(sample) <= 4
    assert 3.0 <= sample.mean_reads <= 4.0


def test_check_reads_rows_of_many_chains_three_times() -> None:
    sample = CountingSample(chains(40, 100, 3, 0.5), normal_score)
    ps.check(sample, rng=0)
    assert most_reads(sample) <= 4


@pytest.mark.parametrize("rows", [50, 1000])
def test_blocks_of_any_size_are_read_four_times_at_most(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    for draws, iid in ((chains(39, 30, 3, 0.3), False), (chains(1, 1500, 3, 0.0)[0], True)):
        sample = CountingSample(draws, normal_score)
        ps.check(sample, iid=iid, rng=0)
        assert most_reads(sample) <= 4


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_lambda_psd_reads_each_row_four_times_at_most(d: int, standardise: bool) -> None:
    sample = CountingSample(chains(1, 3000, d, 0.0)[0], normal_score)
    ps.lambda_psd_test(sample, order=3, standardise=standardise, rng=0)
    assert most_reads(sample) <= 4
    sample = CountingSample(chains(2, 2000, d, 0.9), normal_score)
    ps.lambda_psd_test(
        sample,
        order=3,
        standardise=standardise,
        split=ps.BlockSplit(),
        variance=ps.InitialSequence(),
        rng=0,
    )
    assert most_reads(sample) <= 4


# How rows are cut into blocks


def weights_of(draws: Array) -> Array:
    return 0.3 * np.sin(5.0 * draws[..., 0])


def ragged() -> MinimalSource:
    draws = chains(1, 1500, 3, 0.5)[0]
    parts = np.split(draws, np.cumsum([700, 3, 90, 400, 1, 200]))
    return MinimalSource([(part, other_score(part)) for part in parts], time_ordered=True)


def other_score(draws: Any) -> Any:
    """No multiple of the draws: else rounding decides whether draws or scores are named."""
    return -draws - 0.1 * np.tanh(draws)


def weighted(draws: Array) -> ps.Sample:
    return ps.Sample(draws, normal_score, log_weights=weights_of(draws))


SOURCES = {
    "chains": lambda: (ps.Sample(chains(4, 400, 3, 0.8), other_score), False),
    "a slow chain": lambda: (ps.Sample(chains(1, 3000, 2, 0.95), other_score), False),
    "short chains": lambda: (ps.Sample(chains(60, 20, 3, 0.3), other_score), False),
    "ragged chains": lambda: (ragged(), False),
    "weighted chains": lambda: (weighted(chains(4, 400, 3, 0.8)), False),
    "weighted short chains": lambda: (weighted(chains(60, 20, 3, 0.3)), False),
    "independent rows": lambda: (ps.Sample(chains(1, 1500, 3, 0.0)[0], normal_score), True),
    "weighted independent rows": lambda: (weighted(chains(1, 1500, 3, 0.0)[0]), True),
}


#: The others take the same ways through the code in other numbers.
FAST = ("chains", "ragged chains", "weighted short chains", "weighted independent rows")
EACH = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in SOURCES]


def assert_close(found: Any, expected: Any) -> None:
    """Equal, but for numbers, which may differ by rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_close(found[key], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float) and math.isfinite(expected):
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
    else:
        assert found == expected or (found != found and expected != expected)


@pytest.mark.parametrize("name", EACH)
def test_the_result_does_not_depend_on_the_size_of_blocks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, iid = SOURCES[name]()
    expected = ps.check(source, iid=iid, rng=0).to_dict()
    assert 0.0 < expected["pvalue"] <= 1.0
    monkeypatch.setattr(passes, "block_rows", lambda dimension: 7)
    assert_close(ps.check(source, iid=iid, rng=0).to_dict(), expected)


@pytest.mark.parametrize("iid", [False, True])
def test_nor_does_it_for_one_coordinate(iid: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score's two members are the same then: their correlation of 1 is known to 1e-16, and
    the tail of their maximum to the root of that."""
    draws = chains(1, 1000, 1, 0.0 if iid else 0.5)
    expected = ps.check(draws[0], normal_score, iid=iid, rng=0)
    for rows in (7, 50):
        monkeypatch.setattr(passes, "block_rows", lambda dimension, rows=rows: rows)
        found = ps.check(draws[0], normal_score, iid=iid, rng=0)
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-7)
        for part, wanted in zip(found.evidence.parts, expected.evidence.parts, strict=True):
            # Draws and scores of one coordinate differ alike: either may be named.
            own, other = part._asdict(), wanted._asdict()
            if own["name"] not in named_by_draws_or_scores(expected):
                assert_close(own, other)


def named_by_draws_or_scores(result: ps.GofResult) -> set[str]:
    arm = result.evidence.arm("agreement of chains")
    return set() if arm is None else {part.name for part in arm.parts}


@pytest.mark.parametrize("name", ["independent rows", "weighted independent rows"])
@pytest.mark.parametrize("numbers", [1, 3000])
def test_the_result_does_not_depend_on_the_budget_of_pairs(
    numbers: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of chains are pooled as they fit, which may change how long they seem to remember.

    The trace of the square needs all pairs at once.
    """
    monkeypatch.setattr(flips, "forms", lambda sums, kept, metric: iter(()))
    # Flips do not go on where pairs have to be summed anew.
    monkeypatch.setattr(flips, "FURTHER_PATTERNS", ())
    source, iid = SOURCES[name]()
    expected = ps.check(source, iid=iid, rng=0).to_dict()
    monkeypatch.setattr(sums, "PAIR_NUMBERS", numbers)
    assert_close(ps.check(source, iid=iid, rng=0).to_dict(), expected)


@pytest.mark.parametrize("name", ["chains", "a slow chain"])
def test_the_budget_of_pairs_leaves_the_other_families_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flips, "forms", lambda sums, kept, metric: iter(()))
    source, _ = SOURCES[name]()
    expected = ps.check(source, rng=0)
    monkeypatch.setattr(sums, "PAIR_NUMBERS", 1)
    found = ps.check(source, rng=0)
    parts = {part.name: part for part in found.evidence.parts}
    for part in expected.evidence.parts:
        if "pairs" in part.name:
            assert parts[part.name].words == part.words
        else:
            assert_close(parts[part.name]._asdict(), part._asdict())


# Progress


@pytest.mark.parametrize("name", EACH)
def test_progress_grows_to_its_total_at_most(name: str) -> None:
    source, iid = SOURCES[name]()
    calls: list[tuple[int, int]] = []
    result = ps.check(source, iid=iid, rng=0, progress=lambda *call: calls.append(call))
    assert result.to_dict() == ps.check(source, iid=iid, rng=0).to_dict()
    done = [done for done, _ in calls]
    total = 3 * source.layout.total
    assert {whole for _, whole in calls} == {total}
    assert done == sorted(done)
    assert 0 < done[0] < done[-1] == total
    # Rows of the gap are not worked through, and none is tested if the trained arm abstains.
    assert (
        done[-2] >= (2.0 / 3.0 if result.evidence.arm("trained witnesses") is None else 0.7) * total
    )


# Threads


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """BLAS may be told to use two threads on any machine, also on one core."""
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


@pytest.mark.usefixtures("two_threads")
def test_blas_has_one_thread_meanwhile_and_all_of_them_afterwards() -> None:
    seen: list[int] = []
    ps.check(
        chains(2, 500, 3, 0.5),
        normal_score,
        rng=0,
        progress=lambda done, total: seen.extend(blas_threads()),
    )
    assert set(seen) == {1}
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_blas_has_its_threads_after_an_error() -> None:
    with pytest.raises(DegenerateError):
        ps.check(np.ones((2, 100, 2)), normal_score)
    assert set(blas_threads()) == {2}
