"""What gets a closer look."""

import numpy as np
import pytest

import polystein as ps
from polystein.explain import screening
from polystein.explain.estimates import Rows, first_look
from polystein.explain.screening import chosen, covariances


def gaussian(n: int, d: int, spoil: np.ndarray | None = None) -> ps.Sample:
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    other = covariance if spoil is None else covariance + spoil
    draws = np.random.default_rng(0).standard_normal((n, d)) @ np.linalg.cholesky(other).T
    return ps.Sample(draws, -draws @ np.linalg.inv(covariance))


def test_the_covariance_of_a_gaussian_target_is_exact() -> None:
    source = gaussian(500, 4)
    look = first_look(Rows.of(source))
    draws, target = covariances(look.products)
    scale = np.ones(4) if look.rough.scale is None else look.rough.scale
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert target * np.outer(scale, scale) == pytest.approx(covariance, abs=1e-6)
    found = np.cov(np.asarray(source.draws).T, bias=True)
    assert draws * np.outer(scale, scale) == pytest.approx(found, abs=1e-9)


def test_few_coordinates_are_all_looked_at() -> None:
    rows = Rows.of(gaussian(300, 4))
    choice = chosen(rows, first_look(rows))
    assert choice.spreads == choice.shapes == (0, 1, 2, 3)
    assert len(choice.pairs) == 6


def test_of_many_pairs_the_one_that_is_off_is_among_those_chosen() -> None:
    spoil = np.zeros((12, 12))
    spoil[3, 9] = spoil[9, 3] = 0.25
    rows = Rows.of(gaussian(1000, 12, spoil))
    choice = chosen(rows, first_look(rows))
    assert len(choice.pairs) == screening.MOST_PAIRS
    assert (3, 9) in choice.pairs


def test_of_many_coordinates_those_that_stand_out_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SPREAD_MULTIPLICATIONS", "SHAPE_MULTIPLICATIONS"):
        monkeypatch.setattr(screening, name, 1.0)
    for name in ("MOST_COORDINATES", "MOST_SHAPES"):
        monkeypatch.setattr(screening, name, 2)
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((2000, 8))
    draws[:, 5] = (rng.standard_gamma(4.0, 2000) - 4.0) / 2.0
    draws[:, 2] *= 1.3
    rows = Rows.of(ps.Sample(draws, -draws))
    choice = chosen(rows, first_look(rows))
    assert 2 in choice.spreads
    assert 5 in choice.shapes
    assert (len(choice.spreads), len(choice.shapes)) == (2, 2)
    assert chosen(rows, first_look(rows), every_spread=True).spreads == tuple(range(8))


def test_the_look_at_shapes_does_not_depend_on_blocks() -> None:
    rows = Rows.of(gaussian(300, 4))
    frame = first_look(rows).frame
    draws, scores = frame.apply(np.asarray(rows.source.draws), np.asarray(rows.source.scores))  # type: ignore[attr-defined]
    second = scores * draws**2 + 2.0 * draws
    third = scores * draws**3 + 3.0 * draws**2
    columns = np.concatenate([second, third], axis=1)
    expected = np.abs(columns.mean(axis=0)) / columns.std(axis=0)
    assert screening._shape_look(rows, frame) == pytest.approx(expected.reshape(2, -1).max(axis=0))
