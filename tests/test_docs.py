"""The Python examples of every page of the docs run as they stand."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def examples(page: Path) -> str:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), flags=re.S | re.M)
    return "\n".join(blocks)


PAGES = sorted(page.name for page in DOCS.glob("*.md") if examples(page))


def test_pages_with_examples_are_found() -> None:
    assert {"check.md", "effects.md", "mcmc.md", "rivals.md"} <= set(PAGES)


# Pages show what is warned about, too.
@pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning")
@pytest.mark.parametrize("name", PAGES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = compile(examples(DOCS / name), name, "exec")
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "__main__"})
