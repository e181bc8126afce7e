"""Some of the coordinates, of samples and of sources that are read in blocks."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.columns import with_coordinates
from polystein.data.facts import Facts
from polystein.data.source import complete
from polystein.errors import InputError
from tests.sources import MinimalSource

DRAWS = np.random.default_rng(0).standard_normal((2, 300, 3))
LABELS: tuple[dict[str, object], ...] = ({}, {"i": 0}, {"i": 1})


def test_all_coordinates_are_the_source_itself() -> None:
    sample = ps.Sample(DRAWS, -DRAWS)
    assert with_coordinates(sample, None, None) is sample
    assert with_coordinates(sample, None, {}) is sample


def test_coordinates_of_a_sample() -> None:
    facts = Facts(labels=LABELS)
    sample = ps.Sample(DRAWS, -DRAWS, names=["mu", "z[0]", "z[1]"], facts=facts)
    found = with_coordinates(sample, None, {"i": [1]})
    assert found.names == ("mu", "z[1]")
    assert found.facts.labels == ({}, {"i": 1})
    result = ps.check(sample, var_names="z", rng=0)
    assert result.dimension == 2
    expected = ps.check(DRAWS[..., 1:], -DRAWS[..., 1:], rng=0)
    assert result.pvalue == expected.pvalue
    assert sample.select(coords={"i": 0}, var_names="z").names == ("z[0]",)


def test_rows_that_are_read_in_blocks() -> None:
    source = complete(MinimalSource([(one, -one) for one in DRAWS], time_ordered=True))
    found = with_coordinates(source, ["x[0]", "x[2]"], None)
    assert found.names == ("x[0]", "x[2]")
    assert found.layout.dimension == 2
    block = found.read(1, 5, 9)
    assert np.array_equal(block.draws, DRAWS[1, 5:9][:, [0, 2]])
    assert np.array_equal(block.scores, -block.draws)
    kept = DRAWS[..., [0, 2]]
    assert ps.check(source, var_names=["x[0]", "x[2]"]).pvalue == ps.check(kept, -kept).pvalue
    source.executor = object()
    with pytest.raises(InputError, match="rows that other processes hold"):
        with_coordinates(source, "x[0]", None)
