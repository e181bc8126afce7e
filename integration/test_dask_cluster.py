"""Dask arrays go into the same functions: on threads, on a real cluster, and when workers die."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster

import polystein as ps
from polystein.data.passes import every_row
from polystein.scale.dask import DaskSource, from_dask, pass_graph

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "psd": (ps.psd, {"order": 3}),
    "o_psd": (ps.o_psd, {"order": 2}),
    "psd_test": (ps.psd_test, {"order": 2, "rng": 1}),
    "lambda_psd_test": (ps.lambda_psd_test, {"order": 3, "rng": 1, "standardise": True}),
    "chains": (
        ps.lambda_psd_test,
        {"order": 3, "rng": 1, "split": ps.BlockSplit(), "variance": ps.BatchMeans()},
    ),
    "check": (ps.check, {"rng": 1}),
    "bootstrap": (ps.psd_bootstrap_test, {"order": 2, "n_bootstrap": 50, "rng": 1}),
    "nystrom_ksd_test": (ps.nystrom_ksd_test, {"n_bootstrap": 50, "rng": 1}),
}
TABLES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "effects": (ps.effects, {}),
    "expectations": (ps.expectations, {}),
}


def minus(draws: Any) -> Any:
    return -draws


def value(result: Any) -> float:
    return float(getattr(result, "statistic", result))


def rows(*shape: int) -> Any:
    return 1.02 * np.random.default_rng(0).standard_normal(shape)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as started:
        yield started


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as connected:
        connected.wait_for_workers(2)
        yield connected


def stored(folder: Path, **arrays: Any) -> list[Any]:
    found = []
    for name, array in arrays.items():
        path = str(folder / f"{name}.zarr")
        chunks = (*array.shape[:-2], 700, array.shape[-1])
        zarr.create_array(path, shape=array.shape, chunks=chunks, dtype="f8")[...] = array
        found.append(da.from_zarr(path))
    return found


def same(name: str, lazy: tuple[Any, Any], held: tuple[Any, Any]) -> None:
    function, options = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        found, expected = (value(function(*pair, **options)) for pair in (lazy, held))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_threads_give_the_answer_of_numpy(name: str, tmp_path: Path) -> None:
    draws = rows(4000, 3)
    same(name, tuple(stored(tmp_path, draws=draws, scores=-draws)), (draws, -draws))


@pytest.mark.parametrize("name", ["psd", "chains", "check"])
@pytest.mark.parametrize("chunks", [(1, 500, 3), (3, 999, 2), (4, 2000, 3), (2, 350, 1)])
def test_chunks_may_be_cut_in_any_way(name: str, chunks: tuple[int, ...]) -> None:
    draws = rows(4, 2000, 3)
    lazy = da.from_array(draws, chunks=chunks)
    same(name, (lazy, da.from_array(-draws, chunks=(2, 1100, 3))), (draws, -draws))
    same(name, (lazy, minus), (draws, -draws))


@pytest.mark.parametrize("name", ["psd", "lambda_psd_test", "chains", "check"])
def test_a_cluster_gives_the_answer_of_numpy(name: str, client: Client, tmp_path: Path) -> None:
    draws = rows(4000, 3)
    lazy = stored(tmp_path, draws=draws, scores=-draws)
    same(name, (lazy[0], lazy[1]), (draws, -draws))
    same(name, (lazy[0], lambda x: -x), (draws, -draws))
    same(name, (lazy[0].persist(), lazy[1].persist()), (draws, -draws))


def test_processes_will_do(tmp_path: Path) -> None:
    draws = rows(4000, 3)
    with dask.config.set(scheduler="processes", num_workers=2):
        found = ps.psd(*stored(tmp_path, draws=draws, scores=-draws), order=2)
    assert found == pytest.approx(ps.psd(draws, -draws, order=2), rel=1e-12)


def test_draws_and_scores_are_read_in_the_task_that_sums_them(tmp_path: Path) -> None:
    draws = rows(4000, 3)
    source = from_dask(*stored(tmp_path, draws=draws, scores=-draws))
    tasks, _ = pass_graph(source, list(every_row(source)), [], 1000)
    sums = [task for key, task in tasks.items() if "-sums" in str(key)]
    assert len(sums) == 6
    assert all(task[3] == [] for task in sums)
    # Six sums, one merge of them, and the empty accumulators: no task reads a chunk alone.
    assert len(tasks) == 8


def test_what_chunks_share_is_computed_once() -> None:
    calls: list[int] = []

    def counted(block: Any) -> Any:
        calls.append(len(block))
        return block

    draws = rows(4000, 3)
    lazy = da.from_array(draws, chunks=(1000, 3)).map_blocks(counted, meta=np.empty((0, 0)))
    ps.psd(lazy.rechunk((3000, 3)), minus, order=1)
    assert calls == [1000] * 4


def test_rows_are_not_gathered(client: Client, tmp_path: Path) -> None:
    """What comes back is a few kilobytes, however many rows there are."""
    draws = rows(30_000, 3)
    source = from_dask(*stored(tmp_path, draws=draws, scores=-draws))
    asked: list[tuple[int, int]] = []
    read = DaskSource.read
    DaskSource.read = lambda self, *where: asked.append(where[1:]) or read(self, *where)  # type: ignore
    try:
        ps.lambda_psd_test(source, order=3, rng=1)
    finally:
        DaskSource.read = read  # type: ignore[method-assign]
    assert asked == []


@pytest.mark.parametrize("name", ["effects", "expectations", "check", "chains", "o_psd"])
def test_a_few_rows_at_the_most_are_fetched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = rows(4, 30_000, 3)
    source = from_dask(*(da.from_array(array, chunks=(2, 7000, 3)) for array in (draws, -draws)))
    fetched, read = [0], DaskSource.read

    def counted(self: DaskSource, chain: int, start: int, stop: int) -> Any:
        fetched[0] += stop - start
        return read(self, chain, start, stop)

    monkeypatch.setattr(DaskSource, "read", counted)
    function, options = {**FUNCTIONS, **TABLES}[name]
    function(source, **options)
    # A block of the first rows chooses a frame, and the last rows tell whether chains are stuck.
    assert fetched[0] <= 4 * 8192


@pytest.mark.parametrize("name", ["effects", "expectations"])
@pytest.mark.parametrize("shape", [(6000, 3), (4, 1500, 3), (40, 150, 3)])
def test_tables_are_those_of_numpy(name: str, shape: tuple[int, ...]) -> None:
    draws = rows(*shape)
    lazy = [da.from_array(array, chunks=(*shape[:-2], 700, 2)) for array in (draws, -draws)]
    function, options = TABLES[name]
    found, expected = (
        [value for row in function(*pair, **options).rows for value in row]
        for pair in (lazy, (draws, -draws))
    )
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-7, abs=1e-9, nan_ok=True)


def test_one_dask_array_beside_another_array() -> None:
    draws = rows(4000, 3)
    lazy = da.from_array(-draws, chunks=(900, 2))
    assert isinstance(ps.from_store(draws, lazy), DaskSource)
    same("psd", (draws, lazy), (draws, -draws))
    same("psd", (-lazy, -draws), (draws, -draws))
    with pytest.raises(ps.InputError, match=r"the shape of `draws`, \(3000, 3\)"):
        ps.psd(draws[:3000], lazy, order=1)


def test_a_store_of_dask_arrays_has_names_and_a_sample_says_what_to_do(tmp_path: Path) -> None:
    lazy = da.from_array(rows(4000, 3), chunks=(900, 3))
    source = ps.from_store(lazy, minus, names=["a", "b", "c"])
    assert isinstance(source, DaskSource)
    assert ps.effects(source).rows[0].name in {"a", "b", "c", "a, b", "a, c", "b, c"}
    with pytest.raises(ps.InputError, match="`cache` must not be given with Dask arrays"):
        ps.from_store(lazy, minus, cache=tmp_path)
    with pytest.raises(ps.InputError, match="an array in memory for a `Sample`; got a Dask array"):
        ps.Sample(lazy, minus)


def test_a_worker_killed_in_the_middle_changes_nothing(client: Client, tmp_path: Path) -> None:
    draws = rows(28_000, 3)
    lazy = stored(tmp_path, draws=draws)[0]

    def slow(block: Any) -> Any:
        time.sleep(0.15)
        return -block

    workers = client.run(os.getpid)
    killed = next(iter(workers.values()))
    timer = threading.Timer(1.0, os.kill, (killed, signal.SIGKILL))
    timer.start()
    started = time.perf_counter()
    found = ps.psd(lazy, slow, order=3)
    assert time.perf_counter() - started > 1.5
    assert found == pytest.approx(ps.psd(draws, -draws, order=3), rel=1e-12)
    client.wait_for_workers(2, timeout=30)
    assert killed not in client.run(os.getpid).values()


@pytest.mark.filterwarnings("ignore")
def test_workers_lost_beyond_the_allowance_are_an_error_of_ours() -> None:
    def deadly(block: Any) -> Any:
        os._exit(1)

    lazy = da.from_array(rows(2000, 3), chunks=(1000, 3))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as started,
        Client(started),
        pytest.raises(ps.ClusterError, match="KilledWorker"),
    ):
        ps.psd(lazy, deadly, order=1)


def test_errors_come_back_from_workers(client: Client, tmp_path: Path) -> None:
    draws = rows(4000, 3)
    bad = draws.copy()
    bad[2930, 1] = np.nan
    lazy = stored(tmp_path, draws=draws, scores=bad)
    with pytest.raises(ps.InputError, match=r"scores of rows \d+:\d+ of chain 0 must be finite"):
        ps.psd(*lazy, order=1)
    chunk = next(path for path in (tmp_path / "draws.zarr").rglob("4/0"))
    chunk.write_bytes(chunk.read_bytes()[:100])
    with pytest.raises(ps.InputError, match=r"rows 2800:3500 of chains 0:1"):
        ps.psd(lazy[0], minus, order=1)


@pytest.mark.parametrize(
    ("draws", "scores", "match"),
    [
        (da.ones((100, 3)), None, "scores"),
        (da.ones((100, 3)), da.ones((100, 2)), "shape of `draws`"),
        (da.ones(100), minus, r"\(n, d\)"),
        (da.ones((0, 3)), minus, "empty"),
        (da.ones((100, 3), dtype=complex), minus, "real"),
        (da.ones((100, 3))[da.arange(100) > 5], minus, "compute_chunk_sizes"),
    ],
)
def test_bad_arrays_are_named(draws: Any, scores: Any, match: str) -> None:
    with pytest.raises(ps.InputError, match=match):
        ps.psd(draws, scores, order=1)
