"""The README's first example is a script among the examples, and prints what the README shows."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(
    r"<!-- (examples/\w+\.py) -->\n```python\n(.*?)^```\n\n```text\n(.*?)^```",
    re.DOTALL | re.MULTILINE,
)

pytestmark = pytest.mark.filterwarnings("default")


def test_the_first_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Digits may differ between versions of the libraries; the words of the verdicts may not."""
    found = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    script, code, shown = found.groups()
    assert (ROOT / script).read_text(encoding="utf-8") == code
    runpy.run_path(str(ROOT / script), run_name="__main__")
    printed = capsys.readouterr().out
    for words in (
        "GofResult(check: not rejected",
        "Rejected at the level 0.05, p < 0.0001: strong evidence against the draws",
        "Found      spread",
    ):
        assert words in shown
        assert words in printed
