"""Mean and covariance of columns, however the rows are merged."""

import numpy as np
import pytest

from polystein.inference.columns import ColumnMoments, MeanAndCovariance
from tests.rows import arbitrary_weights


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_column_moments_equal_numpy(joint: bool, weighted: bool) -> None:
    columns = np.random.default_rng(0).normal(1e6, 1.0, (90, 3))
    weights = arbitrary_weights(90)[1] if weighted else None

    def part(low: int, high: int) -> ColumnMoments:
        moments = ColumnMoments(3, joint=joint)
        return moments.update(columns[low:high], None if weights is None else weights[low:high])

    merged = part(0, 10).merge(part(10, 80)).merge(ColumnMoments(3, joint=joint))
    merged.update(columns[80:], None if weights is None else weights[80:])
    covariance = np.cov(columns.T, aweights=weights, ddof=0)
    expected = covariance if joint else np.diag(covariance)
    assert merged.mean == pytest.approx(np.average(columns, axis=0, weights=weights), rel=1e-14)
    assert merged.scatter / merged.weight == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_rows_of_no_weight_change_no_column_moments() -> None:
    columns = np.random.default_rng(0).normal(size=(5, 2))
    moments = ColumnMoments(2).update(columns, np.zeros(5)).update(columns, np.ones(5))
    assert moments.mean == pytest.approx(columns.mean(axis=0), rel=1e-14)
    assert moments.weight == 5.0


@pytest.mark.parametrize("joint", [True, False])
def test_finalised_moments_have_variances_and_spreads(joint: bool) -> None:
    columns = np.random.default_rng(0).normal(3.0, 2.0, (90, 3))
    weights = arbitrary_weights(90)[1]
    found = ColumnMoments(3, joint=joint).update(columns, weights).finalise()
    covariance = np.cov(columns.T, aweights=weights, ddof=0)
    assert found.covariance == pytest.approx(covariance if joint else np.diag(covariance))
    assert found.variance == pytest.approx(np.diag(covariance), rel=1e-12)
    assert found.spread == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-12)
    assert found.rows == pytest.approx(1.0 / float(weights @ weights), rel=1e-12)


def test_rows_known_by_their_moments_are_added() -> None:
    columns = np.random.default_rng(0).normal(3.0, 2.0, (90, 3))
    first = ColumnMoments(3).update(columns[:30], None)
    other = columns[30:]
    scatter = 60.0 * np.cov(other.T, ddof=0)
    found = first.add(60.0, 60.0, other.mean(axis=0), scatter).finalise()
    assert isinstance(found, MeanAndCovariance)
    assert found.mean == pytest.approx(columns.mean(axis=0), rel=1e-12)
    assert found.covariance == pytest.approx(np.cov(columns.T, ddof=0), rel=1e-12)
    assert found.rows == 90.0


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("centre", [0.0, 0.5, 3.0, 1e6])
def test_columns_may_come_side_by_side(weighted: bool, centre: float) -> None:
    """Also where some columns are far from 0 beside their spread, and others are not."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(place, 1.0, (90, 2)) for place in (0.0, centre, -centre)]
    weights = arbitrary_weights(90)[1] if weighted else None
    found = ColumnMoments(6, joint=False).update_side_by_side(iter(parts), 90, weights).finalise()
    columns = np.concatenate(parts, axis=1)
    covariance = np.cov(columns.T, aweights=weights, ddof=0)
    assert found.mean == pytest.approx(np.average(columns, axis=0, weights=weights), rel=1e-14)
    assert found.covariance == pytest.approx(np.diag(covariance), rel=1e-8)
    together = ColumnMoments(6, joint=False).update(columns, weights).finalise()
    assert found.covariance == pytest.approx(together.covariance, rel=1e-8)
    nothing = ColumnMoments(6, joint=False).update_side_by_side(iter(parts), 90, np.zeros(90))
    assert nothing.weight == 0.0


def test_squares_that_overflow_are_no_matter_where_deviations_do_not() -> None:
    columns = 1e160 + np.random.default_rng(0).normal(0.0, 1e150, (50, 1))
    found = ColumnMoments(1, joint=False).update(columns, None).finalise()
    assert found.spread == pytest.approx(columns.std(axis=0), rel=1e-8)
