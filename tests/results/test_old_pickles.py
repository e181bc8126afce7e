"""Pickles of the version before: fields that it had not get defaults, reasons get codes."""

import pickle
from typing import Any

import polystein as ps
from polystein.results.effects import EffectTable
from polystein.results.many import CheckedFit
from polystein.results.refinement import Refinement


def as_before(record: Any, **state: Any) -> Any:
    """The record after a pickle whose state lacks later fields and has these ones."""
    for name in ("own_names", "action", "n_chains", "n_draws"):
        record.__dict__.pop(name, None)
    record.__dict__.update(state)
    return pickle.loads(pickle.dumps(record))


def old_effects() -> EffectTable:
    table: EffectTable = as_before(EffectTable((), 4))
    return table


def old_result() -> ps.GofResult:
    result = ps.GofResult(0.1, 0.4, "greater", "check", dimension=2)
    found: ps.GofResult = as_before(result, reasons=("Too few draws.",), effect_table=old_effects())
    return found


def test_effects_get_the_fields_that_came_later() -> None:
    assert old_effects() == EffectTable((), 4)
    assert old_effects().to_dict()["own_names"] == {}


def test_results_get_codes() -> None:
    result = old_result()
    assert [one.code for one in result.reasons] == ["other"]  # type: ignore[attr-defined]
    assert result.to_dict()["effects"]["own_names"] == {}
    assert (result.n_chains, result.verdict) == (0, "inconclusive")
    assert "Too few draws." in result._repr_html_()


def test_refinements_get_codes() -> None:
    numbers = {name: 1 for name in ("gradients", "transitions", "starts", "pilots", "groups")}
    refined = Refinement(
        *(0.4, 0.1, "mean of `a`", old_effects(), True, (), None, "", "HMC", 0.8),
        **numbers,
        dimension=2,
    )
    again = as_before(refined, reasons=("Hardly moved.",))
    assert again.to_dict()["reasons"][0]["code"] == "other"
    assert again.to_dict()["effects"]["own_names"] == {}


def test_rows_of_many_checks_are_made_again() -> None:
    fit = CheckedFit("a", 1, 10, old_result())
    table = ps.CheckTable((fit,))
    rows = tuple(row._replace(reasons=("Too few draws.",)) for row in table.rows)
    state = {**table.__dict__, "rows": rows}
    again = ps.CheckTable.__new__(ps.CheckTable)
    again.__setstate__(state)
    assert again == table
    assert [one.code for one in again["a"].reasons] == ["other"]  # type: ignore[attr-defined]
    assert "rows" not in pickle.loads(pickle.dumps(table)).__dict__
