"""Run times: their grid, and the published ones beside them."""

import pytest

from polystein.experiments.engine.cells import Replicate, Row
from polystein.experiments.paper import published, runtime

# On purpose, draws are tested here that a warning is in place for.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


def test_the_grid_is_the_papers() -> None:
    points = {(one["sweep"], one["n"], one["d"], one["order"]) for one in runtime.cells(1)}
    assert points == {(one.sweep, one.n, one.dimension, one.order) for one in published.runtimes()}


def test_runtime_keeps_published_times_beside_its_own() -> None:
    cell = next(
        one
        for one in runtime.cells(1)
        if (one["sweep"], one["n"], one["order"]) == ("vary_n", 100, 1)
    )
    (timed,) = runtime.task(Replicate(cell, 0, seed=0))
    assert 0.0 < float(timed["seconds"] or 0.0) < 10.0
    rows: list[Row] = [{**dict(cell.settings), "seconds": one} for one in (3.0, 1.0, 2.0)]
    (row,) = runtime.summarise(rows)
    assert row["median_seconds"] == 2.0
    assert row["published_median_seconds"] == next(
        one.median_seconds
        for one in published.runtimes()
        if (one.sweep, one.n, one.order) == ("vary_n", 100, 1)
    )
