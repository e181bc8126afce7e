"""The museum in its short form, and its page."""

import csv
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FIELDS = [
    *("exhibit", "seeds", "detect_mean", "detect_sd", "rhat", "ess", "check", "gate"),
    *("found", "draws", "needed", "seconds", "commit"),
]


@pytest.fixture
def museum(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The museum, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("examples.museum.__main__")


def test_the_short_form_catches_its_exhibits(
    museum: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["museum", "--short"])
    museum.main()
    printed = capsys.readouterr().out
    for name in museum.SHORT:
        (line,) = (one.split("  ") for one in printed.splitlines() if one.startswith(name))
        judged = dict(zip(FIELDS, line, strict=True))
        assert (judged["seeds"], judged["gate"]) == ("1", "1")
    assert "MALA (correct): passed" in printed


def test_the_table_holds_every_exhibit_and_is_on_the_page(museum: ModuleType) -> None:
    with museum.TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == FIELDS
    assert [row["exhibit"] for row in rows] == [one.name for one in museum.EXHIBITS]
    page = (ROOT / "docs" / "museum.md").read_text(encoding="utf-8")
    assert "\n".join(museum.markdown(rows)) in page
    for row in rows:
        assert re.fullmatch("[0-9a-f]{40}", row["commit"])
        assert int(row["seeds"]) == len(museum.SEEDS)
        assert float(row["seconds"]) <= 60.0
        assert int(row["draws"]) <= museum.BUDGET
        # What is not caught with every seed has the draws that it takes.
        caught = int(row["gate"]) == len(museum.SEEDS)
        assert bool(row["needed"]) is not caught
        assert caught or int(row["needed"]) > museum.BUDGET
    assert sum(int(row["gate"]) == len(museum.SEEDS) for row in rows) >= len(rows) - 3


@pytest.mark.parametrize("name", ["no Jacobian", "momentum kept", "stale log-density"])
def test_a_line_is_what_the_museum_finds(museum: ModuleType, name: str) -> None:
    with museum.TABLE.open(newline="", encoding="utf-8") as file:
        stored = {row["exhibit"]: row for row in csv.DictReader(file)}[name]
    (exhibit,) = (one for one in museum.EXHIBITS if one.name == name)
    found = {key: str(value) for key, value in museum.judge(exhibit).items()}
    told = {"seconds": "", "commit": ""}
    assert {**found, **told} == {**stored, **told}
