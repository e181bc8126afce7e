"""How many sign flips are tried: more of them where a level is near."""

from typing import Any

import numpy as np
import pytest

from polystein.methods.check import flips as sign_flips
from polystein.methods.check.flips import FIRST_PATTERNS
from polystein.results.evidence import Arm
from tests.methods.check.flips import (
    assert_is_loop,
    judged,
    literal_arm,
    remembering_sums,
    signs_of,
)
from tests.methods.check.sums import (
    random_sums,
)


@pytest.mark.parametrize("mean", [0.0, 0.25, 0.5, 2.0])
def test_flips_go_on_as_in_the_loop(mean: float, short_stages: list[int]) -> None:
    sums = random_sums(np.random.default_rng(1), 30, 2, mean=mean)
    assert_is_loop(sums, 1, short_stages, levels=[0.05, 0.2])


def test_flips_of_chains_go_on_as_in_the_loop(short_stages: list[int]) -> None:
    """The draws are deflated once, and no further flip is."""
    longest = 0
    for seed in range(2):
        sums = remembering_sums(seed, [32] * 3, 2, 0.7)
        levels = [judged(sums, seed).pvalue]
        arm = judged(sums, seed, levels=levels)
        signs = signs_of(seed, 96, short_stages)
        (extreme, patterns), tails = literal_arm(sums, signs, levels=levels)
        assert arm.pvalue == pytest.approx(extreme / patterns, abs=1e-12)
        assert {part.name: part.pvalue for part in arm.parts} == pytest.approx(tails, rel=1e-9)
        longest = max(longest, patterns)
    assert longest == short_stages[-1]


def patterns_of(arm: Arm, stages: Any) -> set[int]:
    """The numbers of flips that the p-value is a fraction of."""
    return {n for n in stages if abs(arm.pvalue * n - round(arm.pvalue * n)) < 1e-9}


@pytest.mark.slow
def test_flips_go_on_where_a_level_is_near(short_stages: list[int]) -> None:
    """And all of them are used if it stays near, none without a level."""
    seen = set()
    for seed in range(3):
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
    # 30 batches of 2 + 8 features of the diagonal, 6 waves, 4 of each kind of pairs, and as many
    # products as batches for Hotelling's statistic. Tails and traces need more batches.
    for products, most in ((30 * 58 * 79, 50), (30 * 58 * 80, 80), (30 * 58 * 170, 170)):
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
