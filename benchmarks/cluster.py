"""Two worker processes against one, fed from Zarr: ``python -m benchmarks.cluster``.

Needs the extra ``dask`` and Zarr. Writes draws and scores of 10^7 x 16 to a folder (2.6 GB, kept
for the next run), starts one cluster of one worker and one of two, and times the same calls on
both, in turns, after a call that is not timed. Prints the ratios of the times, those of the CPU
seconds of the busiest worker (what the times would do on cores that nobody else uses), the
machine's load beside them, how far the answers are from those of NumPy on a part of the rows, and
the bytes that travel.
"""

import argparse
import os
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import polystein as ps
from polystein.data.passes import every_row
from polystein.scale.dask import from_dask, pass_graph
from polystein.stein.moments import SteinMoments, SteinSums

CASES: dict[str, Callable[..., Any]] = {
    "psd, order 4": lambda x, s: ps.psd(x, s, order=4),
    "psd_test, order 4, BlockSplit": lambda x, s: (
        ps.psd_test(x, s, order=4, split=ps.BlockSplit(gap=1000)).statistic
    ),
}


def write(folder: Path, rows: int, dimension: int, chunk: int) -> None:
    """Draws and scores, chunk by chunk, unless they are there."""
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    shape = {"shape": (rows, dimension), "chunks": (chunk, dimension), "dtype": "f8"}
    draws, scores = (
        zarr.create_array(str(folder / f"{name}.zarr"), overwrite=True, **shape)
        for name in ("draws", "scores")
    )
    for low in range(0, rows, chunk):
        part = 1.001 * np.random.default_rng([7, low]).standard_normal((chunk, dimension))
        draws[low : low + chunk], scores[low : low + chunk] = part, -part
    (folder / "done").touch()


def load() -> str:
    """What else the machine is doing."""
    return "/".join(f"{value:.1f}" for value in os.getloadavg())


def timed(
    function: Callable[..., Any], arrays: list[Any], cluster: LocalCluster
) -> tuple[float, float]:
    """Seconds of a call, and CPU seconds of the worker that is busiest with it."""
    with Client(cluster) as client:
        before, started = client.run(time.process_time), time.perf_counter()
        function(*arrays)
        seconds, after = time.perf_counter() - started, client.run(time.process_time)
    return seconds, max(after[worker] - before[worker] for worker in after)


def bytes_a_chunk(arrays: list[Any], order: int) -> tuple[int, int, int]:
    """Bytes of a task on its way to a worker, of its sums, and of the sums by the formula."""
    source = from_dask(*arrays)
    moments = SteinMoments(order)
    tasks, _ = pass_graph(source, list(every_row(source)), [SteinSums(moments, 0.0)], 1536)
    task = next(task for key, task in tasks.items() if "fold" in str(key))
    folded = task[0](task[1], type(task[1])([SteinSums(moments, 0.0)]), [])
    dimension = source.layout.dimension
    formula = 8 * (order * dimension**2 + (order + 1) * dimension)
    return len(pickle.dumps(task[1])), len(pickle.dumps(folded)), formula


def plan(dimension: int = 100, order: int = 4, chunks: int = 10_000) -> None:
    """What a capacity plan rests on: CPU time of a row, bytes of the sums, time of the graph."""
    draws = np.random.default_rng(0).standard_normal((100_000, dimension))
    scores, seconds = -draws, []
    for _ in range(3):
        started = time.process_time()
        ps.psd(draws, scores, order=order)
        seconds.append(time.process_time() - started)
    row = min(seconds) / len(draws)
    sums = SteinSums(SteinMoments(order).update(draws[:2000], -draws[:2000]), 0.0)
    lazy = da.ones((1000 * chunks, dimension), chunks=(1000, dimension))
    source = from_dask(lazy, lazy)
    started = time.process_time()
    pass_graph(source, list(every_row(source)), [sums.zero()], 1000)
    built = (time.process_time() - started) / chunks
    formula = 8 * (order * dimension**2 + (order + 1) * dimension)
    print(f"order {order}, d = {dimension}: {1e6 * row:.1f} us of CPU a row")
    print(f"sums of a chunk: {len(pickle.dumps(sums)):,} bytes, by the formula {formula:,}")
    print(f"graph of {chunks:,} chunks: {1e3 * built:.3f} ms a chunk; load {load()}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--folder", type=Path, default=None, help="where draws are written")
    parser.add_argument("--plan", action="store_true", help="only what a capacity plan rests on")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--dimension", type=int, default=16)
    parser.add_argument("--chunk", type=int, default=250_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="only the cases whose name begins so")
    options = parser.parse_args()
    # The rows are independent, and a block split spares a label for each of them.
    warnings.simplefilter("ignore", ps.DependenceWarning)
    if options.plan:
        return plan()
    if options.folder is None:
        parser.error("--folder is needed")
    write(options.folder, options.rows, options.dimension, options.chunk)
    arrays = [da.from_zarr(str(options.folder / f"{name}.zarr")) for name in ("draws", "scores")]
    part = [array[: 2 * options.chunk] for array in arrays]
    held = [np.asarray(array) for array in part]
    print("task, sums, formula (bytes a chunk):", *bytes_a_chunk(arrays, 4), flush=True)
    settings = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, **settings) as one, LocalCluster(n_workers=2, **settings) as two:
        for name, function in CASES.items():
            if not name.startswith(options.only):
                continue
            with Client(two):
                away = abs(function(*part) - function(*held))
            for cluster in (one, two):
                timed(function, part, cluster)
            times = [
                [timed(function, arrays, cluster) for cluster in (one, two)]
                for _ in range(options.repeats)
            ]
            first, second = np.median(times, axis=0)[:, 0]
            ratio, busy = np.median([np.divide(a, b) for a, b in times], axis=0)
            print(
                f"{name}: {first:.1f} s, {second:.1f} s with two workers, {ratio:.2f}x; CPU "
                f"seconds of the busiest worker {busy:.2f}x; away from NumPy {away:.1e}; "
                f"load {load()}",
                flush=True,
            )


if __name__ == "__main__":
    main()
