"""The Python examples of every page of the docs run, and print what the page says they print."""

from pathlib import Path

import pytest

from tests.test_readme import examples, run

DOCS = Path(__file__).parents[1] / "docs"
#: Written by the build of the site.
BUILT = {"_build", "generated"}

PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if not BUILT & set(path.relative_to(DOCS).parts) and examples(path.read_text("utf-8"))
)


def test_pages_with_examples_are_found() -> None:
    assert {"check.md", "effects.md", "mcmc.md", "rivals.md"} <= set(PAGES)
    assert {"index.md", "start/arrays.md", "learn/psd.md", "develop/extend.md"} <= set(PAGES)


# Pages show what is warned about, too.
@pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning")
@pytest.mark.parametrize("name", PAGES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run((DOCS / name).read_text("utf-8"))
