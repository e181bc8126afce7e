"""What the model calls its coordinates, found by moving one at a time."""

import re
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.explain.own_names import own_names, own_words
from polystein.report.effects import shown_name
from tests.report.drawn import effect, labels

DRAWS = np.random.default_rng(0).standard_normal((400, 3))


def sample(transform: Any, names: list[str]) -> ps.Sample:
    return ps.Sample(DRAWS, -DRAWS, names=names, facts={"transform": transform})


def test_a_coordinate_has_the_name_of_the_number_that_moves_with_it() -> None:
    def transform(rows: Any) -> dict[str, Any]:
        return {"mu": rows[:, 0], "tau": np.exp(rows[:, 1]), "w": 1.0 / (1.0 + np.exp(-rows[:, 2]))}

    names = own_names(sample(transform, ["mu", "tau_log__", "w"]))
    assert names == {"tau_log__": "tau", "w": "w"}
    assert own_words(names) == {
        "tau_log__": "`tau_log__` (unconstrained `tau`)",
        "w": "`w` (unconstrained)",
    }


def test_parts_of_arrays_have_indices() -> None:
    coordinates = ["s_log__[0]", "s_log__[1]", "s_log__[2]"]
    names = own_names(sample(lambda rows: {"s": np.exp(rows)}, coordinates))
    assert names["s_log__[1]"] == "s[1]"


@pytest.mark.parametrize("name", ["variance", "log_precision"])
def test_a_number_that_the_coordinate_is_not_named_after_is_none_of_its_names(name: str) -> None:
    def transform(rows: Any) -> dict[str, Any]:
        return {"precision": np.exp(rows[:, 0]), "b": rows[:, 1], "c": rows[:, 2]}

    assert own_names(sample(transform, [name, "b", "c"])) == {}


@pytest.mark.parametrize("function", [np.square, np.abs, np.sin])
def test_a_number_that_goes_up_and_down_is_no_parameter_on_another_scale(function: Any) -> None:
    def transform(rows: Any) -> dict[str, Any]:
        return {"x": function(rows[:, 0]), "b": rows[:, 1], "c": rows[:, 2]}

    assert own_names(sample(transform, ["x_free__", "b", "c"])) == {}


@pytest.mark.parametrize("shift", [-3.0, 3.0])
def test_both_ways_are_tried_where_no_draw_shows_the_other_one(shift: float) -> None:
    draws = DRAWS * 0.01 + shift * 0.1
    square = {"transform": lambda rows: {"x": rows[:, 0] ** 2, "b": rows[:, 1:]}}
    source = ps.Sample(draws, -draws, names=["x_free__", "b[0]", "b[1]"], facts=square)
    assert own_names(source) == {}


def test_pymc_s_transforms_hold_the_unconstrained_values_too() -> None:
    def transform(rows: Any) -> dict[str, Any]:
        tau = np.exp(rows[:, 1])
        own = {"mu": rows[:, 0], "tau_log__": rows[:, 1], "tau": tau, "tau2": tau**2}
        return {**own, "m": 2.0 * rows[:, 0], "sum": rows.sum(axis=1), "x": rows[:, 2]}

    assert own_names(sample(transform, ["mu", "tau_log__", "x"])) == {"tau_log__": "tau"}


def test_numbers_that_depend_on_several_coordinates_have_none() -> None:
    def simplex(rows: Any) -> dict[str, Any]:
        return {"p": np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)}

    assert own_names(sample(simplex, ["a", "b", "c"])) == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_transform(dtype: Any) -> None:
    names = ["a", "b", "c"]
    assert own_names(sample(lambda rows: {"v": rows.astype(dtype)}, names)) == {}


def test_no_transform_and_one_that_fails_give_no_names() -> None:
    def fails(rows: Any) -> dict[str, Any]:
        raise ValueError("on purpose")

    assert own_names(ps.Sample(DRAWS, -DRAWS)) == {}
    assert own_names(sample(fails, ["a", "b", "c"])) == {}
    assert own_names(sample(lambda rows: {}, ["a", "b", "c"])) == {}


def test_sentences_have_the_coordinate_first_and_keys_stay() -> None:
    wide = ps.Sample(
        DRAWS * [1.0, 1.5, 1.0],
        -DRAWS * [1.0, 1.5, 1.0],
        names=["mu", "tau_log__", "w"],
        facts={"transform": lambda rows: {"tau": np.exp(rows[:, 1])}},
    )
    table = ps.effects(wide, iid=True)
    row = table["tau_log__", "sd"]
    assert row.found
    assert "begin with `tau_log__` (unconstrained `tau`)" in table.hint
    assert shown_name(table, row) == "tau_log__ (unconstrained tau)"
    again = ps.EffectTable.from_dict(table.to_dict())
    assert again.own_names == {"tau_log__": "tau"}
    assert labels(ps.plot_effects(again))[0] == "tau_log__ (unconstrained tau)  sd"
    assert row.sentence.startswith("the sd of `tau_log__` (unconstrained `tau`) is ")


def test_both_names_of_a_pair_are_shown() -> None:
    table = ps.EffectTable((), 0, own_names={"b": "b", "a_log__": "a"})
    pair = effect("a_log__, b", "correlation", 0.2, pair=("a_log__", "b"))
    assert shown_name(table, pair) == "a_log__ (unconstrained a), b (unconstrained)"
    assert shown_name(table, effect("c", "mean", 0.2)) == "c"


def test_names_of_a_pair_may_hold_commas() -> None:
    own = {"s_log__[0, 0]": "s[0, 0]"}
    pair = ("s_log__[0, 0]", "m[0, 1]")
    row = effect(", ".join(pair), "correlation", 0.2, pair=pair)
    table = ps.EffectTable((row,), 1, own_names=own)
    assert shown_name(table, row) == "s_log__[0, 0] (unconstrained s[0, 0]), m[0, 1]"
    assert ps.EffectTable.from_dict(table.to_dict()).rows[0].names == pair
    assert row._replace(pair=()).names == (row.name,)  # as stored before
    assert effect("a, b", "correlation", 0.2).names == ("a", "b")
    assert effect("a, b", "mean", 0.2).names == ("a, b",)


def test_sizes_of_the_parameter_come_first_and_those_of_the_coordinate_in_brackets() -> None:
    """Where log(tau) is N(0, 0.3^2), tau has mean exp(0.045) and sd 0.321; draws are moved."""
    draws = np.random.default_rng(0).standard_normal((4, 1000, 2)) * [0.3, 1.0] + [0.1, 0.0]
    facts = {"transform": lambda rows: {"tau": np.exp(rows[:, 0]), "mu": rows[:, 1]}}
    source = ps.Sample(draws, -draws / [0.09, 1.0], names=["tau_log__", "mu"], facts=facts)
    table = ps.effects(source)
    row = table["tau_log__", "mean"]
    words = re.fullmatch(
        r"the mean of `tau` is (\S+), should be about (\S+) \((\S+) to (\S+)\)"
        r" \[`tau_log__`: (.*) posterior sd too high \(.*\)\]",
        row.sentence,
    )
    assert words is not None, row.sentence
    of_draws, right, low, high, size = map(float, words.groups())
    assert of_draws == pytest.approx(np.exp(draws[..., 0]).mean(), abs=0.01)
    assert low < np.exp(0.045) < high
    assert low < right < high < of_draws
    assert size == pytest.approx(row.size, abs=0.01)


def test_a_falling_parameter_has_its_own_sign() -> None:
    draws = np.random.default_rng(0).normal([0.3, 0.0], size=(4, 500, 2)) * [0.2, 1.0]
    facts = {"transform": lambda rows: {"x": 3.0 - np.exp(rows[:, 0]), "mu": rows[:, 1]}}
    scores = -draws / [0.04, 1.0]
    source = ps.Sample(draws, scores, names=["x_interval__", "mu"], facts=facts)
    row = ps.effects(source)["x_interval__", "mean"]
    words = re.match(r"the mean of `x` is (\S+), should be about (\S+) ", row.sentence)
    assert words is not None, row.sentence
    assert float(words[1]) < float(words[2])
    assert "[`x_interval__`: 0." in row.sentence
    assert "too high" in row.sentence


def test_a_parameter_that_is_not_off_by_itself_leaves_the_sentence_to_its_coordinate() -> None:
    """Wider draws of log(tau) with a mean so low that tau has the right mean."""
    draws = np.random.default_rng(0).standard_normal((4, 1000, 2)) * [0.5, 1.0]
    draws[..., 0] -= (0.25 - 0.09) / 2
    facts = {"transform": lambda rows: {"tau": np.exp(rows[:, 0]), "mu": rows[:, 1]}}
    source = ps.Sample(draws, -draws / [0.09, 1.0], names=["tau_log__", "mu"], facts=facts)
    row = ps.effects(source)["tau_log__", "mean"]
    assert row.found
    assert row.sentence.startswith("the mean of `tau_log__` (unconstrained `tau`) is ")
