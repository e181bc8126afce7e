"""Axes that are not (chain, draw, d) and absurd chains are refused; draws in order never are."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.facts import Facts
from polystein.data.guard.chains import (
    FURTHEST,
    LEAST_LENGTH,
    MOST_CHAINS,
    MOST_PLACES,
    MOST_ROWS,
    rearranged,
    refuse_absurd_chains,
    require_time_along_chains,
    rows_or_chains,
)
from polystein.data.sample import as_source
from polystein.data.source import in_time_order
from polystein.errors import InputError
from tests.rows import Array
from tests.sources import CountingSample, DistantSource, MinimalSource, SequentialSource


def chains(count: int, rows: int, d: int, memory: float = 0.9, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((count, rows, d))
    for t in range(1, rows):
        draws[:, t] = memory * draws[:, t - 1] + (1.0 - memory**2) ** 0.5 * draws[:, t]
    return draws


def guard(draws: Array, scores: Array | None = None, **options: Any) -> None:
    sample = ps.Sample(draws, -draws if scores is None else scores, **options)
    require_time_along_chains(in_time_order(sample))


def refused(draws: Array, *words: str, **options: Any) -> None:
    with pytest.raises(InputError) as caught:
        guard(draws, **options)
    for word in ("`draws` must have the shape (chain, draw, d)", str(draws.shape), *words):
        assert word in str(caught.value)


# Time along the first axis


def test_swapped_chains_are_refused_with_the_remedy() -> None:
    draws = chains(4, 1000, 3).swapaxes(0, 1)
    refused(draws, "autocorrelated along the first axis and not along the second",
            "(draw, chain, d), 4 chains of 1000 draws, pass `draws.swapaxes(0, 1)`",
            "(draw, d, chain), 3 chains of 1000 draws, pass `np.moveaxis(draws, 2, 0)`",
            "the scores likewise")  # fmt: skip
    guard(draws.swapaxes(0, 1))


def test_the_other_remedy_is_right_as_well() -> None:
    draws = chains(4, 1000, 16)
    given = draws.transpose(1, 2, 0)
    refused(given, "`np.moveaxis(draws, 2, 0)`")
    np.testing.assert_array_equal(np.moveaxis(given, 2, 0), draws)


def test_names_leave_one_remedy() -> None:
    draws = chains(4, 200, 3).swapaxes(0, 1)
    with pytest.raises(InputError, match=r"swapaxes\(0, 1\)") as caught:
        guard(draws, names=["a", "b", "c"])
    assert "moveaxis" not in str(caught.value)


def test_one_chain_with_a_second_axis_of_one_is_refused() -> None:
    refused(chains(1, 500, 2).swapaxes(0, 1), "1 chain of 500 draws, pass `draws.swapaxes(0, 1)`")


def test_a_single_slow_coordinate_is_enough() -> None:
    draws = chains(4, 1000, 8, memory=0.0)
    draws[..., 5] = chains(4, 1000, 1, seed=1)[..., 0]
    refused(draws.swapaxes(0, 1), "autocorrelated along the first axis")


@pytest.mark.parametrize("shape", [(100, 50, 4), (1000, 20, 4), (40, 300, 2), (500, 1, 3)])
@pytest.mark.parametrize("memory", [-0.9, 0.0, 0.5, 0.95])
def test_chains_in_order_pass(shape: tuple[int, int, int], memory: float) -> None:
    for seed in range(5):
        guard(chains(*shape, memory=memory, seed=seed))


def test_chains_in_different_places_pass_even_if_sorted() -> None:
    draws = chains(100, 50, 2, memory=0.0) + np.linspace(-5.0, 5.0, 100)[:, None, None]
    guard(draws)


def test_chains_that_share_their_noise_are_not_called_swapped() -> None:
    draws = np.repeat(chains(1, 50, 2, memory=0.0), 100, axis=0)
    guard(draws)
    guard(draws + 1e-3 * chains(100, 50, 2, memory=0.0, seed=1))


def test_constant_and_huge_draws_are_no_reason_to_refuse() -> None:
    guard(np.zeros((100, 30, 2)))
    draws = chains(100, 30, 2, memory=0.0)
    draws[3] = 1e308
    draws[4] = -1e308
    with np.errstate(all="raise"):
        guard(draws, np.zeros_like(draws))


# Time along the last axis


def test_few_draws_in_many_dimensions_are_refused() -> None:
    draws = chains(4, 1000, 16, memory=0.0)
    refused(draws.swapaxes(1, 2), "16 draws in a chain, and fewer draws in all than coordinates",
            "(chain, d, draw), 4 chains of 1000 draws, pass `draws.swapaxes(1, 2)`")  # fmt: skip
    given = np.moveaxis(draws, 2, 0)
    refused(given, "(d, chain, draw), 4 chains of 1000 draws, pass `np.moveaxis(draws, 0, 2)`")
    np.testing.assert_array_equal(np.moveaxis(given, 0, 2), draws)


def test_time_along_the_coordinates_is_refused() -> None:
    draws = chains(4, 1000, 50)
    words = "draws and scores are autocorrelated along the last axis and not along the second"
    refused(draws.swapaxes(1, 2), words, "`draws.swapaxes(1, 2)`", "names=")
    refused(draws[:1].swapaxes(1, 2), words, "`draws.swapaxes(-1, -2)`")


def test_a_transposed_chain_of_two_axes_is_refused() -> None:
    given = chains(1, 1000, 50)[0].T
    with pytest.raises(InputError, match=re.escape("(d, draw), one chain of 1000 draws")):
        guard(given)
    guard(given.swapaxes(-1, -2))


def test_names_say_that_the_last_axis_is_that_of_the_coordinates() -> None:
    names = [f"field[{index}]" for index in range(1000)]
    guard(chains(4, 1000, 50).swapaxes(1, 2), names=names)
    guard(chains(4, 1000, 16).swapaxes(1, 2), names=names)


@pytest.mark.parametrize(("rows", "memory"), [(25, 0.9), (100, 0.0)])
def test_coordinates_of_a_smooth_curve_pass(rows: int, memory: float) -> None:
    """They follow each other, but their scores do not: the precision is not smooth."""
    d = 300
    places = np.arange(d)
    covariance = np.exp(-0.5 * (np.subtract.outer(places, places) / 8.0) ** 2) + 1e-4 * np.eye(d)
    centred = chains(4, rows, d, memory) @ np.linalg.cholesky(covariance).T
    guard(centred + np.sin(places / 20.0), -np.linalg.solve(covariance, centred[..., None])[..., 0])


# Cost


def test_a_corner_of_the_draws_is_read() -> None:
    draws = chains(2000, 30, 2, memory=0.0)
    sample = CountingSample(draws, -draws)
    require_time_along_chains(sample)
    assert sum(int(part.sum()) for part in sample.reads) == MOST_PLACES * MOST_ROWS


def test_few_chains_are_not_read_at_all() -> None:
    draws = chains(LEAST_LENGTH - 1, 50, 2)
    sample = CountingSample(draws, -draws)
    require_time_along_chains(sample)
    assert not hasattr(sample, "reads")


@pytest.mark.parametrize(("attribute", "value"), [("grain", 10_000), ("sequential", True)])
def test_sources_that_would_have_to_read_much_more_are_not_read(
    attribute: str, value: object
) -> None:
    source = DistantSource()
    setattr(source, attribute, value)
    require_time_along_chains(source)


@pytest.mark.parametrize("kind", [MinimalSource, SequentialSource])
def test_sources_are_refused_like_arrays(kind: Callable[..., Any]) -> None:
    draws = chains(4, 300, 3).swapaxes(0, 1)
    source = kind([(part, -part) for part in draws], time_ordered=True)
    with pytest.raises(InputError, match=r"draws\.swapaxes\(0, 1\)"):
        require_time_along_chains(as_source(source, None))


def test_chains_of_different_lengths_are_looked_at_where_all_have_rows() -> None:
    draws = chains(6, 300, 3).swapaxes(0, 1)
    parts = [(part[: 3 + k % 4], -part[: 3 + k % 4]) for k, part in enumerate(draws)]
    with pytest.raises(InputError, match=r"draws\.swapaxes\(0, 1\)"):
        require_time_along_chains(as_source(MinimalSource(parts, time_ordered=True), None))


# The functions that keep time order, and those that do not


CHAIN_OPTIONS: dict[str, Any] = {"split": ps.BlockSplit(), "variance": ps.InitialSequence()}


@pytest.mark.parametrize(
    "function",
    [
        lambda draws: ps.check(draws, -draws, rng=0),
        lambda draws: ps.psd_test(draws, -draws, order=1, rng=0, **CHAIN_OPTIONS),
        lambda draws: ps.lambda_psd_test(draws, -draws, order=1, rng=0, **CHAIN_OPTIONS),
        lambda draws: ps.psd_bootstrap_test(draws, -draws, order=1, n_bootstrap=9, rng=0),
        lambda draws: ps.ksd_test(draws, -draws, n_bootstrap=9, rng=0),
    ],
)
def test_functions_that_keep_time_order_refuse_swapped_axes(function: Any) -> None:
    with pytest.raises(InputError, match=r"pass `draws\.swapaxes\(0, 1\)`"):
        function(chains(4, 200, 3).swapaxes(0, 1))


@pytest.mark.filterwarnings("ignore::polystein.errors.DependenceWarning")
def test_functions_that_do_not_keep_it_do_not_care() -> None:
    draws = chains(4, 200, 3).swapaxes(0, 1)
    assert ps.psd(draws, -draws, order=1) > 0.0
    assert 0.0 < ps.psd_test(draws, -draws, order=1, rng=0).pvalue <= 1.0


# Chains called independent, scores in another order


def test_chains_are_not_independent_rows() -> None:
    draws = chains(4, 50, 3)
    with pytest.raises(InputError) as caught:
        rows_or_chains(ps.Sample(draws, -draws), iid=True)
    for words in ("`iid=True` is for independent rows", "(chain, draw, d) = (4, 50, 3)",
                  "Leave `iid` out", "`draws.reshape(-1, 3)`"):  # fmt: skip
        assert words in str(caught.value)
    rows_or_chains(ps.Sample(draws[0], -draws[0]), iid=True)


def test_one_chain_may_be_independent_rows() -> None:
    """ArviZ makes one chain of independent draws, and facts may say that they are."""
    draws = chains(4, 200, 3)
    one, rows = ps.Sample(draws[:1], -draws[:1]), ps.Sample(draws[0], -draws[0])
    known = ps.Sample(draws[0], -draws[0], facts=Facts(independent=True))
    assert one.layout.time_ordered
    for found in (rows_or_chains(one, iid=True), rows_or_chains(known, iid=False)):
        assert found.layout == rows.layout
        assert np.array_equal(found.read(0, 3, 9).draws, draws[0, 3:9])
    assert one.layout.time_ordered  # what was given stays as it is
    assert rows_or_chains(rows, iid=False).layout.time_ordered
    expected = ps.check(rows, iid=True, rng=0)
    for found in (ps.check(one, iid=True, rng=0), ps.check(known, rng=0)):
        assert found.to_dict() == expected.to_dict()


def test_scores_in_another_order_get_the_order_to_pass() -> None:
    draws = chains(4, 50, 3)
    with pytest.raises(InputError, match=re.escape("`np.transpose(scores, (1, 0, 2))`")):
        ps.Sample(draws, -draws.swapaxes(0, 1))
    with pytest.raises(InputError, match=re.escape("`scores.reshape((4, 50, 3))`")):
        ps.Sample(draws, -draws.reshape(200, 3))
    with pytest.raises(InputError, match=re.escape("got (200, 2).")) as caught:
        ps.Sample(draws, np.zeros((200, 2)))
    assert str(caught.value).endswith("got (200, 2).")


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_the_order_to_pass_restores_the_shape(order: tuple[int, int, int]) -> None:
    expected = (4, 50, 3)
    given = np.empty(expected).transpose(order)
    found = re.search(r"\((\d), (\d), (\d)\)", rearranged("scores", given.shape, expected))
    assert found is not None
    assert np.transpose(given, tuple(map(int, found.groups()))).shape == expected


# Chains at absurd values are named; chains that merely disagree are left to the tests


def rows(chains: int = 4, draws: int = 100, d: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((chains, draws, d))


def look(draws: Array, **options: Any) -> None:
    refuse_absurd_chains(ps.Sample(draws, np.zeros_like(draws), **options))


@pytest.mark.parametrize("value", [1e9, 1e12, 1e200, -1e200, 1e308, -1e308])
@pytest.mark.parametrize("chain", [0, 3])
def test_a_chain_at_an_absurd_value_is_named(value: float, chain: int) -> None:
    draws = rows()
    draws[chain] = value
    with pytest.raises(InputError) as caught, np.errstate(all="raise", under="ignore"):
        look(draws, names=["alpha", "beta", "tau"])
    message = str(caught.value)
    for words in ("`draws` must be chains that overlap", f"chain {chain} sits at absurd values",
                  f"around {value:.3g} in alpha", f"np.delete(draws, [{chain}], axis=0)",
                  "run it again", "the scores likewise"):  # fmt: skip
        assert words in message


def test_a_chain_that_moves_there_is_named_too() -> None:
    draws = rows()
    draws[2] = 1e200 * (1.0 + 0.01 * draws[2])
    with pytest.raises(InputError, match="chain 2 sits at absurd values: chain 2 around 1"):
        look(draws)


def test_one_absurd_coordinate_is_enough_and_is_named() -> None:
    draws = rows()
    draws[1, :, 2] = 1e15
    with pytest.raises(InputError, match=re.escape("chain 1 around 1e+15 in x[2], where others")):
        look(draws)


@pytest.mark.parametrize("values", [(1e200, 1e100), (1e308, -1e308), (-1e200, -1e200)])
def test_half_of_the_chains_may_be_absurd(values: tuple[float, float]) -> None:
    draws = rows()
    draws[[0, 2]] = np.array(values)[:, None, None]
    with pytest.raises(InputError, match=r"chains 0, 2 sit at absurd values: chain 0 around"):
        look(draws)


def test_many_absurd_chains_are_not_all_listed() -> None:
    draws = rows(chains=20)
    draws[:8] = 1e100
    with pytest.raises(InputError, match=re.escape("chains 0, 1, 2, 3, 4, ... sit")):
        look(draws)


def test_chains_that_merely_disagree_pass() -> None:
    draws = rows()
    draws[3] += 0.01 * FURTHEST
    look(draws)
    draws[3] = 9_000.0
    look(draws)


@pytest.mark.parametrize("unit", [1e-300, 1e-8, 1.0, 1e200, 1e306])
def test_units_and_places_do_not_matter(unit: float) -> None:
    look(unit * rows())
    look(unit * (5.0 + 1e-9 * rows()))


def test_chains_that_stand_still_pass() -> None:
    """At the end of a chain that rejects every proposal, deviations are 0."""
    draws = rows(chains=2)
    draws[:, 50:] = draws[:, 50:51]
    look(draws)
    draws[0, 50:] = 0.0
    look(draws)
    look(np.zeros((4, 30, 2)))


def test_heavy_tails_pass() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        look(rng.standard_cauchy((4, 40, 5)))


def test_independent_rows_are_not_looked_at() -> None:
    look(rows()[0])


@pytest.mark.parametrize("kind", [MinimalSource, SequentialSource])
def test_lazy_sources_of_different_lengths_are_looked_at(kind: Any) -> None:
    draws = rows()
    draws[1] = 1e200
    parts = [(part[: 20 + 7 * k], -part[: 20 + 7 * k]) for k, part in enumerate(draws)]
    with pytest.raises(InputError, match="chain 1 sits"):
        refuse_absurd_chains(as_source(kind(parts, time_ordered=True), None))


@pytest.mark.parametrize(("attribute", "value"), [("grain", 10_000), ("sequential", True)])
def test_ends_of_sources_that_would_have_to_read_much_more_are_not_read(
    attribute: str, value: object
) -> None:
    source = DistantSource()
    setattr(source, attribute, value)
    refuse_absurd_chains(source)


def test_some_of_very_many_chains_are_looked_at() -> None:
    draws = rows(chains=4 * MOST_CHAINS, draws=5)
    draws[4 * 17] = 1e99
    with pytest.raises(InputError, match=f"chain {4 * 17} sits"):
        look(draws)
