"""Comparisons of chains and their starts, against loops over columns, chains and windows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.signal import lfilter

from polystein.inference import agreement
from polystein.inference.agreement import (
    ALL_STARTS,
    BATCHES,
    CHAINS,
    FROZEN,
    ONE_START,
    ChainSums,
    Difference,
    batch_bounds,
    differences,
)
from tests.reference import agreement as literal
from tests.rows import Array

FAMILIES = (slice(2), slice(2, None))
MARGINAL = np.array([0.8, 1.1, 0.9, 1.3])


def stretch_sums(chains: list[Array], raw: list[Array] | None = None) -> ChainSums:
    """Sums of chains, row by row; ``raw`` says where nothing changes."""
    sums, rows, still = [], [], []
    for values, own in zip(chains, raw or chains, strict=True):
        bounds = [*pairwise(batch_bounds(len(values)).tolist())]
        sums.append([values[low:high].sum(axis=0) for low, high in bounds])
        rows.append([float(high - low) for low, high in bounds])
        still.append(
            [
                np.full(own.shape[1], high - low > 1) & (own[low:high] == own[low:][:1]).all(axis=0)
                for low, high in bounds
            ]
        )
    return ChainSums(np.array(sums), np.array(rows), np.array(still), MARGINAL, FAMILIES)


def some_chains(*lengths: int, memory: float = 0.8, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [
        lfilter([1.0], [1.0, -memory], rng.standard_normal((rows + 100, MARGINAL.size)), axis=0)[
            100:
        ]
        * np.sqrt(1.0 - memory**2)
        for rows in lengths
    ]


def by_kind(found: list[Difference]) -> dict[str, float]:
    return {one.kind: one.pvalue for one in found}


@pytest.mark.parametrize("rows", [4, 24, 25, 100, 999, 1000])
def test_cuts_go_from_the_first_row_to_the_last(rows: int) -> None:
    edges = batch_bounds(rows)
    assert edges.size == BATCHES + 1
    assert edges[0] == 0
    assert edges[-1] == rows
    assert (np.diff(edges) >= 0).all()
    late = np.diff(edges)[-agreement.LATE_BATCHES :]
    assert late.max() - late.min() <= 1


@pytest.mark.parametrize(
    "lengths",
    [(1000,), (500, 500), (400, 400, 400, 400), (300, 420, 800), (24, 31, 24), (101,) * 5],
)
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_few_chains_are_the_transcription(lengths: tuple[int, ...], shift: float) -> None:
    chains = some_chains(*lengths, memory=0.8 if min(lengths) > 200 else 0.0)
    chains[-1][: lengths[-1] // 5, 1] += shift
    chains[0][:, 3] += shift
    found = by_kind(differences(stretch_sums(chains)))
    expected = literal.few_chains(chains, chains, MARGINAL, FAMILIES)
    if len(lengths) > 1:
        expected[FROZEN] = literal.frozen(chains, 2)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("far", [[0, 1, 2, 3], [2]])
def test_a_far_start_counts_in_full_if_all_chains_have_it(far: list[int]) -> None:
    chains = some_chains(400, 400, 400, 400)
    for chain in far:
        chains[chain][:8, 1] += 6.0
    found = by_kind(differences(stretch_sums(chains)))
    expected = literal.few_chains(chains, chains, MARGINAL, FAMILIES)
    assert found == pytest.approx({**expected, FROZEN: literal.frozen(chains, 2)}, rel=1e-9)
    assert (found["starts of all chains"] < 1e-6) == (len(far) == 4)


def test_stretches_without_a_change_are_the_transcription() -> None:
    chains = some_chains(500, 500, 500)
    chains[1][:40] = chains[1][0]
    chains[2][300:, 0] = 0.7
    found = by_kind(differences(stretch_sums(chains)))
    expected = literal.few_chains(chains, chains, MARGINAL, FAMILIES)
    assert found == pytest.approx({**expected, FROZEN: literal.frozen(chains, 2)}, rel=1e-9)


@pytest.mark.parametrize("rows", [20, 50, 51])
def test_many_chains_are_the_transcription(rows: int) -> None:
    chains = some_chains(*(rows + k % 3 for k in range(40)))
    chains[7][:, 2] += 4.0
    chains[9][rows // 2 :, 1] = chains[9][-1, 1]
    for one in chains:
        one[:2, 0] += 0.5
    found = by_kind(differences(stretch_sums(chains)))
    expected = literal.many_chains(chains, chains, MARGINAL)
    assert found == pytest.approx({**expected, FROZEN: literal.frozen(chains, 2)}, rel=1e-9)


def test_many_chains_of_unequal_lengths_are_compared_by_their_starts_alone() -> None:
    """A short chain varies more than a long one."""
    found = by_kind(differences(stretch_sums(some_chains(*([30] * 20 + [60] * 20)))))
    assert set(found) == {ALL_STARTS, FROZEN}


def test_the_largest_difference_says_where_it_is() -> None:
    chains = some_chains(*[1000] * 4, memory=0.3)
    chains[2][:, 1] += 2.0
    found = {one.kind: one for one in differences(stretch_sums(chains))}
    assert (found[CHAINS].chain, found[CHAINS].column) == (2, 1)
    assert found[CHAINS].pvalue < 1e-6
    for one in chains:
        one[:, 1] = 0.0
        one[:100, 3] += 3.0
    found = {one.kind: one for one in differences(stretch_sums(chains))}
    assert found[CHAINS].pvalue > 0.01
    assert found[ALL_STARTS][2:] == (3, None, 0.1)
    assert found[ALL_STARTS].pvalue < 1e-6
    assert found[ONE_START].window == 0.1


def test_columns_that_never_change_are_no_evidence() -> None:
    chains = some_chains(200, 200, 200)
    for one in chains:
        one[:] = 1.0
    assert set(by_kind(differences(stretch_sums(chains))).values()) == {1.0}
    many = [np.ones((20, 4)) for _ in range(40)]
    assert set(by_kind(differences(stretch_sums(many))).values()) == {1.0}


def test_chains_that_never_change_are_a_draw_each() -> None:
    chains = [np.full((100, 4), float(k)) for k in range(3)]
    found = by_kind(differences(stretch_sums(chains)))
    assert found[FROZEN] == 1.0
    assert found[CHAINS] > 0.05


def test_several_frozen_chains_are_evidence() -> None:
    """One chain that moves tells that the others should."""
    chains = some_chains(*[600] * 4, memory=0.0)
    for one in chains[1:]:
        one[:] = one[0]
    assert by_kind(differences(stretch_sums(chains)))[FROZEN] == pytest.approx(8 * (1 / 7) ** 6)


def test_a_frozen_chain_that_others_do_not_resemble_is_evidence() -> None:
    chains = some_chains(*[600] * 4, memory=0.95)
    chains[3][:, 1] = 0.0  # where no mean can tell
    frozen = next(one for one in differences(stretch_sums(chains)) if one.kind == FROZEN)
    assert (frozen.chain, frozen.column) == (3, 1)
    assert frozen.pvalue == pytest.approx(8 * (1 / 19) ** 6)


def test_chains_that_often_stand_still_make_a_frozen_one_no_surprise() -> None:
    chains = some_chains(*[600] * 4)
    for one in chains:
        one[300:550] = 0.0
    chains[3][300:] = 0.0
    found = by_kind(differences(stretch_sums(chains)))
    assert found[FROZEN] == 1.0


def test_slow_columns_are_left_out() -> None:
    """They count among the comparisons all the same, and change nothing else."""
    chains = some_chains(*[600] * 4, memory=0.0)
    slow = [5.0 * one for one in some_chains(*[600] * 4, memory=0.999)]
    for one, other in zip(chains, slow, strict=True):
        one[:, 2] = other[:, 2]
        one[:60, 0] += 1.0
    given = stretch_sums(chains)
    assert agreement._late_spread(given).too_slow.tolist() == [False, False, True, False]
    found = by_kind(differences(given))
    expected = literal.few_chains(chains, chains, MARGINAL, FAMILIES)
    assert found == pytest.approx({**expected, FROZEN: 1.0}, rel=1e-9)
    given = stretch_sums(slow)
    assert agreement._late_spread(given).too_slow.all()
    assert by_kind(differences(given)) == {FROZEN: 1.0}
    assert differences(stretch_sums(slow[:1])) == []


def test_a_frozen_chain_does_not_make_the_others_stand_out() -> None:
    chains = some_chains(*[600] * 4, memory=0.0)
    chains[3][:] = 1.2
    found = {one.kind: one for one in differences(stretch_sums(chains))}
    assert found[FROZEN].chain == 3
    assert found[FROZEN].pvalue < 1e-5
    assert found[CHAINS].pvalue > 0.05


def test_windows_that_are_the_same_rows_count_once() -> None:
    given = stretch_sums(some_chains(30, 30))
    assert agreement._windows(given) == [0.02, 0.05, 0.1, 0.2, 0.5]
    assert agreement._windows(stretch_sums(some_chains(24, 300))) == [0.05, 0.1, 0.2, 0.5]
