"""Sums over joined batches, and what batches say of memory."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.source import complete
from polystein.methods.check.batches import cut
from tests.methods.check.standard_rows import assert_joined, chains, some_frame, taken
from tests.reference import check as literal
from tests.sources import MinimalSource


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chain_count", [1, 3])
def test_joined_sums_are_the_loops(chain_count: int, weighted: bool) -> None:
    sample, standard = chains(chain_count, 91, 2, weighted)
    places = cut(sample.layout, chains=True)
    sums = taken(sample, standard.frame, places)
    assert len(sums.joinings) > 2
    assert_joined(sums, standard, places)
    # No row was read again.
    assert sample.mean_reads == 1.0


@pytest.mark.parametrize("of_chains", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_and_squares_are_the_loops(weighted: bool, of_chains: bool) -> None:
    sample, (frame, draws, scores, weights) = chains(2, 61, 3, weighted)
    places = cut(sample.layout, chains=of_chains)
    sums = taken(sample, frame, places)
    expected = literal.summed(draws, weights, places.stretches)
    assert sums.draws == pytest.approx(expected, rel=1e-10, abs=1e-10)
    for kind, values in enumerate((draws, scores)):
        expected = literal.summed(values**2, weights, places.stretches)
        assert sums.squares[:, kind] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_independent_rows_are_never_joined() -> None:
    """They remember nothing, whatever their order."""
    draws = np.random.default_rng(0).standard_normal((400, 2))
    sample = ps.Sample(draws, -draws)
    sums = taken(sample, some_frame(2), cut(sample.layout, chains=False))
    assert [joining.count for joining in sums.joinings] == [100]


# What batches say of memory


@pytest.mark.parametrize(
    ("lengths", "known"),
    [
        ([31] * 8, False),
        ([30] * 4, False),
        ([31], False),
        ([32] * 4, True),
        ([32], True),
        # Many short chains are independent batches.
        ([16] * 16, True),
        ([31] * 15, False),
        ([7] * 40, True),
        # A chain of the middle length decides.
        ([400, 400, 8], True),
        ([400, 8, 8], False),
    ],
)
def test_memory_is_known_of_long_chains_and_of_many(lengths: list[int], known: bool) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((rows, 2)) for rows in lengths]
    source = complete(MinimalSource([(part, -part) for part in parts], time_ordered=True))
    sums = taken(source, some_frame(2), cut(source.layout, chains=True), order=1, pairs=())
    assert sums.memory_is_known == known


@pytest.mark.parametrize("rows", [20, 61, 2_000])
def test_independent_rows_have_no_memory(rows: int) -> None:
    """Batches of them are never joined, however many there are."""
    values = np.random.default_rng(0).standard_normal((rows, 2))
    for ordered in (False, True):
        source = complete(MinimalSource([(values, -values)], time_ordered=ordered))
        places = cut(source.layout, chains=ordered)
        sums = taken(source, some_frame(2), places, order=1, pairs=())
        if ordered:
            assert sums.memory_is_known == (len(sums.joinings) > 1) == (rows >= 32)
        else:
            assert sums.memory_is_known
            (joining,) = sums.joinings
            assert joining.count == places.count
