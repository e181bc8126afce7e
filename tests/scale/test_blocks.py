"""Blocks that are made on the fly: the answer of memory, and faults by the number of the block."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.scale.blocks import _DIGEST_WORDS, _digest
from tests.scale.doubles import Array, rows
from tests.scale.test_sources import CALLS, quietly


class Blocks:
    """Pairs of draws and scores of the rows of an array, in one buffer that is used again."""

    def __init__(self, draws: Array, scores: Array, size: int) -> None:
        self.arrays, self.size, self.walks = (draws, scores), size, 0

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        self.walks += 1
        for low in range(0, len(self.arrays[0]), self.size):
            draws, scores = (array[low : low + self.size].copy() for array in self.arrays)
            yield draws, scores
            draws[:], scores[:] = np.nan, np.nan


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("size", [77, 4000])
def test_blocks_give_the_answer_of_memory(name: str, size: int) -> None:
    draws, scores = rows()
    found = quietly(CALLS[name], Blocks(draws, scores, size))
    assert found == pytest.approx(quietly(CALLS[name], draws, scores), abs=1e-9)


def test_a_function_and_a_list_of_pairs_are_blocks_too() -> None:
    draws, scores = rows()
    blocks = Blocks(draws, scores, 500)
    expected = ps.psd(draws, scores, order=2)
    assert ps.psd(lambda: iter(blocks), order=2) == pytest.approx(expected, rel=1e-12)
    pairs = [(draws[:1000], scores[:1000]), (draws[1000:], scores[1000:])]
    assert ps.psd(pairs, order=2) == pytest.approx(expected, rel=1e-12)


def test_blocks_of_draws_with_a_function(tmp_path: Path) -> None:
    draws, scores = rows()
    blocks = [draws[:1500], draws[1500:]]
    expected = ps.psd(draws, scores, order=2)
    for cache in (None, tmp_path):
        source = ps.from_store(lambda: blocks, lambda x: -x, cache=cache)
        assert ps.psd(source, order=2) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("table", [ps.effects, ps.expectations])
def test_blocks_give_the_table_of_memory(table: Callable[..., Any]) -> None:
    """All of it: directions, too, which are judged on rows of their own."""
    draws, scores = rows()
    found, expected = table(Blocks(draws, scores, 77)).rows, table(draws, scores).rows
    assert [(row.name, row.what) for row in found] == [(row.name, row.what) for row in expected]
    for one, other in zip(found, expected, strict=True):
        values = zip(one, other, strict=True)
        numbers = [(mine, theirs) for mine, theirs in values if isinstance(theirs, float)]
        for mine, theirs in numbers:
            assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9, nan_ok=True)


def test_a_function_of_blocks_of_draws_beside_a_score_function() -> None:
    draws, scores = rows()
    expected = ps.psd(draws, scores, order=2)
    found = ps.psd(lambda: iter([draws[:1500], draws[1500:]]), lambda x: -x, order=2)
    assert found == pytest.approx(expected, rel=1e-12)


def test_blocks_are_walked_once_to_count_unless_they_say_their_shape() -> None:
    draws, scores = rows()
    blocks = Blocks(draws, scores, 500)
    ps.psd(blocks, order=2)
    assert blocks.walks == 2
    told = Blocks(draws, scores, 500)
    told.shape = draws.shape  # type: ignore[attr-defined]
    ps.psd(told, order=2)
    assert told.walks == 1


def test_check_walks_at_most_four_times() -> None:
    draws, scores = rows(30_000)
    blocks = Blocks(draws, scores, 1000)
    source = ps.from_store(blocks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        ps.check(source, rng=1)
    assert blocks.walks <= 1 + 4


def test_progress_hears_of_the_count() -> None:
    heard: list[tuple[int, int]] = []
    ps.from_store(Blocks(*rows(), 1000), progress=lambda *told: heard.append(told))
    assert heard == [(1000, 0), (2000, 0), (3000, 0), (4000, 0)]


def faulty(change: Callable[[int, Array, Array], Any]) -> Callable[[], Iterator[Any]]:
    """1,000 blocks of 10 rows, each after a change."""

    def blocks() -> Iterator[Any]:
        for number in range(1000):
            draws = np.random.default_rng(number).standard_normal((10, 2))
            yield change(number, draws, -draws)

    return blocks


def with_nan(number: int, draws: Array, scores: Array) -> Any:
    if number == 731:
        draws[4, 1] = np.nan
    return draws, scores


def of_another_width(number: int, draws: Array, scores: Array) -> Any:
    return (draws[:, :1], scores[:, :1]) if number == 731 else (draws, scores)


def without_scores(number: int, draws: Array, scores: Array) -> Any:
    return draws if number == 731 else (draws, scores)


def with_short_scores(number: int, draws: Array, scores: Array) -> Any:
    return draws, scores[:-1] if number == 731 else scores


def that_fails(number: int, draws: Array, scores: Array) -> Any:
    if number == 731:
        raise RuntimeError("the worker is gone")
    return draws, scores


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_nan, "`draws` must be finite; got nan in block 731, row 7314, coordinate 1"),
        (of_another_width, r"block 731 of `draws` must have the shape \(rows, 2\); got \(10, 1\)"),
        (without_scores, r"block 731 of `draws` must be a pair \(draws, scores\); got ndarray"),
        (with_short_scores, r"the scores of block 731 .* the shape of its draws, \(10, 2\)"),
        (that_fails, "block 731 of `draws` failed: the worker is gone"),
    ],
)
def test_a_fault_is_named_with_its_block(change: Any, message: str) -> None:
    for function in (lambda x: ps.psd(x, order=2), lambda x: ps.check(x)):
        with pytest.raises(ps.InputError, match=message):
            function(faulty(change))


@pytest.mark.parametrize("later", [-1, 1])
def test_a_source_that_changes_its_length_between_passes_is_an_error(later: int) -> None:
    draws, scores = rows(1000)
    walks = []

    def blocks() -> Iterator[Any]:
        walks.append(1)
        count = 9 if len(walks) == 1 else 9 + later
        return iter(Blocks(draws[: 100 * count], scores[: 100 * count], 100))

    with pytest.raises(ps.InputError, match=r"same blocks in every pass.*block [78]|more after bl"):
        ps.psd(blocks, order=2)


def test_blocks_that_are_drawn_anew_in_every_walk_are_an_error() -> None:
    rng = np.random.default_rng(0)

    def blocks() -> Iterator[Any]:
        for _ in range(5):
            draws = rng.standard_normal((100, 2))
            yield draws, -draws

    with pytest.raises(ps.InputError, match="Fix the seed inside of the function"):
        ps.psd(blocks, order=2)


def later(change: Callable[[Array, Array], tuple[Array, Array]]) -> Callable[[], Iterator[Any]]:
    """Five blocks of 100 rows, of which the fourth is changed from the second walk on."""
    draws, scores = rows(500)
    walks = []

    def blocks() -> Iterator[Any]:
        walks.append(1)
        for number in range(5):
            pair = (array[100 * number :][:100].copy() for array in (draws, scores))
            yield change(*pair) if number == 3 and len(walks) > 1 else tuple(pair)

    return blocks


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda x, s: (x[::-1], s[::-1]), "draws"),  # shuffled within the block
        (lambda x, s: (x + 1e-15, s), "draws"),
        (lambda x, s: (x, s * (1.0 + 1e-12)), "scores"),
        (lambda x, s: (-x, -s), "draws"),
    ],
)
def test_any_block_that_changes_between_passes_is_an_error(change: Any, part: str) -> None:
    message = f"same blocks in every pass; the {part} of block 3 are other ones than before"
    with pytest.raises(ps.InputError, match=message):
        ps.psd(later(change), order=2)
    source = ps.from_store(later(change))
    for _ in range(2):  # an error does not let the block pass the next time
        with pytest.raises(ps.InputError, match=message):
            ps.psd(source, order=2)


@pytest.mark.parametrize("shape", [(5, 2), (508, 2), (3000, 1), (3000, 8), (2000, 127)])
def test_a_digest_depends_on_every_number_and_on_their_order(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    block = rng.standard_normal(shape)
    known = _digest(block)
    assert _digest(np.asfortranarray(block)) == _digest(block.copy()) == known
    for _ in range(50):
        row, other = rng.choice(shape[0], 2, replace=False)
        swapped, moved = block.copy(), block.copy()
        swapped[[row, other]] = swapped[[other, row]]
        moved[row, -1] = np.nextafter(moved[row, -1], np.inf)
        assert (_digest(swapped) != known) == ((row - other) * shape[1] % _DIGEST_WORDS != 0)
        assert _digest(moved) != known
    assert _digest(rng.permutation(block)) != known


def test_copies_of_a_source_remember_the_blocks() -> None:
    """`check` takes the rows as a chain in time order, which is a copy of the source."""
    source = ps.from_store(later(lambda x, s: (x + 1.0, s)))
    with pytest.raises(ps.InputError, match="the draws of block 3 are other ones than before"):
        ps.check(source)


@pytest.mark.parametrize("kind", [np.asfortranarray, lambda x: x.astype(np.float32), np.ma.array])
def test_blocks_of_any_kind_are_the_same_in_every_pass(kind: Callable[[Array], Any]) -> None:
    draws, scores = rows(500)
    found = ps.psd([(kind(draws), kind(scores)), (kind(scores), kind(draws))], order=2)
    both = np.concatenate([draws, scores]), np.concatenate([scores, draws])
    assert found == pytest.approx(ps.psd(*both, order=2), rel=1e-6)


def test_what_can_be_walked_once_is_refused() -> None:
    draws, scores = rows(100)
    with pytest.raises(ps.InputError, match="walked several times; got a generator"):
        ps.psd((pair for pair in [(draws, scores)]), order=2)


def test_no_rows_are_an_error() -> None:
    with pytest.raises(ps.InputError, match="`draws` must not be empty"):
        ps.psd(lambda: iter(()), order=2)


def test_a_walk_that_was_interrupted_begins_anew() -> None:
    draws, scores = rows(1000)
    interrupted = [True]

    def blocks() -> Iterator[Any]:
        yield draws[:500], scores[:500]
        if interrupted and interrupted.pop():
            raise KeyboardInterrupt
        yield draws[500:], scores[500:]

    blocks.shape = draws.shape  # type: ignore[attr-defined]
    source = ps.from_store(blocks)
    with pytest.raises(KeyboardInterrupt):
        ps.psd(source, order=2)
    assert ps.psd(source, order=2) == pytest.approx(ps.psd(draws, scores, order=2), rel=1e-12)


def test_rows_that_were_added_are_an_error_the_second_time_too() -> None:
    draws, scores = rows(200)
    pairs = [(draws[:100], scores[:100])]
    source = ps.from_store(lambda: pairs)
    pairs.append((draws[100:], scores[100:]))
    for _ in range(2):
        with pytest.raises(ps.InputError, match="there are more after block 0 now"):
            ps.psd(source, order=2)


def masked(number: int, draws: Array, scores: Array) -> Any:
    return np.ma.masked_array(draws, (number == 731) & (draws == draws[4, 1])), scores


def in_complex_numbers(number: int, draws: Array, scores: Array) -> Any:
    return draws, scores + 1j if number == 731 else scores


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (masked, "`draws` must be finite; got nan in block 731, row 7314, coordinate 1"),
        (in_complex_numbers, "block 731 of `draws` could not be used: .* real numbers.*complex"),
    ],
)
def test_values_that_would_change_are_an_error(change: Any, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        ps.psd(faulty(change), order=2)
