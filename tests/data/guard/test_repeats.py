"""Rows that repeat: independent draws resampled, chains given twice, walkers in one chain."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import polystein as ps
from polystein.data.guard.repeats import (
    RowKeys,
    _hashes,
    forbid_copies,
    forbid_duplicates,
    keys_of_chains,
    refuse_copies,
    refuse_repeats,
)
from polystein.data.passes import every_row, executed_by, run_pass
from polystein.data.source import in_time_order
from polystein.errors import InputError
from polystein.scale.threads import Threads
from tests.rows import Array, arbitrary_rows
from tests.sources import CountingSample
from tests.statistical.samplers import correlated_gaussian, metropolis_step
from tests.statistical.samplers import run as run_sampler

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")


def resampled(n: int, d: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d))[rng.integers(n, size=n)]


TESTS: list[Any] = [
    lambda draws: ps.psd_test(draws, lambda x: -x, order=1, rng=0),
    lambda draws: ps.lambda_psd_test(draws, lambda x: -x, order=1, rng=0),
    lambda draws: ps.check(draws, lambda x: -x, iid=True, rng=0),
    lambda draws: ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=9, rng=0),
    lambda draws: ps.ksd_test(draws, lambda x: -x, n_bootstrap=9, rng=0),
    lambda draws: ps.ksdagg_test(draws, lambda x: -x, n_bootstrap=9, n_correction=9, rng=0),
    lambda draws: ps.nystrom_ksd_test(draws, lambda x: -x, n_bootstrap=9, rng=0),
    lambda draws: ps.fssd_test(draws, lambda x: -x, rng=0),
    lambda draws: ps.fssd_test(draws, lambda x: -x, optimise=False, rng=0),
    lambda draws: ps.rfsd_test(draws, lambda x: -x, n_bootstrap=9, rng=0),
    lambda draws: ps.psd_l2_test(draws, lambda x: -x, order=2, n_bootstrap=9, rng=0),
]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("d", [1, 16])
def test_resampled_draws_are_refused(test: Any, d: int) -> None:
    draws = resampled(1000, d)
    repeats = 1000 - len(np.unique(draws, axis=0))
    with pytest.raises(InputError, match=f"{repeats} of 1000 rows repeat another row") as caught:
        test(draws)
    message = str(caught.value)
    for words in ("`draws` must be independent rows; ", "log_weights=", "keep its order",
                  "(chain, draw, d)", "BlockSplit()", "InitialSequence()", "check"):  # fmt: skip
        assert words in message


@pytest.mark.parametrize("test", TESTS)
def test_draws_given_twice_are_refused_and_once_are_not(test: Any) -> None:
    draws, _ = arbitrary_rows(200, 2)
    with pytest.raises(InputError, match="200 of 400 rows repeat another row"):
        test(np.repeat(draws, 2, axis=0))
    assert 0.0 < test(draws).pvalue <= 1.0


@pytest.mark.parametrize(
    "test",
    [
        lambda chains: ps.ksd_test(chains, lambda x: -x, n_bootstrap=9, rng=0),
        lambda chains: ps.ksdagg_test(chains, lambda x: -x, n_bootstrap=9, n_correction=9, rng=0),
        lambda chains: ps.nystrom_ksd_test(chains, lambda x: -x, n_bootstrap=9, rng=0),
        lambda chains: ps.psd_l2_test(chains, lambda x: -x, order=2, n_bootstrap=9, rng=0),
    ],
)
def test_chains_may_repeat_rows_as_metropolis_does(test: Any) -> None:
    draws, _ = arbitrary_rows(60, 2)
    assert 0.0 < test(np.repeat(draws, 2, axis=0).reshape(2, 60, 2)).pvalue <= 1.0


@pytest.mark.parametrize("test", TESTS)
def test_a_metropolis_chain_posing_as_independent_rows_is_refused(test: Any) -> None:
    target = correlated_gaussian()
    rng = np.random.default_rng(1)
    chain = run_sampler(rng, target, metropolis_step(1.0), 1, 6000, thin=1, burn=0)[0]
    with pytest.raises(InputError, match="rows repeat another row"):
        test(chain)
    # In its order it is welcome.
    assert 0.0 < ps.check(chain, target.score).pvalue <= 1.0


@pytest.mark.parametrize("decimals", [None, 3])
def test_accidental_ties_in_one_dimension_pass(decimals: int | None) -> None:
    """Single precision, or three decimals, in one dimension: ties by rounding alone."""
    draws = np.random.default_rng(2).standard_normal((20_000 if decimals is None else 500, 1))
    draws = 0.3 + 1e-3 * draws if decimals is None else draws
    draws = draws.astype(np.float32) if decimals is None else draws.round(decimals)
    assert len(np.unique(draws)) < len(draws)
    assert ps.psd_test(draws, lambda x: -x, order=1, rng=0).n_test > 0


def test_a_few_repeats_pass_and_more_do_not() -> None:
    """One row in a hundred may repeat in several dimensions."""
    draws, scores = arbitrary_rows(1000, 2)
    for repeats in (10, 11):
        draws[-repeats:] = draws[:repeats]
        sample = ps.Sample(draws, scores)
        if repeats == 10:
            forbid_duplicates(sample)
            continue
        with pytest.raises(InputError, match="11 of 1000 rows"):
            forbid_duplicates(sample)


def test_rows_that_share_coordinates_are_not_repeats() -> None:
    """A lattice, with every value many times over but no row twice, however permuted."""
    side = np.arange(30.0)
    draws = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    forbid_duplicates(ps.Sample(draws, -draws))
    swapped = np.concatenate([draws, draws[:, ::-1] + 0.5])
    forbid_duplicates(ps.Sample(swapped, -swapped))


def test_repeats_are_found_across_blocks_and_chains() -> None:
    draws, scores = arbitrary_rows(500, 3)
    twice = np.stack([draws, draws]), np.stack([scores, scores])
    with pytest.raises(InputError, match="500 of 1000 rows repeat"):
        forbid_duplicates(ps.Sample(*twice))


def test_rows_of_rounded_numbers_are_told_apart() -> None:
    draws = np.round(2.0 * np.random.default_rng(0).standard_normal((500, 8))) / 2.0
    assert len(np.unique(draws, axis=0)) == 500
    sample = ps.Sample(draws, -draws)
    hashes = RowKeys(_hashes)
    run_pass(sample, every_row(sample), hashes)
    assert hashes.repeats() == 0
    # Zero has two signs, and rows that differ in them alone are equal.
    twice = ps.Sample(np.concatenate([draws, np.where(draws == 0.0, -0.0, draws)]), lambda x: -x)
    hashes = RowKeys(_hashes)
    run_pass(twice, every_row(twice), hashes)
    assert hashes.repeats() == 500


def test_first_coordinates_are_looked_at_first() -> None:
    """Only where they repeat are whole rows compared."""
    draws, scores = arbitrary_rows(100, 2)
    draws[:, 0] = np.arange(100) // 2
    sample = CountingSample(draws, scores)
    keys = RowKeys()
    run_pass(sample, every_row(sample), keys)
    assert keys.repeats() == 50
    refuse_repeats(sample, keys)
    assert sample.mean_reads == 2.0
    twice = CountingSample(np.repeat(draws[::2], 2, axis=0), scores)
    with pytest.raises(InputError, match="50 of 100 rows"):
        refuse_repeats(twice, keys)
    none = RowKeys()
    apart = CountingSample(*arbitrary_rows(100, 2))
    run_pass(apart, every_row(apart), none)
    refuse_repeats(apart, none)
    assert apart.mean_reads == 1.0


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
def test_many_keys_are_sorted_on_several_cores(
    n_jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polystein.data.guard.repeats.MANY_ROWS", 100)
    draws = np.random.default_rng(0).standard_normal((400, 2))
    twice = np.concatenate([draws, draws[:200]])
    with pytest.raises(ps.InputError, match="200 of 600 rows repeat another row"):
        ps.psd_test(twice, -twice, order=1, rng=1, n_jobs=n_jobs)
    ps.psd_test(draws, -draws, order=1, rng=1, n_jobs=n_jobs)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_every_key_is_in_one_part(count: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys at the ends of the ranges, each of them three times."""
    monkeypatch.setattr("polystein.data.guard.repeats.MANY_ROWS", 1)
    values = 2 ** np.iinfo(dtype).bits
    ends = {number * values // count + k for number in range(count + 1) for k in (-1, 0)}
    chosen = [end for end in sorted(ends) if 0 <= end < values]
    keys = RowKeys(lambda block: np.array(chosen, dtype=dtype))
    sample = ps.Sample(*arbitrary_rows(len(chosen), 2))
    for _ in range(3):
        run_pass(sample, every_row(sample), keys)
    with executed_by(Threads(count)):
        assert keys.repeats() == 2 * len(chosen)


# Chains


def autoregressive(chains: int, rows: int, d: int, memory: float, seed: int = 0) -> Array:
    noise = np.random.default_rng(seed).standard_normal((chains, rows, d))
    noise[:, 1:] *= np.sqrt(1.0 - memory**2)
    found: Array = lfilter([1.0], [1.0, -memory], noise, axis=1)
    return found


def metropolis(chains: int, rows: int, seed: int = 1) -> Array:
    target, rng = correlated_gaussian(), np.random.default_rng(seed)
    return run_sampler(rng, target, metropolis_step(1.0), chains, rows, thin=1, burn=0)


def block_split_test(draws: Array) -> object:
    options: Any = {"order": 1, "variance": ps.InitialSequence(), "split": ps.BlockSplit()}
    return ps.psd_test(draws, lambda x: -x, rng=0, **options)


#: Everything that takes chains in time order.
OF_CHAINS: list[Any] = [
    lambda draws: ps.check(draws, lambda x: -x),
    block_split_test,
    lambda draws: ps.effects(draws, lambda x: -x),
    lambda draws: ps.expectations(draws, lambda x: -x),
]


def copies_refused(draws: Array, message: str = "") -> str:
    """The message of the error for chains, which has these words in it."""
    with pytest.raises(InputError) as caught:
        forbid_copies(in_time_order(ps.Sample(draws, -draws)))
    assert message in str(caught.value)
    return str(caught.value)


def allowed(draws: Array) -> None:
    forbid_copies(in_time_order(ps.Sample(draws, -draws)))


@pytest.mark.parametrize("test", OF_CHAINS)
def test_one_chain_copied_four_times_is_refused(test: Any) -> None:
    """A seed that was forgotten."""
    draws = np.repeat(autoregressive(1, 200, 2, 0.5), 4, axis=0)
    with pytest.raises(InputError, match="chains 0, 1, 2 and 3 have the same rows") as caught:
        test(draws)
    assert "a seed for each" in str(caught.value)
    assert "`np.delete(draws, [1, 2, 3], axis=0)`" in str(caught.value)


@pytest.mark.parametrize("test", OF_CHAINS)
def test_chains_given_twice_are_refused(test: Any) -> None:
    draws = autoregressive(3, 200, 2, 0.5)
    with pytest.raises(InputError, match="chains 0 and 3, chains 1 and 4, chains 2 and 5 have"):
        test(np.concatenate([draws, draws]))


@pytest.mark.parametrize("test", OF_CHAINS)
def test_rows_resampled_in_one_chain_are_refused(test: Any) -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((300, 2))[rng.integers(300, size=1000)]
    with pytest.raises(InputError, match="of 1000 rows repeat a row that is not their") as caught:
        test(draws)
    assert "log_weights=" in str(caught.value)


@pytest.mark.parametrize("test", OF_CHAINS)
def test_chains_that_take_turns_and_stay_are_refused(test: Any) -> None:
    """Metropolis chains, interleaved: a row is equal to the one as many rows before."""
    draws = metropolis(32, 100).swapaxes(0, 1).reshape(-1, 5)
    with pytest.raises(InputError, match="rows 32 apart are alike") as caught:
        test(draws)
    assert "`draws.reshape(-1, 32, 5).swapaxes(0, 1)`" in str(caught.value)
    allowed(draws.reshape(-1, 32, 5).swapaxes(0, 1))


def test_copies_are_found_among_many_chains_and_of_chains_that_stay() -> None:
    many = autoregressive(100, 30, 1, 0.5)
    many[71] = many[12]
    copies_refused(many, "chains 12 and 71 have the same rows")
    stays = metropolis(3, 300)
    assert np.mean(np.all(stays[:, 1:] == stays[:, :-1], axis=2)) > 0.5
    allowed(stays)
    stays[2] = stays[0]
    copies_refused(stays, "chains 0 and 2 have the same rows")


def test_of_many_copies_some_are_named() -> None:
    words = copies_refused(np.repeat(autoregressive(1, 50, 2, 0.5), 30, axis=0))
    assert "chains 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 18 more have" in words
    assert "pass every chain once; the scores" in words


def test_copies_may_begin_at_another_row() -> None:
    chain = autoregressive(1, 500, 2, 0.5)[0]
    copies_refused(np.stack([chain[:400], chain[100:]]), "chains 0 and 1")
    copies_refused(np.stack([chain[:300], chain[200:]]), "chains 0 and 1")
    allowed(np.stack([chain[:260], chain[240:]]))


def test_a_chain_given_again_in_itself_is_refused() -> None:
    chain = metropolis(1, 300)[0]
    copies_refused(np.tile(chain, (3, 1)), "rows 300 apart are equal: the same 300 rows are given")
    copies_refused(np.tile(chain, (3, 1)), "`draws[..., :300, :]`")


def test_several_chains_of_walkers_are_told_apart() -> None:
    draws = metropolis(8, 120).swapaxes(0, 1).reshape(2, -1, 5)[:, :-3]
    words = copies_refused(draws, "rows 8 apart are alike")
    assert "`draws[..., :472, :].reshape(2, -1, 8, 5).swapaxes(1, 2).reshape(16, -1, 5)`" in words


@pytest.mark.parametrize(
    "draws",
    [
        np.repeat(autoregressive(4, 100, 2, 0.5), 3, axis=1),
        autoregressive(4, 300, 1, 0.0).astype(np.float32),
        autoregressive(4, 300, 1, 0.5).round(2),
        autoregressive(4, 500, 1, 0.5).round(1),
        (2.0 * autoregressive(1, 500, 2, 0.0)).round() / 2.0,
        np.sign(autoregressive(4, 300, 2, -0.9)),
        np.zeros((4, 100, 2)),
        0.3 + 1e-6 * autoregressive(4, 300, 1, 0.0).astype(np.float32),
        np.round(1e3 * autoregressive(1, 500, 1, 0.0)).cumsum(axis=1) % 7.0,
    ],
)
def test_neighbours_and_rounded_values_may_repeat(draws: Array) -> None:
    allowed(draws)


def test_resampling_shows_in_one_coordinate_and_single_precision() -> None:
    rng = np.random.default_rng(0)
    unique = rng.standard_normal((300, 1)).astype(np.float32)
    copies_refused(unique[rng.integers(300, size=1000)], "repeat a row that is not their neigh")
    # A coordinate of few values beside a continuous one does not excuse.
    both = np.concatenate([np.sign(unique), unique], axis=1)
    copies_refused(both[rng.integers(300, size=(4, 250))], "repeat a row that is not their neigh")


def test_swaps_there_and_back_are_no_resampling() -> None:
    """Replica exchange comes back to a row after a few others, and stays at some."""
    draws = autoregressive(2, 600, 2, 0.5)
    draws[:, 2::4] = draws[:, ::4]
    draws[:, 3::8] = draws[:, 2::8]
    allowed(draws)
    # Walkers never stay: the next row is that of another one.
    draws[:, 3::8] = autoregressive(2, 75, 2, 0.5, seed=1)
    copies_refused(draws, "rows 2 apart are alike")


def test_most_rows_of_chains_that_repeat_by_chance() -> None:
    """One in ten, of rows that are no neighbours, and no more."""
    rng = np.random.default_rng(3)
    for repeats in (100, 101):
        draws = autoregressive(1, 1000, 2, 0.0)[0]
        draws[850 : 850 + repeats] = draws[rng.permutation(800)[:repeats]]
        if repeats == 100:
            allowed(draws)
        else:
            copies_refused(draws, "101 of 1000 rows repeat")


def test_chains_are_read_again_only_where_first_coordinates_repeat() -> None:
    draws = autoregressive(4, 300, 2, 0.5)
    sample = CountingSample(draws, -draws)
    forbid_copies(sample)
    assert sample.mean_reads == 1.0
    draws[..., 0] = np.sign(draws[..., 0])
    sample = CountingSample(draws, -draws)
    forbid_copies(sample)
    assert 2.0 <= sample.mean_reads <= 2.5


def test_of_long_chains_the_first_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = autoregressive(3, 900, 2, 0.5)
    draws[2, 700:] = draws[0, 700:]
    copies_refused(draws, "chains 0 and 2")
    monkeypatch.setattr("polystein.data.guard.repeats.MOST_ROWS_ALONE", 2100)
    sample = CountingSample(draws, -draws)
    forbid_copies(sample)
    assert sample.mean_reads == pytest.approx(7 / 9)
    draws[2, :100] = draws[0, :100]
    copies_refused(draws, "chains 0 and 2")
    # Beside another look at all rows more are looked at.
    monkeypatch.setattr("polystein.data.guard.repeats.MOST_ROWS", 300)
    keys = keys_of_chains(sample, alone=False)
    run_pass(sample, every_row(sample), keys)
    assert keys.in_order().size == 300
    with pytest.raises(InputError, match="chains 0 and 2"):
        refuse_copies(sample, keys)


def test_keys_come_in_any_order() -> None:
    draws = np.repeat(autoregressive(1, 300, 2, 0.5), 3, axis=0)
    sample, first, second = ps.Sample(draws, -draws), RowKeys(), RowKeys()
    rows = list(every_row(sample))
    run_pass(sample, rows[1:], first)
    run_pass(sample, rows[:1], second)
    with pytest.raises(InputError, match="chains 0, 1 and 2 have the same rows"):
        refuse_copies(sample, first.merge(second))
    assert np.array_equal(first.in_order()[:300], first.in_order()[300:600])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_copies_are_found_on_several_cores(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polystein.data.guard.repeats.MANY_ROWS", 100)
    draws = np.repeat(autoregressive(1, 300, 2, 0.5), 2, axis=0)
    with pytest.raises(InputError, match="chains 0 and 1 have the same rows"):
        ps.check(draws, -draws, n_jobs=n_jobs)


def test_huge_values_are_told_from_a_grid() -> None:
    rng = np.random.default_rng(0)
    draws = 1e308 * rng.uniform(-1.0, 1.0, size=(300, 1))
    copies_refused(draws[rng.integers(300, size=1000)], "repeat a row")
