"""Independent draws that repeat rows."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.guard.repeats import (
    RowKeys,
    _hashes,
    forbid_duplicates,
    refuse_repeats,
)
from polystein.data.passes import every_row, executed_by, run_pass
from polystein.errors import InputError
from polystein.scale.threads import Threads
from tests.rows import arbitrary_rows
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


@pytest.fixture(scope="module")
def metropolis_chain() -> Any:
    rng, step = np.random.default_rng(1), metropolis_step(1.0)
    return run_sampler(rng, correlated_gaussian(), step, 1, 6000, thin=1, burn=0)[0]


@pytest.mark.parametrize("test", TESTS)
def test_a_metropolis_chain_posing_as_independent_rows_is_refused(
    test: Any, metropolis_chain: Any
) -> None:
    with pytest.raises(InputError, match="rows repeat another row"):
        test(metropolis_chain)


def test_a_metropolis_chain_in_its_order_is_welcome(metropolis_chain: Any) -> None:
    assert 0.0 < ps.check(metropolis_chain, correlated_gaussian().score).pvalue <= 1.0


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
