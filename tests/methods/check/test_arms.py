"""How the two arms of `check` share the level: one p-value for both."""

import pytest

from polystein.methods.check.arms import combined
from tests.results.parts import arm


def test_both_arms_share_the_level() -> None:
    flips, trained = arm("flips", 0.04), arm("trained", 0.03)
    arms = combined(flips, trained, 0.8)
    assert [own.name for own in arms] == ["flips", "trained"]
    assert [own.pvalue for own in arms] == pytest.approx([0.05, 0.15], rel=1e-12)
    assert sum(own.level_share for each in arms for own in each.parts) == pytest.approx(1.0)


def test_the_arm_that_found_more_comes_first() -> None:
    arms = combined(arm("flips", 0.04), arm("trained", 0.001), 0.8)
    assert [own.name for own in arms] == ["trained", "flips"]
    assert arms[0].pvalue == pytest.approx(0.005, rel=1e-12)


def test_an_arm_alone_keeps_its_share() -> None:
    flips, trained = arm("flips", 0.04), arm("trained", 0.03)
    assert combined(None, trained, 0.8) == (trained.with_level_share(1.0 - 0.8),)
    assert combined(flips, None, 0.8) == (flips.with_level_share(0.8),)
    assert combined(None, None, 0.8) == ()


def test_two_arms_that_found_nothing_have_a_p_value_of_one() -> None:
    assert [own.pvalue for own in combined(arm("flips", 0.9), arm("trained", 0.5), 0.8)] == [
        1.0
    ] * 2
