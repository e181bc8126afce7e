"""Where `check` cannot judge: who abstains, who is named, and what stays open."""

import warnings
from typing import Any

import numpy as np
import pytest

import polystein as ps
from tests.methods.check.answers import (
    AGREEMENT,
    FLIPS,
    NET,
    TRAINED,
    arm_names,
    arm_pvalue,
    chains,
    normal_score,
)
from tests.statistical.samplers import autoregressive


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
    assert {one.name for one in result.evidence.abstained} == {FLIPS, TRAINED, AGREEMENT, NET}
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
    assert [one.name for one in few.evidence.abstained] == [FLIPS, NET]
    assert sum(part.level_share for part in few.evidence.parts) == pytest.approx(0.005)
    assert few.verdict == "inconclusive"
    slow = ps.check(chains(4, 100, memory=0.8), normal_score)
    assert set(arm_names(slow)) == {FLIPS, NET}
    assert {one.name for one in slow.evidence.abstained} == {TRAINED, AGREEMENT}
    assert sum(part.level_share for part in slow.evidence.parts) == pytest.approx(0.945)
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
        assert "too short to tell how long their autocorrelation lasts" in reasons[FLIPS]
        assert "too short to train on a part of them and to test another" in reasons[TRAINED]
        assert {arm.name for arm in result.evidence.arms} <= {AGREEMENT}
        assert result.verdict == "inconclusive"
        assert any("The sign flips did not judge" in reason for reason in result.reasons)
        assert any("The trained witnesses did not judge" in reason for reason in result.reasons)


def test_chains_of_eight_batches_show_their_memory() -> None:
    result = ps.check(chains(4, 32, memory=0.0) + 1.0, normal_score)
    assert arm_pvalue(result, FLIPS) < 0.01


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
