"""ArviZ: draws in a file, scores by a function, and the verdict put beside the draws."""

import tempfile
from pathlib import Path

import arviz
import numpy as np

import polystein as ps

draws = np.random.default_rng(1).standard_normal((4, 1000, 3))
old = arviz.__version__.startswith("0.")
data = arviz.from_dict({"x": draws}) if old else arviz.from_dict({"posterior": {"x": draws}})
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "posterior.nc"
    data.to_netcdf(str(path))
    sample = ps.from_arviz(path, lambda x: -x)  # the score of N(0, I)
result = ps.check(sample, rng=1)
print(repr(result))
print(ps.to_arviz(result, data))
