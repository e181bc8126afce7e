"""Weighted draws in `check`."""

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError
from tests.methods.check.answers import AGREEMENT, TRAINED, arm_names, chains, normal_score


def test_the_agreement_of_weighted_chains_is_no_reason_for_doubt() -> None:
    """Nobody can compare them; the two others have judged."""
    sample = ps.Sample(chains(), normal_score, log_weights=np.zeros((4, 1000)))
    result = ps.check(sample)
    assert [one.name for one in result.evidence.abstained] == [AGREEMENT]
    assert (result.verdict, result.reasons) == ("not rejected", ())


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


def test_weights_in_one_corner_are_no_obstacle() -> None:
    draws = np.random.default_rng(5).standard_normal((400, 3))
    log_weights = np.full(400, -np.inf)
    log_weights[:100] = 0.0
    sample = ps.Sample(draws, normal_score, log_weights=log_weights)
    assert 0.0 < ps.check(sample, iid=True, rng=0).pvalue <= 1.0


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


@pytest.mark.parametrize("lost", [[3], [0, 1, 2]])
def test_chains_without_weight_count_for_nothing(lost: list[int]) -> None:
    """R-hat and ESS are those of the other chains, and nothing is NaN."""
    draws, log_weights = chains(memory=0.5), np.zeros((4, 1000))
    log_weights[lost] = -np.inf
    found = ps.check(ps.Sample(draws, normal_score, log_weights=log_weights), rng=0)
    kept = [chain for chain in range(4) if chain not in lost]
    alone = ps.Sample(draws[kept], normal_score, log_weights=log_weights[kept])
    expected = ps.check(alone, rng=0)
    assert 0.0 < found.pvalue <= 1.0
    assert found.ess > 100.0
    assert found.diagnostics is not None
    assert expected.diagnostics is not None
    own, other = found.diagnostics.draws.worst_known(), expected.diagnostics.draws.worst_known()
    assert own.rhat == pytest.approx(other.rhat, abs=0.01)
