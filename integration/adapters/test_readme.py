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
#: A number that stands alone, and a bar of the table, which is a number, too.
NUMBER = re.compile(r"(?<![\w\[])\d+(?:,\d{3})*(?:\.\d+)?(?![\w\]])|#+")

pytestmark = pytest.mark.filterwarnings("default")


def words(text: str) -> list[str]:
    """The text without its numbers, word by word."""
    return NUMBER.sub("0", text).split()


def numbers(text: str) -> list[float]:
    found = NUMBER.findall(text)
    return [float(len(one) if "#" in one else one.replace(",", "")) for one in found]


def test_the_first_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Every word is the same. Versions of the libraries may change digits, by 5 % at the most."""
    found = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    script, code, shown = found.groups()
    assert (ROOT / script).read_text(encoding="utf-8") == code
    runpy.run_path(str(ROOT / script), run_name="__main__")
    printed = capsys.readouterr().out
    # The p-value of right draws may be any, and above 0.99 it is told as such.
    printed, shown = (text.replace("p > 0.99)", "p = 1)") for text in (printed, shown))
    assert words(printed) == words(shown), printed
    assert numbers(printed) == pytest.approx(numbers(shown), rel=0.05, abs=1.0), printed


def test_what_differs_is_noticed() -> None:
    assert words("z = 10.27 (G1-4)  ###") == words("z = 9.98 (G1-4)  ##")
    assert words("z = 10.27 of beta[0]") != words("z = 10.27 of beta[1]")
    assert numbers("1 in 1,000,000: 10.27 of beta[0] ##") == [1.0, 1e6, 10.27, 2.0]
