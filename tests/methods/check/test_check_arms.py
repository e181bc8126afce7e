"""How the arms of `check` share the level: one p-value for all of them."""

import pytest

from polystein.methods.check.check import combined
from polystein.methods.check.statistics import (
    AGREEMENT,
    FLIPS,
    NET,
    SHARES_OF_CHAINS,
    SHARES_OF_ROWS,
    TRAINED,
)
from polystein.results.evidence import Abstention
from tests.results.parts import arm

SHARES = {"flips": 0.7, "trained": 0.2, "agreement": 0.1}


def test_arms_share_the_level() -> None:
    found = [arm("flips", 0.035), arm("trained", 0.03), arm("agreement", 0.02)]
    arms, abstained = combined(found, SHARES)
    assert abstained == ()
    assert [own.name for own in arms] == ["flips", "trained", "agreement"]
    assert [own.pvalue for own in arms] == pytest.approx([0.05, 0.15, 0.2], rel=1e-12)
    assert sum(own.level_share for each in arms for own in each.parts) == pytest.approx(1.0)


def test_the_arm_that_found_most_comes_first() -> None:
    found = [arm("flips", 0.04), arm("trained", 0.001), arm("agreement", 0.0001)]
    arms, _ = combined(found, SHARES)
    assert [own.name for own in arms] == ["agreement", "trained", "flips"]
    assert arms[0].pvalue == pytest.approx(0.001, rel=1e-12)


def test_an_arm_alone_keeps_its_share() -> None:
    silent = Abstention("trained", "too few rows"), Abstention("agreement", "one chain")
    arms, abstained = combined([silent[0], arm("flips", 0.07), silent[1]], SHARES)
    assert arms == (arm("flips", 0.07).with_level_share(0.7),)
    assert arms[0].pvalue == pytest.approx(0.1)
    assert abstained == silent


def test_nobody_may_judge() -> None:
    silent = (Abstention("trained", "too few rows"),)
    assert combined(silent, SHARES) == ((), silent)
    assert combined([], SHARES) == ((), ())


def test_arms_that_found_nothing_have_a_p_value_of_one() -> None:
    arms, _ = combined([arm("flips", 0.9), arm("trained", 0.5)], SHARES)
    assert [own.pvalue for own in arms] == [1.0, 1.0]


@pytest.mark.parametrize("shares", [SHARES_OF_CHAINS, SHARES_OF_ROWS])
def test_the_whole_level_is_shared_out(shares: dict[str, float]) -> None:
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-15)
    assert all(share > 0.0 for share in shares.values())


def test_the_agreement_of_chains_has_a_twentieth_at_most() -> None:
    assert SHARES_OF_CHAINS[AGREEMENT] <= 0.05
    assert set(SHARES_OF_CHAINS) == {FLIPS, TRAINED, AGREEMENT, NET}
    assert set(SHARES_OF_ROWS) == {FLIPS, TRAINED, NET}
