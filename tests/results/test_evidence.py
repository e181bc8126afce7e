"""Parts of an arm and their shares of the level and of the evidence; evidence as plain data."""

import json
import math

import pytest
from scipy.stats import norm

from polystein.results.evidence import (
    Abstention,
    Contribution,
    Evidence,
    Part,
    evidence_shares,
)
from tests.results.parts import arm, part

# Parts and arms


def test_a_part_answers_for_its_share() -> None:
    assert part(0.01, 0.25).adjusted == 0.04
    assert part(0.5, 0.25).adjusted == 1.0


@pytest.mark.parametrize("pvalue", [1e-20, 0.002, 0.3, 0.9])
def test_the_z_of_a_part_is_the_normal_quantile_of_its_p_value(pvalue: float) -> None:
    assert part(pvalue, 0.25).z == pytest.approx(float(norm.isf(pvalue)), rel=1e-10)


def test_a_level_share_divides_the_p_value_and_the_shares() -> None:
    given = arm("flips", 0.03, part(0.01, 0.4), part(0.2, 0.6))
    shared = given.with_level_share(0.5)
    assert shared.pvalue == 0.06
    assert [own.level_share for own in shared.parts] == [0.2, 0.3]
    assert [own.pvalue for own in shared.parts] == [0.01, 0.2]
    assert (shared.name, shared.rows) == (given.name, given.rows)


@pytest.mark.parametrize(("pvalue", "expected"), [(0.4, 0.8), (0.5, 1.0), (0.9, 1.0), (1.0, 1.0)])
def test_a_p_value_stays_at_most_one(pvalue: float, expected: float) -> None:
    assert arm("flips", pvalue).with_level_share(0.5).pvalue == expected


def test_the_leading_part_is_the_one_with_the_least_adjusted_p_value() -> None:
    """A p-value of 0.01 on a twentieth of the level is less than 0.02 on a half of it."""
    parts = part(0.01, 0.05, "first"), part(0.02, 0.5, "second"), part(0.3, 0.45, "third")
    assert arm("flips", 0.04, *parts).leading.name == "second"


# Shares of the evidence


def test_shares_of_the_evidence() -> None:
    """Adjusted p-values of 0.1, 0.01 and 1: one, two and no powers of ten."""
    shares = evidence_shares([part(0.05, 0.5), part(0.0025, 0.25), part(0.9, 0.25)])
    assert shares == pytest.approx([1.0 / 3.0, 2.0 / 3.0, 0.0], rel=1e-12, abs=1e-15)


def test_no_evidence_has_no_shares() -> None:
    assert evidence_shares([part(1.0, 0.5), part(0.8, 0.5)]) == [0.0, 0.0]
    assert evidence_shares([]) == []


def test_a_p_value_of_zero_has_a_finite_share() -> None:
    shares = evidence_shares([part(0.0, 0.5), part(0.05, 0.5)])
    assert all(math.isfinite(share) for share in shares)
    assert sum(shares) == pytest.approx(1.0)
    assert 0.99 < shares[0] < 1.0


# Evidence


def some_evidence() -> Evidence:
    placed = Part("x: max", "spread", ("x",), ("a", "b"), 0.01, 0.3)
    return Evidence(
        arms=(arm("flips", 0.02, placed, part(0.4, 0.7)), arm("trained", 0.5)),
        coordinates=(Contribution("a", 0.75), Contribution("b", -0.25)),
        entries=(Contribution("x[a, b]", 1.0),),
        split_pvalues=(0.1, 0.2),
        estimates={"locations": [[1.0, 2.0]], "multiplier_length": None},
        abstained=(Abstention("agreement", "there is one chain"),),
    )


def test_an_arm_is_found_by_its_name() -> None:
    evidence = some_evidence()
    assert evidence.arm("trained") == evidence.arms[1]
    assert evidence.arm("bandwidths") is None


def test_the_parts_are_those_of_all_arms() -> None:
    evidence = some_evidence()
    assert evidence.parts == (*evidence.arms[0].parts, *evidence.arms[1].parts)
    assert Evidence().parts == ()


@pytest.mark.parametrize("evidence", [Evidence(), some_evidence()], ids=["none", "some"])
def test_evidence_comes_back_from_json(evidence: Evidence) -> None:
    again = Evidence.from_dict(json.loads(json.dumps(evidence.to_dict())))
    assert again == evidence
    assert all(type(own.coordinates) is type(own.orders) is tuple for own in again.parts)


def test_evidence_of_before_arms_could_abstain_is_read() -> None:
    values = some_evidence().to_dict()
    del values["abstained"]
    assert Evidence.from_dict(values).abstained == ()
