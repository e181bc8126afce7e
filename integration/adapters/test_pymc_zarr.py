"""Zarr traces that PyMC writes itself, which takes zarr 2 in a process of its own.

PyMC finds zarr 2 only, and nutpie needs zarr 3. Older releases of xarray read with both: the lower
bounds of the extras have all that is needed.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from integration.adapters.pymc_models import GRADIENTS, MODELS, NAMES
from integration.posteriors import assert_exact

pytestmark = pytest.mark.filterwarnings("default")
ZARR = ("zarr==2.18.7", "numcodecs==0.15.1", "asciitree", "fasteners", "deprecated", "wrapt")
STATISTICS = ["diverging", "energy", "reached_max_treedepth"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def zarr_2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with zarr 2 that takes precedence over what is installed."""
    folder = tmp_path_factory.mktemp("zarr_2")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, *ZARR], check=True, timeout=300)
    return folder


def test_traces_in_zarr(zarr_2: Path, tmp_path: Path) -> None:
    """The store holds unconstrained values in a group of their own, under value names."""
    name = "constrained"
    script = ROOT / "integration" / "adapters" / "write_pymc_zarr.py"
    # PyMC reads back its own pickled warnings.
    extra = {
        "PYTHONPATH": os.pathsep.join([str(zarr_2), str(ROOT)]),
        "NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE": "1",
    }
    command = [sys.executable, str(script), name, str(tmp_path)]
    subprocess.run(command, check=True, timeout=600, env={**os.environ, **extra}, cwd=ROOT)
    with np.load(tmp_path / "found.npz") as saved:
        found = ps.Sample(saved["draws"], saved["scores"], names=saved["names"].tolist())
        assert saved["diverging"].dtype == bool
        assert saved["diverging"].mean() < 0.5
        assert set(STATISTICS) <= set(saved)
    assert found.names == NAMES[name]
    assert found.layout.lengths == (200, 200)
    assert_exact(found, GRADIENTS[name])
    with pytest.raises(ps.InputError, match="pickled parts, which are never read"):
        ps.from_pymc(MODELS[name](), tmp_path / "trace.zarr")
