"""The one call for users, and who is warned of what."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm

import polystein as ps
from polystein._lib.notes import Notes
from polystein.data.passes import Tick
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.methods.check import check as check_module
from polystein.methods.check.arms import SHARES_OF_CHAINS
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import MANY_CHAINS, cut
from polystein.methods.check.check import USUAL_LEVELS
from polystein.methods.check.families import BASIS
from polystein.methods.check.flips_arm import flip_signs
from polystein.methods.check.trained_arm import trained_arm, training_memory
from polystein.methods.check.trained_witnesses import TrainingSums
from polystein.methods.split_sample import SplitSampleTest
from polystein.report.text import found_words
from polystein.results.evidence import Arm
from tests.conftest import Array
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive
from tests.statistical.samplers_memory import slow_radius


def chains(count: int = 4, rows: int = 1000, dimension: int = 3, memory: float = 0.5) -> Array:
    return autoregressive(np.random.default_rng(0), count, rows, dimension, memory)


def normal_score(draws: Any) -> Any:
    return -draws


FLIPS, TRAINED, AGREEMENT = "sign flips", "trained witnesses", "agreement of chains"
OF_FLIPS = [
    *(
        f"{family}: {kind}"
        for family in ("score", "x", "G1-4", "tails", "x pairs", "G2 pairs")
        for kind in ("sum", "max")
    ),
    "trace: sum",
    "Hotelling: sum",
    "trace of square: sum",
]
OF_TRAINED = ["trained score", "sparse score", "sparse stack", "trained x", "trained stack"]


def arm_pvalue(result: ps.GofResult, name: str) -> float:
    arm = result.evidence.arm(name)
    assert arm is not None
    return arm.pvalue


def arm_names(result: ps.GofResult) -> list[str]:
    return [arm.name for arm in result.evidence.arms]


def test_the_p_value_is_that_of_the_best_arm() -> None:
    """p = min(1, p_arm/share): every arm's p-value allows for its share already."""
    result = ps.check(1.05 * chains(), normal_score, rng=3)
    assert arm_names(result)[0] == result.evidence.arms[0].name
    assert result.pvalue == min(arm.pvalue for arm in result.evidence.arms)
    assert [arm.pvalue for arm in result.evidence.arms] == sorted(
        arm.pvalue for arm in result.evidence.arms
    )
    for arm in result.evidence.arms:
        assert sum(part.level_share for part in arm.parts) == pytest.approx(
            SHARES_OF_CHAINS[arm.name]
        )


def test_arms_are_those_run_by_hand() -> None:
    """Trained witnesses and flips, from the same sums and streams."""
    sample = ps.Sample(1.05 * chains(), normal_score)
    result = ps.check(sample, rng=3)
    test = SplitSampleTest(
        sample, BASIS, "full", ps.BlockSplit(0.5), ps.BatchMeans(), "greater", True
    )
    (rows,) = test.rounds(1, 3, Notes())
    batches = cut(sample.layout, chains=True)
    sums = BatchSums(sample, rows.look.frame_of_all(), BASIS, batches, (1, 3))
    training = TrainingSums(sample, rows.partition, BASIS, rows.frame)
    sums.take(training)
    remembered = training_memory(rows, sums)
    trained = trained_arm(rows, training, remembered, Tick()).arm
    assert isinstance(trained, Arm)
    assert arm_pvalue(result, TRAINED) == pytest.approx(
        min(1.0, trained.pvalue / SHARES_OF_CHAINS[TRAINED]), rel=1e-9
    )
    reached = min(arm_pvalue(result, TRAINED), arm_pvalue(result, AGREEMENT))
    levels = [0.836 * level for level in USUAL_LEVELS if level < reached]
    names, rng = ("x0", "x1", "x2"), rows.streams.resampling
    (flips,) = flip_signs(sums, names, rng, left_out=np.zeros(3, dtype=bool), levels=levels)
    assert isinstance(flips, Arm)
    assert arm_pvalue(result, FLIPS) == pytest.approx(
        min(1.0, flips.pvalue / SHARES_OF_CHAINS[FLIPS]), rel=1e-9
    )


def test_the_evidence_holds_the_parts_of_all_arms() -> None:
    result = ps.check(chains(), normal_score, rng=0)
    named = {arm.name: {part.name for part in arm.parts} for arm in result.evidence.arms}
    assert named[TRAINED] == set(OF_TRAINED)
    # Spreads are left out where too few batches are long enough.
    assert {name for name in OF_FLIPS if not name.startswith("x: ")} <= named[FLIPS]
    assert named[FLIPS] <= set(OF_FLIPS)
    assert sum(part.level_share for part in result.evidence.parts) == pytest.approx(1.0)
    assert {arm.name: arm.rows for arm in result.evidence.arms} == {
        FLIPS: "all rows",
        TRAINED: "the test rows",
        AGREEMENT: "all rows",
    }
    assert result.evidence.abstained == ()
    assert result.reasons == ()
    assert result.verdict == "not rejected"
    assert result.diagnostics is not None
    assert result.components == ()
    assert (result.method, result.dimension) == ("check", 3)
    assert result.settings == {"iid": False}
    assert result.weights is None


def test_the_statistic_is_the_quantile_of_the_p_value() -> None:
    result = ps.check(1.05 * chains(), normal_score)
    assert result.statistic == pytest.approx(max(0.0, float(norm.isf(result.pvalue))), rel=1e-9)


# Randomness


@pytest.mark.parametrize("iid", [False, True])
def test_by_default_the_same_draws_give_the_same_result(iid: bool) -> None:
    draws = chains(1, 1200)[0] if iid else chains()
    first = ps.check(draws, normal_score, iid=iid)
    assert ps.check(draws, normal_score, iid=iid).to_dict() == first.to_dict()
    assert ps.check(draws, normal_score, iid=iid, rng=0).to_dict() == first.to_dict()
    # P-values of its parts are no fractions: two runs of other flips never agree in all of them.
    results = [ps.check(draws, normal_score, iid=iid, rng=None) for _ in range(2)]
    shown = [[p.pvalue for p in r.evidence.parts if p.name in OF_FLIPS] for r in results]
    assert sorted(shown[0]) != sorted(shown[1])


def test_the_verdict_hangs_on_rng_alone() -> None:
    draws = 1.02 * chains()
    first = ps.check(draws, normal_score, rng=1)
    assert ps.check(draws, normal_score, rng=1).to_dict() == first.to_dict()
    results = [ps.check(draws, normal_score, rng=rng) for rng in range(5)]
    assert len({arm_pvalue(result, FLIPS) for result in results}) > 1
    # On chains only the flips are random.
    assert len({arm_pvalue(result, TRAINED) for result in results}) == 1
    assert len({arm_pvalue(result, AGREEMENT) for result in results}) == 1


def test_independent_rows_are_split_by_rng() -> None:
    draws = chains(1, 2000, memory=0.0)[0]
    first = ps.check(draws, normal_score, iid=True, rng=1)
    other = ps.check(draws, normal_score, iid=True, rng=2)
    assert [part.z for part in other.evidence.parts] != [part.z for part in first.evidence.parts]
    assert first.settings == {"iid": True}
    assert (first.n_train, first.n_gap, first.n_test) == (1000, 0, 1000)
    assert arm_names(first) in ([FLIPS, TRAINED], [TRAINED, FLIPS])
    assert first.diagnostics is None
    # Those of the test rows that the leading witness was judged on.
    assert first.ess == 1000.0


def test_p_values_of_flips_fall_below_a_five_hundredth() -> None:
    """1/500 over a share of 0.836 would be 0.0024. Flips go on where no other arm is as sure."""
    found = []
    for seed in range(8):
        draws = autoregressive(np.random.default_rng(seed), 4, 1000, 8, 0.5) + 0.07
        result = ps.check(draws, normal_score)
        if arm_pvalue(result, TRAINED) > 0.001:
            found.append(arm_pvalue(result, FLIPS))
    assert min(found) * (1.0 + 1e-9) >= 1.0 / 20_000.0 / 0.836
    assert min(found) < 0.001


def test_flips_do_not_go_on_where_another_arm_has_reached_the_level() -> None:
    """One chain a little elsewhere: its p-value is below all levels, and 500 flips are enough."""
    draws = chains()
    draws[2] += 0.6
    result = ps.check(draws, normal_score)
    assert result.pvalue == arm_pvalue(result, AGREEMENT) < 0.001
    flips = arm_pvalue(result, FLIPS) * 0.836 * 500.0
    assert arm_pvalue(result, FLIPS) < 1.0
    assert flips == pytest.approx(round(flips), abs=1e-6)


def test_chains_too_far_apart_are_not_flipped() -> None:
    """One chain of four elsewhere: R-hat is above 1.2, and the chains' agreement decides."""
    draws = chains()
    draws[2] += 3.0
    with pytest.warns(ps.LowESSWarning, match=r"left x\[0\], x\[1\], x\[2\] out"):
        result = ps.check(draws, normal_score)
    assert result.pvalue == arm_pvalue(result, AGREEMENT) < 0.001
    assert result.verdict == "rejected"
    reasons = {one.name: one.reason for one in result.evidence.abstained}
    assert "every coordinate is too slow, or too different from chain to chain" in reasons[FLIPS]


# Arms that abstain


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_where_everybody_abstains_the_verdict_is_inconclusive() -> None:
    result = ps.check(chains(1, 12, memory=0.0), normal_score)
    assert result.evidence.arms == ()
    assert {one.name for one in result.evidence.abstained} == {FLIPS, TRAINED, AGREEMENT}
    assert (result.pvalue, result.statistic) == (1.0, 0.0)
    assert result.verdict == "inconclusive"
    assert not result.rejected(0.05)
    text = " ".join(result.reasons)
    assert "The sign flips did not judge" in text
    assert "The trained witnesses did not judge" in text
    assert "inconclusive" in str(result).lower()
    assert (result.n_train, result.n_test) == (6, 6)


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_an_arm_that_abstains_leaves_the_others_their_shares() -> None:
    few = ps.check(chains(1, 30, memory=0.0)[0], normal_score, iid=True)
    assert arm_names(few) == [TRAINED]
    assert [one.name for one in few.evidence.abstained] == [FLIPS]
    assert sum(part.level_share for part in few.evidence.parts) == pytest.approx(0.12)
    assert few.verdict == "inconclusive"
    slow = ps.check(chains(4, 100, memory=0.8), normal_score)
    assert arm_names(slow) == [FLIPS]
    assert {one.name for one in slow.evidence.abstained} == {TRAINED, AGREEMENT}
    assert sum(part.level_share for part in slow.evidence.parts) == pytest.approx(0.836)
    assert slow.verdict in ("inconclusive", "rejected")


@pytest.mark.parametrize(
    ("shape", "rho"),
    [((8, 31, 2), 0.9), ((4, 30, 2), 0.9), ((4, 31, 3), 0.0), ((15, 31, 2), 0.0), ((1, 31, 1), 0)],
)
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_chains_too_short_to_show_their_memory_are_not_judged(
    shape: tuple[int, int, int], rho: float
) -> None:
    """Fewer than eight batches of four rows a chain: what is not known is not taken for nothing."""
    for seed in range(3):
        draws = autoregressive(np.random.default_rng(seed), *shape, rho)
        result = ps.check(draws + 5.0, normal_score)
        reasons = {one.name: one.reason for one in result.evidence.abstained}
        assert {FLIPS, TRAINED} <= set(reasons)
        assert "too short to tell how long they remember" in reasons[FLIPS]
        assert "too short to train on a part of them and to test another" in reasons[TRAINED]
        assert {arm.name for arm in result.evidence.arms} <= {AGREEMENT}
        assert result.verdict == "inconclusive"
        assert any("The sign flips did not judge" in reason for reason in result.reasons)
        assert any("The trained witnesses did not judge" in reason for reason in result.reasons)


def test_chains_of_eight_batches_show_their_memory() -> None:
    result = ps.check(chains(4, 32, memory=0.0) + 1.0, normal_score)
    assert arm_pvalue(result, FLIPS) < 0.01


def test_the_agreement_of_weighted_chains_is_no_reason_for_doubt() -> None:
    """Nobody can compare them; the two others have judged."""
    sample = ps.Sample(chains(), normal_score, log_weights=np.zeros((4, 1000)))
    result = ps.check(sample)
    assert [one.name for one in result.evidence.abstained] == [AGREEMENT]
    assert (result.verdict, result.reasons) == ("not rejected", ())


@pytest.mark.parametrize("shape", [(4, 8, 2), (2, 8, 1), (1, 30, 1), (4, 9, 3), (32, 4, 2)])
@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
def test_few_draws_are_never_not_rejected_unless_chains_are_many(shape: Any) -> None:
    draws = np.random.default_rng(1).standard_normal(shape)
    result = ps.check(draws, normal_score)
    assert 0.0 < result.pvalue <= 1.0
    if shape[0] * shape[1] < 100:
        assert result.verdict != "not rejected"
        assert result.reasons


# Slow coordinates


def with_a_slow_coordinate(rho: float, names: bool = True) -> ps.Sample:
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((4, 1000, 3))
    draws[..., 1] = autoregressive(rng, 4, 1000, 1, rho)[..., 0]
    return ps.Sample(draws, -draws, names=["mu", "tau", "nu"] if names else None)


def test_a_coordinate_left_out_is_named() -> None:
    with pytest.warns(ps.LowESSWarning, match="^the sign flips left tau out: too slow") as caught:
        result = ps.check(with_a_slow_coordinate(0.99))
    assert [item.filename for item in caught] == [__file__]
    (message,) = result.warnings
    assert message.startswith("the sign flips left tau out")
    assert "run the sampler longer" in message
    flips = result.evidence.arm(FLIPS)
    assert flips is not None
    assert not any("tau" in part.coordinates for part in flips.parts)
    assert result.verdict != "not rejected"
    assert any("tau" in reason for reason in result.reasons)
    assert result.ess < 100.0


def test_a_coordinate_that_is_slow_but_worth_enough_is_judged() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ps.check(with_a_slow_coordinate(0.8))
    assert result.warnings == ()


def test_many_coordinates_left_out_are_named_in_part() -> None:
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((4, 1000, 9))
    draws[..., 1:8] = autoregressive(rng, 4, 1000, 7, 0.99)
    with pytest.warns(ps.LowESSWarning) as caught:
        ps.check(draws, normal_score)
    (message,) = [str(item.message) for item in caught]
    assert message.startswith("the sign flips left x[1], x[2], x[3], x[4], x[5], ... out: ")


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_fault_of_a_fast_coordinate_is_found_beside_a_slow_one() -> None:
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        draws = rng.standard_normal((4, 1000, 3))
        draws[..., 1] = autoregressive(rng, 4, 1000, 1, 0.99)[..., 0]
        draws[..., 0] += 0.15
        found += ps.check(draws, normal_score).pvalue <= 0.05
    assert found >= 9


# Chains that differ


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_frozen_chain_is_named() -> None:
    draws = chains()
    draws[2] = draws[2, :1]
    result = ps.check(draws, normal_score)
    assert result.verdict == "rejected"
    agreement = result.evidence.arm(AGREEMENT)
    assert agreement is not None
    assert "chain 2" in agreement.leading.words
    assert agreement.pvalue <= 0.05


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_start_far_away_is_named() -> None:
    draws = chains()
    draws[:, :200] += 8.0
    result = ps.check(draws, normal_score)
    assert result.verdict == "rejected"
    agreement = result.evidence.arm(AGREEMENT)
    assert agreement is not None
    assert agreement.pvalue <= 0.05


def test_one_coordinate_of_chains() -> None:
    result = ps.check(chains(4, 500, 1, 0.5), normal_score)
    named = [part.name for part in result.evidence.parts]
    assert not any("pairs" in name for name in named)
    assert result.pvalue > 0.05
    assert ps.check(chains(4, 500, 1, 0.5) + 0.4, normal_score).verdict == "rejected"


@pytest.mark.parametrize("iid", [False, True])
def test_a_constant_coordinate_is_refused(iid: bool) -> None:
    draws = chains(1, 400)[0] if iid else chains(4, 100)
    draws[..., 1] = 2.5
    with pytest.raises(DegenerateError, match="coordinate 1 is constant"):
        ps.check(draws, normal_score, iid=iid)


# Many chains


@pytest.fixture
def batches_seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many batches the flips have had, and at how many lengths."""
    seen: list[tuple[int, int]] = []

    def spy(sums: BatchSums, *args: Any, **options: Any) -> Any:
        seen.append((sums.count, len(sums.joinings)))
        assert sums.memory_is_known
        return flip_signs(sums, *args, **options)

    monkeypatch.setattr(check_module, "flip_signs", spy)
    return seen


@pytest.mark.parametrize(
    ("count", "rows", "batches", "lengths"),
    [
        (MANY_CHAINS - 1, 100, 248, 2),
        (MANY_CHAINS, 100, 32, 1),
        (60, 100, 60, 1),
        # Half as many are enough if they are short.
        (16, 16, 16, 1),
        (16, 63, 16, 1),
        (16, 64, 256, 3),
        (15, 63, 225, 2),
    ],
)
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_many_chains_are_their_own_batches(
    count: int, rows: int, batches: int, lengths: int, batches_seen: list[tuple[int, int]]
) -> None:
    result = ps.check(chains(count, rows, 2, 0.0), normal_score)
    assert batches_seen == [(batches, lengths)]
    if batches == count:
        # Whole chains train then, and need no gap.
        assert result.n_gap == 0
        assert result.n_train == count // 2 * rows
        assert result.n_test == (count - count // 2) * rows


def test_sixteen_short_chains_are_judged() -> None:
    """By their independence: 16 rows each say nothing of what they remember."""
    result = ps.check(chains(16, 16, 2, 0.0), normal_score)
    assert FLIPS in arm_names(result)
    off = ps.check(chains(16, 16, 2, 0.0) + 0.7, normal_score)
    assert off.verdict == "rejected"
    assert arm_pvalue(off, FLIPS) <= 0.05


def test_independent_rows_are_never_joined(batches_seen: list[tuple[int, int]]) -> None:
    """Not even rows that would show a memory; the same rows as a chain are."""
    draws = chains(1, 2000, 2, 0.9)[0]
    ps.check(draws, normal_score, iid=True)
    ps.check(draws, normal_score)
    assert batches_seen == [(250, 1), (256, 7)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_slow_radius_is_inconclusive_wherever_rows_are_kept(seed: int) -> None:
    """White signs: means are fast, and only ranks of distances from the median are slow."""
    draws = slow_radius(np.random.default_rng(seed), 4, 2000, 2, memory=0.997)
    lazy = MinimalSource([(chain, -chain) for chain in draws], time_ordered=True)
    for source in (ps.Sample(draws, -draws), lazy):
        result = ps.check(source)
        assert result.pvalue > 0.05
        assert result.verdict == "inconclusive"
        assert any("R-hat" in reason for reason in result.reasons)
        assert any("Too few effective draws" in reason for reason in result.reasons)
        assert result.ess < 100.0
    # Clean chains are not.
    clean = slow_radius(np.random.default_rng(seed), 4, 2000, 2, memory=0.5)
    lazy = MinimalSource([(chain, -chain) for chain in clean], time_ordered=True)
    assert ps.check(lazy).reasons == ps.check(clean, normal_score).reasons == ()


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_many_slow_chains_are_judged_by_their_independence() -> None:
    """40 chains of AR(.95), shorter than what they remember twice over."""
    rejected = 0
    for seed in range(60):
        draws = autoregressive(np.random.default_rng(seed), 40, 50, 2, 0.95)
        rejected += ps.check(draws, normal_score).pvalue <= 0.05
    assert binomtest(rejected, 60, 0.07, alternative="greater").pvalue > 0.01


def test_one_row_that_outweighs_all_others_decides_nothing() -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    log_weights = np.zeros(400)
    log_weights[7] = 40.0
    sample = ps.Sample(draws, normal_score, log_weights=log_weights)
    with pytest.raises(DegenerateError, match="effective test rows"):
        ps.check(sample, iid=True, rng=0)
    # That row trains, and the others test what it taught.
    result = ps.check(sample, iid=True, rng=1)
    assert arm_names(result) == [TRAINED]
    assert result.pvalue > 0.01
    assert result.verdict == "inconclusive"


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("size", [1e20, 1e80])
def test_one_huge_score_does_not_make_the_p_value_0(size: float) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    scores = -draws
    scores[5] *= size
    for iid in (True, False):
        assert 1.0 / 500.0 <= ps.check(draws, scores, iid=iid, rng=0).pvalue <= 1.0


@pytest.mark.parametrize("iid", [False, True])
@pytest.mark.parametrize("row", [0, 201, 399])
def test_one_huge_draw_is_warned_about(row: int, iid: bool) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 1))
    draws[row] = 1e6
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = ps.check(draws, normal_score, iid=iid, rng=1)
    assert "one row of `draws` makes up 100% of the variance" in result.warnings[0]
    assert result.pvalue > 0.0


@pytest.mark.parametrize("row", [5, 201, 399])
def test_draws_beyond_the_range_of_their_features_are_refused(row: int) -> None:
    draws = np.random.default_rng(5).standard_normal((400, 1))
    draws[row] = 1e160
    with pytest.raises(ScaleError):
        ps.check(draws, normal_score, rng=1)


def test_weights_in_one_corner_are_no_obstacle() -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    log_weights = np.full(400, -np.inf)
    log_weights[:100] = 0.0
    sample = ps.Sample(draws, normal_score, log_weights=log_weights)
    assert 0.0 < ps.check(sample, iid=True, rng=0).pvalue <= 1.0


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_a_product_that_remembers_longer_than_its_factors_is_seen() -> None:
    """Exact draws of N(0, I) whose coordinates are independent in time, but not their product."""
    rejections = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        signs = np.cumprod(np.where(rng.random(1000) < 0.02, -1.0, 1.0))
        draws = rng.standard_normal((1000, 2))
        draws[:, 1] = np.abs(draws[:, 1]) * np.sign(draws[:, 0]) * signs
        rejections += ps.check(draws, normal_score, rng=seed).pvalue <= 0.05
    # A size of 0.05 gives more than 8 of 60 in 0.6 % of the cases; it was 0.24 once.
    assert rejections <= 8


def test_two_dimensions_are_one_chain() -> None:
    draws = chains(1, 3000)
    flat, one = (ps.check(given, normal_score, rng=0) for given in (draws[0], draws))
    assert flat.statistic == one.statistic
    assert flat.pvalue == one.pvalue
    assert flat.settings == one.settings == {"iid": False}


@pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
@pytest.mark.parametrize(("count", "rows"), [(1, 2000), (2, 1000), (4, 700), (50, 100)])
def test_counts_of_rows(count: int, rows: int) -> None:
    result = ps.check(chains(count, rows), normal_score, rng=0)
    assert result.n_train + result.n_gap + result.n_test == count * rows
    assert result.n_train == count * rows // 2
    assert result.n_gap % count == 0
    assert result.n_gap <= result.n_test
    assert 0.0 < result.pvalue <= 1.0
    # That of AR(.5) is a third of the rows.
    assert 0.15 * count * rows < result.ess < 0.6 * count * rows


def test_the_gap_grows_with_the_memory() -> None:
    """Sums over three seeds of chains each."""
    gaps = [
        sum(
            ps.check(
                autoregressive(np.random.default_rng(seed), 4, 1000, 6, memory), normal_score
            ).n_gap
            for seed in range(3)
        )
        for memory in (0.0, 0.8, 0.95)
    ]
    assert gaps[0] < gaps[1] < gaps[2]


def test_scores_their_function_and_a_sample_agree() -> None:
    draws = chains(2, 600)
    expected = ps.check(draws, -draws, rng=0)
    result = ps.check(draws, normal_score, rng=0)
    for part, wanted in zip(result.evidence.parts, expected.evidence.parts, strict=True):
        assert part.z == pytest.approx(wanted.z, rel=1e-9)
    assert (result.n_gap, result.n_test) == (expected.n_gap, expected.n_test)
    sample = ps.Sample(draws, -draws, names=["a", "b", "c"])
    assert ps.check(sample, rng=0).pvalue == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("iid", [False, True])
def test_units_and_the_order_of_coordinates_do_not_matter(iid: bool) -> None:
    draws = chains(1, 2000)[0] if iid else chains()
    units, origin = np.array([1e-8, 50.0, -3e6]), np.array([1e-7, -500.0, 1e7])
    here = ps.check(draws, -draws, iid=iid, rng=0)
    agreement = {
        part.name for arm in here.evidence.arms if arm.name == AGREEMENT for part in arm.parts
    }
    turned = [2, 0, 1]
    for moved, scores in (
        (draws * units + origin, -draws / units),
        (draws[..., turned], -draws[..., turned]),
    ):
        there = ps.check(moved, scores, iid=iid, rng=0)
        assert there.pvalue == pytest.approx(here.pvalue, rel=1e-7)
        assert there.ess == pytest.approx(here.ess, rel=1e-7)
        assert there.n_gap == here.n_gap
        for part, wanted in zip(there.evidence.parts, here.evidence.parts, strict=True):
            assert part.name == wanted.name
            # Draws and their scores differ from their late means alike: either may be named.
            assert part.words == wanted.words or part.name in agreement
            assert part.z == pytest.approx(wanted.z, rel=1e-6)
            assert part.level_share == wanted.level_share


def test_inputs_are_left_alone() -> None:
    draws = chains()
    scores, log_weights = -draws, np.zeros((4, 1000))
    copies = [array.copy() for array in (draws, scores, log_weights)]
    ps.check(ps.Sample(draws, scores, log_weights=log_weights), rng=0)
    for array, copy in zip((draws, scores, log_weights), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            lambda draws: draws * np.array([1.0, 1.0, 1.2]),
            "spread along a direction, mainly `c` (trace of square: sum, all rows)",
        ),
        (
            lambda draws: draws + 0.5 * draws[:, [1, 0, 0]] * [1.0, 0.0, 0.0] / 1.25**0.5,
            "spread along a direction, mainly `a` + 0.8 `b` (trace of square: sum, all rows)",
        ),
        (lambda draws: draws + 0.15, "location of all coordinates together (score: sum, all rows)"),
    ],
)
def test_a_fault_is_found_and_placed(fault: Callable[[Array], Array], words: str) -> None:
    draws = fault(chains(1, 2000, memory=0.0)[0])
    result = ps.check(ps.Sample(draws, -draws, names=["a", "b", "c"]), iid=True, rng=0)
    assert result.pvalue < 0.01
    assert result.statistic > 2.0
    assert found_words(result) == words
    assert found_words(result) in str(result).replace("\n           ", " ")
    assert set(arm_names(result)) == {FLIPS, TRAINED}


def test_a_fault_of_chains_is_found() -> None:
    result = ps.check(1.3 * chains(memory=0.9, rows=2000), normal_score, rng=0)
    assert result.pvalue < 1e-2


def test_a_score_that_is_constant_is_judged() -> None:
    """Exp(1) on its own scale: the score is -1, and no density on the line has that."""
    draws = np.random.default_rng(0).exponential(size=(2, 500, 2))
    with pytest.warns(ps.ScoreWarning, match="the same at all draws"):
        result = ps.check(draws, -np.ones_like(draws), rng=0)
    assert result.pvalue < 0.01


@pytest.mark.parametrize("weight", [0.0, 700.0])
def test_weighted_chains(weight: float) -> None:
    """Equal weights change nothing; the weights' effective size is reported."""
    draws = chains()
    plain = ps.check(draws, normal_score, rng=0)
    sample = ps.Sample(draws, normal_score, log_weights=np.full((4, 1000), weight))
    result = ps.check(sample, rng=0)
    assert result.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    assert result.evidence.estimates == {"weights_ess": pytest.approx(4000.0)}
    assert plain.evidence.estimates == {}


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("rows", [200, 1000])
def test_weighted_draws_are_worth_no_more_than_their_weights(rows: int) -> None:
    """And a few rows that hold all the weight are never called "not rejected"."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((4, rows, 2))
    for spread in (1.0, 2.5):
        sample = ps.Sample(draws, -draws, log_weights=spread * rng.standard_normal((4, rows)))
        result = ps.check(sample)
        weights_ess = result.evidence.estimates["weights_ess"]
        assert result.ess <= 1.05 * weights_ess
        assert result.verdict != "not rejected" or weights_ess >= 100.0


def test_weights_right_what_they_were_made_to() -> None:
    draws = 1.25 * chains(memory=0.8, rows=2000)
    log_weights = -0.5 * (1.0 - 1.25**-2) * np.sum(draws**2, axis=-1)
    assert ps.check(draws, normal_score, rng=0).pvalue < 1e-2
    assert ps.check(ps.Sample(draws, normal_score, log_weights=log_weights), rng=0).pvalue > 0.05


# Warnings


def test_few_effective_draws_leave_the_question_open() -> None:
    result = ps.check(chains(memory=0.97), normal_score)
    assert result.ess < 100.0
    assert result.verdict != "not rejected"
    assert any("Too few effective draws" in reason for reason in result.reasons)


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
@pytest.mark.parametrize("rho", [0.99, 0.999])
def test_chains_that_hardly_move_are_no_error(rho: float) -> None:
    result = ps.check(chains(4, 500, memory=rho), normal_score)
    assert result.verdict != "not rejected"
    assert result.reasons


# Errors


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="`scores` must be an array"):
        ps.check(chains())
    with pytest.raises(InputError, match="`draws` must have more rows for BlockSplit"):
        ps.check(chains(1, 3), normal_score)
    with pytest.raises(DegenerateError):
        ps.check(np.ones((2, 100, 2)), normal_score)
