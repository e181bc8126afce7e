"""Stretches of rows are found in any block, row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polystein._lib.segments import Cuts

Stretch = tuple[int, int, int]


@st.composite
def stretches(draw: st.DrawFn) -> list[Stretch]:
    """Stretches (chain, start, stop) in order, which need not touch."""
    found: list[Stretch] = []
    for chain in range(draw(st.integers(1, 4))):
        edges = sorted(draw(st.sets(st.integers(0, 20), min_size=2, max_size=8)))
        for start, stop in zip(edges[::2], edges[1::2], strict=False):
            found.append((chain, start, stop))
    return found


@given(table=stretches(), data=st.data())
def test_every_row_of_a_stretch_is_in_its_segment(
    table: list[Stretch], data: st.DataObject
) -> None:
    runs, rows, low = [], [], 0
    for chain in range(data.draw(st.integers(1, 5))):
        start, length = data.draw(st.integers(0, 20)), data.draw(st.integers(1, 10))
        runs.append((chain, start, low, low + length))
        rows += [(chain, start + k) for k in range(length)]
        low += length
    cuts = Cuts(*np.array([(*one, 10 * number) for number, one in enumerate(table)]).T)
    expected = {
        place: 10 * number
        for number, (chain, start, stop) in enumerate(table)
        for place, row in enumerate(rows)
        if row[0] == chain and start <= row[1] < stop
    }
    found = {
        place: number
        for low, high, number in zip(*cuts.segments(runs), strict=True)
        for place in range(low, high)
    }
    assert found == expected


def test_an_empty_answer_has_no_segments() -> None:
    cuts = Cuts(*np.array([[0, 0, 5, 7]]).T)
    assert [part.size for part in cuts.segments([(0, 5, 0, 3), (3, 0, 3, 4)])] == [0, 0, 0]
