"""Pages in headless Chromium: wide and narrow, light and dark, with and without scripts.

Nothing is cut off, nothing is written to the console, no request leaves the page, and axe-core
finds no fault. ``python -m integration.browser.test_pages FOLDER`` writes the pages, screenshots
of them, and what was found. It takes Node.js and Chromium (of Debian: ``apt-get install chromium``,
or the path in ``CHROMIUM``); puppeteer-core and axe-core are installed by npm into a temporary
folder.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import polystein as ps

pytestmark = pytest.mark.filterwarnings("default")

LOOK = Path(__file__).with_name("look_at_results.mjs")
LIBRARIES = ("puppeteer-core@25", "axe-core@4")
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
MOST_BYTES = 500_000


def sample(dimension: int, draws: int = 1000, *, wrong: bool = False) -> ps.Sample:
    """Four chains of N(0, I) with names as models have them, long ones among them."""
    rows = np.random.default_rng(5).standard_normal((4, draws, dimension))
    if wrong:
        rows[..., 0] += 0.3
        rows[..., 1] *= 1.3
        rows[..., 3] = 0.8 * rows[..., 3] + 0.6 * rows[..., 4]
    names = ["mu", "tau_log__", "a_population_level_intercept_of_the_second_kind"]
    names += [f"theta[School of district {place}]" for place in range(dimension - len(names))]
    return ps.Sample(rows, lambda x: -x, names=names)


def write_pages(folder: Path) -> Iterator[Path]:
    """A page of every kind; the last one has 200 parameters."""
    right, wrong = sample(8), sample(8, wrong=True)
    few = np.asarray(right.draws)[:, :12]
    checks = {
        "pass": ps.check(right),
        "rejected": ps.check(wrong, tolerance=0.1),
        "inconclusive": ps.check(ps.Sample(few, -few)),
        "features": ps.lambda_psd_test(
            np.asarray(wrong.draws).reshape(-1, 8), lambda x: -x, order=3, rng=1
        ),
        "many": ps.check_many({"first fit": right, "a second fit with a long name": wrong}),
        "compare": ps.compare({"NUTS": right, "a step size that is too large": wrong}),
        "refined": ps.refine(wrong, log_density=lambda x: -0.5 * np.sum(x * x, axis=1), rng=1),
        "large": ps.check(sample(200, wrong=True)),
    }
    for name, result in checks.items():
        path = folder / f"{name}.html"
        result.to_html(path, overwrite=True)
        yield path


def faults(folder: Path, chromium: str, pages: list[Path]) -> dict[str, list[str]]:
    """What the browser finds, by page, size and scheme."""
    with tempfile.TemporaryDirectory() as place:
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", place]
        subprocess.run([*npm, *LIBRARIES], check=True, capture_output=True, timeout=300)
        script = shutil.copy(LOOK, place)
        command = ["node", str(script), chromium, str(folder), *map(str, pages)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


needs_a_browser = pytest.mark.skipif(
    CHROMIUM is None or shutil.which("npm") is None, reason="needs Chromium, Node.js and npm"
)
FAULTY = """<!doctype html><title>x</title><body><script>console.error("said")</script>
<p style="white-space: nowrap">{}</p><p style="color: #999">pale</p>
<svg width="20" height="20"><text x="15" y="15">longer than its drawing</text></svg>
<link rel="stylesheet" href="http://localhost:9/elsewhere.css"><script>document.write("x")</script>"""


@needs_a_browser
def test_faults_are_found(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    page = tmp_path / "faulty.html"
    page.write_text(FAULTY.format("wide " * 500), "utf-8")
    for words in faults(tmp_path, CHROMIUM, [page]).values():
        said = "\n".join(words)
        for kind in (
            "the page scrolls to",
            "cut off: wide",
            "cut off: longer than",
            "console: said",
            "request: http://localhost:9",
            "axe, serious: color-contrast",
            "axe, serious: html-has-lang",
            "without scripts it looks different",
        ):
            assert kind in said


@needs_a_browser
def test_pages_in_a_browser(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    pages = list(write_pages(tmp_path))
    found = faults(tmp_path, CHROMIUM, pages)
    assert len(found) == 4 * len(pages)
    assert {place: words for place, words in found.items() if words} == {}
    assert max(page.stat().st_size for page in pages) < MOST_BYTES


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit("Chromium was not found: install it, or put its path into CHROMIUM")
    target = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    target.mkdir(parents=True, exist_ok=True)
    report = faults(target, CHROMIUM, list(write_pages(target)))
    for where, what in report.items():
        print(f"{where}: {'; '.join(what) or 'nothing wrong'}")
    print(f"Screenshots: {target}")
    sys.exit(any(report.values()))
