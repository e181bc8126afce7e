"""Directions: chosen on some rows, judged on others."""

import numpy as np
import pytest
from scipy.stats import kstest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row, run_pass
from polystein.explain.designs import CoordinateDesign, Seen
from polystein.explain.directions import (
    AlongDirection,
    DirectionDesign,
    MemorySums,
    PartOfChains,
    PartOfRows,
    along_directions,
    direction_name,
    mean_direction,
    reflection,
    spread_direction,
)
from polystein.explain.estimates import Rows, first_look
from polystein.inference.longrun import EqualBatches

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


@pytest.mark.slow
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


def autoregressive(seed: int, chains: int, rows: int, rho: float) -> np.ndarray:
    draws = np.random.default_rng(seed).standard_normal((chains, rows, 20))
    draws[:, 1:] *= np.sqrt(1.0 - rho**2)
    for t in range(1, rows):
        draws[:, t] += rho * draws[:, t - 1]
    return draws


def along(draws: np.ndarray) -> list[AlongDirection]:
    return along_directions(Rows.of(ps.Sample(draws, -draws)))


def test_many_slow_chains_are_judged_on_other_chains() -> None:
    """Late rows of chains that hardly move are those that the direction was chosen on."""
    found = [one for seed in range(6) for one in along(autoregressive(seed, 64, 60, 0.995))]
    assert len(found) == 12
    assert all(abs(one.estimate.error) < 5.0 * one.estimate.error_se for one in found)


def test_chains_that_remember_longer_than_the_gap_have_no_directions() -> None:
    assert along(autoregressive(0, 4, 1000, 0.995)) == []
    assert along(autoregressive(0, 8, 100, 0.0)) == []  # too short for their memory to be known
    assert len(along(autoregressive(0, 4, 1000, 0.9))) == 2


def test_chains_that_disagree_have_no_directions() -> None:
    draws = autoregressive(0, 4, 1000, 0.0)
    draws[:, :, 3] += np.array([-0.5, 0.0, 0.2, 0.5])[:, None]
    assert along(draws) == []


def test_parts_of_several_chains_are_sources() -> None:
    draws = np.arange(60.0).reshape(5, 4, 3)
    source = PartOfChains(ps.Sample(draws, -draws), 2, 5)
    assert source.layout.lengths == (4, 4, 4)
    block = source.read(1, 1, 3)
    assert block.draws.tolist() == draws[3, 1:3].tolist()
    assert (block.chain, block.start) == (1, 1)


def test_sums_over_stretches_do_not_depend_on_blocks() -> None:
    draws = autoregressive(1, 2, 300, 0.5)
    sample, stretches = ps.Sample(draws, -2.0 * draws), EqualBatches((300, 300))
    sums = MemorySums(stretches, 20, Frame(None, None))
    run_pass(sample, every_row(sample), sums)
    parts = [sums.zero() for _ in range(3)]
    for number, part in enumerate(parts):
        for chain in range(2):
            part.update(sample.read(chain, 100 * number, 100 * (number + 1)))
    together = parts[0].merge(parts[1]).merge(parts[2])
    assert together.sums == pytest.approx(sums.sums)
    first = stretches.of_rows(0, 0, 300) == 0
    own = draws[0, first]
    columns = np.concatenate([own, -2.0 * own, own**2, -2.0 * own**2], axis=1)
    assert sums.sums[0, :-1] == pytest.approx(columns.sum(axis=0))
    assert sums.sums[:, -1].sum() == 600.0
    assert sums.centred().sum(axis=0) == pytest.approx(np.zeros(80), abs=1e-9)


def test_a_source_that_can_cut_itself_is_asked_to() -> None:
    draws = autoregressive(2, 40, 60, 0.5)
    source, asked = ps.Sample(draws, -draws), []

    def cut(begin: int, end: int) -> PartOfChains:
        asked.append((begin, end))
        return PartOfChains(source, begin, end)

    source.part_of_chains = cut  # type: ignore[attr-defined]
    assert len(along_directions(Rows.of(source))) == 2
    assert asked == [(0, 20), (20, 40)]
