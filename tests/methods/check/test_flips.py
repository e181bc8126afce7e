"""Sign flips of batch sums over all rows: what they say, where, and what they leave out."""

import numpy as np
import pytest
from scipy.stats import binomtest

from polystein.methods.check.flips import FIRST_PATTERNS
from polystein.methods.check.statistics import (
    FEWEST_BATCHES,
    FEWEST_FOR_SPREADS,
)
from polystein.results.evidence import Abstention, Arm
from tests.methods.check.flips import (
    judged,
    signs_of,
    tried,
)
from tests.methods.check.sums import (
    ORDERS,
    SHARES,
    GivenSums,
    fewest_batches,
    random_sums,
    shares_of,
)


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
        "tails": "tails",
        "waves": "fine structure",
        "trace": "overall spread",
        "x pairs": "correlation",
        "G2 pairs": "curved dependence",
        "magnitude pairs": "dependence of magnitudes",
        "Hotelling": "location, directions",
        "trace of square": "spread, directions",
    }


def test_too_few_batches_are_not_judged() -> None:
    rng = np.random.default_rng(0)
    assert FEWEST_BATCHES == 8
    found = tried(random_sums(rng, 7, 2))
    assert isinstance(found, Abstention)
    assert found.name == "sign flips"
    assert "fewer than 8 independent batches" in found.reason
    assert isinstance(tried(random_sums(rng, 8, 2)), Arm)


def test_batches_of_little_weight_hardly_count() -> None:
    """200 batches as good as 7.9 are too few, as good as 119 too few for spreads."""
    rng = np.random.default_rng(0)
    sums = random_sums(rng, 200, 2)
    sums.effective = FEWEST_BATCHES - 0.1
    assert isinstance(tried(sums), Abstention)
    sums.effective = FEWEST_FOR_SPREADS - 1.0
    assert "x: sum" not in [part.name for part in judged(sums).parts]
    sums.effective = float(FEWEST_FOR_SPREADS)
    assert "x: sum" in [part.name for part in judged(sums).parts]


def test_sums_that_are_all_zero_are_not_judged() -> None:
    sums = GivenSums(np.zeros((20, 6, 2)), {order: np.zeros((20, 2, 2)) for order in (0, 1, 3)})
    assert isinstance(tried(sums), Abstention)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_squares_of_sums_neither_vanish_nor_overflow(scale: float) -> None:
    sums = random_sums(np.random.default_rng(5), 30, 2, mean=0.2)
    pairs = {order: scale * next(sums.pairs(order)) for order in ORDERS.values()}
    scaled = GivenSums(
        scale * sums.diagonal, pairs, tails=scale * sums.tails, waves=scale * sums.waves
    )
    assert judged(scaled).pvalue == judged(sums).pvalue


@pytest.mark.parametrize(
    ("batches", "present"),
    [(8, False), (FEWEST_FOR_SPREADS - 1, False), (FEWEST_FOR_SPREADS, True)],
)
def test_spreads_need_many_batches(batches: int, present: bool) -> None:
    sums = random_sums(np.random.default_rng(0), batches, 2)
    arm = judged(sums)
    names, shares = [part.name for part in arm.parts], shares_of(sums)
    assert [name for name in SHARES if batches >= fewest_batches(name.split(":")[0])] == names
    assert ("x: sum" in names) == present
    assert sum(part.level_share for part in arm.parts) == pytest.approx(1.0)
    ratio = {part.name: part.level_share / shares[part.name] for part in arm.parts}
    assert max(ratio.values()) == pytest.approx(min(ratio.values()), rel=1e-9)


def test_one_coordinate_has_no_pairs() -> None:
    arm = judged(random_sums(np.random.default_rng(0), FEWEST_FOR_SPREADS, 1))
    families = {part.name.split(":")[0] for part in arm.parts}
    assert families == {"score", "x", "G1-4", "tails", "waves"}


def test_a_family_that_is_zero_is_left_out() -> None:
    sums = random_sums(np.random.default_rng(0), FEWEST_FOR_SPREADS, 2)
    sums.diagonal[:, 0] = 0.0
    arm = judged(sums)
    assert {part.name.split(":")[0] for part in arm.parts} == {
        "x",
        "G1-4",
        "tails",
        "waves",
        "trace",
        "x pairs",
        "G2 pairs",
        "magnitude pairs",
        "Hotelling",
        "trace of square",
    } - {"Hotelling"}
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
        alike = np.abs(signs_of(seed, 8)[0].sum(axis=1)) == 8.0
        assert judged(sums, seed).pvalue >= np.count_nonzero(alike) / FIRST_PATTERNS


def test_a_coordinates_scale_does_not_matter() -> None:
    """Scores are multiplied by it, and s_l x_m by the ratio of two; s_l g(x_m) as the scores."""
    sums = random_sums(np.random.default_rng(5), 30, 2, mean=0.2)
    scale, diagonal = np.array([1e-3, 1e2]), sums.diagonal.copy()
    diagonal[:, 0] *= scale
    pairs = {order: next(sums.pairs(order)) * scale[:, None] / scale for order in ORDERS.values()}
    scaled = GivenSums(diagonal, pairs, tails=sums.tails, waves=sums.waves)
    first, second = judged(sums), judged(scaled)
    assert first.pvalue == second.pvalue
    for part, other in zip(first.parts, second.parts, strict=True):
        assert part.pvalue == pytest.approx(other.pvalue, rel=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(("batches", "d"), [(10, 2), (FEWEST_FOR_SPREADS, 1)])
def test_p_values_of_symmetric_sums_are_uniform(batches: int, d: int) -> None:
    """With batch signs that are fair coins flipping is exact, however skewed the sums are."""
    rng = np.random.default_rng(6)
    pvalues = []
    for _ in range(400):
        sign = rng.choice([-1.0, 1.0], size=batches)
        sums = random_sums(rng, batches, d, sign=sign)
        pvalues.append(judged(sums, rng).pvalue)
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
    sums.tails[rest] = sums.waves[rest] = 0.0
    for order in ORDERS.values():
        next(sums.pairs(order))[rest] = 0.0
    arm = judged(sums)
    assert arm.pvalue == 1.0
    assert all(0.0 < part.pvalue <= 1.0 for part in arm.parts)
