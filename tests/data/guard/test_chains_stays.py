"""How long chains remain at one row."""

from itertools import pairwise

import numpy as np

from polystein.data.guard.chains import first_rows, moved, stays


def literal(chains: list[list[int]]) -> list[int]:
    """Count equal neighbours one by one."""
    found = []
    for chain in chains:
        length = 1
        for before, after in pairwise(chain):
            if before == after:
                length += 1
            else:
                found.append(length)
                length = 1
        found.append(length)
    return found


def test_stays_end_with_their_chain() -> None:
    rng = np.random.default_rng(0)
    lengths = (1, 7, 40, 3)
    chains = [rng.integers(3, size=length).tolist() for length in lengths]
    keys = np.concatenate(chains)
    found = stays(keys, lengths)
    assert found.tolist() == literal(chains)
    assert found.sum() == keys.size


def test_the_first_row_of_a_chain_has_moved() -> None:
    assert first_rows((2, 3)).tolist() == [0, 2]
    assert moved(np.array([5, 5, 5, 5, 6]), (2, 3)).tolist() == [True, False, True, False, True]
