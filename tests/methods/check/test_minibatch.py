"""Scores of minibatches: what is linear in them is judged, the rest is switched off and says so."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from tests.rows import Array
from tests.statistical.samplers import autoregressive

#: What a sample says of its scores.
MINIBATCH = {"minibatch": True}


def chains(scale: float = 1.0, noise: float = 3.0) -> tuple[Array, Array]:
    """Chains of N(0, I), or of another spread, and its scores with fresh noise in every row."""
    rng = np.random.default_rng(4)
    x = scale * autoregressive(rng, 4, 500, 2, 0.5)
    return x, noise * rng.standard_normal(x.shape) - x


def test_the_net_abstains_and_chains_are_compared_by_draws() -> None:
    x, scores = chains()
    result = ps.check(x, scores, minibatch=True)
    assert result.verdict == "not rejected"
    assert [one.name for one in result.evidence.abstained] == ["kernel net"]
    (agreement,) = [arm for arm in result.evidence.arms if arm.name == "agreement of chains"]
    assert {part.orders for part in agreement.parts} == {("x",)}
    assert result.settings == {"iid": False, "minibatch": True, "rng": 0}
    assert result.noticeable == ()


def test_wrong_draws_are_rejected_without_sizes() -> None:
    x, scores = chains(1.4)
    result = ps.check(x, scores, minibatch=True, tolerance=0.1)
    assert result.verdict == "rejected"
    assert result.tolerance == "undecided"
    assert "minibatches" in result.tolerance_reason
    for asked in (lambda: result.effects, result.summary):
        with pytest.raises(ps.DegenerateError, match="scores of all data"):
            asked()
    assert "scores of all data" in str(result)
    for function in (ps.effects, ps.expectations):
        with pytest.raises(ps.DegenerateError, match="scores of all data"):
            function(ps.Sample(x, scores, facts=MINIBATCH))


def test_a_sample_says_so_itself_and_is_not_changed() -> None:
    x, scores = chains()
    plain, known = ps.Sample(x, scores), ps.Sample(x, scores, facts=MINIBATCH)
    by_option = ps.check(plain, minibatch=True)
    assert not plain.facts.minibatch
    assert ps.check(known).to_dict() == by_option.to_dict()
    assert known.select(thin=2).facts.minibatch
    assert ps.check(plain).settings == {"iid": False, "rng": 0}


@pytest.mark.parametrize("given", [1, "yes", None])
def test_a_flag_is_true_or_false(given: object) -> None:
    x, scores = chains()
    with pytest.raises(ps.InputError, match="`minibatch` must be True or False"):
        ps.check(x, scores, minibatch=given)  # type: ignore[arg-type]
    with pytest.raises(ps.InputError, match="minibatch"):
        ps.Sample(x, scores, facts={"minibatch": given})


def test_comparisons_have_discrepancies_alone() -> None:
    sets = {
        name: ps.Sample(*chains(scale), facts=MINIBATCH)
        for name, scale in (("right", 1.0), ("wide", 1.4))
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ps.compare(sets)
    assert found["right"].rank == (1, 1)
    assert found["wide"].rank == (2, 2)
    for one in found:
        assert (one.means, one.sds, one.mcse, one.reliability) == (None, None, None, 0.0)
        assert len(one.effects.rows) == 0
    assert "right" in str(found)
    assert ps.SamplerComparison.from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_stored_results_of_many_fits_tell_minibatches(tmp_path: Path) -> None:
    x, scores = chains()
    for facts in ({}, MINIBATCH):
        table = ps.check_many({"a": ps.Sample(x, scores, facts=facts)}, store=tmp_path)
        assert table["a"].result.settings == {"iid": False, **facts, "rng": 0}


def test_the_target_does_not_take_noisy_scores() -> None:
    x, _ = chains()
    density = {"log_density": lambda rows: -0.5 * np.sum(rows**2, axis=1)}
    given = [ps.Sample(x, lambda rows: -rows, facts={**density, **own}) for own in ({}, MINIBATCH)]
    known = [one.target for one in given]
    assert [one is not None and one.has_score for one in known] == [True, False]
