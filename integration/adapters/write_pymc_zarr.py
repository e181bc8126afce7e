"""Sample a posterior with PyMC into a Zarr store, and save what the adapter makes of it.

Usage: write_pymc_zarr.py POSTERIOR FOLDER. It needs zarr 2, the only one that PyMC writes with, and
runs in a process of its own.
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
    model, path = MODELS[name](), folder / "trace.zarr"
    trace = ZarrTrace(
        store=zarr.DirectoryStore(str(path)), include_transformed=True, draws_per_chunk=100
    )
    options = {"cores": 1, "random_seed": 1, "progressbar": False, "nuts_sampler": "pymc"}
    with model:
        returned = pm.sample(
            200, tune=200, chains=2, trace=trace, compute_convergence_checks=False, **options
        )
    assert "sigma_log__" in returned.unconstrained_posterior
    found = ps.from_pymc(model, returned)
    np.savez(
        folder / "found.npz",
        draws=found.draws,
        scores=found.scores,
        names=found.names,
        **found.facts.sampler_statistics,
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
