"""Wider sets of features, and how far they put a corrected value in doubt."""

import math

import numpy as np
import pytest

import polystein as ps
from polystein.explain.candidates import coordinate_candidates, wider_candidates
from polystein.explain.designs import CoordinateDesign, Design, JointDesign, PairDesign
from polystein.explain.doubt import Doubt
from polystein.explain.estimates import Quantity, Rows, first_look
from polystein.explain.wider import WiderDesign, wider
from tests.explain.rows import frame_of, sample, seen_of, skewed
from tests.reference import corrections as literal

SEEN = seen_of(*skewed(40))


@pytest.mark.parametrize(
    ("design", "about", "pairs"),
    [
        (CoordinateDesign(3, 1), [1], True),
        (CoordinateDesign(3, 1, shape=True), [1], False),
        (PairDesign(3, 0, 2), [0, 2], False),
        (JointDesign(3, (0, 2), ((0, 2),)), [0, 1, 2], True),
    ],
)
def test_features_come_between_those_of_the_design_and_its_functions(
    design: Design, about: list[int], pairs: bool
) -> None:
    wide = wider(design, pairs=pairs)
    columns, own = wide.columns(SEEN), design.columns(SEEN)
    at, end = design.cuts[-1], wide.cuts[-1]
    assert columns[:, :at] == pytest.approx(own[:, :at])
    expected = literal.wider_features(SEEN.draws, SEEN.scores, about, pairs)
    assert columns[:, at:end] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert columns[:, end:] == pytest.approx(own[:, at:])
    assert columns[:, end:] == pytest.approx(wide.values_of(SEEN))
    some = np.random.default_rng(0).standard_normal((columns.shape[1], 2))
    assert wide.combined(SEEN, some) == pytest.approx(columns @ some)


def test_features_have_mean_0_under_the_target() -> None:
    """An expectation by Gauss-Hermite quadrature, of N(0, 1) squared."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    draws = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    each = np.outer(weights, weights).ravel() / (2.0 * math.pi)
    design = wider(CoordinateDesign(2, 0), pairs=True)
    assert isinstance(design, WiderDesign)
    seen = seen_of(draws, -draws)._replace(draws=draws, scores=-draws)
    means = each @ design.columns(seen)[:, 1 : design.cuts[-1]]
    assert means == pytest.approx(np.zeros(design.cuts[-1] - 1), abs=1e-9)


def test_the_widest_fit_uses_all_features() -> None:
    rows = Rows.of(sample(400))
    look, wanted = first_look(rows), Quantity("sd", (0,))
    found = coordinate_candidates(rows, look, [wanted])
    (wide,) = wider_candidates(rows, look.frame, found).values()
    design = wide.fit.design
    assert wide.fit.cuts == (design.cuts[-1],) * 2
    draws, scores = skewed(400)
    y, s = frame_of(draws).apply(draws, scores)
    features = np.column_stack(
        [literal.coordinate_features(y, s, 0), literal.wider_features(y, s, [0], True)]
    )
    value = literal.intercept(features, y[:, 0], np.ones(400))
    assert wide.fit.corrected[0] == pytest.approx(value, abs=1e-4)


def test_r2_is_lowered_by_a_change_and_by_a_reach_beyond_the_value() -> None:
    assert Doubt().lowered(0.97, 0.5, 0.01) == 0.97
    assert Doubt(change=0.02).lowered(0.97, 0.5, 0.01) == 0.97
    assert Doubt(change=0.2).lowered(0.97, 0.5, 0.01) == pytest.approx(0.6)
    assert Doubt(change=0.2).lowered(0.5, 0.5, 0.01) == 0.5
    assert Doubt(change=0.2).lowered(0.97, 0.0, 1.5) == 0.97
    assert Doubt(change=0.009).lowered(0.97, 0.0, 0.0) == 0.97
    assert Doubt(change=2.0).lowered(0.97, 0.5, 0.01) == 0.0
    assert Doubt(margin=1.0).lowered(0.97, 0.5, 0.01) == pytest.approx(0.45)


def test_draws_that_are_too_narrow_of_a_target_with_a_sine_have_no_size() -> None:
    """The issue's target: a right mean of 0.249 was corrected to 0.352, at an R2 of 0.999."""
    grid = np.linspace(-6.0, 6.0, 20_001)
    chances = np.cumsum(np.exp(-(grid**2) / 2 - 0.075 * grid**4 + 0.5 * np.sin(1.5 * grid)))
    right = np.interp(np.random.default_rng(1).random(2000), chances / chances[-1], grid)
    draws = (right.mean() + 0.4 * (right - right.mean()))[:, None]
    scores = -draws - 0.3 * draws**3 + 0.75 * np.cos(1.5 * draws)
    row = ps.expectations(draws, scores, iid=True)["x[0]", "mean"]
    assert math.isnan(row.corrected)
    assert row.reliability < 0.9
    for effect in ps.effects(draws, scores, iid=True).found:
        if not effect.judged:
            expected = "`x[0]` is off; its size and direction cannot be told from the scores"
            assert effect.sentence == expected


def test_gaussian_draws_of_a_gaussian_target_leave_no_doubt() -> None:
    draws = 0.5 * np.random.default_rng(2).standard_normal((1000, 3)) + 0.3
    table = ps.effects(draws, -draws, iid=True)
    assert {row.doubt for row in table} == {0.0}
    assert all(row.judged for row in table)
