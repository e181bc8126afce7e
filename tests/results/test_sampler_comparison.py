"""The comparison of samplers as plain values and back."""

import json
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.results.sampler_comparison import distance_of, rank_words

RIGHT, WIDE = np.random.default_rng(0).standard_normal((2, 2, 200, 2)) * [[[[1.0]]], [[[1.5]]]]
FOUND = ps.compare({"right": (RIGHT, -RIGHT), "wide": (WIDE, -WIDE)}, cost={"wide": 2.0})


def test_json_brings_it_back() -> None:
    values = json.loads(json.dumps(FOUND.to_dict(), allow_nan=False))
    assert ps.SamplerComparison.from_dict(values).to_dict() == FOUND.to_dict()
    assert pickle.loads(pickle.dumps(FOUND)).to_dict() == FOUND.to_dict()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema_version", 2),
        ("sets", []),
        ("sets", 3),
        ("structure", "round"),
        ("order", -1),
        ("differences", [{"first": "a"}]),
        ("alpha", "low"),
        ("warnings", "none"),
    ],
)
def test_what_is_damaged_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ps.InputError, match="`values`"):
        ps.SamplerComparison.from_dict({**FOUND.to_dict(), key: value})


@pytest.mark.parametrize(("key", "value"), [("rank", [1]), ("means", 1.0), ("draws", 0.5)])
def test_a_damaged_set_is_refused(key: str, value: Any) -> None:
    values = FOUND.to_dict()
    values["sets"][0][key] = value
    with pytest.raises(ps.InputError, match="`values`"):
        ps.SamplerComparison.from_dict(values)


def test_sets_and_differences_are_found_by_name() -> None:
    assert (len(FOUND), [one.name for one in FOUND]) == (2, ["right", "wide"])
    assert FOUND["wide"].distance("sds") is FOUND["wide"].sds
    for call in (lambda: FOUND["gone"], lambda: FOUND.difference("right", "right")):
        with pytest.raises(ps.InputError, match="'right', 'wide'"):
            call()


def test_a_data_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ps.MissingExtraError, match="`to_dataframe` needs pandas"):
        FOUND.to_dataframe()


def test_words() -> None:
    assert (rank_words((2, 2)), rank_words((1, 3))) == ("2", "1-3")
    assert repr(FOUND) == "SamplerComparison(2 sets, d=2; ranks: right 1, wide 2)"


def test_a_distance_is_a_root_that_is_never_below_zero() -> None:
    assert distance_of(-1.0, 1.0, 2.0, 9.0)[:3] == (0.0, 0.0, 1.0)
    assert distance_of(4.0, 1.0, 2.0, 9.0)[0] == 2.0
