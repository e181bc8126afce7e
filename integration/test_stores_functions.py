"""Every public function that takes draws on every store, at a small size: the answer of memory."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import polystein as ps
from integration.stores import ARRAYS, STORES, Rows, Store, rows_of, with_a_score_function
from tests.test_sources import FUNCTIONS, Function, answer, without_ranks

ROWS, CHAINS = rows_of(400, 3), rows_of(3, 300, 3)
OF_ROWS = [name for name, (_, _, kinds) in FUNCTIONS.items() if "rows" in kinds]
OF_CHAINS = [name for name, (_, _, kinds) in FUNCTIONS.items() if "chains" in kinds]


def numbers(found: Any) -> Iterator[float]:
    """All numbers of an answer in their order; parameters have the names of their store."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for value in found:
            yield from numbers(value)
    elif isinstance(found, int | float):
        yield float(found)


def called(function: Function, arguments: Any, **options: Any) -> Any:
    return function(*arguments, **options)


def same_as_in_memory(name: str, stored: tuple[Any, ...], held: Rows) -> None:
    function, options, _ = FUNCTIONS[name]
    found, expected = (
        answer(partial(called, function), arguments, options) for arguments in (stored, held)
    )
    if function is ps.check:
        found, expected = without_ranks(found), without_ranks(expected)
    assert found.keys() == expected.keys()
    assert list(numbers(found)) == pytest.approx(list(numbers(expected)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", OF_ROWS)
def test_every_function_takes_rows_of_every_store(name: str, store: Store, tmp_path: Path) -> None:
    same_as_in_memory(name, store(ROWS, tmp_path), ROWS)


@pytest.mark.parametrize("store", ARRAYS)
@pytest.mark.parametrize("name", OF_CHAINS)
def test_every_function_takes_chains_of_every_store(
    name: str, store: Store, tmp_path: Path
) -> None:
    same_as_in_memory(name, store(CHAINS, tmp_path), CHAINS)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", OF_ROWS)
def test_every_function_takes_scores_of_a_function(name: str, store: Store, tmp_path: Path) -> None:
    same_as_in_memory(name, with_a_score_function(store(ROWS, tmp_path)), ROWS)
