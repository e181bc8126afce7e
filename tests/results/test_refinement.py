"""A stored refinement: read back as it was, cleaned, and refused where it was changed."""

from typing import Any

import pytest

import polystein as ps
from polystein.results.effects import EffectTable


def refinement(pvalue: float = 0.4, **changes: Any) -> ps.Refinement:
    numbers = {name: 1 for name in ("gradients", "transitions", "starts", "pilots", "groups")}
    values = ("mean of `a`", EffectTable((), 4), True, ("a",), None, "", "HMC", 0.8)
    return ps.Refinement(pvalue, 0.1, *values, **numbers, dimension=2, **changes)


def test_it_is_read_back() -> None:
    refined = refinement(reasons=("Hardly moved.",), warnings=("Slow.",), settings={"starts": 1})
    assert ps.Refinement.from_dict(refined.to_dict()) == refined


def test_the_verdict_of_another_level_is_read() -> None:
    values = {**refinement(0.03).to_dict(), "alpha": 0.01, "verdict": "not rejected"}
    assert ps.Refinement.from_dict(values).verdict == "rejected"


def test_a_changed_verdict_is_refused() -> None:
    values = {**refinement(0.001).to_dict(), "verdict": "not rejected"}
    with pytest.raises(ps.InputError, match="got the verdict 'not rejected', but a p-value of"):
        ps.Refinement.from_dict(values)


def test_text_is_cleaned() -> None:
    evil = "a\x1b[31m\nb\u202e"
    values = refinement().to_dict()
    values |= {"leading": evil, "still_moving": [evil], "warnings": [evil], "kernel": evil}
    values |= {"reasons": [evil], "verdict": "inconclusive", "settings": {evil: evil}}
    read = ps.Refinement.from_dict(values)
    clean = r"a\x1b[31m\nb\u202e"
    assert (read.leading, read.kernel, read.settings) == (clean, clean, {clean: clean})
    assert read.still_moving == read.warnings == read.reasons == (clean,)


@pytest.mark.parametrize("name", ["still_moving", "warnings", "reasons"])
def test_text_is_no_list(name: str) -> None:
    with pytest.raises(ps.InputError, match="must be a list"):
        ps.Refinement.from_dict({**refinement().to_dict(), name: "abc"})
