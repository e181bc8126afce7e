"""The families of features: their batch sums and their places."""

from typing import Any

import numpy as np
import pytest

from polystein.methods.check.flips import Family, families
from polystein.methods.check.statistics import BASIS, FEWEST_BATCHES, FEWEST_FOR_SPREADS, of_family
from tests.methods.check.sums import (
    fewest_batches,
    literal_families,
    random_sums,
)


def found(sums: Any) -> dict[str, Family]:
    return {family.name: family for family in families(sums, np.arange(sums.diagonal.shape[2]))}


@pytest.mark.parametrize("batches", [8, 250])
@pytest.mark.parametrize("d", [1, 3])
def test_families_are_those_written_out(d: int, batches: int) -> None:
    sums = random_sums(np.random.default_rng(0), batches, d)
    expected = literal_families(sums)
    own = found(sums)
    assert list(own) == list(expected)
    for name, family in own.items():
        # Parts may be asked for again and again.
        for _ in range(2):
            assert np.array_equal(np.concatenate(list(family.parts()), axis=1), expected[name])


def test_spreads_need_more_batches_than_the_others() -> None:
    own = found(random_sums(np.random.default_rng(0), 20, 2))
    assert {name: of_family(name)[0].batches for name in own} == {
        name: fewest_batches(name) for name in own
    }
    assert FEWEST_FOR_SPREADS > FEWEST_BATCHES


def test_pairs_alone_are_of_pairs() -> None:
    own = found(random_sums(np.random.default_rng(0), 20, 2))
    assert [name for name, family in own.items() if family.of_pairs] == [
        "x pairs",
        "G2 pairs",
        "magnitude pairs",
    ]


def test_every_family_says_what_it_looks_at() -> None:
    own = found(random_sums(np.random.default_rng(0), 200, 2))
    assert {name: of_family(name)[0].looks_at for name in own} == {
        "score": "location",
        "x": "spread",
        "G1-4": "spread, shape",
        "tails": "tails",
        "waves": "fine structure",
        "trace": "overall spread",
        "x pairs": "correlation",
        "G2 pairs": "curved dependence",
        "magnitude pairs": "dependence of magnitudes",
    }
    assert own["G1-4"].orders == BASIS.names[1:] == ("G1", "G2", "G3", "G4")


@pytest.mark.parametrize(
    ("name", "position", "place"),
    [
        ("score", 2, (("score",), (2,))),
        ("G1-4", 0, (("G1",), (0,))),
        ("G1-4", 7, (("G3",), (1,))),
        ("x pairs", 5, (("x",), (1, 2))),
        ("G2 pairs", 6, (("G2",), (2, 0))),
        ("magnitude pairs", 5, (("magnitude",), (1, 2))),
        ("waves", 4, (("cos 1.5x",), (1,))),
    ],
)
def test_a_position_is_an_order_and_its_coordinates(name: str, position: int, place: Any) -> None:
    """Of three coordinates, order by order, or pair by pair."""
    sums = random_sums(np.random.default_rng(0), 200, 3)
    assert found(sums)[name].place(position, 3) == place
