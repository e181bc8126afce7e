"""Input that is not what it says: rows that repeat, weights that are lost, a draw too large."""

import re
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import DrawMoments
from polystein.data.guard.rows import (
    LargestDeviations,
    PositiveWeights,
    RowKeys,
    forbid_duplicates,
    refuse_repeats,
    require_shared_weight,
)
from polystein.data.passes import every_row, executed_by, run_pass
from polystein.data.split import Partition
from polystein.errors import DegenerateError, HeavyTailWarning, InputError
from polystein.scale.threads import Threads
from tests.rows import Array, arbitrary_rows, arbitrary_weights
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


def test_a_metropolis_chain_posing_as_independent_rows_is_refused() -> None:
    target = correlated_gaussian()
    rng = np.random.default_rng(1)
    chain = run_sampler(rng, target, metropolis_step(1.0), 1, 6000, thin=1, burn=0)[0]
    for test in TESTS:
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


def test_splits_that_keep_time_do_not_ask() -> None:
    draws = resampled(1000, 2)
    options: Any = {"order": 1, "variance": ps.InitialSequence(), "rng": 0}
    for split in (ps.BlockSplit(), ps.BlockSplit(gap=5)):
        assert ps.psd_test(draws, lambda x: -x, split=split, **options).pvalue > 0.0
    chains = draws.reshape(2, 500, 2)
    result = ps.psd_test(chains, lambda x: -x, split=ps.ChainSplit(), **options)
    assert re.match(r"ChainSplit\(", result.settings["split"])


# Weights


def weighted(*positive: int) -> ps.Sample:
    """Forty rows, of which all but these have no weight."""
    log_weights = np.full(40, -np.inf)
    log_weights[list(positive)] = 700.0
    return ps.Sample(*arbitrary_rows(40, 2), log_weights=log_weights)


def require_weight(sample: ps.Sample, partition: Partition) -> None:
    weights = PositiveWeights(partition)
    run_pass(sample, every_row(sample), weights)
    weights.require_enough()


@pytest.mark.parametrize(
    ("positive", "role", "least", "got"),
    [
        ([12, 13, 30, 31], "witness", 1, 0),
        ([0, 12, 30, 31], "weights", 2, 1),
        ([0, 12, 13, 30], "test", 2, 1),
    ],
)
def test_a_role_without_weight_is_refused(
    positive: list[int], role: str, least: int, got: int
) -> None:
    sample = weighted(*positive)
    partition = ps.BlockSplit(gap=0).partition(sample.layout, np.random.default_rng(0))
    message = f"at least {least} rows of positive weight for the role '{role}'; got {got}"
    with pytest.raises(InputError, match=message):
        require_weight(sample, partition)


def test_roles_with_weight_pass() -> None:
    rng = np.random.default_rng(0)
    for sample in (weighted(0, 12, 13, 30, 31), ps.Sample(*arbitrary_rows(40, 2))):
        require_weight(sample, ps.BlockSplit(gap=0).partition(sample.layout, rng))


def test_one_row_with_all_the_weight_is_refused() -> None:
    with pytest.raises(DegenerateError, match="at least two rows of positive weight"):
        require_shared_weight(weighted(7))
    require_shared_weight(weighted(7, 30))
    require_shared_weight(ps.Sample(*arbitrary_rows(1, 1)))


# One draw that outweighs the others


def outlier(sample: ps.Sample) -> HeavyTailWarning | None:
    """The warning, if any, after one pass for the frame and one for the largest deviations."""
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, every_row(sample), moments)
    largest = LargestDeviations(moments.standard_frame(), sample.layout.dimension)
    run_pass(sample, every_row(sample), largest)
    return largest.warning()


def test_a_draw_that_outweighs_all_others_is_warned_about() -> None:
    draws, scores = arbitrary_rows(500, 3)
    assert outlier(ps.Sample(draws, scores)) is None
    draws[123, 1] = 1e4
    share = np.max((draws[:, 1] - draws[:, 1].mean()) ** 2) / (500 * draws[:, 1].var())
    words = f"one row of `draws` makes up {share:.0%} of the variance of coordinate 1: "
    assert words in str(outlier(ps.Sample(draws, scores)))


def test_a_draw_needs_weight_to_outweigh_the_others() -> None:
    draws, scores = arbitrary_rows(500, 3)
    log_weights, _ = arbitrary_weights(500)
    draws[123, 1] = 1e4
    assert outlier(ps.Sample(draws, scores, log_weights=log_weights)) is not None
    log_weights[123] = -np.inf
    assert outlier(ps.Sample(draws, scores, log_weights=log_weights)) is None


def warning_of(draws: Array, log_weights: Array | None = None) -> HeavyTailWarning | None:
    return outlier(ps.Sample(draws, -draws, log_weights=log_weights))


def normal_draws(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape)


def one_spike(rows: int) -> Array:
    """All rows are 0 but one: its square is 1 - 1/n of the sum of squares about the mean."""
    draws = np.zeros((rows, 1))
    draws[1] = 1.0
    return draws


@pytest.mark.parametrize("shape", [(50, 1), (2000, 3), (4, 100, 2)])
def test_normal_draws_are_not_warned_about(shape: tuple[int, ...]) -> None:
    assert warning_of(normal_draws(*shape)) is None


@pytest.mark.parametrize(("rows", "percent"), [(4, 75), (20, 95), (1000, 100)])
def test_the_part_of_one_draw_by_hand(rows: int, percent: int) -> None:
    warning = warning_of(one_spike(rows))
    assert isinstance(warning, HeavyTailWarning)
    assert str(warning).startswith(
        f"one row of `draws` makes up {percent}% of the variance of coordinate 0: "
    )


def test_one_half_is_not_most() -> None:
    """Of two rows each is half of the variance."""
    assert warning_of(one_spike(2)) is None
    assert warning_of(one_spike(3)) is not None


@pytest.mark.parametrize("elements", [1, 10**6])
@pytest.mark.parametrize("place", [(0, 0), (201, 2), (399, 1)])
def test_the_coordinate_is_named(
    place: tuple[int, int], elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whichever row the draw is, and however rows are cut into blocks."""
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", elements)
    draws = normal_draws(400, 3)
    draws[place] = -100.0
    squares = (draws[:, place[1]] - draws[:, place[1]].mean()) ** 2
    part = squares[place[0]] / squares.sum()
    assert 0.9 < part < 0.99
    assert f"{part:.0%} of the variance of coordinate {place[1]}:" in str(warning_of(draws))


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e100), (1e6, 1.0), (-5.0, 1e-100)])
def test_neither_units_nor_location_matter(shift: float, scale: float) -> None:
    draws = normal_draws(400, 2)
    draws[7, 1] = 40.0
    assert str(warning_of(scale * (draws + shift))) == str(warning_of(draws))


@pytest.mark.parametrize("test", [ps.psd_test, ps.lambda_psd_test])
def test_weights_whose_squares_underflow_are_none(test: Any) -> None:
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    for place in (0, -1):
        log_weights = np.zeros(1000)
        log_weights[place] = 400.0
        sample = ps.Sample(draws, -draws, log_weights=log_weights)
        with pytest.raises(ps.InputError, match="`log_weights` must leave at least"):
            test(sample, order=1, rng=0)


def test_a_draw_of_no_weight_does_not_count() -> None:
    draws, log_weights = normal_draws(400, 2), np.zeros(400)
    draws[7, 1] = 1e6
    assert warning_of(draws, log_weights) is not None
    log_weights[7] = -np.inf
    assert warning_of(draws, log_weights) is None


def test_the_weight_of_a_draw_counts() -> None:
    """w (x - mean)^2 over its sum, whatever unit weights are in."""
    draws, log_weights = normal_draws(400, 1), np.full(400, 500.0)
    draws[7] = 4.0
    assert warning_of(draws, log_weights) is None
    log_weights[7] += np.log(100.0)
    weights = np.exp(log_weights - 500.0)
    squares = weights * (draws[:, 0] - np.average(draws[:, 0], weights=weights)) ** 2
    expected = f"{squares[7] / squares.sum():.0%} of the variance"
    assert expected in str(warning_of(draws, log_weights))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
def test_many_keys_are_sorted_on_several_cores(
    n_jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polystein.data.guard.rows.MANY_ROWS", 100)
    draws = np.random.default_rng(0).standard_normal((400, 2))
    twice = np.concatenate([draws, draws[:200]])
    with pytest.raises(ps.InputError, match="200 of 600 rows repeat another row"):
        ps.psd_test(twice, -twice, order=1, rng=1, n_jobs=n_jobs)
    ps.psd_test(draws, -draws, order=1, rng=1, n_jobs=n_jobs)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_every_key_is_in_one_part(count: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys at the ends of the ranges, each of them three times."""
    monkeypatch.setattr("polystein.data.guard.rows.MANY_ROWS", 1)
    values = 2 ** np.iinfo(dtype).bits
    ends = {number * values // count + k for number in range(count + 1) for k in (-1, 0)}
    chosen = [end for end in sorted(ends) if 0 <= end < values]
    keys = RowKeys(lambda block: np.array(chosen, dtype=dtype))
    sample = ps.Sample(*arbitrary_rows(len(chosen), 2))
    for _ in range(3):
        run_pass(sample, every_row(sample), keys)
    with executed_by(Threads(count)):
        assert keys.repeats() == 2 * len(chosen)
