"""Sources: the least that one must have, what the door adds, and the names of coordinates."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.facts import Facts
from polystein.data.sample import as_source
from polystein.data.source import (
    Block,
    Layout,
    complete,
    coordinate_names,
    in_time_order,
    is_source,
)
from polystein.errors import InputError
from tests.rows import arbitrary_rows
from tests.sources import MinimalSource

DRAWS, SCORES = arbitrary_rows(400, 3)


class NamedSource(MinimalSource):
    """One with some of the optional attributes."""

    names = ("a", "b", "c")
    grain = 100


def minimal_source(kind: Any = MinimalSource) -> Any:
    return kind([(DRAWS, SCORES)], time_ordered=False)


def test_layout_and_read_make_a_source() -> None:
    assert is_source(minimal_source())
    assert is_source(ps.Sample(DRAWS, SCORES))
    assert not is_source(DRAWS)
    assert not is_source(None)


def test_a_minimal_source_is_completed_at_the_door() -> None:
    source = as_source(minimal_source(), None)
    assert source.layout == Layout((400,), 3, False)
    assert (source.names, source.weighted, source.log_scale) == (None, False, 0.0)
    assert (source.grain, source.sequential, source.facts) == (1, False, Facts())
    assert (source.keeps_decoded, source.validated, source.executor) == (False, True, None)
    assert (source.read_chains, source.part_of_rows, source.part_of_chains) == (None, None, None)
    block = source.read(0, 5, 9)
    assert np.array_equal(block.draws, DRAWS[5:9])
    assert np.array_equal(block.scores, SCORES[5:9])
    assert repr(source) == "MinimalSource(400 draws, d=3)"


def test_what_a_source_says_of_itself_is_kept() -> None:
    source = as_source(minimal_source(NamedSource), None)
    assert (source.names, source.grain, source.sequential) == (("a", "b", "c"), 100, False)


def test_a_complete_source_passes_as_it_is() -> None:
    sample = ps.Sample(DRAWS, SCORES)
    assert as_source(sample, None) is sample
    completed = complete(minimal_source())
    assert complete(completed) is completed


def test_a_minimal_source_stands_in_for_draws_and_scores() -> None:
    source = minimal_source()
    assert ps.psd(source, order=3) == ps.psd(DRAWS, SCORES, order=3)
    found = ps.psd_test(source, order=2, rng=0)
    assert found.statistic == ps.psd_test(DRAWS, SCORES, order=2, rng=0).statistic


def test_a_source_has_scores_of_its_own() -> None:
    message = "`scores` must not be given with a MinimalSource, which has its own; got ndarray"
    with pytest.raises(InputError, match=message):
        as_source(minimal_source(), SCORES)


def test_a_layout_of_another_kind_is_refused() -> None:
    source = minimal_source()
    source.layout = (400, 3)
    message = r"`layout` of a source must be a polystein.data.source.Layout\(.*\); got \(400, 3\)"
    with pytest.raises(InputError, match=message):
        as_source(source, None)


# Time order


def test_rows_can_be_taken_as_a_chain() -> None:
    sample = ps.Sample(DRAWS, SCORES, names=["a", "b", "c"], log_weights=np.zeros(400))
    chain = in_time_order(sample)
    assert chain.layout == Layout((400,), 3, True)
    assert (chain.names, chain.weighted) == (("a", "b", "c"), True)
    assert chain.facts is sample.facts
    assert np.array_equal(chain.read(0, 5, 9).draws, DRAWS[5:9])
    assert repr(chain).endswith("of 400 draws, d=3, weighted)")
    # The sample itself is left alone.
    assert not sample.layout.time_ordered


def test_chains_are_in_time_order_already() -> None:
    chains = ps.Sample(DRAWS.reshape(4, 100, 3), SCORES.reshape(4, 100, 3))
    assert in_time_order(chains) is chains


# Layouts, blocks and names


def test_a_layout_counts_its_rows_and_says_what_it_is() -> None:
    assert Layout((30, 20), 2, True).total == 50
    assert str(Layout((40,), 3, False)) == "40 draws, d=3"
    assert str(Layout((10, 10), 3, True)) == "2 chains of 10 draws, d=3"


def test_rows_without_weights_weigh_one() -> None:
    block = Block(DRAWS[:4], SCORES[:4], None, 0, 0)
    assert np.array_equal(block.weights_or_ones, np.ones(4))
    weights = np.arange(4.0)
    assert block._replace(weights=weights).weights_or_ones is weights


def test_coordinates_without_names_are_numbered() -> None:
    assert coordinate_names(ps.Sample(DRAWS, SCORES)) == ("x[0]", "x[1]", "x[2]")
    assert coordinate_names(ps.Sample(DRAWS, SCORES, names=["b", "a", "c"])) == ("b", "a", "c")


# What a source gives out


class Faulty(MinimalSource):
    """A source whose blocks are not what its layout says."""

    def __init__(self, fault: Any, **attributes: Any) -> None:
        rows = np.random.default_rng(0).standard_normal((60, 3))
        super().__init__([(rows, -rows)], time_ordered=False)
        self._fault = fault
        self.__dict__.update(attributes)

    def read(self, chain: int, start: int, stop: int) -> Block:
        block: Block = self._fault(super().read(chain, start, stop))
        return block


def with_nan(block: Block) -> Block:
    block.scores[-1, 1] = np.nan
    return block


@pytest.mark.parametrize(
    ("fault", "attributes", "message"),
    [
        (
            lambda b: b.part(0, 20),
            {},
            r"draws of rows 0:60 of chain 0 must have the shape \(60, 3\)",
        ),
        (lambda b: b._replace(scores=b.scores[:, 0]), {}, "scores of rows .* must have the shape"),
        (with_nan, {}, "scores of rows 0:60 .* must be finite; got nan in row 59, coordinate 1"),
        (
            lambda b: b._replace(scores=b.scores + 0.0j),
            {},
            "scores of rows 0:60 of chain 0 must hold real numbers; got dtype complex128",
        ),
        (
            lambda b: b._replace(draws=np.ma.masked_greater(b.draws, 1.0)),
            {},
            "draws of rows 0:60 of chain 0 must be finite; got nan",
        ),
        (lambda b: b, {"weighted": True}, "`weights` of rows .* if and only if"),
        (lambda b: b._replace(weights=np.ones(60)), {}, "`weights` of rows .* if and only if"),
        (
            lambda b: b._replace(weights=np.full(60, -1.0)),
            {"weighted": True},
            "must not be negative; got -1.0",
        ),
    ],
)
@pytest.mark.parametrize("function", [ps.psd, ps.psd_test, ps.psd_bootstrap_test])
def test_faulty_blocks_are_errors(
    function: Any, fault: Any, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        function(Faulty(fault, **attributes), order=1)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_blocks_of_other_precisions_are_converted(dtype: Any) -> None:
    def rounded(block: Block) -> Block:
        return block._replace(draws=np.rint(block.draws).astype(dtype))

    rows = np.rint(np.random.default_rng(0).standard_normal((60, 3)))
    scores = -np.random.default_rng(0).standard_normal((60, 3))
    assert ps.psd(Faulty(rounded), order=2) == ps.psd(rows, scores, order=2)


def test_a_source_may_use_its_memory_again() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 300, 3))
    memory = np.empty((300, 3))

    class Reusing(MinimalSource):
        def read(self, chain: int, start: int, stop: int) -> Block:
            memory[: stop - start] = rows[chain, start:stop]
            return Block(memory[: stop - start], -memory[: stop - start], None, chain, start)

    source = Reusing([(part, -part) for part in rows], time_ordered=True)
    assert ps.psd(source, order=2) == ps.psd(rows, -rows, order=2)


@pytest.mark.parametrize(
    "layout", [Layout((), 2, False), Layout((3, 0), 2, True), Layout((3,), 0, True)]
)
def test_an_empty_layout_is_refused(layout: Layout) -> None:
    source = Faulty(lambda block: block)
    source.layout = layout
    with pytest.raises(InputError, match="at least one chain"):
        ps.psd(source, order=1)
