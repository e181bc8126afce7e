"""Results are what they were: to a relative 1e-10, and words and decisions exactly."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.__main__ import RESULTS
from tests.golden.calls import Call, calls, differences, digests, load, on, plain, record, save
from tests.golden.cases import CASES
from tests.golden.command import compare
from tests.golden.inputs import ARRAYS, INPUTS

STORED = load(RESULTS)


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_the_stored_one(name: str) -> None:
    found = differences(name, STORED["cases"][name], record(CASES[name], INPUTS))
    assert "\n".join(found) == "", "`python -m tests.golden` shows all that changed"


def test_every_case_is_stored_and_no_other() -> None:
    assert list(STORED["cases"]) == list(CASES)


def test_inputs_have_the_stored_bits() -> None:
    assert digests(ARRAYS) == STORED["inputs"]


def test_every_input_is_called_with() -> None:
    assert {call.data for call in CASES.values()} - {None} == set(INPUTS)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["pvalue"], lambda old: old * (1.0 + 1e-9), "pvalue: "),
        (["verdict"], lambda old: "rejected", "verdict: 'not rejected' -> 'rejected'"),
        (["n_test"], lambda old: old + 1, "n_test: 90 -> 91"),
        (["n_test"], float, "n_test: 90 -> 90.0"),
        (["components", 1, "z"], lambda old: old + 1e-9, "components[x^2].z: "),
        (["components"], lambda old: old[:-1], "components: ["),
        (["weights"], lambda old: {**old, "x^9": 0.0}, "weights.x^9: new"),
        (["settings"], lambda old: {}, "settings.standardise: gone"),
        (["emitted"], lambda old: ["HeavyTailWarning: heavy"], "emitted: [] -> ["),
    ],
)
def test_a_change_shows(path: list[Any], value: Any, expected: str) -> None:
    stored = STORED["cases"]["lambda_psd_test: rows"]
    changed = copy.deepcopy(stored)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value(place[path[-1]])
    assert list(differences("lambda_psd_test: rows", stored, stored)) == []
    found = list(differences("lambda_psd_test: rows", stored, changed))
    assert any(line.startswith(expected) for line in found), found


def test_numbers_may_differ_by_rounding_and_by_no_more() -> None:
    assert list(differences("case", {"a": 1.0}, {"a": 1.0 + 9e-11})) == []
    assert len(list(differences("case", {"a": 1.0}, {"a": 1.0 + 2e-10}))) == 1
    assert len(list(differences("case", {"a": 0.0}, {"a": 1e-300}))) == 1


def test_tolerances_hold_for_their_fields_alone() -> None:
    def of_flips(part: str, by: float) -> list[str]:
        parts = [{"name": part, "pvalue": value} for value in (0.5, 0.5 * (1.0 + by))]
        one, other = ({"arms": [{"name": "sign flips", "parts": [part]}]} for part in parts)
        return list(differences("check: chains", {"evidence": one}, {"evidence": other}))

    assert of_flips("trace of square: sum", 1e-6) == []
    assert len(of_flips("trace of square: sum", 1e-4)) == 1
    assert len(of_flips("score: sum", 1e-6)) == 1


def value(*, number: float) -> dict[str, float]:
    return {"number": number, "twice": 2.0 * number}


def table(**numbers: float) -> dict[str, Call]:
    return calls(value, {}, {name: on(number=number) for name, number in numbers.items()})


def test_renewing_stores_what_changed_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    assert compare(table(a=1.0, b=2.0, c=3.0), {}, {}, path, ["--renew"]) == 0
    assert compare(table(a=1.0, b=2.0, c=3.0), {}, {}, path, []) == 0
    before = path.read_text()
    capsys.readouterr()
    changed = table(a=1.0 + 1e-12, b=2.5, d=4.0)
    assert compare(changed, {}, {}, path, []) == 1
    assert path.read_text() == before
    shown = capsys.readouterr().out
    assert "value: b\n    number: 2.0 -> 2.5 (relative 2.0e-01)\n    twice: 4.0 -> 5.0" in shown
    assert "value: d\n    a new case" in shown
    assert "value: c\n    no longer a case" in shown
    assert "value: a" not in shown
    assert compare(changed, {}, {}, path, ["--renew", "value: b"]) == 0
    assert json.loads(path.read_text())["cases"] == {
        "value: a": {"number": 1.0, "twice": 2.0, "emitted": []},
        "value: b": {"number": 2.5, "twice": 5.0, "emitted": []},
    }


def test_stored_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    values = plain({"a": [1.0 / 3.0, float("nan"), None, True, 3], "b": {"c": "λ\n"}})
    save(tmp_path / "results.json", {"inputs": {"x": "0f"}, "cases": {"one": values}})
    assert load(tmp_path / "results.json") == {"inputs": {"x": "0f"}, "cases": {"one": values}}
    assert values["a"] == [0.3333333333333, "nan", None, True, 3]
