"""From rows to estimates: frames, candidates, and which features are tried."""

import numpy as np
import pytest

import polystein as ps
from polystein.explain import estimates
from polystein.explain.candidates import coordinate_candidates, improved, joint_candidates
from polystein.explain.estimates import (
    Candidate,
    Quantity,
    Rows,
    estimated,
    first_look,
)
from tests.explain.rows import sample, skewed

MEAN, SD = Quantity("mean", (0,)), Quantity("sd", (0,))


def test_the_first_look_finds_centre_and_scale() -> None:
    source = sample()
    look = first_look(Rows.of(source))
    draws = np.asarray(source.draws)
    assert look.frame.centre == pytest.approx(draws.mean(axis=0))
    assert look.frame.scale == pytest.approx(draws.std(axis=0))


def test_a_chain_that_stands_still_at_first_has_a_frame_all_the_same() -> None:
    draws = np.random.default_rng(0).standard_normal((20_000, 2))
    draws[:13_000, 0] = 3.0
    look = first_look(Rows.of(ps.Sample(draws, -draws)))
    assert look.frame.scale == pytest.approx(draws.std(axis=0))


def test_a_constant_coordinate_is_an_error() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 2))
    draws[:, 1] = 3.0
    with pytest.raises(ps.DegenerateError, match="coordinate 1"):
        first_look(Rows.of(ps.Sample(draws, -draws)))


def test_the_same_values_in_one_design_and_in_one_of_all() -> None:
    """Where both explain everything, they agree, whatever law the draws have."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((400, 2)) * [1.5, 0.5] + 0.3
    rows = Rows.of(ps.Sample(draws, -draws))
    look = first_look(rows)
    pair = Quantity("correlation", (0, 1))
    own = coordinate_candidates(rows, look, [MEAN, SD, pair])
    joint = joint_candidates(rows, look.frame, [MEAN, SD, pair])
    for first, second in zip(
        estimated(rows, look.frame, list(own.values())),
        estimated(rows, look.frame, list(joint.values())),
        strict=True,
    ):
        assert first.error == pytest.approx(second.error, abs=1e-6)
        assert first.error_se == pytest.approx(second.error_se, rel=1e-5)
        assert first.candidate.reliability > 0.9999999


def test_products_are_tried_where_features_fall_short(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, scores = skewed(2000)
    turned = draws @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    inverse = np.linalg.inv(np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]))
    rows = Rows.of(ps.Sample(turned, scores @ inverse.T))
    look = first_look(rows)
    quantities = [Quantity("mean", (j,)) for j in range(3)]
    own = coordinate_candidates(rows, look, quantities)
    better = improved(rows, look.frame, own)
    for quantity in quantities:
        assert better[quantity].reliability >= own[quantity].reliability
    assert max(better[q].reliability - own[q].reliability for q in quantities) > 0.0
    monkeypatch.setattr(estimates, "MOST_MULTIPLICATIONS", 1.0)
    assert improved(rows, look.frame, own) is own


def test_without_use_of_features_nothing_is_said_about_the_error() -> None:
    rng = np.random.default_rng(0)
    rows = Rows.of(ps.Sample(rng.standard_normal((300, 2)), rng.standard_normal((300, 2))))
    look = first_look(rows)
    (found,) = estimated(rows, look.rough, [Candidate(MEAN, look.means, (0,))])
    assert found.candidate.reliability == 0.0
    assert (found.error, found.error_se) == (0.0, np.inf)
    assert found.corrected == found.plain
    assert found.corrected_se == found.plain_se


def test_the_unit_of_a_mean_counts_the_more_the_farther_it_is_off() -> None:
    """The mean is explained, its second moment by half; the mean is two sds off."""
    source = sample()
    rows = Rows.of(source)
    candidate = coordinate_candidates(rows, first_look(rows), [MEAN])[MEAN]
    fit = candidate.fit._replace(
        cuts=(4, 4),
        plain=np.array([2.0, 5.0]),
        corrected=np.array([0.0, 1.0]),
        left=np.diag([0.0, 1.0]),
        spread=np.diag([1.0, 2.0]),
        damping=np.zeros(2),
        inflation=np.ones(2),
    )
    candidate = candidate._replace(fit=fit)
    assert candidate.reliability == 1.0
    # The gradient of (mean - E y)/sqrt(E y^2 - (E y)^2) is (-1, -1) there.
    assert candidate.reliability_of_error == pytest.approx(1.0 - 1.0 / 3.0)
    # Of draws that are off, what is left may count more, and so does what a ridge has moved.
    narrow = candidate._replace(fit=fit._replace(inflation=np.array([1.0, 2.5])))
    assert narrow.reliability_of_error == pytest.approx(1.0 - 2.5 / 3.0)
    moved = candidate._replace(fit=fit._replace(damping=np.array([0.1, 0.0])))
    assert moved.reliability == pytest.approx(0.99)
    no_unit = candidate._replace(fit=fit._replace(corrected=np.array([0.0, -1.0])))
    assert no_unit.reliability_of_error == 0.0


def test_matrices_that_do_not_fit_wait_for_another_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows.of(sample())
    look = first_look(rows)
    quantities = [Quantity("sd", (j,)) for j in range(3)]
    at_once = coordinate_candidates(rows, look, quantities)
    monkeypatch.setattr(estimates, "MATRIX_NUMBERS", 1)
    one_by_one = coordinate_candidates(rows, look, quantities)
    for quantity in quantities:
        assert one_by_one[quantity].corrected == pytest.approx(at_once[quantity].corrected)


def test_scores_that_do_not_vary_are_an_error() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 2))
    with pytest.raises(ps.DegenerateError, match="`scores` must vary"):
        ps.effects(draws, np.zeros((100, 2)))
    with pytest.raises(ps.DegenerateError, match="coordinate 1 is constant"):
        ps.expectations(draws, np.column_stack([-draws[:, 0], np.full(100, 3.0)]))


def test_a_handful_of_rows_is_refused() -> None:
    draws = np.random.default_rng(0).standard_normal((400, 2))
    with pytest.raises(ps.DegenerateError, match="at least 20 rows"):
        ps.effects(draws[:19], -draws[:19])
    heavy = ps.Sample(draws, -draws, log_weights=np.where(np.arange(400) < 5, 0.0, -50.0))
    with pytest.raises(ps.DegenerateError, match="effective importance weights"):
        ps.expectations(heavy)


def test_values_of_two_kinds_have_no_spread_and_no_tails_to_judge() -> None:
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    draws[:, 0] = np.where(np.arange(1000) % 2 == 0, 1.0, -1.0)
    table = ps.effects(draws, -draws, iid=True)
    for what in ("sd", "tail"):
        assert "cannot be judged" in table["x[0]", what].sentence
    rows = ps.expectations(draws, -draws, ["sd", "tail"], iid=True)
    assert rows["x[0]", "tail"].upper == np.inf
    result = ps.check(draws, -draws, iid=True, tolerance=0.1)
    assert result.verdict == "rejected"
    assert "Rejected" in str(result)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_chains_that_stand_still_show_nothing(noise: float) -> None:
    """A few points are no sign of what the law of the draws is."""
    rng = np.random.default_rng(3)
    named = 0
    for _ in range(10):
        draws = rng.standard_normal((4, 500, 2))
        draws[:, :, 0] = rng.standard_normal((4, 1)) + noise * rng.standard_normal((4, 500))
        named += any("x[0]" in row.name for row in ps.effects(draws, -draws).found)
    assert named <= 1


@pytest.mark.slow
def test_chains_around_different_means_have_no_tight_intervals() -> None:
    rng = np.random.default_rng(3)
    named = 0
    for _ in range(20):
        draws = rng.standard_normal((4, 1000, 2))
        draws[:, :, 0] = np.sqrt(0.75) * draws[:, :, 0] + 0.5 * rng.standard_normal((4, 1))
        named += any("x[0]" in row.name for row in ps.effects(draws, -draws).found)
    assert named <= 1
