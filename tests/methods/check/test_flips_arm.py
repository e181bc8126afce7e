"""Sign flips of batch sums over all rows, against loops over flips and features."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binomtest

import polystein as ps
from polystein.data.coordinates import DrawMoments, Frame
from polystein.data.passes import every_row, run_pass
from polystein.inference import memory
from polystein.methods.check import batch_sums
from polystein.methods.check import flips_arm as sign_flips
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import cut
from polystein.methods.check.families import (
    BASIS,
    FEWEST_BATCHES,
    FEWEST_FOR_SPREADS,
    FEWEST_INDEPENDENT_A_COORDINATE,
    FEWEST_ROWS_FOR_SPREADS,
    LEAST_DEFLATION,
    TAILS,
)
from polystein.methods.check.flips_arm import FIRST_PATTERNS, flip_signs
from polystein.results.evidence import Abstention, Arm
from tests.conftest import Array, arbitrary_rows
from tests.methods.check.sums import (
    ORDERS,
    SHARES,
    GivenSums,
    fewest_batches,
    is_correlated,
    literal_families,
    literal_products,
    random_sums,
    shares_of,
)
from tests.reference import check as literal
from tests.reference import invariant as literal_invariant
from tests.reference import memory as literal_memory

NAMES = "abcdefgh"
RULES = literal_memory.Rules(
    memory.FEWEST_A_CHAIN,
    memory.FLAT,
    memory.MOST_INDEPENDENT,
    memory.LUGSAIL_ERRORS,
    memory.SLOWER_BY_CHANCE,
)


def flips_of(
    sums: Any, rng: Any = 0, left_out: Any = (), levels: Any = ()
) -> list[Arm | Abstention]:
    """The arm of these sums, without the coordinates of these numbers, and what it cannot judge."""
    dimension = sums.source.layout.dimension
    slow = np.isin(np.arange(dimension), left_out)
    rng = np.random.default_rng(rng)
    return flip_signs(sums, NAMES[:dimension], rng, left_out=slow, levels=levels)


def tried(sums: Any, rng: Any = 0, left_out: Any = (), levels: Any = ()) -> Arm | Abstention:
    """The arm, or why there is none."""
    return flips_of(sums, rng, left_out, levels)[0]


def judged(sums: Any, rng: Any = 0, left_out: Any = (), levels: Any = ()) -> Arm:
    arm = tried(sums, rng, left_out, levels)
    assert isinstance(arm, Arm)
    return arm


def standard_frame(sample: ps.Sample) -> Frame:
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, every_row(sample), moments)
    return moments.standard_frame()


def sums_of(sample: ps.Sample, *, chains: bool = False) -> BatchSums:
    """Sums over batches, with the pairs that are looked at."""
    places, orders = cut(sample.layout, chains=chains), tuple(ORDERS.values())
    return BatchSums(sample, standard_frame(sample), BASIS, places, orders, TAILS).take()


def signs_of(seed: int, batches: int, stages: Any = None) -> list[Array]:
    """The draws as they are, and fair signs for every batch, stage by stage."""
    rng, result = np.random.default_rng(seed), []
    bounds = [1, *(stages or [sign_flips.FIRST_PATTERNS])]
    for low, high in itertools.pairwise(bounds):
        bits = rng.integers(0, 2, size=(high - low, batches), dtype=np.int8)
        result.append(np.where(bits == 1, -1.0, 1.0))
    result[0] = np.concatenate([np.ones((1, batches)), result[0]])
    return result


@pytest.fixture
def few_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over 99 flips are quick enough."""
    monkeypatch.setattr(sign_flips, "FIRST_PATTERNS", 100)


def worth_of(memory: literal_memory.Memory, rows: float) -> float:
    """Independent rows, if the correlations are those of an AR(1) chain of this memory."""
    coefficient = (math.sqrt(memory.rows**2 + 1) - 1) / memory.rows if memory.rows > 0 else 0.0
    return float(rows * (1 - coefficient) / (1 + coefficient))


def literal_pools(sums: Any, name: str, columns: Array, left_out: Any) -> list[literal.Pool]:
    """Features of a family that are judged, by their memory; pairs are pooled part by part."""
    d, sizes, chains = sums.diagonal.shape[2], sums.sizes.tolist(), sums.chains.tolist()
    joinings = literal_memory.levels(chains, RULES.fewest_a_chain)
    found: list[tuple[list[int], literal_memory.Memory]] = []
    for part in sums.parts_of(name, columns.shape[1]):
        pairs = name.endswith("pairs")
        kept = [j for j in part if j % d not in left_out and not (pairs and j // d in left_out)]
        if name == "trace":
            kept = [0]
        if len(joinings) == 1 or not kept:
            found.append((kept, literal_memory.Memory(0, 1.0, 0.0)))
            continue
        table = literal_memory.curves(columns[:, kept], sizes, chains, joinings)
        careful = name == "trace" or is_correlated(sums, left_out)
        own = literal_memory.speeds(table, joinings, sizes, chains, RULES, careful=careful)
        found += [([kept[j] for j in features], memory) for features, memory in own]
    return [
        literal.Pool(own, joinings[memory.level], memory.deflation)
        for own, memory in found
        if own
        and memory.deflation >= LEAST_DEFLATION
        and len(joinings[memory.level]) >= fewest_batches(name)
        and (
            name not in ("x", "tails")
            or len(joinings) == 1
            or worth_of(memory, sum(sizes)) >= FEWEST_ROWS_FOR_SPREADS
        )
    ]


def literal_forms(sums: Any, left_out: Any) -> dict[str, literal.JudgedForm]:
    """The quadratic forms that are judged."""
    sizes, chains = sums.sizes.tolist(), sums.chains.tolist()
    joinings = literal_memory.levels(chains, RULES.fewest_a_chain)
    found = {}
    for name, products in literal_products(sums, left_out).items():
        memory = literal_invariant.form_memory(products, sizes, chains, joinings, RULES)
        groups = joinings[memory.level]
        own = [chains[group[0]] for group in groups] if len(joinings) > 1 else None
        kept = literal_invariant.without_neighbours(literal_invariant.joined(products, groups), own)
        few = len(groups) < fewest_batches(name)
        coordinates = sums.diagonal.shape[2] - len(left_out)
        worth = worth_of(memory, sum(sizes))
        short = len(joinings) > 1 and worth < FEWEST_INDEPENDENT_A_COORDINATE * coordinates
        if memory.deflation >= LEAST_DEFLATION and not (few or short) and kept.any():
            share = shares_of(sums, left_out)[f"{name}: sum"]
            found[name] = literal.JudgedForm(kept, groups, memory.deflation, share)
    return found


def literal_arm(
    sums: Any, stages: list[Array], left_out: Any = (), levels: Any = ()
) -> tuple[tuple[int, int], dict[str, float]]:
    """How many of how many flips are extreme, and each statistic's own tail among the flips."""
    families, forms = [], literal_forms(sums, left_out)
    for name, columns in literal_families(sums, left_out).items():
        pools = literal_pools(sums, name, columns, left_out)
        # A family of which nothing moves is left out.
        if any(columns[:, own.columns].any() for own in pools):
            of_all = shares_of(sums, left_out, hotelling="Hotelling" in forms)
            shares = of_all[f"{name}: sum"], of_all.get(f"{name}: max", 0.0)
            families.append((name, (columns, pools, *shares)))
    judged_families = [own for _, own in families]
    extreme, patterns = literal.flipped(judged_families, list(forms.values()), stages, levels)
    signs = np.concatenate(stages)[:patterns]
    shown: dict[str, float] = {}
    for name, (columns, pools, *_) in families:
        laws = {"sum": literal.gamma_tail, "max": literal.maximum_tail}
        values = literal.statistics(columns, signs, pools)
        for (kind, law), own in zip(laws.items(), values, strict=True):
            if f"{name}: {kind}" in SHARES:
                shown[f"{name}: {kind}"] = float(law(own[:1], own[1:])[0])
    for name, form in forms.items():
        shown[f"{name}: sum"] = float(literal_invariant.tail(form.values(signs), form.kept)[0])
    return (extreme, patterns), shown


def assert_is_loop(
    sums: Any, seed: int, stages: Any = None, left_out: Any = (), levels: Any = ()
) -> Arm:
    """The arm has the loops' p-value and the loops' tails."""
    arm = judged(sums, seed, left_out, levels)
    signs = signs_of(seed, sums.count, stages)
    (extreme, patterns), tails = literal_arm(sums, signs, left_out, levels)
    assert arm.pvalue == pytest.approx(extreme / patterns, abs=1e-12)
    assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)
    return arm


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(
    ("batches", "d"), [(8, 1), (12, 3), (FEWEST_FOR_SPREADS, 1), (FEWEST_FOR_SPREADS + 1, 2)]
)
def test_the_arm_is_the_loop(batches: int, d: int) -> None:
    for seed in range(3):
        sums = random_sums(np.random.default_rng(seed), batches, d, mean=0.1 * seed)
        assert_is_loop(sums, seed)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize(("batches", "d"), [(20, 2), (FEWEST_FOR_SPREADS, 1)])
def test_the_arm_of_skewed_sums_is_the_loop(batches: int, d: int) -> None:
    """Skewed to the right with a negative mean: t of the draws are moved towards 0."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sums = random_sums(rng, batches, d)
        sums.diagonal[:] = rng.exponential(size=sums.diagonal.shape) - 1.4
        signs = np.ones(batches)
        moved = [
            abs(literal.t_statistic(column, signs)) - abs(literal._draws_t(column, signs))
            for column in sums.diagonal.reshape(batches, -1).T
        ]
        assert max(moved) > 0.1
        assert min(moved) >= 0.0
        assert_is_loop(sums, seed)


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("seed", [0, 1])
def test_the_arm_of_real_rows_is_the_loop(seed: int) -> None:
    draws, scores = arbitrary_rows(80, 2, seed)
    sample = ps.Sample(draws, scores + 0.2)
    places = cut(sample.layout, chains=False).stretches
    own = [array[None] for array in standard_frame(sample).apply(sample.draws, sample.scores)]
    pairs = {order: literal.pair_sums(*own, None, places, order) for order in (1, 3)}
    tails_of = literal.tail_sums(*own, None, places)
    given = GivenSums(literal.diagonal_sums(*own, None, places, BASIS.order), pairs, tails=tails_of)
    given.score_products = literal.score_products(own[1], None)
    arm = judged(sums_of(sample), seed)
    (extreme, patterns), tails = literal_arm(given, signs_of(seed, given.count))
    assert arm.pvalue == pytest.approx(extreme / patterns, abs=1e-12)
    assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)


# Chains


def remembering_sums(
    seed: int, counts: Any, d: int, remembered: float, slow: Any = (), mean: float = 0.0
) -> Any:
    """Sums over batches of chains that remember, some coordinates longer than the others."""
    rng = np.random.default_rng(seed)
    chains = np.repeat(np.arange(len(counts)), counts)
    sums = random_sums(rng, chains.size, d, chains=chains)
    pairs = (next(sums.pairs(order)) for order in ORDERS.values())
    for table in (sums.diagonal, sums.tails, *pairs):
        noise = rng.standard_normal(table.shape)
        for j in range(d):
            rho = 0.97 if j in slow else remembered
            table[..., j] = lfilter([1.0], [1.0, -rho], noise[..., j], axis=0) + mean
    sums.score_products = sums.diagonal[:, 0].T @ sums.diagonal[:, 0] + np.eye(d)
    own = np.arange(d)
    for order in ORDERS.values():
        next(sums.pairs(order))[:, own, own] = 0.0
    return sums


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("remembered", [0.0, 0.7, 0.95, -0.6])
@pytest.mark.parametrize(("counts", "d"), [([64] * 4, 1), ([40, 9, 70, 1], 2), ([33], 3)])
def test_the_arm_of_chains_is_the_loop(counts: list[int], d: int, remembered: float) -> None:
    for seed in range(2):
        assert_is_loop(remembering_sums(seed, counts, d, remembered, mean=0.2), seed)


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
def test_slow_features_are_flipped_in_longer_batches() -> None:
    """Two pools at least of the family of the slow coordinate, each with its own batches."""
    sums = remembering_sums(5, [64] * 4, 3, 0.0, slow=(1,))
    pools = literal_pools(sums, "score", sums.diagonal[:, 0], ())
    assert len(pools) == 2
    assert [own.columns for own in pools] == [[0, 2], [1]]
    assert len(pools[0].groups) > len(pools[1].groups)
    assert_is_loop(sums, 5)


@pytest.mark.usefixtures("few_flips")
def test_features_of_which_too_little_is_seen_are_not_judged() -> None:
    """Straight lines: V_L grows like L squared up to the longest batches."""
    sums = remembering_sums(5, [64] * 4, 2, 0.0)
    ramp = np.tile(np.linspace(-1.0, 1.0, 64), 4)
    sums.diagonal[:] = 0.01 * sums.diagonal + ramp[:, None, None]
    sums.tails[:] = sums.diagonal[:, 2:4]
    sums.distant_means[:] = 0.0
    arm = assert_is_loop(sums, 5)
    assert {part.name.split(":")[0] for part in arm.parts} <= {"x pairs", "G2 pairs"}
    # What is not judged is said.
    found, *abstained = flips_of(sums, 5)
    assert found == arm
    assert [one.name for one in abstained] == [
        "sign flips of location",
        "sign flips of spread",
        "sign flips of spread, shape",
        "sign flips of tails",
        "sign flips of overall spread",
        "sign flips of location along directions",
        "sign flips of spread along directions",
    ]
    for one in abstained:
        assert isinstance(one, Abstention)
        assert "remember for longer than the longest batches" in one.reason


def test_families_that_are_all_too_slow_leave_nothing_to_judge() -> None:
    """One coordinate has no pairs."""
    sums = remembering_sums(5, [64] * 4, 1, 0.0)
    sums.diagonal[:] = 0.01 * sums.diagonal + np.tile(np.linspace(-1.0, 1.0, 64), 4)[:, None, None]
    sums.tails[:] = sums.diagonal[:, 2:4]
    found = flips_of(sums, 5)
    assert all(isinstance(one, Abstention) for one in found)
    assert [one.name for one in found][1:] == [
        "sign flips of location",
        "sign flips of spread",
        "sign flips of spread, shape",
        "sign flips of tails",
    ]


@pytest.mark.parametrize("counts", [[7] * 8, [7, 7, 7, 7], [1, 2, 3]])
def test_chains_of_unknown_memory_are_not_judged(counts: list[int]) -> None:
    sums = remembering_sums(5, counts, 2, 0.0, mean=5.0)
    (found,) = flips_of(sums)
    assert isinstance(found, Abstention)
    assert found.name == "sign flips"
    assert "too short to tell how long they remember" in found.reason
    # Chains of eight batches are, and what is remembered by none.
    assert judged(remembering_sums(5, [8] * 8, 2, 0.0, mean=5.0)).pvalue < 0.01
    sums.chains = np.arange(sums.count)
    if sums.count >= FEWEST_BATCHES:
        assert judged(sums).pvalue < 0.01


@pytest.mark.usefixtures("few_flips")
def test_memory_makes_the_flips_careful() -> None:
    """Of sums that remember, the flips of unjoined batches would reject 0.3 and more."""
    rejected = plain = 0
    for seed in range(100):
        sums = remembering_sums(seed, [64] * 4, 2, 0.7)
        rejected += judged(sums, seed).pvalue <= 0.05
        sums.chains = np.arange(256)
        plain += judged(sums, seed).pvalue <= 0.05
    assert plain > 30
    assert binomtest(rejected, 100, 0.07, alternative="greater").pvalue > 0.01


@pytest.mark.usefixtures("few_flips")
@pytest.mark.parametrize("at_once", [1, 2])
def test_pairs_that_come_in_parts_are_the_loop(at_once: int) -> None:
    """Each part is pooled by itself."""
    sums = remembering_sums(6, [32] * 3, 3, 0.6, slow=(1,))
    sums.at_once = at_once
    assert len(list(sums.parts_of("x pairs", 9))) > 1
    assert_is_loop(sums, 6)


# Flips that go on


@pytest.fixture
def short_stages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(sign_flips, "FIRST_PATTERNS", 50)
    monkeypatch.setattr(sign_flips, "FURTHER_PATTERNS", (80, 170))
    monkeypatch.setattr(sign_flips, "_PATTERNS_AT_ONCE", 1_000)
    return [50, 80, 170]


@pytest.mark.parametrize("mean", [0.0, 0.25, 0.5, 2.0])
def test_flips_go_on_as_in_the_loop(mean: float, short_stages: list[int]) -> None:
    for seed in range(3):
        sums = random_sums(np.random.default_rng(seed), 30, 2, mean=mean)
        assert_is_loop(sums, seed, short_stages, levels=[0.05, 0.2])


def test_flips_of_chains_go_on_as_in_the_loop(short_stages: list[int]) -> None:
    """The draws are deflated once, and no further flip is."""
    longest = 0
    for seed in range(4):
        sums = remembering_sums(seed, [32] * 3, 2, 0.7)
        levels = [judged(sums, seed).pvalue]
        assert_is_loop(sums, seed, short_stages, levels=levels)
        (_, patterns), _ = literal_arm(sums, signs_of(seed, 96, short_stages), levels=levels)
        longest = max(longest, patterns)
    assert longest == short_stages[-1]


def patterns_of(arm: Arm, stages: Any) -> set[int]:
    """The numbers of flips that the p-value is a fraction of."""
    return {n for n in stages if abs(arm.pvalue * n - round(arm.pvalue * n)) < 1e-9}


def test_flips_go_on_where_a_level_is_near(short_stages: list[int]) -> None:
    """And all of them are used if it stays near, none without a level."""
    seen = set()
    for seed in range(5):
        sums = random_sums(np.random.default_rng(seed), 30, 2, mean=0.1)
        plain = judged(sums, seed)
        assert 50 in patterns_of(plain, short_stages)
        near = judged(sums, seed, levels=[plain.pvalue])
        (signs, expected), _ = literal_arm(
            sums, signs_of(seed, 30, short_stages), levels=[plain.pvalue]
        )
        assert near.pvalue == pytest.approx(signs / expected, abs=1e-12)
        seen.add(expected)
        far = judged(sums, seed, levels=[1e-9 if plain.pvalue > 0.2 else 0.999])
        assert far.pvalue == plain.pvalue
    assert 170 in seen


def test_how_many_are_tried_at_once_does_not_matter(
    short_stages: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signs are drawn as bytes, four at a time: those of 32 batches leave none over."""
    sums = random_sums(np.random.default_rng(2), 32, 2, mean=0.1)
    expected = judged(sums, 2, levels=[0.3])
    for some in (1, 7, 30):
        monkeypatch.setattr(sign_flips, "_PATTERNS_AT_ONCE", some)
        found = judged(sums, 2, levels=[0.3])
        assert found.pvalue == expected.pvalue
        for part, wanted in zip(found.parts, expected.parts, strict=True):
            assert part.pvalue == pytest.approx(wanted.pvalue, rel=1e-9)


def test_more_flips_than_are_worth_their_time_are_not_tried(
    short_stages: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = random_sums(np.random.default_rng(1), 30, 2, mean=0.1)
    first = judged(sums, 1)
    levels = [first.pvalue]
    assert judged(sums, 1, levels=levels).pvalue != first.pvalue
    # 30 batches of 2 + 8 features of the diagonal, 4 of each kind of pairs, and as many products
    # as batches for Hotelling's statistic. Tails and traces need more batches.
    for products, most in ((30 * 48 * 79, 50), (30 * 48 * 80, 80), (30 * 48 * 170, 170)):
        monkeypatch.setattr(sign_flips, "MOST_PRODUCTS", products)
        found = judged(sums, 1, levels=levels)
        assert most in patterns_of(found, short_stages)
        (extreme, patterns), _ = literal_arm(
            sums, signs_of(1, 30, [n for n in short_stages if n <= most]), levels=levels
        )
        assert found.pvalue == pytest.approx(extreme / patterns, abs=1e-12)


def test_pairs_that_would_be_summed_again_are_flipped_once() -> None:
    sums = random_sums(np.random.default_rng(1), 30, 2, mean=0.1)
    first = judged(sums, 1)
    assert judged(sums, 1, levels=[first.pvalue]).pvalue != first.pvalue
    sums.keeps_pairs = False
    assert judged(sums, 1, levels=[first.pvalue]).pvalue == first.pvalue


def test_p_values_can_fall_below_a_five_hundredth() -> None:
    """Where 0.001 is a level that counts, 20,000 flips tell 1/20,000 from 1/500."""
    sums = random_sums(np.random.default_rng(7), 60, 2, mean=2.5)
    assert judged(sums).pvalue == 1.0 / FIRST_PATTERNS
    levels = [0.0008]
    assert judged(sums, levels=levels).pvalue < 1.0 / 2_000


def test_two_seeds_agree_at_a_level_that_counts() -> None:
    """Borderline sums: at 500 flips pairs of seeds disagree often, at 20,000 seldom."""
    disagreed = {(): 0, (0.05,): 0}
    for seed in range(200, 215):
        sums = random_sums(np.random.default_rng(seed), 40, 1, mean=0.15)
        for levels in disagreed:
            below = {judged(sums, rng, levels=levels).pvalue <= 0.05 for rng in range(2)}
            disagreed[levels] += len(below) == 2
    assert disagreed[(0.05,)] <= 1


# What is judged, and where it is found


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
        "trace": "overall spread",
        "x pairs": "correlation",
        "G2 pairs": "curved dependence",
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
    sums = GivenSums(np.zeros((20, 6, 2)), {order: np.zeros((20, 2, 2)) for order in (1, 3)})
    assert isinstance(tried(sums), Abstention)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_squares_of_sums_neither_vanish_nor_overflow(scale: float) -> None:
    sums = random_sums(np.random.default_rng(5), 30, 2, mean=0.2)
    pairs = {order: scale * next(sums.pairs(order)) for order in ORDERS.values()}
    scaled = GivenSums(scale * sums.diagonal, pairs, tails=scale * sums.tails)
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
    assert families == {"score", "x", "G1-4", "tails"}


def test_a_family_that_is_zero_is_left_out() -> None:
    sums = random_sums(np.random.default_rng(0), FEWEST_FOR_SPREADS, 2)
    sums.diagonal[:, 0] = 0.0
    arm = judged(sums)
    assert {part.name.split(":")[0] for part in arm.parts} == {
        "x",
        "G1-4",
        "tails",
        "trace",
        "x pairs",
        "G2 pairs",
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
    scaled = GivenSums(diagonal, pairs, tails=sums.tails)
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
    sums.tails[rest] = 0.0
    for order in ORDERS.values():
        next(sums.pairs(order))[rest] = 0.0
    arm = judged(sums)
    assert arm.pvalue == 1.0
    assert all(0.0 < part.pvalue <= 1.0 for part in arm.parts)


# What is given up


def equicorrelated(rng: np.random.Generator, shape: tuple[int, ...], memory: float) -> ps.Sample:
    """Chains, or rows, of a Gaussian whose coordinates are all correlated 0.9."""
    noise = rng.standard_normal(shape)
    for t in range(1, shape[-2] if memory else 0):
        noise[..., t, :] *= (1.0 - memory**2) ** 0.5
        noise[..., t, :] += memory * noise[..., t - 1, :]
    d = shape[-1]
    covariance = 0.1 * np.eye(d) + 0.9
    draws = noise @ np.linalg.cholesky(covariance).T
    return ps.Sample(draws, -draws @ np.linalg.inv(covariance))


def test_directions_that_rows_are_too_few_for_are_said_to_be_left_out() -> None:
    rng = np.random.default_rng(0)
    few = ps.check(equicorrelated(rng, (119, 60), 0.0), iid=True)
    (abstained,) = few.evidence.abstained
    assert abstained.name == "sign flips of whole directions"
    assert "2 rows for each coordinate" in abstained.reason
    # It is said, and the verdict is not held open for it.
    assert few.verdict == "not rejected"
    assert ps.check(equicorrelated(rng, (120, 60), 0.0), iid=True).evidence.abstained == ()


def test_short_chains_of_correlated_coordinates_are_inconclusive() -> None:
    rng = np.random.default_rng(1)
    result = ps.check(equicorrelated(rng, (4, 1000, 50), 0.9))
    names = {one.name for one in result.evidence.abstained}
    assert "sign flips of spread along directions" in names
    assert result.verdict == "inconclusive"
    assert any("fewer than 8 independent rows for each" in reason for reason in result.reasons)


def test_uncorrelated_coordinates_need_no_directions() -> None:
    """The sum over the scores sees what Hotelling's statistic would."""
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((4, 1000, 50))
    for t in range(1, 1000):
        noise[:, t] = 0.9 * noise[:, t - 1] + 0.19**0.5 * noise[:, t]
    result = ps.check(noise, -noise)
    assert not any("direction" in one.name for one in result.evidence.abstained)
