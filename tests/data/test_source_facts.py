"""Facts beside the draws are validated when they come in, or when they are first used."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.facts import known_statistics
from polystein.errors import InputError

DRAWS = np.random.default_rng(0).standard_normal((300, 2))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"log_density": 3}, r"`facts\['log_density'\]` must be a function"),
        ({"transform": "exp"}, r"`facts\['transform'\]` must be a function"),
        (
            {"sampler_statistics": {"diverging": np.zeros(3)}},
            r"\['diverging'\]` must be.*300",
        ),
        ({"sampler_statistics": {"energy": ["a"] * 300}}, r"\['energy'\]` must be .*numbers"),
        ({"sampler_statistics": {"energy": 1.0}}, r"\['energy'\]` must be .*got dtype float64"),
    ],
)
def test_facts_of_the_wrong_kind_are_named(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.Sample(DRAWS, -DRAWS, facts=facts)


@pytest.mark.parametrize("shape", [(300,), (1, 300)])
def test_statistics_of_one_chain(shape: tuple[int, ...]) -> None:
    statistics = {"diverging": np.zeros(shape, dtype=bool), "energy": np.ones(shape)}
    sample = ps.Sample(DRAWS, -DRAWS, facts={"sampler_statistics": statistics})
    assert dict(sample.facts.sampler_statistics) == statistics


@pytest.mark.parametrize("value", [3.0, "a", np.zeros((2, 2))])
def test_a_log_density_returns_a_number_for_each_draw(value: Any) -> None:
    sample = ps.Sample(DRAWS, -DRAWS, facts={"log_density": lambda x: value})
    with pytest.raises(InputError, match=r"`facts\['log_density'\]` must return a real number"):
        ps.check(sample)


def test_a_transform_returns_a_mapping() -> None:
    sample = ps.Sample(DRAWS, -DRAWS, facts={"transform": np.exp})
    with pytest.raises(InputError, match=r"`facts\['transform'\]` must return a mapping"):
        ps.expectations(sample)


# What samplers say about themselves


@pytest.mark.parametrize(
    "name", ["reached_max_treedepth", "maxdepth_reached", "reached_max_tree_depth"]
)
def test_every_spelling_is_known(name: str) -> None:
    assert list(known_statistics({name: 1, "other": 2})) == ["reached_max_treedepth"]
