"""Sample a posterior with PyMC into a Zarr store, and save what PyMC returns beside it.

Usage: write_pymc_zarr.py POSTERIOR FOLDER. It needs zarr 2, the only one that PyMC writes with, and
runs in a process of its own. Then it prints what the adapter makes of the store itself.
"""

import sys
from pathlib import Path

import numpy as np
import pymc as pm
import zarr
from pymc.backends.zarr import ZarrTrace

import polystein as ps
from integration.adapters.pymc_models import MODELS


def main(name: str, folder: Path) -> None:
    model = MODELS[name]()
    trace = ZarrTrace(
        store=zarr.DirectoryStore(str(folder / "trace.zarr")),
        include_transformed=True,
        draws_per_chunk=100,
    )
    options = {"cores": 1, "random_seed": 1, "progressbar": False, "nuts_sampler": "pymc"}
    with model:
        data = pm.sample(
            200, tune=200, chains=2, trace=trace, compute_convergence_checks=False, **options
        )
    found = ps.from_pymc(model, folder / "trace.zarr")
    np.savez(
        folder / "of_the_store.npz",
        draws=found.draws,
        scores=found.scores,
        names=found.names,
        statistics=sorted(found.facts.sampler_statistics),
    )
    data.sample_stats = data.sample_stats.drop_vars(
        [key for key, value in data.sample_stats.items() if value.dtype == object]
    )
    data.to_netcdf(str(folder / "trace.nc"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
