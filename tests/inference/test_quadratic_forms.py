"""Quadratic forms of batch sums, against loops over products."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kstest

from polystein.inference.memory import joinings
from polystein.inference.quadratic_forms import (
    BandedProducts,
    Factor,
    KeptProducts,
    Whole,
    apart,
    form_memory,
    form_tail,
    joined_products,
    spread_curve,
)
from tests.conftest import Array
from tests.inference.batch_cases import RULES
from tests.reference import invariant as literal
from tests.reference import memory as literal_memory

COUNTS = [[16, 16, 16, 16], [40], [9, 30, 1]]


def remembering(seed: int, counts: list[int], d: int, rho: float) -> tuple[Array, Array, Array]:
    """Sums over batches that remember, their sizes and their chains."""
    rng, chains = np.random.default_rng(seed), np.repeat(np.arange(len(counts)), counts)
    sums = lfilter([1.0], [1.0, -rho], rng.standard_normal((chains.size, d)), axis=0)
    return sums, rng.integers(3, 6, chains.size).astype(float), chains


def indefinite(sums: Array) -> Array:
    """Products with signs of their own: the last feature counts against the others."""
    signs = np.ones(sums.shape[1])
    signs[-1] = -1.0
    return (sums * signs) @ sums.T


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("rho", [0.0, 0.8, -0.5])
@pytest.mark.parametrize("d", [2, 5])
def test_the_memory_of_a_form_is_the_loops(counts: list[int], rho: float, d: int) -> None:
    sums, sizes, chains = remembering(d, counts, d, rho)
    levels = joinings(sizes, chains)
    groups = literal_memory.levels(chains.tolist(), RULES.fewest_a_chain)
    for products in (sums @ sums.T, indefinite(sums)):
        curve, errors = spread_curve(Whole(products).traces(levels), levels)
        own = [
            literal.spread(products, sizes.tolist(), chains.tolist(), group, RULES.most_independent)
            for group in groups
        ]
        np.testing.assert_allclose(curve, [one.size for one in own], rtol=1e-9)
        np.testing.assert_allclose(errors, [one.error for one in own], rtol=1e-9)
        found = form_memory(Whole(products).traces(levels), levels)
        expected = literal.form_memory(products, sizes.tolist(), chains.tolist(), groups, RULES)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("in_chains", [False, True])
def test_flipped_forms_are_the_loops(counts: list[int], in_chains: bool) -> None:
    sums, sizes, chains = remembering(3, counts, 3, 0.5)
    level = joinings(sizes, chains)[-1]
    groups = literal_memory.levels(chains.tolist(), RULES.fewest_a_chain)[-1]
    products = joined_products(sums @ sums.T, level)
    np.testing.assert_allclose(products, literal.joined(sums @ sums.T, groups), rtol=1e-9)
    own = level.chains if in_chains else None
    kept = apart(products, own)
    expected = literal.without_neighbours(products, None if own is None else own.tolist())
    np.testing.assert_array_equal(kept, expected)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(20, level.count))
    found, unit = KeptProducts(kept), np.abs(kept).max()
    values = found.flipped(signs)
    np.testing.assert_allclose(unit * values, [literal.value(kept, e) for e in signs], rtol=1e-9)
    np.testing.assert_allclose(
        form_tail(values, found.cumulants), literal.tail(unit * values, kept), rtol=1e-7
    )


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("in_chains", [False, True])
def test_a_factor_gives_what_its_products_give(counts: list[int], in_chains: bool) -> None:
    factor, sizes, chains = remembering(4, counts, 3, 0.5)
    products, levels = factor @ factor.T, joinings(sizes, chains)
    for by_factor, whole in zip(
        spread_curve(Factor(factor).traces(levels), levels),
        spread_curve(Whole(products).traces(levels), levels),
        strict=True,
    ):
        np.testing.assert_allclose(by_factor, whole, rtol=1e-9)
    own = chains if in_chains else None
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(20, chains.size))
    kept = literal.without_neighbours(products, None if own is None else own.tolist())
    found = BandedProducts(factor, own)
    np.testing.assert_allclose(
        found.flipped(signs), [literal.value(kept, e) for e in signs], rtol=1e-9
    )
    cubes = np.trace(kept @ kept @ kept)
    assert found.cumulants == pytest.approx((2.0 * np.sum(kept**2), 8.0 * cubes), rel=1e-9)


@pytest.mark.parametrize("share", [1.0, 1e-5, 1e-9])
def test_a_factor_is_left_where_batches_matter_with_themselves_alone(share: float) -> None:
    """All but two batches have this share: what the band leaves of the norms would be rounding."""
    factor = share * np.random.default_rng(3).standard_normal((64, 2))
    factor[[0, 40]] = np.eye(2)
    (joining,) = joinings(np.ones(64), np.arange(64))
    found = Factor(factor).kept(joining, None)
    assert isinstance(found, BandedProducts if share == 1.0 else KeptProducts)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(30, 64))
    kept = literal.without_neighbours(factor @ factor.T, None)
    unit = 1.0 if share == 1.0 else np.abs(kept).max()
    expected = [literal.value(kept, e) for e in signs]
    np.testing.assert_allclose(unit * found.flipped(signs), expected, rtol=1e-9, atol=1e-12 * unit)


def test_the_products_given_are_left_alone() -> None:
    products = np.ones((5, 5))
    apart(products, np.zeros(5, dtype=np.intp))
    assert np.array_equal(products, np.ones((5, 5)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_tails_are_nearly_uniform_over_flips(sign: float) -> None:
    """They order flips across statistics, and need no more than that."""
    rng = np.random.default_rng(4)
    sums = rng.standard_normal((120, 10)) * np.geomspace(1.0, 0.3, 10)
    kept = sign * apart(sums @ sums.T, None)
    found = KeptProducts(kept)
    values = found.flipped(rng.choice([-1.0, 1.0], size=(4000, 120)))
    tails = form_tail(values, found.cumulants)
    assert kstest(tails, "uniform").statistic < (0.03 if sign > 0 else 0.12)


def test_a_form_that_no_flip_changes_has_a_tail_of_one() -> None:
    nothing = KeptProducts(np.zeros((4, 4))).cumulants
    assert np.array_equal(form_tail(np.array([0.0, 3.0]), nothing), [1.0, 1.0])


def test_a_form_of_nothing_remembers_nothing() -> None:
    chains = np.repeat([0, 1], 16)
    levels = joinings(np.ones(32), chains)
    assert form_memory(Whole(np.zeros((32, 32))).traces(levels), levels) == (0, 1.0, 0.0)
    assert form_memory(Whole(np.eye(32)).traces(levels[:1]), levels[:1]) == (0, 1.0, 0.0)


def test_memory_is_allowed_for() -> None:
    """AR(0.8) batches: V_L/V of one feature is 1/9 at first, and near 1 on long batches."""
    found = []
    for seed in range(20):
        sums, _, chains = remembering(seed, [64] * 4, 8, 0.8)
        levels = joinings(np.ones(256), chains)
        remembered = form_memory(Whole(sums @ sums.T).traces(levels), levels)
        assert remembered.level > 0
        found.append(remembered.deflation)
    assert 0.5 < np.mean(found) < 1.0


def test_chains_that_disagree_are_not_taken_for_chains_that_remember() -> None:
    sums, sizes, chains = remembering(1, [64] * 4, 4, 0.0)
    levels = joinings(sizes, chains)
    apart_by = sums + sizes[:, None] * np.array([0.0, 5.0, -5.0, 9.0])[chains, None]
    np.testing.assert_allclose(
        spread_curve(Whole(apart_by @ apart_by.T).traces(levels), levels)[0],
        spread_curve(Whole(sums @ sums.T).traces(levels), levels)[0],
        rtol=1e-6,
    )
