"""Directions: chosen on some rows, judged on others."""

import numpy as np
import pytest
from scipy.stats import kstest

import polystein as ps
from polystein.corrections.designs import CoordinateDesign, Seen
from polystein.corrections.estimates import Rows, first_look
from polystein.explain.directions import (
    DirectionDesign,
    PartOfRows,
    along_directions,
    direction_name,
    mean_direction,
    reflection,
    spread_direction,
)

COVARIANCE = 0.95 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
PRECISION = np.linalg.inv(COVARIANCE)
VALUES, VECTORS = np.linalg.eigh(COVARIANCE)
NARROW = VECTORS[:, 0]


def correlated(seed: int, rows: int = 2000) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, 5)) @ np.linalg.cholesky(COVARIANCE).T


def effects(draws: np.ndarray) -> ps.EffectTable:
    return ps.effects(draws, -draws @ PRECISION, iid=True)


def test_a_shift_that_no_coordinate_shows() -> None:
    table = effects(correlated(0) + 0.5 * np.sqrt(VALUES[0]) * NARROW)
    (row,) = table.found
    assert row.what == "direction mean"
    assert abs(row.direction @ NARROW) > 0.95
    assert row.lower <= 0.5 <= row.upper
    assert row.sentence.startswith("the mean along `")
    assert "combination" in table.hint


def test_a_spread_along_a_direction() -> None:
    draws = correlated(1)
    draws += 0.3 * np.multiply.outer(draws @ NARROW, NARROW)
    row = next(row for row in effects(draws) if row.what == "direction sd")
    assert row.found
    assert row.lower <= 1.3 <= row.upper
    assert row.size == pytest.approx(1.3, abs=0.05)
    assert ps.EffectTable.from_dict(effects(draws).to_dict()) == effects(draws)


def test_directions_of_right_draws_are_uniform() -> None:
    """Choice and judgement rest on different rows."""
    found = []
    for seed in range(60):
        draws = correlated(seed, 400)
        rows = Rows.of(ps.Sample(draws, -draws @ PRECISION))
        found += [one.estimate.error / one.estimate.error_se for one in along_directions(rows)]
    assert kstest(found, "norm").pvalue > 0.01


def test_directions_maximise_what_they_say() -> None:
    draws = correlated(2) * [1.0, 1.0, 1.4, 1.0, 1.0] + [0.0, 0.3, 0.0, 0.0, 0.0]
    look = first_look(Rows.of(ps.Sample(draws, -draws @ PRECISION)))
    own = look.means.spread
    target = COVARIANCE  # these draws are looked at as they came
    assert look.rough.scale is None
    shift = look.means.plain - look.means.corrected

    def off(w: np.ndarray) -> float:
        return float((w @ shift) ** 2 / (w @ own @ w))

    def ratio(w: np.ndarray) -> float:
        return float(abs(np.log((w @ target @ w) / (w @ own @ w))))

    others = np.random.default_rng(0).standard_normal((200, 5))
    assert all(off(mean_direction(look)) >= off(w) for w in others)
    assert all(ratio(spread_direction(look)) >= 0.99 * ratio(w) for w in others)


def test_a_direction_is_a_coordinate_of_turned_draws() -> None:
    rng = np.random.default_rng(3)
    draws, scores = rng.standard_normal((2, 50, 5))
    turn = reflection(NARROW)
    assert turn[0] == pytest.approx(NARROW)
    assert turn @ turn == pytest.approx(np.eye(5))
    assert reflection(np.eye(5)[0]) == pytest.approx(np.eye(5))
    design, plain = DirectionDesign(turn), CoordinateDesign(5, 0)
    seen, turned = Seen(draws, scores, draws), Seen(draws @ turn, scores @ turn, draws)
    columns = plain.columns(turned)
    assert design.columns(seen) == pytest.approx(columns)
    assert design.values_of(seen) == pytest.approx(turned.draws[:, :1] ** [1, 2])
    coefficients = rng.standard_normal((columns.shape[1], 2))
    assert design.combined(seen, coefficients) == pytest.approx(columns @ coefficients)
    assert (design.cuts, design.functions) == (plain.cuts, plain.functions)


def test_parts_of_chains_are_sources() -> None:
    draws = np.arange(60.0).reshape(2, 10, 3)
    source = PartOfRows(ps.Sample(draws, -draws), 0.5, 1.0)
    assert source.layout.lengths == (5, 5)
    block = source.read(1, 1, 3)
    assert block.draws.tolist() == draws[1, 6:8].tolist()
    assert block.start == 1


def test_few_rows_and_one_coordinate_have_no_directions() -> None:
    draws = correlated(4, 150)
    assert along_directions(Rows.of(ps.Sample(draws, -draws @ PRECISION))) == []
    one = np.random.default_rng(0).standard_normal((1000, 1))
    assert along_directions(Rows.of(ps.Sample(one, -one))) == []


def test_names_of_directions() -> None:
    names = ("a", "b", "c", "d")
    assert direction_name(np.array([0.8, -0.6, 0.0, 0.0]), names) == "0.80 a - 0.60 b"
    half = direction_name(np.array([-0.5, 0.5, 0.5, 0.5]), names)
    assert half == "-0.50 a + 0.50 b + 0.50 c + ..."


def test_parts_that_do_not_move_have_no_directions() -> None:
    draws = correlated(5)
    draws[1000:, 2] = draws[999, 2]
    assert along_directions(Rows.of(ps.Sample(draws, -draws @ PRECISION))) == []
