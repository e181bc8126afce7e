"""Parts of an arm, their shares of the level, and one p-value for both arms."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from polystein.methods.check.arms import Arm, Part, combine, evidence_shares, upper_normal


def part(pvalue: float, share: float, name: str = "some part") -> Part:
    return Part(name, pvalue, share, ("x",))


def arm(name: str, pvalue: float, *parts: Part) -> Arm:
    return Arm(name, pvalue, parts or (part(pvalue, 1.0),))  # type: ignore[arg-type]


def test_a_part_answers_for_its_share() -> None:
    assert part(0.01, 0.25).adjusted == 0.04
    assert part(0.5, 0.25).adjusted == 1.0


def test_weighting_divides_the_p_value_and_the_shares() -> None:
    weighted = arm("full", 0.03, part(0.01, 0.4), part(0.2, 0.6)).weighted(0.5)
    assert weighted.pvalue == 0.06
    assert [own.share for own in weighted.parts] == [0.2, 0.3]
    assert [own.pvalue for own in weighted.parts] == [0.01, 0.2]
    assert arm("full", 0.9).weighted(0.5).pvalue == 1.8


def test_the_leading_part_is_the_one_with_the_least_adjusted_p_value() -> None:
    """A p-value of 0.01 on a twentieth of the level is less than 0.02 on a half of it."""
    parts = part(0.01, 0.05, "first"), part(0.02, 0.5, "second"), part(0.3, 0.45, "third")
    assert arm("full", 0.04, *parts).leading.name == "second"


def test_both_arms_share_the_level() -> None:
    full, split = arm("full", 0.04), arm("split", 0.03)
    arms = combine(full, split, 0.8)
    assert [own.name for own in arms] == ["full", "split"]
    assert [own.pvalue for own in arms] == pytest.approx([0.05, 0.15], rel=1e-12)
    assert sum(own.share for each in arms for own in each.parts) == pytest.approx(1.0)


def test_the_arm_that_found_more_comes_first() -> None:
    arms = combine(arm("full", 0.04), arm("split", 0.001), 0.8)
    assert [own.name for own in arms] == ["split", "full"]
    assert arms[0].pvalue == pytest.approx(0.005, rel=1e-12)


def test_an_arm_alone_keeps_its_share() -> None:
    full, split = arm("full", 0.04), arm("split", 0.03)
    assert combine(None, split, 0.8) == [split.weighted(1.0 - 0.8)]
    assert combine(full, None, 0.8) == [full.weighted(0.8)]
    assert combine(None, None, 0.8) == []


def test_shares_of_the_evidence() -> None:
    """Adjusted p-values of 0.1, 0.01 and 1: one, two and no powers of ten."""
    shares = evidence_shares([part(0.05, 0.5), part(0.0025, 0.25), part(0.9, 0.25)])
    assert shares == pytest.approx([1.0 / 3.0, 2.0 / 3.0, 0.0], rel=1e-12, abs=1e-15)


def test_no_evidence_has_no_shares() -> None:
    assert evidence_shares([part(1.0, 0.5), part(0.8, 0.5)]) == [0.0, 0.0]


def test_a_p_value_of_zero_has_a_finite_share() -> None:
    shares = evidence_shares([part(0.0, 0.5), part(0.05, 0.5)])
    assert all(math.isfinite(share) for share in shares)
    assert sum(shares) == pytest.approx(1.0)
    assert 0.99 < shares[0] < 1.0


@pytest.mark.parametrize("pvalue", [1e-300, 1e-20, 0.002, 0.3, 0.5, 0.9, 1.0 - 1e-9])
def test_upper_normal_inverts_the_tail(pvalue: float) -> None:
    assert float(upper_normal(pvalue)) == pytest.approx(float(norm.isf(pvalue)), rel=1e-10)


def test_upper_normal_is_finite_at_both_ends() -> None:
    """Below the smallest float and above the largest below 1 nothing is told apart."""
    ends = upper_normal(np.array([0.0, 1.0]))
    assert 37.0 < ends[0] < 38.0
    assert -8.5 < ends[1] < -8.0
    assert float(upper_normal(0.0)) == ends[0]
    assert float(upper_normal(1.0)) == ends[1]
