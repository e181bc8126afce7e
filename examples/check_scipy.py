"""SciPy: a frozen distribution as the target of independent draws."""

import numpy as np
from scipy import stats

import polystein as ps

draws = np.random.default_rng(1).standard_t(20, size=(2000, 3))
print(ps.check(ps.from_scipy(stats.norm(), draws), iid=True, rng=1))
