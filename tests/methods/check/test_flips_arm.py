"""Sign flips of batch sums over all rows, against loops over flips and features."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.data.coordinates import DrawMoments, Frame
from polystein.data.passes import every_row, run_pass
from polystein.methods.check import batch_sums
from polystein.methods.check import flips_arm as sign_flips
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import cut
from polystein.methods.check.families import BASIS, FEWEST_FOR_SPREADS
from polystein.methods.check.flips_arm import FEWEST_BATCHES, NUMBER_OF_FLIPS, flip_signs
from polystein.results.evidence import Arm
from tests.conftest import Array, arbitrary_rows
from tests.methods.check.sums import ORDERS, SHARES, GivenSums, literal_families, random_sums
from tests.reference import check as literal

NAMES = "abcdefgh"


def judged(sums: Any, seed: int = 0) -> Arm:
    names = NAMES[: sums.source.layout.dimension]
    arm = flip_signs(sums, names, np.random.default_rng(seed))
    assert arm is not None
    return arm


def standard_frame(sample: ps.Sample) -> Frame:
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, every_row(sample), moments)
    return moments.standard_frame()


def sums_of(sample: ps.Sample) -> BatchSums:
    """Sums over batches of independent rows, with the pairs that are looked at."""
    places, orders = cut(sample.layout, None), tuple(ORDERS.values())
    return BatchSums(sample, standard_frame(sample), BASIS, places, orders).take()


def signs_of(seed: int, batches: int) -> Array:
    """The draws as they are, and fair signs for every batch."""
    bits = np.random.default_rng(seed).integers(0, 2, size=(sign_flips.NUMBER_OF_FLIPS, batches))
    return np.concatenate([np.ones((1, batches)), np.where(bits == 1, -1.0, 1.0)])


@pytest.fixture
def few_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over 99 flips are quick enough."""
    monkeypatch.setattr(sign_flips, "NUMBER_OF_FLIPS", 99)


def literal_arm(sums: Any, signs: Array) -> tuple[float, dict[str, float]]:
    """The p-value, and each statistic's own tail among the flips alone."""
    tails: dict[str, Array] = {}
    shown: dict[str, float] = {}
    for name, columns in literal_families(sums).items():
        statistics = literal.statistics(columns, signs)
        laws = {"sum": literal.gamma_tail, "max": literal.maximum_tail}
        for (kind, law), values in zip(laws.items(), statistics, strict=True):
            tails[f"{name}: {kind}"] = law(values, values)
            shown[f"{name}: {kind}"] = float(law(values[:1], values[1:])[0])
    pvalue = literal.min_p(list(tails.values()), [SHARES[name] for name in tails])
    return pvalue, shown


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(
    ("batches", "d"), [(8, 1), (12, 3), (FEWEST_FOR_SPREADS, 1), (FEWEST_FOR_SPREADS + 1, 2)]
)
def test_the_arm_is_the_loop(batches: int, d: int) -> None:
    for seed in range(3):
        sums = random_sums(np.random.default_rng(seed), batches, d, mean=0.1 * seed)
        arm = judged(sums, seed)
        pvalue, tails = literal_arm(sums, signs_of(seed, batches))
        assert arm.pvalue == pytest.approx(pvalue, abs=1e-12)
        assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("seed", [0, 1])
def test_the_arm_of_real_rows_is_the_loop(seed: int) -> None:
    draws, scores = arbitrary_rows(80, 2, seed)
    sample = ps.Sample(draws, scores + 0.2)
    places = cut(sample.layout, None).stretches
    own = [array[None] for array in standard_frame(sample).apply(sample.draws, sample.scores)]
    pairs = {order: literal.pair_sums(*own, None, places, order) for order in (1, 3)}
    given = GivenSums(literal.diagonal_sums(*own, None, places, BASIS.order), pairs)
    arm = judged(sums_of(sample), seed)
    pvalue, tails = literal_arm(given, signs_of(seed, given.count))
    assert arm.pvalue == pytest.approx(pvalue, abs=1e-12)
    assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)


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
    assert arm.pvalue == whole.pvalue == 1.0 / (NUMBER_OF_FLIPS + 1)
    assert arm.leading.coordinates == tuple(NAMES[index] for index in place)
    assert arm.leading.orders == ("x",)
    for part, expected in zip(arm.parts, whole.parts, strict=True):
        assert part.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        assert part._replace(pvalue=0.0) == expected._replace(pvalue=0.0)


@pytest.mark.parametrize(("order", "name"), [(0, "score"), (1, "x"), (2, "G1"), (5, "G4")])
def test_the_place_of_the_largest_is_its_order_and_coordinate(order: int, name: str) -> None:
    batches = FEWEST_FOR_SPREADS
    sums = random_sums(np.random.default_rng(1), batches, 3)
    sums.diagonal[:, order, 2] = 1.0 + 0.01 * np.arange(batches)
    family = "G1-4" if order > 1 else name
    parts = {part.name: part for part in judged(sums).parts}
    assert parts[f"{family}: max"].orders == (name,)
    assert parts[f"{family}: max"].coordinates == ("c",)


def test_the_place_of_a_sum_is_everywhere_unless_one_feature_is_most_of_it() -> None:
    sums = random_sums(np.random.default_rng(1), 64, 3)
    before = {part.name: part for part in judged(sums).parts}["G1-4: sum"]
    sums.diagonal[:, 4, 1] = 1.0 + 0.01 * np.arange(64)
    spike = {part.name: part for part in judged(sums).parts}["G1-4: sum"]
    assert (before.orders, before.coordinates) == (("G1", "G2", "G3", "G4"), ())
    assert (spike.orders, spike.coordinates) == (("G3",), ("b",))


def test_the_arm_says_what_it_looked_at_on_which_rows() -> None:
    arm = judged(random_sums(np.random.default_rng(1), FEWEST_FOR_SPREADS, 2))
    assert (arm.name, arm.rows) == ("sign flips", "all rows")
    assert {part.name.split(":")[0]: part.words for part in arm.parts} == {
        "score": "location",
        "x": "spread",
        "G1-4": "spread, shape",
        "x pairs": "correlation",
        "G2 pairs": "curved dependence",
    }


def test_too_few_batches_are_not_judged() -> None:
    rng = np.random.default_rng(0)
    assert FEWEST_BATCHES == 8
    assert flip_signs(random_sums(rng, 7, 2), "ab", rng) is None
    assert flip_signs(random_sums(rng, 8, 2), "ab", rng) is not None


def test_batches_of_little_weight_hardly_count() -> None:
    """200 batches as good as 7.9 are too few, as good as 119 too few for spreads."""
    rng = np.random.default_rng(0)
    sums = random_sums(rng, 200, 2)
    sums.effective_count = FEWEST_BATCHES - 0.1
    assert flip_signs(sums, NAMES[:2], rng) is None
    sums.effective_count = FEWEST_FOR_SPREADS - 1.0
    assert "x: sum" not in [part.name for part in judged(sums).parts]
    sums.effective_count = float(FEWEST_FOR_SPREADS)
    assert "x: sum" in [part.name for part in judged(sums).parts]


def test_sums_that_are_all_zero_are_not_judged() -> None:
    sums = GivenSums(np.zeros((20, 6, 2)), {order: np.zeros((20, 2, 2)) for order in (1, 3)})
    assert flip_signs(sums, "ab", np.random.default_rng(0)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_squares_of_sums_neither_vanish_nor_overflow(scale: float) -> None:
    sums = random_sums(np.random.default_rng(5), 30, 2, mean=0.2)
    pairs = {order: scale * next(sums.pairs(order)) for order in ORDERS.values()}
    assert judged(GivenSums(scale * sums.diagonal, pairs)).pvalue == judged(sums).pvalue


@pytest.mark.parametrize(
    ("batches", "present"),
    [(8, False), (FEWEST_FOR_SPREADS - 1, False), (FEWEST_FOR_SPREADS, True)],
)
def test_spreads_need_many_batches(batches: int, present: bool) -> None:
    arm = judged(random_sums(np.random.default_rng(0), batches, 2))
    names = [part.name for part in arm.parts]
    assert [name for name in SHARES if present or not name.startswith("x: ")] == names
    assert sum(part.level_share for part in arm.parts) == pytest.approx(1.0)
    ratio = {part.name: part.level_share / SHARES[part.name] for part in arm.parts}
    assert max(ratio.values()) == pytest.approx(min(ratio.values()), rel=1e-12)


def test_one_coordinate_has_no_pairs() -> None:
    arm = judged(random_sums(np.random.default_rng(0), FEWEST_FOR_SPREADS, 1))
    families = {part.name.split(":")[0] for part in arm.parts}
    assert families == {"score", "x", "G1-4"}


def test_a_family_that_is_zero_is_left_out() -> None:
    sums = random_sums(np.random.default_rng(0), FEWEST_FOR_SPREADS, 2)
    sums.diagonal[:, 0] = 0.0
    arm = judged(sums)
    assert {part.name.split(":")[0] for part in arm.parts} == {"x", "G1-4", "x pairs", "G2 pairs"}
    assert sum(part.level_share for part in arm.parts) == pytest.approx(1.0)


def test_p_values_are_multiples_of_a_five_hundredth() -> None:
    rng = np.random.default_rng(2)
    found = [judged(random_sums(rng, 20, 2, mean=0.3 * k), k).pvalue for k in range(10)]
    assert all(1.0 / 500.0 <= pvalue <= 1.0 for pvalue in found)
    assert [round(500.0 * pvalue) / 500.0 for pvalue in found] == found
    assert min(found) == 1.0 / 500.0
    assert max(found) > 0.05


@pytest.mark.parametrize("d", [1, 3])
def test_flips_that_change_nothing_count_against(d: int) -> None:
    """Of 8 batches' signs one in 128 is all alike: as far out as the draws, never less."""
    for seed in range(20):
        sums = random_sums(np.random.default_rng(seed), 8, d, mean=2.0)
        alike = np.abs(signs_of(seed, 8).sum(axis=1)) == 8.0
        assert judged(sums, seed).pvalue >= np.count_nonzero(alike) / (NUMBER_OF_FLIPS + 1)


def test_a_coordinates_scale_does_not_matter() -> None:
    sums = random_sums(np.random.default_rng(5), 30, 2, mean=0.2)
    scaled = GivenSums(
        sums.diagonal * np.array([1e-8, 1e6]),
        {order: 1e3 * next(sums.pairs(order)) for order in ORDERS.values()},
    )
    first, second = judged(sums), judged(scaled)
    assert first.pvalue == second.pvalue
    for part, other in zip(first.parts, second.parts, strict=True):
        assert part.pvalue == pytest.approx(other.pvalue, rel=1e-9)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(("batches", "d"), [(10, 2), (FEWEST_FOR_SPREADS, 1)])
def test_p_values_of_symmetric_sums_are_uniform(batches: int, d: int) -> None:
    """With batch signs that are fair coins flipping is exact, however skewed the sums are."""
    rng = np.random.default_rng(6)
    pvalues = []
    for _ in range(400):
        sign = rng.choice([-1.0, 1.0], size=batches)
        sums = random_sums(rng, batches, d, sign=sign)
        arm = flip_signs(sums, NAMES[:d], rng)
        assert arm is not None
        pvalues.append(arm.pvalue)
    for level in (0.05, 0.2, 0.5):
        rejected = int(np.count_nonzero(np.array(pvalues) <= level + 1e-9))
        assert binomtest(rejected, 400, level, alternative="greater").pvalue > 0.005
        # Equal flips make it conservative, but hardly: 10 batches have 512 patterns.
        assert binomtest(rejected, 400, 0.8 * level, alternative="less").pvalue > 0.005


def test_one_sided_sums_are_found() -> None:
    rng = np.random.default_rng(7)
    assert judged(random_sums(rng, 20, 2, mean=1.5)).pvalue <= 0.01


@pytest.mark.parametrize("batches", [20, FEWEST_FOR_SPREADS])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_batch_that_holds_all_says_nothing(batches: int, d: int) -> None:
    """Its sign is all there is to flip, and every statistic is even in it."""
    sums = random_sums(np.random.default_rng(3), batches, d)
    rest = np.arange(batches) != 5
    sums.diagonal[rest] = 0.0
    for order in ORDERS.values():
        next(sums.pairs(order))[rest] = 0.0
    arm = judged(sums)
    assert arm.pvalue == 1.0
    assert all(0.0 < part.pvalue <= 1.0 for part in arm.parts)
