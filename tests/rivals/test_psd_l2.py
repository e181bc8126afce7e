"""PSD with the second-order operator: the literal columns, their bootstrap, or an error."""

from math import comb
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.inference.multipliers import multipliers
from polystein.methods.wild_bootstrap import dependence_length, resampling_seed
from polystein.rivals import psd_l2
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import psd_l2 as literal
from tests.rivals.rows import plausible_rows

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")

BASES = ["full", "interaction-free"]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(("dimension", "order"), [(1, 1), (1, 5), (3, 1), (3, 4), (4, 3)])
def test_columns_are_the_literal_ones(dimension: int, order: int, basis: str) -> None:
    draws, scores = arbitrary_rows(6, dimension)
    if basis == "full":
        found = psd_l2.full_images(draws, scores, list(psd_l2.degrees(dimension, order)))
    else:
        found = psd_l2.power_images(draws, scores, order)
    expected = literal.columns(draws, scores, order, basis)
    # The same columns in another order.
    np.testing.assert_allclose(
        found[:, np.argsort(found[0])], expected[:, np.argsort(expected[0])], rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize(("dimension", "order"), [(1, 3), (2, 2), (5, 3), (16, 4), (100, 2)])
def test_the_number_of_columns(dimension: int, order: int) -> None:
    full = sum(len(degree.parent) for degree in psd_l2.degrees(dimension, order))
    assert full == comb(dimension + order, order) - 1
    assert full == psd_l2.column_count(dimension, order, "full")
    assert psd_l2.column_count(dimension, order, "interaction-free") == dimension * order


@pytest.mark.parametrize("basis", BASES)
def test_statistic_and_pvalue_are_the_literal_ones(basis: Any) -> None:
    draws, scores = plausible_rows(50, 3)
    result = ps.psd_l2_test(draws, scores, order=2, basis=basis, n_bootstrap=99, rng=5)
    features = literal.columns(draws, scores, 2, basis)
    observed = literal.squared_discrepancy(features, np.full(50, 1 / 50))
    signs = multipliers(99, resampling_seed(5), None).draw(0, 50)
    larger = sum(literal.squared_discrepancy(features, row / 50) >= observed for row in signs)
    assert result.statistic == pytest.approx(50 * observed, rel=1e-10)
    assert 0 < larger < 99
    assert result.pvalue == (larger + 1) / 100
    assert result.evidence.estimates["columns"] == features.shape[1]


def test_chains_use_the_dependent_multipliers() -> None:
    draws, scores = plausible_rows(60, 2)
    chains = draws.reshape(3, 20, 2), scores.reshape(3, 20, 2)
    result = ps.psd_l2_test(*chains, order=2, n_bootstrap=99, length=4.0, rng=5)
    stream = multipliers(99, resampling_seed(5), 4.0)
    factors = np.concatenate([stream.draw(chain, 20) for chain in range(3)], axis=1)
    features = literal.columns(draws, scores, 2, "full")
    observed = literal.squared_discrepancy(features, np.full(60, 1 / 60))
    larger = sum(literal.squared_discrepancy(features, row / 60) >= observed for row in factors)
    assert 0 < larger < 99
    assert result.pvalue == (larger + 1) / 100
    automatic = ps.psd_l2_test(*chains, order=2, n_bootstrap=9, rng=5)
    memory = automatic.evidence.estimates["multiplier_length"]
    assert memory == dependence_length(ps.Sample(*chains), "auto")


def test_importance_weights_weigh_the_rows() -> None:
    draws, scores = plausible_rows(40, 2)
    log_weights, weights = arbitrary_weights(40)
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    result = ps.psd_l2_test(sample, order=3, n_bootstrap=99, rng=5)
    features = literal.columns(draws, scores, 3, "full")
    observed = literal.squared_discrepancy(features, weights)
    signs = multipliers(99, resampling_seed(5), None).draw(0, 40)
    larger = sum(literal.squared_discrepancy(features, row * weights) >= observed for row in signs)
    assert result.statistic == pytest.approx(40 * observed, rel=1e-10)
    assert result.pvalue == (larger + 1) / 100
    assert result.ess == pytest.approx(1 / (weights**2).sum(), rel=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, scores = plausible_rows(100, 3)
    whole = ps.psd_l2_test(draws, scores, order=3, n_bootstrap=49, rng=1)
    monkeypatch.setattr(psd_l2, "BLOCK_ELEMENTS", 7 * 19)
    parts = ps.psd_l2_test(draws, scores, order=3, n_bootstrap=49, rng=1)
    assert parts.statistic == pytest.approx(whole.statistic, rel=1e-12)
    assert parts.pvalue == whole.pvalue


def test_interactions_are_seen_by_the_full_basis_alone() -> None:
    """Correlated draws with the right margins."""
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=1000)
    full, free = (ps.psd_l2_test(draws, -draws, order=2, basis=basis, rng=1) for basis in BASES)  # type: ignore[arg-type]
    assert full.pvalue == 1 / 501
    assert free.pvalue > 0.05


# Errors


def test_too_many_columns_are_an_error_with_their_bytes() -> None:
    """C(204, 4) - 1 columns would take half a terabyte."""
    draws, scores = arbitrary_rows(300, 200)
    columns = comb(204, 4) - 1
    message = f"has {columns:,} columns, which take {8 * (2 * 501 + 4) * columns:,} bytes"
    with pytest.raises(InputError, match=message):
        ps.psd_l2_test(draws, scores, order=4)
    with pytest.raises(InputError, match=r"basis='interaction-free' \(800 columns\)"):
        ps.psd_l2_test(draws, scores, order=4)
    ps.psd_l2_test(draws, scores, order=4, basis="interaction-free", n_bootstrap=9, rng=0)
    with pytest.raises(InputError, match="Use a lower `order` or fewer replicates"):
        ps.psd_l2_test(draws, scores, order=4, basis="interaction-free", max_bytes=10**6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "`order` must be a positive integer; got 0"),
        ({"order": 1.5}, "`order` must be a positive integer; got 1.5"),
        ({"basis": "all"}, "`basis` must be 'full' or 'interaction-free'; got 'all'"),
        ({"n_bootstrap": 0}, "`n_bootstrap` must be a positive integer; got 0"),
        ({"n_bootstrap": True}, "`n_bootstrap` must be a positive integer; got True"),
        ({"max_bytes": 0}, "`max_bytes` must be a positive integer; got 0"),
        ({"length": 3.0}, "`length` must be None or 'auto' for independent rows"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.psd_l2_test(*plausible_rows(50, 2), **{"order": 2, **options})


def test_one_row_is_an_error() -> None:
    with pytest.raises(InputError, match="`draws` must have at least 2 rows; got 1"):
        ps.psd_l2_test(np.ones((1, 1)), np.ones((1, 1)), order=2)


def test_degenerate_and_overflowing_rows_are_errors() -> None:
    draws, scores = plausible_rows(50, 2)
    with pytest.raises(DegenerateError, match="every column is zero"):
        ps.psd_l2_test(draws, np.zeros_like(draws), order=1)
    with pytest.raises(ScaleError, match="squared discrepancy"):
        ps.psd_l2_test(1e120 * draws, scores, order=3)
