"""Cells and replicates: their keys, and the seeds that hang on them."""

import pytest

from polystein.errors import InputError
from polystein.experiments.engine.cells import Cell, Replicate


def test_keys_and_seeds_never_change() -> None:
    # Other values would silently change every published table of this package.
    cell = Cell.of("experiment1", replicates=200, cost=3.0, sampler="laplace", n=1000, d=16)
    assert cell.key == 'experiment1|sampler="laplace"|n=1000|d=16'
    assert cell.file_name == "experiment1-sampler-laplace-n-1000-d-16-181ad029.json"
    stream = Replicate(cell, 7, seed=3).stream("draws")
    assert stream.generate_state(2).tolist() == [4239821064, 4089325503]


def test_streams_differ_by_all_that_they_hang_on() -> None:
    one, other = (Cell.of("toy", replicates=1, d=d) for d in (1, 2))
    states = {
        tuple(Replicate(cell, index, seed).stream(name).generate_state(4))
        for cell in (one, other)
        for index in (0, 1)
        for seed in (0, 1)
        for name in ("draws", "split")
    }
    assert len(states) == 16


def test_a_cell_is_its_key_and_replicates() -> None:
    cheap, dear = (Cell.of("toy", replicates=1, cost=cost, d=1) for cost in (1.0, 9.0))
    assert cheap == dear
    assert hash(cheap) == hash(dear)
    assert cheap["d"] == 1
    with pytest.raises(InputError, match="`replicates` must be a positive integer; got 0"):
        Cell.of("toy", replicates=0)
    with pytest.raises(InputError, match="`study` must be a word"):
        Cell.of("../toy", replicates=1)
