"""Memory for a block: the same for every block, never twice within one, and each thread's own."""

import threading
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from polystein._lib import scratch
from tests.rows import Array


def address(array: Array) -> int:
    return int(array.ctypes.data)


def taken(count: int) -> list[Array]:
    return [scratch.empty(4, 3) for _ in range(count)]


@pytest.fixture
def inside() -> Iterator[None]:
    with scratch.reused():
        yield


@pytest.mark.usefixtures("inside")
def test_the_next_block_has_the_memory_of_the_last() -> None:
    first = taken(3)
    scratch.next_block()
    assert [address(array) for array in taken(3)] == [address(array) for array in first]


@pytest.mark.usefixtures("inside")
def test_what_was_taken_since_a_mark_is_handed_out_again() -> None:
    kept = taken(2)
    mark = scratch.mark()
    first = taken(3)
    scratch.rewind(mark)
    second = taken(3)
    assert [address(array) for array in second] == [address(array) for array in first]
    assert not any(np.shares_memory(array, own) for array in second for own in kept)


@pytest.mark.usefixtures("inside")
def test_memory_is_never_handed_out_twice_within_a_block() -> None:
    for _ in range(3):
        arrays = [scratch.empty(*shape) for shape in ((4, 3), (2,), (4, 3), (100, 2), (1, 1, 5))]
        for k, array in enumerate(arrays):
            assert not any(np.shares_memory(array, other) for other in arrays[:k])
        scratch.next_block()


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("shape", [(4, 3), (2, 2), (12,), (1, 2, 6), (40, 5), (0, 3)])
def test_arrays_have_the_shape_asked_for(shape: tuple[int, ...]) -> None:
    """Also where the block before needed more, or less."""
    for _ in range(2):
        for wanted in ((4, 3), shape, (4, 3)):
            array = scratch.empty(*wanted)
            assert array.shape == wanted
            assert array.dtype == np.float64
            assert array.flags.c_contiguous
            like = scratch.empty_like(array)
            assert like.shape == wanted
            assert not np.shares_memory(like, array)
            scratch.next_block()


def test_outside_a_pass_memory_is_fresh() -> None:
    first = taken(2)
    scratch.next_block()
    second = [scratch.empty_like(first[0]), *taken(2)]
    for array in second:
        assert not any(np.shares_memory(array, other) for other in first)
        assert array.shape == (4, 3)
        assert array.base is None


def test_memory_is_released_after_a_pass() -> None:
    with scratch.reused():
        kept = taken(1)[0]
        kept.fill(1.0)
    with scratch.reused():
        other = taken(1)[0]
        other.fill(2.0)
    assert not np.shares_memory(kept, other)
    assert np.all(kept == 1.0)


def test_memory_is_released_after_an_error() -> None:
    kept: list[Array] = []

    def fail() -> None:
        kept.extend(taken(1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), scratch.reused():
        fail()
    assert scratch.empty(3).base is None
    with scratch.reused():
        assert not np.shares_memory(taken(1)[0], kept[0])


# Small arrays, and products


def test_small_arrays_are_the_allocators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SMALL", 12)
    with scratch.reused():
        small, large = scratch.empty(4, 3), scratch.empty(13)
        assert small.base is None
        assert large.base is not None
        scratch.next_block()
        assert not np.shares_memory(scratch.empty(4, 3), small)
        assert address(scratch.empty(13)) == address(large)


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("small", [0, 2**14])
def test_products_are_those_of_matrices(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SMALL", small)
    first, second = np.arange(12.0).reshape(4, 3), np.arange(6.0).reshape(3, 2)
    product = scratch.product(first, second)
    assert np.array_equal(product, first @ second)
    assert (product.base is None) == (small > 0)


@pytest.mark.usefixtures("inside")
def test_the_next_array_has_the_memory_of_one_that_was_released() -> None:
    kept, released = taken(2)
    scratch.release(released)
    again = taken(1)[0]
    assert address(again) == address(released)
    assert not np.shares_memory(again, kept)


@pytest.mark.usefixtures("inside")
def test_releasing_an_array_of_its_own_gives_nothing_back() -> None:
    kept = taken(1)[0]
    scratch.release(np.empty((4, 3)))
    assert not np.shares_memory(taken(1)[0], kept)


# A pass within a pass


@pytest.mark.usefixtures("inside")
def test_a_pass_within_a_block_leaves_its_memory_alone() -> None:
    outer = taken(2)
    with scratch.reused():
        first = taken(2)
        scratch.next_block()
        second = taken(3)
    for array in (*first, *second):
        assert not any(np.shares_memory(array, other) for other in outer)
    assert [address(array) for array in second[:2]] == [address(array) for array in first]
    # Memory of the inner pass is free again; that of the block is not.
    after = taken(1)[0]
    assert address(after) == address(first[0])


@pytest.mark.usefixtures("inside")
def test_the_outer_pass_goes_on_after_an_inner_one() -> None:
    outer = taken(2)
    with scratch.reused():
        taken(4)
        scratch.next_block()
    scratch.next_block()
    assert [address(array) for array in taken(2)] == [address(array) for array in outer]
    for _ in range(3):
        with scratch.reused(), scratch.reused():
            assert address(taken(1)[0]) not in [address(array) for array in outer]


# Threads


def test_threads_have_memory_of_their_own() -> None:
    both = threading.Barrier(2, timeout=10)
    found: dict[int, list[Array]] = {}

    def work(number: int) -> None:
        with scratch.reused():
            both.wait()
            found[number] = taken(2)
            for array in found[number]:
                array.fill(number)
            both.wait()
            scratch.next_block()
            assert np.all(taken(1)[0] == number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, arrays in found.items():
        assert all(np.all(array == number) for array in arrays)
    assert not any(np.shares_memory(one, other) for one in found[1] for other in found[2])


@pytest.mark.usefixtures("inside")
def test_a_pass_of_one_thread_is_none_of_another() -> None:
    taken(1)
    fresh: list[bool] = []
    thread = threading.Thread(target=lambda: fresh.append(scratch.empty(3).base is None))
    thread.start()
    thread.join()
    assert fresh == [True]
    assert scratch.empty(3).base is not None


def test_freed_memory_is_kept_once_for_the_whole_process() -> None:
    """What is asked for is let go at once: nothing stays behind."""
    scratch.keep_freed_memory.cache_clear()
    tracemalloc.start()
    scratch.keep_freed_memory()
    with scratch.reused():
        current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert current < 10_000 < 8 * scratch._KEPT <= peak
    assert scratch.keep_freed_memory.cache_info().misses == 1
