"""What tasks of a pass on Dask do, without Dask: real arrays and clusters are in `integration/`."""

import pickle
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.source import Layout, Rows
from polystein.data.weight_sums import WeightSums
from polystein.scale.dask import Extent, _computed, _merged, _Scored, _Work, assigned
from polystein.scale.dask_graph import _goes_along
from polystein.stein.moments import SteinMoments, SteinSums

EXTENTS = [
    Extent(chains, rows) for chains in ((0, 2), (2, 3)) for rows in ((0, 40), (40, 50), (50, 100))
]


class Held:
    """A reading whose arrays are there already."""

    def __init__(self, *arrays: Any) -> None:
        self.found = list(arrays)

    def arrays(self, values: Any) -> list[Any]:
        return self.found


class Broken:
    def arrays(self, values: Any) -> list[Any]:
        raise OSError("chunk 3 is truncated")


def work(reading: Any, rows: tuple[Rows, ...] = (Rows(1, 45, 60),)) -> _Work:
    layout = Layout((100, 100, 100), 2, time_ordered=True)
    return _Work(layout, Extent((0, 2), (40, 60)), rows, 7, reading)


def test_every_chosen_row_goes_to_its_chunk() -> None:
    rows = [Rows(0, 10, 60), Rows(1, 45, 45), Rows(2, 40, 100)]
    assert assigned(rows, EXTENTS, 3) == {
        0: [Rows(0, 10, 40)],
        1: [Rows(0, 40, 50)],
        2: [Rows(0, 50, 60)],
        4: [Rows(2, 40, 50)],
        5: [Rows(2, 50, 100)],
    }


def test_chunks_without_rows_are_passed_over() -> None:
    bounds = ((0, 0), (0, 10), (10, 10), (10, 20))
    extents = [Extent((0, 1), rows) for rows in bounds]
    found = assigned([Rows(0, 0, 20)], extents, 4)
    assert found == {1: [Rows(0, 0, 10)], 3: [Rows(0, 10, 20)]}


def test_masks_are_cut_with_their_rows_and_empty_ones_are_left_out() -> None:
    mask = np.random.default_rng(0).random(100) < 0.3
    mask[40:50] = False
    parts = assigned([Rows(1, 0, 100, mask)], EXTENTS, 3)
    assert sorted(parts) == [0, 2]
    for (part,) in parts.values():
        assert np.array_equal(part.mask, mask[part.start : part.stop])


def test_a_task_feeds_the_chosen_rows_of_its_chunk() -> None:
    draws = np.random.default_rng(0).standard_normal((2, 20, 2))
    empty = [SteinSums(SteinMoments(2), 0.0), WeightSums()]
    one = work(Held(draws, -draws), (Rows(0, 40, 60), Rows(1, 45, 50)))
    found = one.summed(empty)
    expected = np.concatenate([draws[0], draws[1, 5:10]])
    assert found[0].moments.finalise().norm() == pytest.approx(ps.psd(expected, -expected, order=2))
    assert found[1].total == 25.0
    assert empty[1].total == 0.0
    assert [part.total for part in pickle.loads(pickle.dumps(found))[1:]] == [25.0]


def test_merging_leaves_what_it_is_given() -> None:
    parts = []
    for seed in range(3):
        draws = np.random.default_rng(seed).standard_normal((2, 20, 2))
        parts.append(work(Held(draws, -draws)).summed([SteinSums(SteinMoments(2), 0.0)]))
    before = pickle.dumps(parts)
    first, again = _merged(parts), _merged(parts)
    assert pickle.dumps(parts) == before
    assert first[0].moments.finalise().norm() == again[0].moments.finalise().norm()


def test_a_chunk_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ps.InputError, match=r"rows 40:60 of chains 0:2.*truncated"):
        work(Broken()).summed([WeightSums()])
    with pytest.raises(ps.InputError, match=r"`scores`.*rows 40:60"):
        work(Held(np.ones((2, 20, 2)), np.ones((2, 19, 2)))).summed([WeightSums()])
    bad = np.ones((2, 20, 2))
    bad[1, 7] = np.nan
    with pytest.raises(ps.InputError, match=r"must be finite; got nan in row 47, coordinate 0"):
        work(Held(bad, bad)).summed([WeightSums()])


def test_a_score_function_sees_rows_of_its_own() -> None:
    draws = np.ones((2, 5, 3))

    def score(rows: Any) -> Any:
        assert rows.shape == (10, 3)
        rows *= -1.0
        return rows

    assert np.array_equal(_Scored(score)(draws), -np.ones((2, 5, 3)))
    assert np.array_equal(draws, np.ones((2, 5, 3)))
    with pytest.raises(ps.InputError, match="callable returned"):
        _Scored(lambda rows: rows[:, 0])(draws)


def test_a_lost_cluster_is_an_error_of_ours() -> None:
    lost = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})

    def fail(error: Exception) -> Any:
        def compute() -> None:
            raise error

        return compute

    with pytest.raises(ps.ClusterError, match="KilledWorker"):
        _computed(fail(lost("sums")))
    with pytest.raises(ps.InputError):
        _computed(fail(ps.InputError("as it is")))
    with pytest.raises(ZeroDivisionError):
        _computed(fail(ZeroDivisionError()))


def test_what_one_chunk_alone_needs_goes_along_and_futures_do_not() -> None:
    future = type("Future", (), {"__module__": "distributed.client"})()
    assert _goes_along((abs, -1), 1)
    assert not _goes_along(future, 1)
    assert not _goes_along((abs, -1), 2)


def test_a_pool_that_lost_a_process_is_an_error_of_ours() -> None:
    def compute() -> None:
        raise BrokenProcessPool("a process was terminated abruptly")

    with pytest.raises(ps.ClusterError, match="BrokenProcessPool"):
        _computed(compute)


def test_a_sample_of_dask_arrays_says_what_to_do() -> None:
    lazy = type("Array", (), {"__module__": "dask.array.core"})()
    for arguments in ((lazy, np.ones((9, 2))), (np.ones((9, 2)), lazy)):
        with pytest.raises(ps.InputError, match=r"got a Dask array\. Pass it to the function"):
            ps.Sample(*arguments)
