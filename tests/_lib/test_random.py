"""Randomness: reproducible from an int, shared between tests, never global."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein._lib.random import Streams, seed_sequence, seed_setting
from polystein.errors import InputError
from tests.conftest import RecordingSplit, arbitrary_rows

# What the draws look like is of no concern here.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
DRAWS, SCORES = arbitrary_rows(200, 2)


def statistic(rng: Any) -> float:
    return ps.lambda_psd_test(DRAWS, SCORES, order=2, rng=rng).statistic


@pytest.mark.parametrize("rng", [-1, 1.5, True, "1", [1, 2], np.random.RandomState(0)])
def test_bad_values_are_refused(rng: Any) -> None:
    message = "`rng` must be a non-negative int, a numpy SeedSequence, a numpy Generator or None"
    with pytest.raises(InputError, match=message):
        statistic(rng)


def test_an_int_reproduces() -> None:
    assert statistic(3) == statistic(3) == statistic(np.int64(3))
    assert statistic(3) != statistic(4)


def test_a_seed_sequence_reproduces_and_is_not_changed() -> None:
    sequence = np.random.SeedSequence(9, spawn_key=(2,))
    before = sequence.state
    assert statistic(sequence) == statistic(sequence)
    assert sequence.state == before
    assert statistic(sequence) != statistic(np.random.SeedSequence(9))


def test_a_sequence_and_its_int_give_the_same() -> None:
    assert statistic(np.random.SeedSequence(9)) == statistic(9)


@pytest.mark.parametrize("given", [9, np.int64(9), np.uint8(9), 2**200])
def test_a_result_keeps_an_int_that_gives_the_same_again(given: Any) -> None:
    for rng in (given, np.random.SeedSequence(given), np.random.SeedSequence(given, pool_size=8)):
        kept = seed_setting(rng)
        assert (type(kept), kept) == (int, int(given))
        assert statistic(kept) == statistic(rng)


def test_a_result_keeps_no_int_of_what_no_int_gives() -> None:
    spawned, several = np.random.SeedSequence(9).spawn(1)[0], np.random.SeedSequence([9, 1])
    for sequence in (spawned, several, np.random.SeedSequence(True)):
        assert seed_setting(sequence) == "SeedSequence"
    assert seed_setting(np.random.default_rng(9)) == "Generator"
    assert seed_setting(None) is None


def test_a_generator_advances() -> None:
    generator = np.random.default_rng(1)
    first, second = statistic(generator), statistic(generator)
    assert first != second
    again = np.random.default_rng(1)
    assert (statistic(again), statistic(again)) == (first, second)


def test_none_differs_from_call_to_call() -> None:
    assert seed_sequence(None).entropy != seed_sequence(None).entropy


def test_the_global_state_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - it must not be touched
    statistic(0)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_streams_are_different_and_in_a_fixed_order() -> None:
    streams = Streams(5)
    first = [stream.random() for stream in (streams.split, streams.weights, streams.resampling)]
    assert len(set(first)) == 3
    children = np.random.SeedSequence(5).spawn(3)
    assert first == [np.random.default_rng(child).random() for child in children]
    # The order in which they are asked for does not matter.
    streams = Streams(5)
    assert [streams.resampling.random(), streams.split.random()] == [first[2], first[0]]


def test_both_tests_share_their_rows_under_one_seed() -> None:
    first, second = RecordingSplit(), RecordingSplit()
    ps.psd_test(DRAWS, SCORES, order=2, split=first, rng=7)
    ps.lambda_psd_test(DRAWS, SCORES, order=3, split=second, rng=7)
    for role in ("witness", "weights", "test"):
        assert np.array_equal(first.rows[role], second.rows[role])
    assert len(first.rows["test"]) == 60
