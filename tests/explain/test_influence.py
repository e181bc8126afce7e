"""Influence functions equal their formula, with and without leverage."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.explain import influence
from polystein.explain.designs import CoordinateDesign
from polystein.explain.estimates import Rows
from polystein.explain.influence import (
    Combination,
    InfluencePass,
    few_by_disagreement,
    influences,
    influences_of_averages,
    variances,
)
from polystein.inference.longrun import (
    EqualBatches,
    IndependentBatches,
    LongRunVariance,
    lugsail_variance,
)
from tests.explain.rows import frame_of, seen_of, skewed
from tests.reference import corrections as literal

DRAWS, SCORES = skewed(200)
SEEN = seen_of(DRAWS, SCORES)
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2.0, len(DRAWS))


def combination(source: ps.Sample) -> Combination:
    (fit,) = Rows.of(source).fits([CoordinateDesign(3, 0)], frame_of(DRAWS))
    return Combination(fit, np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]]))


@pytest.mark.parametrize("weights", [np.ones(len(DRAWS)), WEIGHTS])
def test_influences_of_average_and_intercept(weights: np.ndarray) -> None:
    one = combination(ps.Sample(DRAWS, SCORES, log_weights=np.log(weights)))
    scaled = weights / weights.max()
    found = influences(one, SEEN, scaled)
    y, cut = SEEN.draws[:, 0], one.fit.cuts[1]
    share = scaled / scaled.sum()
    assert found[:, 0] == pytest.approx(share * (y - share @ y), abs=1e-12)
    features = literal.coordinate_features(SEEN.draws, SEEN.scores, 0)[:, :cut]
    expected = literal.influence(features, y**2, scaled)
    assert found[:, 1] == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_leverage_is_left_out_only_where_it_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    one = combination(ps.Sample(DRAWS, SCORES))
    exact = influences(one, SEEN, np.ones(len(DRAWS)))
    monkeypatch.setattr(influence, "LITTLE_LEVERAGE", 1.0)
    lean = influences(one, SEEN, np.ones(len(DRAWS)))
    assert lean[:, 0] == pytest.approx(exact[:, 0])
    assert np.abs(lean[:, 1]).sum() < np.abs(exact[:, 1]).sum()
    # The two ways agree where the leverage is taken to be 0.
    monkeypatch.setattr(influence, "LITTLE_LEVERAGE", 0.0)
    monkeypatch.setattr(influence, "LEAST_LEFT", 1.0)
    flat = influences(one, SEEN, np.ones(len(DRAWS)))
    assert lean == pytest.approx(flat, abs=1e-10)


def test_sums_over_stretches_give_the_long_run_variance() -> None:
    source = ps.Sample(DRAWS.reshape(4, 50, 3), SCORES.reshape(4, 50, 3))
    one, stretches = combination(source), EqualBatches(source.layout.lengths)
    sums = InfluencePass([one], frame_of(DRAWS), stretches)
    run_pass(source, every_row(source), sums)
    rows = influences(one, SEEN, np.ones(len(DRAWS)))
    index = np.concatenate([stretches.of_rows(chain, 0, 50) for chain in range(4)])
    by_hand = np.stack([rows[index == place].sum(axis=0) for place in range(stretches.total)])
    expected = lugsail_variance(by_hand, stretches)
    found = variances(sums.sums, stretches, ["one", "one"])
    assert found.variance == pytest.approx(expected.variance)
    assert found.df == pytest.approx(expected.df)


def test_variance_of_independent_rows_is_the_sum_of_squares() -> None:
    one = combination(ps.Sample(DRAWS, SCORES))
    stretches = IndependentBatches((len(DRAWS),))
    sums = InfluencePass([one], frame_of(DRAWS), stretches)
    run_pass(ps.Sample(DRAWS, SCORES), every_row(ps.Sample(DRAWS, SCORES)), sums)
    rows = influences(one, SEEN, np.ones(len(DRAWS)))
    found = variances(sums.sums, stretches, ["plain", "corrected"])
    assert found.variance == pytest.approx(np.sum(rows**2, axis=0))
    assert found.df == pytest.approx(2.0 * np.sum(rows**2, axis=0) ** 2 / np.sum(rows**4, axis=0))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_where_features_explain_all_averages_are_all_there_is(weights: np.ndarray | None) -> None:
    draws = 1.3 * np.random.default_rng(0).standard_normal((200, 3))
    log_weights = None if weights is None else np.log(weights / weights.max())
    (fit,) = Rows.of(ps.Sample(draws, -draws, log_weights=log_weights)).fits(
        [CoordinateDesign(3, 0)], frame_of(draws)
    )
    one = Combination(fit, np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert one.exact
    seen, scaled = (
        seen_of(draws, -draws),
        np.ones(200) if weights is None else weights / weights.max(),
    )
    every = influences(one, seen, scaled)
    found = influences_of_averages(one, seen, None if weights is None else scaled)
    assert found[:, 0] == pytest.approx(every[:, one.averages[0]], abs=1e-12)
    assert np.abs(every[:, 1]).max() < 1e-8


def test_an_excess_of_one_property_counts_for_all_of_its_coordinate() -> None:
    """Mean and sd of two coordinates and their correlation, with two columns each."""
    excess = np.array([9.0, 9.0, 1.0, 1.0, 1.0, 50.0, 1.0, 1.0, 1.0, 1.0])
    found = LongRunVariance(np.ones(10), np.full(10, 40.0), excess)
    parts = [["a"], ["a"], ["b"], ["b"], ["a", "b"]]
    raised = few_by_disagreement(found, parts, 4)
    assert raised.variance.tolist() == [1.0, 1.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 9.0, 9.0]
    assert raised.df.tolist() == [3.0, 3.0, 3.0, 3.0, 40.0, 40.0, 40.0, 40.0, 3.0, 3.0]
