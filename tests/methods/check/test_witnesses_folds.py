"""Folds of the training rows, and the sums over them that one pass takes."""

import itertools
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import Frame
from polystein.data.source import Rows
from polystein.data.split import TRAINING
from polystein.methods.check import cross_fitting
from polystein.methods.check.cross_fitting import FOLDS, MANY_STRETCHES, folds
from polystein.methods.check.witnesses import TrainingSums
from polystein.scale.threads import Threads
from polystein.stein.basis import LinearAndBounded
from polystein.stein.moments import SteinMoments
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.methods.check.training import chosen, training_sums
from tests.reference import trained_witnesses as literal

ORDER = 3


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("count", [2, 4, 7])
def test_folds_share_no_rows_and_leave_none_out(
    count: int, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_fitting, "FOLDS", count)
    mask = np.random.default_rng(0).random(23) < 0.5 if masked else None
    rows = [Rows(0, 0, 23, mask), Rows(1, 5, 41), Rows(2, 0, 3)]
    every, seen = chosen(rows), []
    for part in folds(rows):
        own = chosen(part)
        assert not set(own) & set(seen)
        for chain in range(3):
            times = [t for c, t in own if c == chain]
            between = [t for c, t in every if c == chain and times and times[0] <= t <= times[-1]]
            assert times == between
        seen += own
    assert sorted(seen) == sorted(every)
    assert len(folds(rows)) == count


def test_folds_are_of_nearly_equal_size() -> None:
    sizes = [len(chosen(part)) for part in folds([Rows(0, 0, 103)])]
    assert sum(sizes) == 103
    assert max(sizes) - min(sizes) == 1


@pytest.mark.parametrize("count", [2, 4, 7])
@pytest.mark.parametrize("stretches_count", [MANY_STRETCHES, 23, 301])
def test_of_many_stretches_each_fold_has_some(
    stretches_count: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_fitting, "FOLDS", count)
    rows = [Rows(chain, 1, 4 + chain % 3) for chain in range(stretches_count)]
    parts = folds(rows)
    assert list(itertools.chain(*parts)) == rows
    sizes = [len(part) for part in parts]
    assert len(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    # One stretch fewer than many are each cut into parts.
    few = folds(rows[: MANY_STRETCHES - 1])
    assert {len(part) for part in few} == {MANY_STRETCHES - 1}


def folds_by_hand(rows: list[Rows]) -> list[set[tuple[int, int]]]:
    """The rows of each fold, numbered by the loops."""
    lengths = [stop - start for _, start, stop, _ in rows]
    literally = literal.fold_of if len(rows) < MANY_STRETCHES else literal.fold_of_whole
    numbers = iter(literally(lengths, FOLDS))
    result: list[set[tuple[int, int]]] = [set() for _ in range(FOLDS)]
    for chain, start, stop, mask in rows:
        for t in range(start, stop):
            fold = next(numbers)
            if mask is None or mask[t - start]:
                result[fold].add((chain, t))
    return result


class Case:
    """Arbitrary chains, weighted or not, and the roles of their rows."""

    frame = Frame(np.array([0.1, 0.4]), np.array([1.3, 0.9]))

    def __init__(self, chains: int, length: int, split: Any, weighted: bool) -> None:
        flat = arbitrary_rows(chains * length, 2, seed=6)
        self.draws, self.scores = (array.reshape(chains, length, 2) for array in flat)
        log_weights = arbitrary_weights(chains * length)[0].reshape(chains, length)
        weights = np.exp(log_weights - log_weights.max())
        self.weights = weights if weighted else np.ones((chains, length))
        given = log_weights if weighted else None
        self.sample = ps.Sample(self.draws, self.scores, log_weights=given)
        self.partition = split.partition(self.sample.layout, np.random.default_rng(3))

    def assert_moments(self, found: SteinMoments, places: set[tuple[int, int]]) -> None:
        """The sums are those of the loop over these rows."""
        index = tuple(np.array(sorted(places), dtype=int).reshape(-1, 2).T)
        assert found.weight == pytest.approx(self.weights[index].sum(), rel=1e-10)
        if places:
            rows = self.frame.apply(self.draws[index], self.scores[index])
            matrices, vector = literal.full_witness(*rows, self.weights[index], ORDER)
            mean = found.finalise()
            own = [part / mean.norm() for part in (*mean.matrices, mean.score)]
            for part, expected in zip(own, (*matrices, vector), strict=True):
                assert part == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.filterwarnings("ignore::polystein.errors.DependenceWarning")
@pytest.mark.parametrize(("rows", "weighted"), [(7, False), (None, True)])
@pytest.mark.parametrize("split", [ps.RandomSplit(0.5), ps.BlockSplit(0.5), ps.ChainSplit(0.5)])
@pytest.mark.parametrize(("chains", "length"), [(3, 41), (15, 5), (40, 7)])
def test_sums_of_a_pass_are_those_of_the_folds(
    chains: int, length: int, split: Any, weighted: bool, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rows is not None:
        monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    case = Case(chains, length, split, weighted)
    sums = training_sums(case.sample, case.partition, LinearAndBounded(ORDER), case.frame)
    training = list(case.partition.rows(*TRAINING))
    by_hand = folds_by_hand(training)
    assert [set(chosen(part)) for part in folds(training)] == by_hand
    for own, places in zip(sums.folds, by_hand, strict=True):
        case.assert_moments(own, places)
    every = tuple(np.array(chosen(training)).T)
    table = [
        literal.diagonal_entries(x, s, ORDER)
        for x, s in zip(*case.frame.apply(case.draws[every], case.scores[every]), strict=True)
    ]
    mean, covariance = literal.mean_and_covariance(np.array(table), case.weights[every])
    entries = sums.entries.finalise()
    assert entries.mean == pytest.approx(mean, rel=1e-10, abs=1e-10)
    assert entries.covariance == pytest.approx(np.diag(covariance), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("split", [ps.RandomSplit(0.5), ps.BlockSplit(0.5)], ids=repr)
def test_sums_of_parts_merge_to_those_of_all_rows(
    split: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "block_rows", lambda dimension: 10)
    case = Case(3, 41, split, weighted=True)
    sums = TrainingSums(case.sample, case.partition, LinearAndBounded(ORDER), case.frame)
    every = passes.every_row(case.sample)
    passes.run_pass(case.sample, every, sums, executor=Threads(3, 1))
    by_hand = folds_by_hand(list(case.partition.rows(*TRAINING)))
    for own, places in zip(sums.folds, by_hand, strict=True):
        case.assert_moments(own, places)
