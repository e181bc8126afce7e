"""Sums of waves and of pairs of magnitudes in the robust frame, against loops."""

import numpy as np
import pytest

from polystein.data.coordinates import Frame
from polystein.methods.check import sums as module
from polystein.methods.check.batches import cut
from polystein.methods.check.look import robust_frame
from polystein.methods.check.sums import MAGNITUDES, BatchSums
from polystein.stein.basis import LinearAndBounded
from tests.methods.check.standard_rows import chains
from tests.methods.check.trained_rounds import round_of, thinned_of
from tests.reference import check as literal

ROBUST = Frame(np.array([0.2, -0.1, 0.4]), np.array([0.7, 1.2, 0.9]))


@pytest.mark.parametrize("weighted", [False, True])
def test_waves_and_magnitudes_are_the_loops(weighted: bool) -> None:
    sample, standard = chains(2, 45, 3, weighted)
    places = cut(sample.layout, chains=True)
    sums = BatchSums(sample, standard.frame, LinearAndBounded(3), places, (1,), None, ROBUST).take()
    own = (*ROBUST.apply(sample.draws, sample.scores), standard.weights, places.stretches)
    assert sums.waves == pytest.approx(literal.wave_sums(*own), rel=1e-9, abs=1e-9)
    (found,) = sums.pairs(MAGNITUDES)
    assert found == pytest.approx(literal.magnitude_sums(*own), rel=1e-10, abs=1e-10)


def test_waves_of_many_rows_are_those_of_evenly_spaced_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every third row of each chain, however rows are cut into blocks."""
    monkeypatch.setattr(module, "MOST_ROBUST_ROWS", 30)
    sample, standard = chains(2, 45, 3)
    places = cut(sample.layout, chains=True)
    sums = BatchSums(sample, standard.frame, LinearAndBounded(3), places, (), None, ROBUST).take()
    draws, scores = ROBUST.apply(sample.draws, sample.scores)
    chosen = np.zeros(draws.shape[:2])
    chosen[:, ::3] = 1.0
    expected = literal.wave_sums(draws, scores, chosen, places.stretches)
    assert sums.waves == pytest.approx(expected, rel=1e-9, abs=1e-9)
    (found,) = sums.pairs(MAGNITUDES)
    expected = literal.magnitude_sums(draws, scores, chosen, places.stretches)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_pairs_that_do_not_fit_are_summed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, standard = chains(2, 45, 3)
    places = cut(sample.layout, chains=True)
    monkeypatch.setattr(module, "PAIR_NUMBERS", 1)
    sums = BatchSums(sample, standard.frame, LinearAndBounded(3), places, (1,), None, ROBUST).take()
    own = (*ROBUST.apply(sample.draws, sample.scores), None, places.stretches)
    found = np.concatenate(list(sums.pairs(MAGNITUDES)), axis=1)
    assert found == pytest.approx(literal.magnitude_sums(*own), rel=1e-10, abs=1e-10)


def test_the_robust_frame_is_the_median_and_the_central_two_thirds() -> None:
    sample, _ = chains(2, 400, 3)
    rows = sample.draws.reshape(-1, 3)
    frame = robust_frame(thinned_of(sample), round_of(sample).frame_of_all())
    assert frame.centre is not None
    assert frame.scale is not None
    assert frame.centre == pytest.approx(np.median(rows, axis=0), abs=0.02)
    inside = np.abs(rows - frame.centre) <= frame.scale
    assert inside.mean(axis=0) == pytest.approx(0.6827, abs=0.005)
