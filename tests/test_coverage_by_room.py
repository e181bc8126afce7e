"""The table of coverage: rooms are summed, and less than what must be kept is refused."""

import json
from pathlib import Path

import pytest

from tests.test_release import script

coverage = script("coverage_by_room")


def report(path: Path, covered: int, taken: int) -> Path:
    """A report of three files with 100 lines and 50 branches in all."""
    files = {}
    for file, parts in (
        ("a/polystein/stein/basis.py", (60, covered - 40, 30, taken - 20)),
        ("a/polystein/stein/sums.py", (30, 30, 20, 20)),
        ("a/polystein/types.py", (10, 10, 0, 0)),
    ):
        keys = ("num_statements", "covered_lines", "num_branches", "covered_branches")
        files[file] = {"summary": dict(zip(keys, parts, strict=True))}
    stored = path / "coverage.json"
    stored.write_text(json.dumps({"files": files}), encoding="utf-8")
    return stored


def test_rooms_and_the_total_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coverage.main(report(tmp_path, 96, 47))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["stein", "90", "95.6%", "50", "94.0%"]
    assert lines[2] == ["top", "10", "100.0%", "0", "-"]
    assert lines[3] == ["all", "100", "96.0%", "50", "94.0%"]


@pytest.mark.parametrize(("covered", "taken", "what"), [(93, 50, "lines"), (100, 44, "branches")])
def test_less_than_what_must_be_kept_is_refused(
    tmp_path: Path, covered: int, taken: int, what: str
) -> None:
    with pytest.raises(SystemExit, match=f"of all {what} have to be covered"):
        coverage.main(report(tmp_path, covered, taken))
