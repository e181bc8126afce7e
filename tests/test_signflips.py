"""The full-sample arm: block sums under sign flips, against loops over flips and features."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

import polystein as ps
from polystein.data.passes import every_row
from polystein.methods.check import block_sums as segments
from polystein.methods.check import flips as signflips
from polystein.methods.check.arms import Arm
from polystein.methods.check.block_sums import BlockSums, cut
from polystein.methods.check.flips import (
    BASIS,
    FEWEST_BLOCKS,
    FEWEST_FOR_SPREADS,
    FLIPS,
    SHARES,
    flip_signs,
    gamma_tail,
    maximum_tail,
    memory,
)
from polystein.methods.split_sample import standardised
from tests.conftest import Array, arbitrary_rows
from tests.reference import check as literal

ORDERS = {"x pairs": 1, "G2 pairs": 3}


class GivenSums:
    """Block sums that are given, in the place of `BlockSums`."""

    def __init__(self, diagonal: Array, pairs: dict[int, Array]) -> None:
        self.count = diagonal.shape[0]
        self.effective_count = float(self.count)
        self.neighbours = np.ones(self.count - 1, dtype=bool)
        self.basis = BASIS
        self.source = SimpleNamespace(layout=SimpleNamespace(dimension=diagonal.shape[2]))
        self._diagonal, self._pairs = diagonal, pairs

    @property
    def diagonal(self) -> Array:
        return self._diagonal

    def pairs(self, order: int) -> Iterator[Array]:
        yield self._pairs[order]


def random_sums(
    rng: np.random.Generator, blocks: int, d: int, mean: float = 0.0, sign: Any = 1.0
) -> Any:
    """Skewed and heavy-tailed sums, each block's multiplied by its sign."""
    size = np.reshape(sign, (-1, 1, 1)) * np.exp(rng.standard_normal((blocks, 1, 1)))
    diagonal = size * (mean + rng.exponential(size=(blocks, 1 + BASIS.order, d)) - 0.7)
    own = np.eye(d, dtype=bool)
    pairs = {
        order: np.where(own, 0.0, size * (mean + rng.exponential(size=(blocks, d, d)) - 0.7))
        for order in ORDERS.values()
    }
    return GivenSums(diagonal, pairs)


def judged(sums: Any, seed: int = 0) -> Arm:
    arm = flip_signs(sums, np.random.default_rng(seed))
    assert arm is not None
    return arm


def signs_of(seed: int, blocks: int) -> Array:
    """The draws as they are, and FLIPS fair signs for every block."""
    bits = np.random.default_rng(seed).integers(0, 2, size=(FLIPS, blocks))
    return np.concatenate([np.ones((1, blocks)), np.where(bits == 1, -1.0, 1.0)])


def literal_families(sums: Any) -> dict[str, Array]:
    """Every family's block sums as columns, by name."""
    diagonal, blocks = sums.diagonal, sums.count
    families = {"score": diagonal[:, 0]}
    if blocks >= FEWEST_FOR_SPREADS:
        families["x"] = diagonal[:, 1]
    families["G1-4"] = diagonal[:, 2:].reshape(blocks, -1)
    if diagonal.shape[2] > 1:
        for name, order in ORDERS.items():
            families[name] = np.concatenate(list(sums.pairs(order)), axis=1).reshape(blocks, -1)
    return families


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


@pytest.fixture
def few_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over 99 flips are quick enough."""
    monkeypatch.setattr(signflips, "FLIPS", 99)
    monkeypatch.setitem(globals(), "FLIPS", 99)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(
    ("blocks", "d"), [(8, 1), (12, 3), (FEWEST_FOR_SPREADS, 1), (FEWEST_FOR_SPREADS + 1, 2)]
)
def test_the_arm_is_the_loop(blocks: int, d: int) -> None:
    for seed in range(3):
        sums = random_sums(np.random.default_rng(seed), blocks, d, mean=0.1 * seed)
        arm = judged(sums, seed)
        pvalue, tails = literal_arm(sums, signs_of(seed, blocks))
        assert arm.pvalue == pytest.approx(pvalue, abs=1e-12)
        assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("seed", [0, 1])
def test_the_arm_of_real_rows_is_the_loop(seed: int) -> None:
    draws, scores = arbitrary_rows(80, 2, seed)
    sample = ps.Sample(draws, scores + 0.2)
    coordinates = standardised(sample, every_row(sample))
    places = cut(sample.layout, None)
    own = [array[None] for array in coordinates.apply(sample.draws, sample.scores)]
    pairs = {order: literal.pair_sums(*own, None, places, order) for order in (1, 3)}
    given = GivenSums(literal.diagonal_sums(*own, None, places, BASIS.order), pairs)
    arm = judged(BlockSums(sample, coordinates, BASIS, places), seed)
    pvalue, tails = literal_arm(given, signs_of(seed, given.count))
    assert arm.pvalue == pytest.approx(pvalue, abs=1e-12)
    assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_statistics_are_the_loops(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many columns are taken at once, and however many come as one part."""
    rng = np.random.default_rng(4)
    sums = rng.standard_normal((9, 7))
    sums[:, 2] = 0.0
    sums[:, 5] += 3.0
    signs = signs_of(1, 9)[:20]
    monkeypatch.setattr(signflips, "_COLUMNS_AT_ONCE", columns)
    total, largest = literal.statistics(sums, signs)
    squares = [literal.t_statistic(column, signs[0]) ** 2 for column in sums.T]
    for parts in ([sums], [sums[:, :3], sums[:, 3:]], list(np.split(sums, 7, axis=1))):
        found = signflips._statistics(iter(parts), signs)
        assert found[0] == pytest.approx(total, rel=1e-10)
        assert found[1] == pytest.approx(largest, rel=1e-10)
        assert found[2] == int(np.argmax(squares)) == 5


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
    coordinates = standardised(sample, every_row(sample))
    sums = BlockSums(sample, coordinates, BASIS, cut(sample.layout, None))
    whole = judged(sums)
    monkeypatch.setattr(segments, "_MOST_NUMBERS", most_numbers)
    arm = judged(sums)
    assert arm.pvalue == whole.pvalue == 1.0 / (FLIPS + 1)
    assert arm.leading.coordinates == place
    assert arm.leading.orders == ("x",)
    for part, expected in zip(arm.parts, whole.parts, strict=True):
        assert part.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        assert part._replace(pvalue=0.0) == expected._replace(pvalue=0.0)


@pytest.mark.parametrize(("order", "name"), [(0, "score"), (1, "x"), (2, "G1"), (5, "G4")])
def test_the_place_of_the_largest_is_its_order_and_coordinate(order: int, name: str) -> None:
    blocks = FEWEST_FOR_SPREADS
    sums = random_sums(np.random.default_rng(1), blocks, 3)
    sums.diagonal[:, order, 2] = 1.0 + 0.01 * np.arange(blocks)
    family = "G1-4" if order > 1 else name
    parts = {part.name: part for part in judged(sums).parts}
    assert parts[f"{family}: max"].orders == (name,)
    assert parts[f"{family}: max"].coordinates == (2,)


def test_the_place_of_a_sum_is_everywhere_unless_one_feature_is_most_of_it() -> None:
    sums = random_sums(np.random.default_rng(1), 64, 3)
    before = {part.name: part for part in judged(sums).parts}["G1-4: sum"]
    sums.diagonal[:, 4, 1] = 1.0 + 0.01 * np.arange(64)
    spike = {part.name: part for part in judged(sums).parts}["G1-4: sum"]
    assert (before.orders, before.coordinates) == (("G1", "G2", "G3", "G4"), ())
    assert (spike.orders, spike.coordinates) == (("G3",), (1,))


def test_too_few_blocks_are_not_judged() -> None:
    rng = np.random.default_rng(0)
    assert FEWEST_BLOCKS == 8
    assert flip_signs(random_sums(rng, 7, 2), rng) is None
    assert flip_signs(random_sums(rng, 8, 2), rng) is not None


def test_blocks_of_little_weight_hardly_count() -> None:
    """200 blocks as good as 7.9 are too few, as good as 119 too few for spreads."""
    rng = np.random.default_rng(0)
    sums = random_sums(rng, 200, 2)
    sums.effective_count = FEWEST_BLOCKS - 0.1
    assert flip_signs(sums, rng) is None
    sums.effective_count = FEWEST_FOR_SPREADS - 1.0
    assert "x: sum" not in [part.name for part in judged(sums).parts]
    sums.effective_count = float(FEWEST_FOR_SPREADS)
    assert "x: sum" in [part.name for part in judged(sums).parts]


def test_sums_that_are_all_zero_are_not_judged() -> None:
    sums = GivenSums(np.zeros((20, 6, 2)), {order: np.zeros((20, 2, 2)) for order in (1, 3)})
    assert flip_signs(sums, np.random.default_rng(0)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_squares_of_sums_neither_vanish_nor_overflow(scale: float) -> None:
    sums = random_sums(np.random.default_rng(5), 30, 2, mean=0.2)
    pairs = {order: scale * next(sums.pairs(order)) for order in ORDERS.values()}
    assert judged(GivenSums(scale * sums.diagonal, pairs)).pvalue == judged(sums).pvalue


@pytest.mark.parametrize("seed", range(4))
def test_the_memory_is_that_of_the_largest_lag_one_correlation(seed: int) -> None:
    """Mixed with their neighbours by more and more, in one feature: as the loop says."""
    found = []
    for mixed in np.linspace(0.0, 1.0, 7):
        sums = random_sums(np.random.default_rng(seed), 90, 2)
        column = next(sums.pairs(1))[:, 0, 1]
        for k in range(1, 90):
            column[k] += mixed * column[k - 1]
        columns = np.concatenate(list(literal_families(sums).values()), axis=1)
        found.append(memory(sums))
        assert found[-1] == pytest.approx(literal.memory(columns), rel=1e-10)
    assert found[0] == 1.0
    assert found[-1] > 3.0


@pytest.mark.parametrize(
    ("blocks", "present"),
    [(8, False), (FEWEST_FOR_SPREADS - 1, False), (FEWEST_FOR_SPREADS, True)],
)
def test_spreads_need_many_blocks(blocks: int, present: bool) -> None:
    arm = judged(random_sums(np.random.default_rng(0), blocks, 2))
    names = [part.name for part in arm.parts]
    assert [name for name in SHARES if present or not name.startswith("x: ")] == names
    assert sum(part.share for part in arm.parts) == pytest.approx(1.0)
    ratio = {part.name: part.share / SHARES[part.name] for part in arm.parts}
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
    assert sum(part.share for part in arm.parts) == pytest.approx(1.0)


def test_p_values_are_multiples_of_a_five_hundredth() -> None:
    rng = np.random.default_rng(2)
    found = [judged(random_sums(rng, 20, 2, mean=0.3 * k), k).pvalue for k in range(10)]
    assert all(1.0 / 500.0 <= pvalue <= 1.0 for pvalue in found)
    assert [round(500.0 * pvalue) / 500.0 for pvalue in found] == found
    assert min(found) == 1.0 / 500.0
    assert max(found) > 0.05


@pytest.mark.parametrize("d", [1, 3])
def test_flips_that_change_nothing_count_against(d: int) -> None:
    """Of 8 blocks' signs one in 128 is all alike: as far out as the draws, never less."""
    for seed in range(20):
        sums = random_sums(np.random.default_rng(seed), 8, d, mean=2.0)
        alike = np.abs(signs_of(seed, 8).sum(axis=1)) == 8.0
        assert judged(sums, seed).pvalue >= np.count_nonzero(alike) / (FLIPS + 1)


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
@pytest.mark.parametrize(("blocks", "d"), [(10, 2), (FEWEST_FOR_SPREADS, 1)])
def test_p_values_of_symmetric_sums_are_uniform(blocks: int, d: int) -> None:
    """With block signs that are fair coins flipping is exact, however skewed the sums are."""
    rng = np.random.default_rng(6)
    pvalues = []
    for _ in range(400):
        sign = rng.choice([-1.0, 1.0], size=blocks)
        sums = random_sums(rng, blocks, d, sign=sign)
        arm = flip_signs(sums, rng)
        assert arm is not None
        pvalues.append(arm.pvalue)
    for level in (0.05, 0.2, 0.5):
        rejected = int(np.count_nonzero(np.array(pvalues) <= level + 1e-9))
        assert binomtest(rejected, 400, level, alternative="greater").pvalue > 0.005
        # Equal flips make it conservative, but hardly: 10 blocks have 512 patterns.
        assert binomtest(rejected, 400, 0.8 * level, alternative="less").pvalue > 0.005


def test_one_sided_sums_are_found() -> None:
    rng = np.random.default_rng(7)
    assert judged(random_sums(rng, 20, 2, mean=1.5)).pvalue <= 0.01


@pytest.mark.parametrize(
    ("tail", "law"),
    [(gamma_tail, literal.gamma_tail), (maximum_tail, literal.maximum_tail)],
)
def test_tails_are_those_of_the_fitted_laws(tail: Any, law: Any) -> None:
    reference = np.random.default_rng(8).chisquare(3.0, 200)
    values = np.array([0.1, 1.0, 4.0, 20.0])
    assert tail(values, reference) == pytest.approx(law(values, reference), rel=1e-10)


def test_the_tail_of_a_maximum_is_exact_for_independent_squares() -> None:
    """Of maxima of 6 squared normals each, tails are uniform."""
    largest = (np.random.default_rng(9).standard_normal((4000, 6)) ** 2).max(axis=1)
    assert kstest(maximum_tail(largest, largest), "uniform").pvalue > 0.01


@pytest.mark.parametrize("value", [1.0, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("tail", [gamma_tail, maximum_tail])
def test_tails_of_equal_values_are_numbers(tail: Any, value: float) -> None:
    """Where one block holds all, every flip has the same statistic."""
    found = tail(np.full(10, value), np.full(10, value))
    assert np.all((found > 0.0) & (found <= 1.0))
    assert len(set(found.tolist())) == 1


@pytest.mark.parametrize("blocks", [20, FEWEST_FOR_SPREADS])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_block_that_holds_all_says_nothing(blocks: int, d: int) -> None:
    """Its sign is all there is to flip, and every statistic is even in it."""
    sums = random_sums(np.random.default_rng(3), blocks, d)
    rest = np.arange(blocks) != 5
    sums.diagonal[rest] = 0.0
    for order in ORDERS.values():
        next(sums.pairs(order))[rest] = 0.0
    arm = judged(sums)
    assert arm.pvalue == 1.0
    assert all(0.0 < part.pvalue <= 1.0 for part in arm.parts)
