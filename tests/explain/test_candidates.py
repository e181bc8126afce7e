"""Designs of single coordinates where there are too few rows for the scores of all."""

from collections.abc import Sequence

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.explain import candidates
from polystein.explain.candidates import NeighboursDesign, coordinate_candidates
from polystein.explain.designs import CoordinateDesign, PairDesign, Seen
from polystein.explain.estimates import Candidate, Estimate, Quantity, Rows, first_look


def test_a_design_among_few_is_that_of_the_few() -> None:
    rng = np.random.default_rng(0)
    draws, scores = rng.standard_normal((2, 30, 6))
    few = (1, 3, 4)
    seen, among = Seen(draws, scores, draws), Seen(draws[:, few], scores[:, few], draws)
    for inner in (CoordinateDesign(3, 1), PairDesign(3, 0, 2)):
        design = NeighboursDesign(inner, few)
        columns = inner.columns(among)
        assert design.columns(seen) == pytest.approx(columns)
        assert design.values_of(seen) == pytest.approx(inner.values_of(among))
        coefficients = rng.standard_normal((columns.shape[1], 2))
        assert design.combined(seen, coefficients) == pytest.approx(columns @ coefficients)
        assert (design.cuts, design.functions) == (inner.cuts, inner.functions)


def test_neighbours_are_those_whose_scores_say_most() -> None:
    d = 40
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    draws = np.random.default_rng(1).standard_normal((200, d)) @ np.linalg.cholesky(covariance).T
    rows = Rows.of(ps.Sample(draws, -draws @ np.linalg.inv(covariance)))
    look, wanted = first_look(rows), Quantity("sd", (20,))
    design = coordinate_candidates(rows, look, [wanted])[wanted].fit.design
    assert isinstance(design, NeighboursDesign)
    assert {18, 19, 20, 21, 22} <= set(design.coordinates)
    assert len(design.coordinates) == 200 // 16


def test_a_wrong_sd_is_found_in_more_dimensions_than_rows() -> None:
    draws = np.random.default_rng(2).standard_normal((200, 210))
    draws[:, 7] *= 1.8
    row = ps.effects(draws, -draws, iid=True).rows[0]
    assert (row.name, row.what, row.found) == ("x[7]", "sd", True)
    assert row.reliable
    assert row.lower <= 1.8 <= row.upper


@pytest.mark.parametrize("smaller_is_calm", [True, False])
def test_what_is_noisier_than_the_average_gives_way_to_a_smaller_fit(
    smaller_is_calm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = np.random.default_rng(3).standard_normal((2000, 3))
    rows = Rows.of(ps.Sample(draws, -draws - 0.2 * draws**3))
    look, wanted = first_look(rows), Quantity("sd", (0,))
    small = coordinate_candidates(rows, look, [wanted])
    large = candidates.joint_candidates(rows, look.frame, [wanted])
    monkeypatch.setattr(candidates, "improved", lambda *_: large)
    real = candidates.estimated

    def noisy(rows: Rows, frame: Frame, chosen: Sequence[Candidate]) -> list[Estimate]:
        calm = chosen[0] is small[wanted] and smaller_is_calm
        factor = 1.0 if calm else 1e3
        return [
            one._replace(corrected_se=factor * one.corrected_se)
            for one in real(rows, frame, chosen)
        ]

    monkeypatch.setattr(candidates, "estimated", noisy)
    (found,) = candidates.best_estimates(rows, look.frame, small)
    assert found.candidate is (small if smaller_is_calm else large)[wanted]
