"""Every public function that takes draws on every store, at a small size: the answer of memory."""

from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from integration.stores import (
    ARRAYS,
    STORES,
    Store,
    Stored,
    rows_of,
    with_a_score_function,
)
from tests.test_sources import FUNCTIONS, answer

HELD = {"rows": rows_of(400, 3), "chains": rows_of(3, 300, 3)}
#: One function for each way of reading: in one pass, in several, rows split at random, rows for a
#: bootstrap, all rows at once, and chains in their order. Every store is tried with all of these.
EACH_WAY = {"psd", "o_psd", "lambda_psd_test", "lambda_psd_test chains", "psd_bootstrap_test"}
EACH_WAY |= {"ksd_test", "effects", "check"}
#: Those that read chains in another way than rows.
CHAINS_EACH_WAY = {"lambda_psd_test chains", "psd_bootstrap_test", "effects", "check"}
#: Every sixth store for a function, and every sixth function for a store.
EVERY = 6
#: `refine` moves rows in memory: it takes an array or a `Sample`.
IN_MEMORY = {"refine"}


def cells(
    kind: str, stores: list[Store], first: int, each_way: Set[str]
) -> list[tuple[str, Store]]:
    """Functions and stores to be tried together; none of either is left out."""
    names = [name for name, (_, _, kinds) in FUNCTIONS.items() if kind in kinds]
    return [
        (name, store)
        for row, name in enumerate(names)
        for column, store in enumerate(stores)
        if name not in IN_MEMORY and (name in each_way or (row + column) % EVERY == first)
    ]


def numbers(found: Any) -> Iterator[float]:
    """All numbers of an answer in their order; parameters have the names of their store."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for value in found:
            yield from numbers(value)
    elif isinstance(found, int | float):
        yield float(found)


def answer_of(name: str, arguments: Any) -> dict[str, Any]:
    function, options, _ = FUNCTIONS[name]
    return answer(lambda given, **options: function(*given, **options), arguments, options)


@cache
def in_memory(name: str, kind: str) -> dict[str, Any]:
    return answer_of(name, HELD[kind])


def same_as_in_memory(name: str, stored: Stored, kind: str) -> None:
    found, expected = answer_of(name, stored), in_memory(name, kind)
    assert found.keys() == expected.keys()
    assert list(numbers(found)) == pytest.approx(list(numbers(expected)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "store"), cells("rows", STORES, 0, EACH_WAY))
def test_every_function_takes_rows_of_every_store(name: str, store: Store, tmp_path: Path) -> None:
    same_as_in_memory(name, store(HELD["rows"], tmp_path), "rows")


@pytest.mark.parametrize(("name", "store"), cells("chains", ARRAYS, 1, CHAINS_EACH_WAY))
def test_every_function_takes_chains_of_every_store(
    name: str, store: Store, tmp_path: Path
) -> None:
    same_as_in_memory(name, store(HELD["chains"], tmp_path), "chains")


@pytest.mark.parametrize(("name", "store"), cells("rows", STORES, 2, frozenset()))
def test_every_function_takes_scores_of_a_function(name: str, store: Store, tmp_path: Path) -> None:
    same_as_in_memory(name, with_a_score_function(store(HELD["rows"], tmp_path)), "rows")


@pytest.mark.parametrize(("kind", "stores"), [("rows", STORES), ("chains", ARRAYS)])
@pytest.mark.parametrize("first", range(EVERY))
def test_no_function_and_no_store_is_left_out(kind: str, stores: list[Store], first: int) -> None:
    tried = cells(kind, stores, first, frozenset())
    assert {name for name, _ in tried} == {
        name for name, (_, _, kinds) in FUNCTIONS.items() if kind in kinds
    } - IN_MEMORY
    assert {store for _, store in tried} == set(stores)
