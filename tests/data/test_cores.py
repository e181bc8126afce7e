"""Work beside passes: on threads where passes have several cores, else in turn."""

import threading
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.cores import MANY_ROWS, on_threads, side_by_side
from polystein.data.passes import cores, executed_by
from polystein.scale.threads import Threads

THIS = threading.get_ident


def test_parts_are_worked_on_in_their_order() -> None:
    met = threading.Barrier(2)

    def work(part: int) -> tuple[int, bool]:
        met.wait(timeout=60)  # both are at work at the same time
        return part, THIS() == here

    here = THIS()
    with executed_by(Threads(2)):
        assert cores() == 2
        assert on_threads(work, [3, 4]) == [(3, False), (4, False)]
    assert on_threads(lambda part: (part, THIS() == here), [3, 4]) == [(3, True), (4, True)]


@pytest.mark.parametrize(
    ("count", "rows", "apart"), [(2, MANY_ROWS, True), (2, MANY_ROWS - 1, False), (1, 2**30, False)]
)
def test_two_pieces_of_work_are_done_side_by_side(count: int, rows: int, apart: bool) -> None:
    order: list[str] = []
    second_began = threading.Event()

    def first() -> int:
        if apart:
            assert second_began.wait(timeout=60)
        order.append("first")
        return THIS()

    def second() -> None:
        second_began.set()
        order.append("second")

    with executed_by(Threads(count)):
        thread = side_by_side(first, second, rows)
    assert (thread != THIS()) == apart
    assert sorted(order) == ["first", "second"]
    assert apart or order == ["first", "second"]


@pytest.mark.parametrize("count", [1, 2])
def test_the_error_of_the_first_comes_first(count: int) -> None:
    def fails(name: str) -> Any:
        raise ValueError(name)

    with executed_by(Threads(count)):
        with pytest.raises(ValueError, match="first"):
            side_by_side(lambda: fails("first"), lambda: fails("second"), MANY_ROWS)
        with pytest.raises(ValueError, match="second"):
            side_by_side(lambda: 1, lambda: fails("second"), MANY_ROWS)


def test_roles_that_are_drawn_meanwhile_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A split of one seed does not depend on what is done beside it."""
    draws = np.random.default_rng(0).standard_normal((3000, 2))
    one = ps.lambda_psd_test(draws, -draws, order=2, rng=7, n_jobs=1)
    for module in ("guard.rows", "cores"):
        monkeypatch.setattr(f"polystein.data.{module}.MANY_ROWS", 1)
    drawn_on: list[int] = []
    partition = ps.RandomSplit.partition

    def noted(*arguments: Any) -> Any:
        drawn_on.append(THIS())
        return partition(*arguments)

    monkeypatch.setattr(ps.RandomSplit, "partition", noted)
    assert ps.lambda_psd_test(draws, -draws, order=2, rng=7, n_jobs=2) == one
    assert drawn_on != [THIS()]
    assert ps.lambda_psd_test(draws, -draws, order=2, rng=7, n_jobs=1) == one
    assert drawn_on[1:] == [THIS()]
