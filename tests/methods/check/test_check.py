"""The one call for users, and who is warned of what."""

import numpy as np
import pytest
from scipy.stats import norm

import polystein as ps
from polystein.errors import DegenerateError, InputError
from polystein.methods.check.batches import cut
from polystein.methods.check.check import USUAL_LEVELS
from polystein.methods.check.flips import flip_signs
from polystein.methods.check.look import robust_frame
from polystein.methods.check.statistics import BASIS, SHARES_OF_CHAINS, TAILS
from polystein.methods.check.sums import BatchSums
from polystein.methods.check.trained import memory_of_training, trained_arm
from polystein.methods.check.witnesses import TrainingSums
from polystein.results.evidence import Arm
from tests.methods.check.answers import (
    AGREEMENT,
    FLIPS,
    NET,
    OF_FLIPS,
    OF_TRAINED,
    TRAINED,
    arm_names,
    arm_pvalue,
    chains,
    normal_score,
)
from tests.methods.check.trained_rounds import round_of, thinned_of
from tests.statistical.samplers import autoregressive


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
    rows = round_of(sample, rng=3)
    batches = cut(sample.layout, chains=True)
    frame = rows.frame_of_all()
    robust = robust_frame(thinned_of(sample), frame)
    sums = BatchSums(sample, frame, BASIS, batches, (1, 3), TAILS, robust)
    training = TrainingSums(sample, rows.partition, BASIS, rows.frame)
    sums.take(training)
    remembered = memory_of_training(rows, sums)
    trained = trained_arm(rows, training, remembered).arm
    assert isinstance(trained, Arm)
    assert arm_pvalue(result, TRAINED) == pytest.approx(
        min(1.0, trained.pvalue / SHARES_OF_CHAINS[TRAINED]), rel=1e-9
    )
    reached = min(arm_pvalue(result, TRAINED), arm_pvalue(result, AGREEMENT))
    levels = [0.8 * level for level in USUAL_LEVELS if level < reached]
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
        NET: "evenly spaced rows",
    }
    assert result.evidence.abstained == ()
    assert result.reasons == ()
    assert result.verdict == "not rejected"
    assert result.diagnostics is not None
    assert result.components == ()
    assert (result.method, result.dimension) == ("check", 3)
    assert result.settings == {"iid": False, "rng": 0}
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
    assert first.settings == {"iid": True, "rng": 1}
    assert (first.n_train, first.n_gap, first.n_test) == (1000, 0, 1000)
    assert set(arm_names(first)) == {FLIPS, TRAINED, NET}
    assert first.diagnostics is None
    # Those of the test rows that the leading witness was judged on.
    assert first.ess == 1000.0


def test_p_values_of_flips_fall_below_a_five_hundredth() -> None:
    """1/500 over a share of 0.8 would be 0.0024. Flips go on where no other arm is as sure."""
    found = []
    for seed in range(8):
        draws = autoregressive(np.random.default_rng(seed), 4, 1000, 8, 0.5) + 0.07
        result = ps.check(draws, normal_score)
        if arm_pvalue(result, TRAINED) > 0.001:
            found.append(arm_pvalue(result, FLIPS))
    assert min(found) * (1.0 + 1e-9) >= 1.0 / 20_000.0 / 0.8
    assert min(found) < 0.001


def test_flips_do_not_go_on_where_another_arm_has_reached_the_level() -> None:
    """One chain a little elsewhere: its p-value is below all levels, and 500 flips are enough."""
    draws = chains()
    draws[2] += 0.6
    result = ps.check(draws, normal_score)
    assert result.pvalue == arm_pvalue(result, AGREEMENT) < 0.001
    flips = arm_pvalue(result, FLIPS) * 0.765 * 500.0
    assert arm_pvalue(result, FLIPS) < 1.0
    assert flips == pytest.approx(round(flips), abs=1e-6)


def test_one_coordinate_of_chains() -> None:
    result = ps.check(chains(4, 500, 1, 0.5), normal_score)
    named = [part.name for part in result.evidence.parts]
    assert not any("pairs" in name for name in named)
    assert result.pvalue > 0.05
    assert ps.check(chains(4, 500, 1, 0.5) + 0.4, normal_score).verdict == "rejected"


def test_two_dimensions_are_one_chain() -> None:
    draws = chains(1, 3000)
    flat, one = (ps.check(given, normal_score, rng=0) for given in (draws[0], draws))
    assert flat.statistic == one.statistic
    assert flat.pvalue == one.pvalue
    assert flat.settings == one.settings == {"iid": False, "rng": 0}


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


# Errors


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="`scores` must be an array"):
        ps.check(chains())
    with pytest.raises(InputError, match="`draws` must have more rows for BlockSplit"):
        ps.check(chains(1, 3), normal_score)
    with pytest.raises(DegenerateError):
        ps.check(np.ones((2, 100, 2)), normal_score)
