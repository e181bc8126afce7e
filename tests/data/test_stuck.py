"""Chains at absurd values are named; chains that merely disagree are left to the tests."""

import re
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.sample import as_source
from polystein.data.stuck import FURTHEST, MOST_CHAINS, refuse_absurd_chains
from polystein.errors import InputError
from tests.rows import Array
from tests.sources import DistantSource, MinimalSource, SequentialSource


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
def test_sources_that_would_have_to_read_much_more_are_not_read(
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
