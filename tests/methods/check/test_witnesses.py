"""The trained witnesses of `check` against loops over rows, entries, folds and supports."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.source import Rows
from polystein.data.split import TRAINING
from polystein.errors import DegenerateError
from polystein.inference.columns import MeanAndCovariance
from polystein.methods.check.statistics import BASIS
from polystein.methods.check.witnesses import (
    FOLDS,
    RIDGE,
    Member,
    TrainedWitnesses,
    cross_fitted_moments,
    folds,
    nonnegative_weights,
)
from polystein.stein.basis import LinearAndBounded
from polystein.stein.moments import stein_moments
from tests.conftest import Array, arbitrary_rows, arbitrary_weights
from tests.methods.check.trained_rounds import round_of
from tests.methods.check.training import chosen, stretches, trained_on
from tests.reference import trained_witnesses as literal

ORDER = 3
NAMES = ("trained score", "sparse stack", "trained x", "trained stack")


class Rowwise:
    """A sample, the training stretches, and the standardised training rows one after the other."""

    def __init__(self, d: int, *, weighted: bool, chains: int = 2, rows: int = 30) -> None:
        flat = arbitrary_rows(chains * rows, d, seed=2)
        draws, scores = (array.reshape(chains, rows, d) for array in flat)
        log_weights, weights = (w.reshape(chains, rows) for w in arbitrary_weights(chains * rows))
        self.sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
        self.frame = Frame(np.linspace(-0.3, 0.5, d), np.linspace(0.9, 1.4, d))
        self.rows = [Rows(0, 0, rows - 7), Rows(1, 3, rows)]
        self.partition = stretches((0, rows - 7), (3, rows))
        self.lengths = [rows - 7, rows - 3]
        self.draws, self.scores = self.frame.apply(
            np.concatenate([draws[0, : rows - 7], draws[1, 3:]]),
            np.concatenate([scores[0, : rows - 7], scores[1, 3:]]),
        )
        chosen = np.concatenate([weights[0, : rows - 7], weights[1, 3:]])
        self.weights = chosen if weighted else np.ones(chosen.size)

    def witnesses(self, time: float = 1.0) -> TrainedWitnesses:
        return trained_on(self.sample, self.partition, LinearAndBounded(ORDER), self.frame, time)

    def cross_fitted(self) -> tuple[Array, Array]:
        fold = literal.fold_of(self.lengths, FOLDS)
        return literal.cross_fitted(self.draws, self.scores, self.weights, ORDER, fold)


CASES = [(1, False), (3, False), (3, True)]


@pytest.mark.parametrize(("d", "weighted"), CASES)
@pytest.mark.parametrize("time", [1.0, 6.0])
def test_weights_of_the_entries_are_the_loops(d: int, weighted: bool, time: float) -> None:
    case = Rowwise(d, weighted=weighted)
    expected = literal.entry_weights(case.draws, case.scores, case.weights, ORDER, time)
    assert case.witnesses(time).entries == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_a_slow_chain_keeps_fewer_entries() -> None:
    case = Rowwise(3, weighted=False)
    kept = [np.count_nonzero(case.witnesses(time).entries[:, 1]) for time in (1.0, 6.0)]
    assert 1 <= kept[1] < kept[0] < 3 * (1 + ORDER)


@pytest.mark.parametrize(("d", "weighted"), CASES)
def test_moments_of_the_orders_are_cross_fitted(d: int, weighted: bool) -> None:
    case = Rowwise(d, weighted=weighted)
    parts = folds(case.rows)
    sums = [
        stein_moments(case.sample, part, LinearAndBounded(ORDER), answer=case.frame)
        for part in parts
    ]
    moments = cross_fitted_moments(case.sample, parts, sums, case.frame)
    assert moments is not None
    mean, covariance = case.cross_fitted()
    assert moments.mean == pytest.approx(mean, rel=1e-10, abs=1e-12)
    assert moments.covariance == pytest.approx(covariance, rel=1e-10, abs=1e-12)
    effective = case.weights.sum() ** 2 / (case.weights**2).sum()
    assert moments.rows == pytest.approx(effective, rel=1e-10)


@pytest.mark.parametrize(("d", "weighted"), CASES)
def test_weights_of_the_orders_are_those_of_the_cross_fitted_rows(d: int, weighted: bool) -> None:
    case = Rowwise(d, weighted=weighted)
    expected = literal.nonnegative_weights(*case.cross_fitted(), RIDGE)
    assert case.witnesses().combination[:, 1] == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize(("d", "weighted"), CASES)
def test_columns_are_the_members(d: int, weighted: bool) -> None:
    """On rows that nothing was trained on, each column up to a positive factor."""
    case = Rowwise(d, weighted=weighted)
    draws, scores = arbitrary_rows(9, d, seed=8)
    columns = case.witnesses(2.0).project(draws, scores)
    assert columns.shape == (9, len(NAMES))
    own = case.frame.apply(draws, scores)
    entries = np.array([literal.diagonal_entries(x, s, ORDER) for x, s in zip(*own, strict=True)])
    weights = literal.entry_weights(case.draws, case.scores, case.weights, ORDER, 2.0)
    witness = literal.full_witness(case.draws, case.scores, case.weights, ORDER)
    features = literal.order_features(*own, witness)
    stacked = literal.nonnegative_weights(*case.cross_fitted(), RIDGE)
    first = features[:, 0] + features[:, -1]
    expected = np.column_stack([entries @ weights, first, features @ stacked])
    columns, expected = (table / np.linalg.norm(table, axis=0) for table in (columns, expected))
    assert columns == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("stacked", [[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 1]])
@pytest.mark.parametrize("weighed", [[], [0], [2], [1, 3]])
def test_orders_without_weight_are_left_out(stacked: list[float], weighed: list[int]) -> None:
    """The columns are those of all orders, of which some count for nothing."""
    case, d = Rowwise(3, weighted=False), 3
    draws, scores = arbitrary_rows(9, d, seed=8)
    entries = np.zeros((1 + ORDER, d, 2))
    entries[weighed] = np.arange(1.0, 7.0).reshape(d, 2)
    combination = np.column_stack([[1.0, 0.0, 0.0, 1.0], stacked])
    witnesses = replace(case.witnesses(), entries=entries.reshape(-1, 2), combination=combination)
    own = case.frame.apply(draws, scores)
    rows = np.array([literal.diagonal_entries(x, s, ORDER) for x, s in zip(*own, strict=True)])
    features = witnesses.full_witness.project(draws, scores)
    expected = np.concatenate([rows @ witnesses.entries, features @ combination], axis=1)
    found = witnesses.project(draws, scores)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-11)


def test_the_member_of_order_one_is_psds_own_witness() -> None:
    """Proposition 3.2 with Q = 1, whose normalisation is another, up to that factor."""
    case = Rowwise(3, weighted=False)
    own = case.frame.apply(*arbitrary_rows(9, 3, seed=8))
    witness = literal.full_witness(case.draws, case.scores, case.weights, 1)
    expected = literal.order_features(*own, witness).sum(axis=1)
    draws, scores = arbitrary_rows(9, 3, seed=8)
    column = case.witnesses().project(draws, scores)[:, NAMES.index("trained x")]
    ratio = column / expected
    assert ratio[0] > 0.0
    assert ratio == pytest.approx(ratio[0], rel=1e-10)


def random_moments(size: int, seed: int, mean: float) -> MeanAndCovariance:
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((size, 2 * size)) * np.exp(rng.normal(0.0, 2.0, (size, 1)))
    spread = np.sqrt((factors**2).sum(axis=1))
    return MeanAndCovariance(spread * rng.normal(mean, 1.0, size), factors @ factors.T, 100.0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_nonnegative_weights_meet_the_conditions(size: int, seed: int) -> None:
    moments = random_moments(size, seed, mean=0.4)
    expected = literal.nonnegative_weights(moments.mean, moments.covariance, RIDGE)
    assert nonnegative_weights(moments) == pytest.approx(expected, rel=1e-9, abs=1e-10)


def test_some_weights_are_zero_and_none_is_negative() -> None:
    weights = [nonnegative_weights(random_moments(6, seed, mean=0.4)) for seed in range(8)]
    assert all(np.all(own >= 0.0) for own in weights)
    assert any(np.any(own == 0.0) for own in weights)
    assert any(np.count_nonzero(own) > 1 for own in weights)
    assert [float(own @ own) for own in weights] == pytest.approx([1.0] * 8)


def test_means_that_are_all_negative_keep_every_order() -> None:
    moments = MeanAndCovariance(np.array([-1.0, -2.0, -0.5]), np.diag([1.0, 4.0, 16.0]), 50.0)
    expected = np.array([1.0, 0.5, 0.25])
    assert nonnegative_weights(moments) == pytest.approx(expected / np.linalg.norm(expected))


def test_an_order_that_does_not_vary_has_no_weight() -> None:
    moments = MeanAndCovariance(np.array([1.0, 2.0, 0.5]), np.diag([1.0, 0.0, 1.0]), 50.0)
    assert nonnegative_weights(moments) == pytest.approx(np.array([2.0, 0.0, 1.0]) / 5.0**0.5)
    with pytest.raises(DegenerateError, match="no feature varies"):
        nonnegative_weights(MeanAndCovariance(np.ones(2), np.zeros((2, 2)), 50.0))


# Folds and roles.


def test_folds_without_weight_teach_nothing() -> None:
    """All the weight in one fold leaves no rows to cross-fit by: all orders count alike."""
    case = Rowwise(2, weighted=False)
    log_weights = np.full(case.sample.draws.shape[:2], -np.inf)
    for chain, start, stop, _ in folds(case.rows)[0]:
        log_weights[chain, start:stop] = 0.0
    sample = ps.Sample(case.sample.draws, case.sample.scores, log_weights=log_weights)
    witnesses = trained_on(sample, case.partition, LinearAndBounded(ORDER), case.frame)
    assert witnesses.combination[:, 1].tolist() == [1.0] * (ORDER + 1)


def trained(sample: ps.Sample, split: Any) -> tuple[TrainedWitnesses, list[tuple[int, int]]]:
    """The witnesses as `check` trains them, and the rows that they were to see."""
    rows = round_of(sample, split)
    training = chosen(list(rows.partition.rows(*TRAINING)))
    return trained_on(sample, rows.partition, BASIS, rows.frame), training


@pytest.mark.filterwarnings("ignore::polystein.errors.DependenceWarning")
@pytest.mark.parametrize("split", [ps.RandomSplit(0.5), ps.BlockSplit(0.5)], ids=repr)
def test_test_rows_never_influence_the_witnesses(split: Any) -> None:
    draws, scores = arbitrary_rows(300, 3, seed=1)
    first, rows = trained(ps.Sample(draws, scores), split)
    index = [t for _, t in rows]
    tested = np.setdiff1d(np.arange(300), index)
    assert 100 < tested.size < 200
    others = draws.copy(), scores.copy()
    for array in others:
        array[tested] = 40.0 + 9.0 * array[tested] ** 3
    second, _ = trained(ps.Sample(*others), split)
    assert np.array_equal(first.entries, second.entries)
    assert np.array_equal(first.combination, second.combination)
    assert np.array_equal(first.project(draws, scores), second.project(draws, scores))
    # A training row that changes is noticed.
    others[1][index[0]] += 1.0
    third, _ = trained(ps.Sample(*others), split)
    assert not np.array_equal(first.entries, third.entries)
    assert not np.array_equal(first.combination, third.combination)


# What a member looks at.


def test_permuted_coordinates_permute_the_entries() -> None:
    draws, scores = arbitrary_rows(200, 4, seed=5)
    order = [2, 0, 3, 1]
    frame = Frame(np.zeros(4), np.linspace(0.8, 1.4, 4))
    permuted = Frame(np.zeros(4), np.linspace(0.8, 1.4, 4)[order])
    samples = ps.Sample(draws, scores), ps.Sample(draws[:, order], scores[:, order])
    first, second = (
        trained_on(sample, stretches((0, 200)), BASIS, own)
        for sample, own in zip(samples, (frame, permuted), strict=True)
    )
    shape = (1 + BASIS.order, 4, 2)
    expected = first.entries.reshape(shape)[:, order]
    assert second.entries.reshape(shape) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert second.combination == pytest.approx(first.combination, rel=1e-9, abs=1e-10)
    for one, other in zip(first.members, second.members, strict=True):
        assert tuple(order[index] for index in other.coordinates) == one.coordinates
        assert other[:3] == one[:3]
    projected = second.project(draws[:, order], scores[:, order])
    assert projected == pytest.approx(first.project(draws, scores), rel=1e-8, abs=1e-9)


def hand_made(entries: Array, combination: Array) -> TrainedWitnesses:
    orders: Any = type("Orders", (), {"names": ("x", "G1", "score")})()
    return TrainedWitnesses(LinearAndBounded(2), Frame(), orders, combination, entries)


def test_orders_and_coordinates_are_those_of_the_weights() -> None:
    """Entries of two orders beside the score, for five coordinates each."""
    entries = np.zeros((3, 5, 2))
    entries[0, :, 0] = 0.4
    entries[0, 1, 1], entries[2, 4, 1], entries[2, 0, 1], entries[2, 2, 1] = 0.1, -0.8, 0.5, 0.3
    combination = np.array([[1.0, 0.0], [0.0, 0.6], [1.0, 0.8]])
    witnesses = hand_made(entries.reshape(15, 2), combination)
    assert witnesses.members == (
        Member("trained score", "location", ("score",), ()),
        Member("sparse stack", "spread, shape", ("score", "G1"), (4, 0, 2)),
        Member("trained x", "spread, correlation", ("x", "score"), ()),
        Member("trained stack", "everything at once", ("G1", "score"), ()),
    )
    assert tuple(member.name for member in witnesses.members) == NAMES


def test_a_constant_score_has_no_member_of_its_own() -> None:
    draws = np.random.default_rng(0).standard_normal((200, 2))
    sample = ps.Sample(draws, np.ones_like(draws))
    frame = Frame(np.zeros(2), np.ones(2))
    witnesses = trained_on(sample, stretches((0, 200)), BASIS, frame)
    assert not witnesses.entries[:, 0].any()
    dense, *_ = witnesses.members
    assert (dense.name, dense.orders) == ("trained score", ())
    assert witnesses.entries[2:, 1].any()
