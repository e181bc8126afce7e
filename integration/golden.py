"""Golden results of draws in stores of other libraries and on Dask, as in `tests.golden`.

``python -m integration.golden [--renew] [WORD...]`` compares, or renews. The inputs are those of
`tests/golden/inputs.py`, and `golden.json` has the answers.
"""

import sys
from pathlib import Path
from typing import Any

import dask.array as da

import polystein as ps
from integration.stores import Rows, in_a_zarr_group, in_hdf5, in_zarr
from tests.golden.calls import Input, calls, joined, on
from tests.golden.command import compare
from tests.golden.inputs import CHAINS, ROWS, WIDE, score

RESULTS = Path(__file__).with_name("golden.json")
ARRAYS = {"rows": ROWS, "wide rows": WIDE, "chains": CHAINS}


def on_dask(arrays: tuple[Any, Any], rows: int) -> tuple[Any, Any]:
    """Dask arrays in chunks of so many rows of one chain."""
    draws, scores = arrays
    chunks = (*(1 for _ in draws.shape[:-2]), rows, draws.shape[-1])
    return da.from_array(draws, chunks=chunks), da.from_array(scores, chunks=chunks)


INPUTS: dict[str, Input] = {
    "Dask": on_dask(ROWS, 70),
    "Dask, wide": on_dask(WIDE, 40),
    "Dask, chains": on_dask(CHAINS, 60),
    "Dask, score function": (on_dask(ROWS, 70)[0], score),
    "Zarr": lambda folder: in_zarr(Rows(*ROWS), folder),
    "Zarr, chains": lambda folder: in_zarr(Rows(*CHAINS), folder),
    "Zarr group": lambda folder: in_a_zarr_group(Rows(*ROWS), folder),
    "HDF5": lambda folder: in_hdf5(Rows(*ROWS), folder),
}
CHAIN_OPTIONS: dict[str, Any] = {"split": ps.BlockSplit(), "variance": ps.InitialSequence()}

CASES = joined(
    calls(
        ps.psd,
        {"order": 3},
        {
            "Dask": on("Dask"),
            "Dask, score function": on("Dask, score function"),
            "Dask, chains": on("Dask, chains"),
            "Zarr": on("Zarr"),
            "Zarr group": on("Zarr group"),
            "HDF5": on("HDF5"),
        },
    ),
    calls(ps.o_psd, {"order": 2}, {"Dask": on("Dask, wide"), "Zarr": on("Zarr")}),
    calls(
        ps.psd_test,
        {"order": 2, "rng": 1},
        {
            "Dask": on("Dask, wide"),
            "Dask, chains": on("Dask, chains", **CHAIN_OPTIONS),
            "HDF5": on("HDF5"),
        },
    ),
    calls(
        ps.lambda_psd_test,
        {"order": 3, "weights": ps.ClosedForm(), "rng": 1},
        {
            "Dask": on("Dask, wide", standardise=True),
            "Dask, chains": on("Dask, chains", **CHAIN_OPTIONS),
            "Zarr, n_jobs": on("Zarr", n_jobs=2),
        },
    ),
    calls(
        ps.psd_bootstrap_test,
        {"order": 2, "n_bootstrap": 99, "rng": 1},
        {"Dask": on("Dask, wide"), "Zarr": on("Zarr")},
    ),
    calls(
        ps.check,
        {"rng": 1},
        {
            "Dask": on("Dask, wide", iid=True),
            "Dask, chains": on("Dask, chains"),
            "Zarr, chains": on("Zarr, chains"),
            "HDF5": on("HDF5", iid=True),
        },
    ),
    calls(ps.effects, {}, {"Dask": on("Dask, chains"), "Zarr": on("Zarr, chains")}),
    calls(ps.expectations, {}, {"Dask": on("Dask, chains")}),
    calls(
        ps.nystrom_ksd_test,
        {"n_bootstrap": 99, "rng": 1},
        {"Dask": on("Dask, wide"), "Zarr": on("Zarr, chains")},
    ),
)

if __name__ == "__main__":
    sys.exit(compare(CASES, INPUTS, ARRAYS, RESULTS, sys.argv[1:]))
