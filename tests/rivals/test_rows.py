"""What the rivals ask of rows before they start."""

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.passes import every_row
from polystein.errors import InputError
from polystein.rivals import rows as shared
from polystein.rivals.rows import (
    forbid_repeats,
    median_of_rows,
    require_rows,
    require_unweighted_rows,
)
from tests.conftest import arbitrary_rows
from tests.reference import kernels as literal


def chains(draws: np.typing.NDArray[np.float64]) -> ps.Sample:
    return ps.Sample(draws[None], -draws[None])


def test_weights_are_refused() -> None:
    draws, scores = arbitrary_rows(30, 2)
    require_unweighted_rows(ps.Sample(draws, scores), "some_test")
    message = "`log_weights` must be None for `some_test`, .* got weights for 30 draws"
    with pytest.raises(InputError, match=message):
        require_unweighted_rows(ps.Sample(draws, scores, log_weights=np.zeros(30)), "some_test")


def test_chains_are_noted() -> None:
    draws, scores = arbitrary_rows(30, 2)
    assert require_unweighted_rows(ps.Sample(draws, scores), "some_test").messages == ()
    several = ps.Sample(draws.reshape(3, 10, 2), scores.reshape(3, 10, 2))
    (message,) = require_unweighted_rows(several, "some_test").messages
    assert "3 time-ordered chains, but `some_test` holds for independent rows only" in message
    assert "or `check`" in message


def test_one_row_is_too_few() -> None:
    require_rows(ps.Sample(*arbitrary_rows(2, 1)))
    with pytest.raises(InputError, match="`draws` must have at least 2 rows; got 1"):
        require_rows(ps.Sample(*arbitrary_rows(1, 1)))


def test_rows_of_a_chain_may_repeat_and_independent_ones_may_not() -> None:
    draws = np.repeat(arbitrary_rows(15, 2)[0], 2, axis=0)
    forbid_repeats(chains(draws))
    with pytest.raises(InputError, match="15 of 30 rows repeat another row"):
        forbid_repeats(ps.Sample(draws, -draws))


@pytest.mark.parametrize("most", [10, 21, 40, 41, 100])
@pytest.mark.parametrize("rows", [7, 1000])
def test_the_median_is_that_of_evenly_spaced_rows(
    rows: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the rows come in blocks."""
    draws, scores = arbitrary_rows(41, 2)
    monkeypatch.setattr(shared, "MEDIAN_ROWS", most)
    monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    sample = ps.Sample(draws, scores)
    kept = draws[:: -(-41 // most)]
    found = median_of_rows(sample, every_row(sample), 41)
    assert len(kept) <= most
    assert found == pytest.approx(literal.median_distance(kept), rel=1e-12)
