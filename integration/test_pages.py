"""The pages' examples that need the real libraries run, and print what the pages say they print."""

from importlib.metadata import version
from pathlib import Path

import pytest

from tests.pages import examples, run

DOCS = Path(__file__).parents[1] / "docs"
WHERE = "integration" if version("pymc").startswith("5.") else "pymc6"
PAGES = {
    path.relative_to(DOCS).as_posix(): text
    for path in sorted(DOCS.rglob("*.md"))
    if examples(text := path.read_text("utf-8"), WHERE)
}

pytestmark = pytest.mark.filterwarnings("default")


def test_pages_are_found() -> None:
    assert "adapters.md" in PAGES
    assert ("scale.md" in PAGES) == (WHERE == "integration")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(PAGES[name], name, WHERE)
