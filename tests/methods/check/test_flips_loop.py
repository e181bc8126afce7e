"""Sign flips of batch sums over all rows, against loops over flips and features."""

import numpy as np
import pytest

import polystein as ps
from polystein.methods.check import sums as batch_sums
from polystein.methods.check.batches import cut
from polystein.methods.check.flips import FIRST_PATTERNS
from polystein.methods.check.statistics import (
    BASIS,
    FEWEST_FOR_SPREADS,
)
from polystein.results.evidence import Abstention
from tests.conftest import arbitrary_rows
from tests.methods.check.flips import (
    NAMES,
    assert_is_loop,
    judged,
    literal_arm,
    remembering_sums,
    signs_of,
    standard_frame,
    sums_of,
    tried,
)
from tests.methods.check.sums import (
    ORDERS,
    GivenSums,
    random_sums,
)
from tests.reference import check as literal


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(
    ("batches", "d"), [(8, 1), (12, 3), (FEWEST_FOR_SPREADS, 1), (FEWEST_FOR_SPREADS + 1, 2)]
)
def test_the_arm_is_the_loop(batches: int, d: int) -> None:
    sums = random_sums(np.random.default_rng(2), batches, d, mean=0.2)
    assert_is_loop(sums, 2)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(("batches", "d"), [(20, 2), (FEWEST_FOR_SPREADS, 1)])
def test_the_arm_of_skewed_sums_is_the_loop(batches: int, d: int) -> None:
    """Skewed to the right with a negative mean: t of the draws are moved towards 0."""
    rng = np.random.default_rng(1)
    sums = random_sums(rng, batches, d)
    sums.diagonal[:] = rng.exponential(size=sums.diagonal.shape) - 1.4
    signs = np.ones(batches)
    moved = [
        abs(literal.t_statistic(column, signs)) - abs(literal._draws_t(column, signs))
        for column in sums.diagonal.reshape(batches, -1).T
    ]
    assert max(moved) > 0.1
    assert min(moved) >= 0.0
    assert_is_loop(sums, 1)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("seed", [0, 1])
def test_the_arm_of_real_rows_is_the_loop(seed: int) -> None:
    draws, scores = arbitrary_rows(80, 2, seed)
    sample = ps.Sample(draws, scores + 0.2)
    places = cut(sample.layout, chains=False).stretches
    own = [array[None] for array in standard_frame(sample).apply(sample.draws, sample.scores)]
    pairs = {order: literal.pair_sums(*own, None, places, order) for order in (1, 3)}
    pairs[0] = literal.magnitude_sums(*own, None, places)
    given = GivenSums(
        literal.diagonal_sums(*own, None, places, BASIS.order),
        pairs,
        tails=literal.tail_sums(*own, None, places),
        waves=literal.wave_sums(*own, None, places),
    )
    given.score_products = literal.score_products(own[1], None)
    arm = judged(sums_of(sample), seed)
    (extreme, patterns), tails = literal_arm(given, signs_of(seed, given.count))
    assert arm.pvalue == pytest.approx(extreme / patterns, abs=1e-12)
    assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(
    ("counts", "d", "remembered"),
    [
        ([64] * 4, 1, 0.7),
        ([64] * 4, 1, 0.95),
        ([40, 9, 70, 1], 2, 0.0),
        ([40, 9, 70, 1], 2, 0.95),
        ([33], 3, 0.7),
        ([33], 3, -0.6),
    ],
)
def test_the_arm_of_chains_is_the_loop(counts: list[int], d: int, remembered: float) -> None:
    assert_is_loop(remembering_sums(1, counts, d, remembered, mean=0.2), 1)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("left_out", [(0,), (1, 2), ()])
def test_coordinates_left_out_are_left_out_everywhere(left_out: tuple[int, ...]) -> None:
    sums = remembering_sums(3, [32] * 4, 3, 0.4, slow=(0,))
    arm = assert_is_loop(sums, 3, left_out=left_out)
    named = {name for part in arm.parts for name in part.coordinates}
    assert not named & {NAMES[j] for j in left_out}
    # What they hold is of no account.
    other = remembering_sums(3, [32] * 4, 3, 0.4, slow=(0,))
    for j in left_out:
        other.diagonal[:, :, j] = 50.0
        for order in ORDERS.values():
            next(other.pairs(order))[:, j] = next(other.pairs(order))[:, :, j] = 50.0
    again = judged(other, 3, left_out)
    assert again.pvalue == arm.pvalue
    assert [part.pvalue for part in again.parts] == pytest.approx(
        [part.pvalue for part in arm.parts], rel=1e-12
    )


def test_all_coordinates_left_out_leave_nothing_to_judge() -> None:
    sums = remembering_sums(3, [32] * 4, 2, 0.4)
    assert isinstance(tried(sums, left_out=(0, 1)), Abstention)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("at_once", [1, 2])
def test_pairs_that_come_in_parts_are_the_loop(at_once: int) -> None:
    """Each part is pooled by itself."""
    sums = remembering_sums(6, [32] * 3, 3, 0.6, slow=(1,))
    sums.at_once = at_once
    assert len(list(sums.parts_of("x pairs", 9))) > 1
    assert_is_loop(sums, 6)


@pytest.mark.parametrize("most_numbers", [1, 2_000, 10**6])
@pytest.mark.parametrize("place", [(0, 3), (2, 0), (4, 1)])
def test_pairs_in_parts_find_the_same_place(
    place: tuple[int, int], most_numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A score that knows another coordinate, found however the pairs are cut up."""
    draws = np.random.default_rng(0).standard_normal((800, 5))
    scores = -draws.copy()
    scores[:, place[0]] += 0.5 * draws[:, place[1]]
    sample = ps.Sample(draws, scores)
    whole = judged(sums_of(sample))
    monkeypatch.setattr(batch_sums, "PAIR_NUMBERS", most_numbers)
    arm = judged(sums_of(sample))
    assert arm.pvalue == whole.pvalue == 1.0 / FIRST_PATTERNS
    found = {part.name: part for part in arm.parts}
    wanted = {part.name: part for part in whole.parts}
    assert found["x pairs: max"].coordinates == tuple(NAMES[index] for index in place)
    assert found["x pairs: max"].orders == ("x",)
    # The trace of the square needs all pairs at once.
    assert set(wanted) - set(found) <= {"trace of square: sum"}
    for name, part in found.items():
        assert part.pvalue == pytest.approx(wanted[name].pvalue, rel=1e-9)
        both = (one._replace(pvalue=0.0, level_share=0.0) for one in (part, wanted[name]))
        assert len(set(both)) == 1
