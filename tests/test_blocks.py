"""How rows are cut into blocks changes no answer, and nothing of a block is kept in its memory."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.source import Rows, Source, complete
from polystein.scale.threads import Threads
from tests.data.blocks import joined, seen, small_blocks
from tests.sources import MinimalSource, WeightedSource
from tests.test_sources import FUNCTIONS, answer, chains

SEQUENCE: dict[str, Any] = {"split": ps.BlockSplit(), "variance": ps.InitialSequence(), "rng": 1}
BATCHES: dict[str, Any] = {"split": ps.ChainSplit(), "variance": ps.BatchMeans(), "rng": 1}
FINER: dict[str, Any] = {"standardise": True, "rng": 1}
#: Functions and options beyond those of `FUNCTIONS`, for chains.
FURTHER: dict[str, tuple[Any, dict[str, Any]]] = {
    "psd_test sequence": (ps.psd_test, {"order": 2, **SEQUENCE}),
    "lambda_psd_test sequence": (ps.lambda_psd_test, {"order": 3, **SEQUENCE}),
    "lambda_psd_test batches": (ps.lambda_psd_test, {"order": 3, **BATCHES}),
    "lambda_psd_test random": (ps.lambda_psd_test, {"order": 3, "rng": 1}),
    "psd_test bounded": (ps.psd_test, {"order": 3, "basis": "bounded-hermite", **FINER}),
    **{
        f"lambda_psd_test {resolution}": (
            ps.lambda_psd_test,
            {"order": 2, "resolution": resolution, "weights": ps.SoftThreshold(), **FINER},
        )
        for resolution in ("entry", "coordinate", "hierarchical")
    },
    "psd_bootstrap_test u": (
        ps.psd_bootstrap_test,
        {"order": 2, "estimator": "u", "n_bootstrap": 50, "rng": 1},
    ),
    "fssd_test guess": (ps.fssd_test, {"optimise": False, "rng": 1, "n_simulations": 100}),
}
LAYOUTS = {"long": (150, 200, 100), "short": (9,) * 50, "ragged": (1, 30, 260, 2, 5, 3, 120, 29)}


def ragged(layout: str, *, weighted: bool) -> Source:
    """Chains of these lengths, with weights or without.

    Scores are no multiples of draws: where draws and scores differ alike from chain to chain,
    rounding decides which of them is named.
    """
    parts = [
        (draws[:stop], scores[:stop] - 0.1 * np.tanh(draws[:stop]))
        for stop, (draws, scores) in zip(
            LAYOUTS[layout], chains(len(LAYOUTS[layout]), 260), strict=True
        )
    ]
    if not weighted:
        return complete(MinimalSource(parts, time_ordered=True))
    rng = np.random.default_rng(6)
    log_weights = [rng.normal(300.0, 0.5, len(draws)) for draws, _ in parts]
    return complete(WeightedSource(parts, log_weights, ("a", "b", "c"), time_ordered=True))


def independent(*, weighted: bool) -> ps.Sample:
    """Rows that may be split at random."""
    (draws, scores), *_ = chains(1, 700, memory=0.0)
    log_weights = np.random.default_rng(6).normal(300.0, 0.5, 700)
    return ps.Sample(draws, scores, log_weights=log_weights if weighted else None)


def assert_close(first: Any, second: Any, bound: float = 1e-12) -> None:
    """Equal words, and numbers equal to a bound."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key, value in first.items():
            assert_close(value, second[key], bound)
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_close(one, other, bound)
    elif isinstance(first, float) and second is not None:
        assert first == pytest.approx(second, rel=bound, abs=bound)
    else:
        assert first == second


def cases(kind: str, weights: bool) -> dict[str, tuple[Any, dict[str, Any]]]:
    """All functions that take rows of this kind."""
    kinds = {kind, "weights"} if weights else {kind}
    return {name: (f, options) for name, (f, options, of) in FUNCTIONS.items() if kinds <= of}


ROWS, CHAINS = cases("rows", weights=False), {**cases("chains", weights=False), **FURTHER}
UNWEIGHTED = {"fssd_test guess", "psd_bootstrap_test u"}
WEIGHTED = {
    **cases("chains", weights=True),
    **{name: case for name, case in FURTHER.items() if name not in UNWEIGHTED},
}


#: One way to cut chains for each function, by turns, and all ways for one of each kind.
#: The others are slow.
WAYS = [("long", 7), ("short", 7), ("ragged", 1)]
ALL_WAYS = {"psd", "lambda_psd_test sequence", "psd_bootstrap_test", "check"}
CUTS = [
    pytest.param(name, *way, marks=() if (row + column) % len(WAYS) == 0 else pytest.mark.slow)
    for row, name in enumerate(CHAINS)
    for column, way in enumerate(WAYS)
    if name in ALL_WAYS or (row + column) % len(WAYS) == 0
]


def compared(monkeypatch: pytest.MonkeyPatch, case: Any, source: Source, rows: int) -> None:
    """The answer with blocks of so many rows is that of one block."""
    function, options = case
    small_blocks(monkeypatch, 10**6)
    expected = answer(function, source, options)
    small_blocks(monkeypatch, rows)
    # A regression solves normal equations, which magnify the rounding of their sums.
    regression = function is ps.effects or "tolerance" in options
    assert_close(answer(function, source, options), expected, 1e-7 if regression else 1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_independent_rows_may_be_cut_anywhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(monkeypatch, ROWS[name], independent(weighted=False), 29)


@pytest.mark.parametrize(("name", "layout", "rows"), CUTS)
def test_chains_may_be_cut_and_joined_anywhere(
    name: str, layout: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(monkeypatch, CHAINS[name], ragged(layout, weighted=False), rows)


#: Weighted rows take the same way through the code: half of the functions are slow.
HALVED = [
    pytest.param(name, marks=pytest.mark.slow if row % 2 else ())
    for row, name in enumerate(WEIGHTED)
]


@pytest.mark.parametrize("name", HALVED)
def test_weighted_chains_may_be_cut_and_joined_anywhere(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(monkeypatch, WEIGHTED[name], ragged("ragged", weighted=True), 13)


def test_threads_do_not_write_into_each_others_memory() -> None:
    """Rows that many threads gather at the same time come out as they are."""
    draws = np.random.default_rng(0).standard_normal((60_000, 3))
    sample = ps.Sample(draws, -draws)
    mask = np.random.default_rng(1).random(60_000) < 0.4
    for _ in range(5):
        blocks = seen(sample, [Rows(0, 0, 60_000, mask)], executor=Threads(8, 1), most=100)
        assert np.array_equal(joined(blocks), draws[mask])
