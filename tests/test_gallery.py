"""The gallery of faults: verdicts are the expected ones, and the page shows them."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
#: Their verdicts are of every kind.
CHEAP = (
    "A mean-field variational fit",
    "A missed mode nearby",
    "A missed mode far away",
    "Modes with the wrong weights",
    "Chains that are too short",
    "A chain that is there twice",
    "Wrong importance weights",
    "Gradients in single precision",
)

# Examples and studies are in the repository, but not beside the tests of an installed package.
pytestmark = pytest.mark.skipif(
    not (ROOT / "examples" / "gallery").exists(), reason="there are no examples here"
)


@pytest.fixture
def judge() -> ModuleType:
    return importlib.import_module("examples.gallery.judge")


def named(name: str) -> Any:
    faults = importlib.import_module("examples.gallery.faults").FAULTS
    (fault,) = (one for one in faults if one.name == name)
    return fault


@pytest.mark.parametrize("name", CHEAP)
def test_a_verdict_is_the_one_that_is_expected(judge: ModuleType, name: str) -> None:
    fault = named(name)
    judged = judge.judge(fault, runs=0)
    assert judged.verdict == fault.expected
    assert (judged.refined is None) == (fault.refined == "")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"expected": "not rejected"}, "rejected, and {}; not not rejected"),
        ({"says": ("the correlation", "a word that is not there")}, "a word that is not there"),
        ({"refined": "not rejected"}, "`refine` says rejected"),
    ],
)
def test_a_wrong_expectation_stops_the_gallery(
    judge: ModuleType, changed: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        judge.judge(named(CHEAP[0])._replace(**changed), runs=0)


def test_the_page_has_the_verdict_the_report_and_both_pictures(
    judge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = importlib.import_module("examples.gallery.page")
    fault = named("A missed mode far away")
    monkeypatch.setattr(page, "FAULTS", (fault,))
    monkeypatch.setattr(page, "judge", lambda fault: judge.judge(fault, runs=1))
    page.write(tmp_path / "gallery.md")
    text = (tmp_path / "gallery.md").read_text("utf-8")
    assert "| [A missed mode far away](#a-missed-mode-far-away) | not rejected | 0." in text
    assert "\n**Not rejected**, p = 0." in text
    assert "`ps.refine` of the same draws:\n\n```text\nRejected at the level 0.05" in text
    assert "\nRun  " not in text
    assert "\nMeaning    This is no proof" in text
    for theme in ("light", "dark"):
        name = f"gallery/a-missed-mode-far-away-{theme}.png"
        assert f"{{image}} {name}" in text
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_there_are_twenty_faults_with_names_of_their_own() -> None:
    faults = importlib.import_module("examples.gallery.faults").FAULTS
    assert len({fault.name for fault in faults}) == len(faults) == 20
