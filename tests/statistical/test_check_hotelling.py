"""What `check` loses where Hotelling's statistic lacks rows: two for each coordinate."""

import numpy as np
import pytest

import polystein as ps

pytestmark = pytest.mark.slow

D = 100
SETS = 30


@pytest.mark.parametrize(("rows", "least", "most"), [(2 * D, 0.9, 1.0), (2 * D - 1, 0.0, 0.2)])
def test_a_mean_off_along_the_principal_axis_takes_two_rows_a_coordinate(
    rows: int, least: float, most: float
) -> None:
    """Equicorrelated 0.9; the mean is one standard deviation off along the axis of all ones."""
    covariance = np.full((D, D), 0.9) + 0.1 * np.eye(D)
    factor, precision = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
    # The axis 1/sqrt(d) has the variance 0.1 + 0.9 d.
    shift = np.full(D, ((0.1 + 0.9 * D) / D) ** 0.5)
    rejected = 0
    for replicate in range(SETS):
        rng = np.random.default_rng([rows, replicate])
        draws = rng.standard_normal((rows, D)) @ factor.T + shift
        rejected += ps.check(draws, -draws @ precision, iid=True, rng=replicate).pvalue <= 0.05
    assert least <= rejected / SETS <= most
