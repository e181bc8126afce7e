"""A comparison of targets goes to a dictionary and back, and is neither true nor false."""

import copy
import json
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import polystein as ps
from tests.workflows.models import MODELS, target


def comparison(**edits: Any) -> ps.TargetComparison:
    draws = MODELS["hierarchical"].draws(60)
    return ps.same_target(target("hierarchical"), target("hierarchical", **edits), draws=draws)


def test_it_is_neither_true_nor_false() -> None:
    with pytest.raises(ps.InputError, match="ask for its `same`"):
        bool(comparison())


@pytest.mark.parametrize("edits", [{}, {"jacobian": 0.0}, {"kept": list(range(19))}])
def test_there_and_back(edits: dict[str, Any]) -> None:
    found = comparison(**edits)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = ps.TargetComparison.from_dict(plain)
    assert again == found
    assert again.to_dict() == found.to_dict()
    assert pickle.loads(pickle.dumps(found)) == found
    assert str(again) == str(found)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema_version", 2),
        ("same", True),
        ("same", "no"),
        ("differences", "none"),
        ("differences", [{"parameter": "a"}]),
        ("precision", "triple"),
        ("draws", -1),
        ("mapping", [3]),
    ],
)
def test_damaged_content_is_an_error(key: str, value: Any) -> None:
    values = copy.deepcopy(comparison(jacobian=0.0).to_dict())
    values[key] = value
    with pytest.raises(ps.InputError, match="`values` must"):
        ps.TargetComparison.from_dict(values)
    del values[key]
    with pytest.raises(ps.InputError, match="`values` must"):
        ps.TargetComparison.from_dict(values)


def test_a_data_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ps.MissingExtraError, match="`to_dataframe` needs pandas"):
        comparison().to_dataframe()


def test_rows_and_short_form() -> None:
    found = comparison(jacobian=0.0)
    assert [row.parameter for row in found] == ["log_tau"]
    assert repr(found) == "TargetComparison(jacobian; 60 draws, d=8)"
    assert repr(comparison()) == "TargetComparison(same; 60 draws, d=8)"
    (row,) = found
    draws = MODELS["hierarchical"].draws(60)
    assert row.size == pytest.approx(np.std(draws[:, 1]))
