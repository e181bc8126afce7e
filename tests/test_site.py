"""The site's sources are whole, and the checks of its build notice what they should."""

import re
import zlib
from collections import Counter
from pathlib import Path

import pytest

import polystein
from docs.build import Page, faults, inventories
from docs.generated_pages import ROOT_FILES, command_line, from_root, statuses
from tests.test_docs import BUILT

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCES = {
    path: path.read_text("utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if not BUILT & set(path.relative_to(DOCS).parts)
}


def entries(path: Path, text: str) -> list[Path]:
    """The pages in the trees of a page. A star stands for the files that no other line names."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.S | re.M)
    lines = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    named = [(path.parent / f"{line}.md").resolve() for line in lines if line != "*"]
    if "*" not in lines:
        return named
    return named + [other for other in path.parent.glob("*.md") if other not in {*named, path}]


def test_every_page_has_one_place_in_the_tree() -> None:
    found = Counter(entry for path, text in SOURCES.items() for entry in entries(path, text))
    written = [path for path in found if BUILT & set(path.relative_to(DOCS).parts)]
    assert {path.stem for path in written} == {*ROOT_FILES, "command_line", "gallery"}
    expected = {path for path in SOURCES if path != DOCS / "index.md"} | set(written)
    assert found == dict.fromkeys(expected, 1)


def test_no_line_is_taken_for_a_comment() -> None:
    """MyST leaves out lines that begin with a per cent sign."""
    assert [path for path, text in SOURCES.items() if re.search(r"^% ", text, re.M)] == []


def test_the_reference_has_every_public_name_once() -> None:
    found: Counter[str] = Counter()
    for path, text in SOURCES.items():
        if path.parent.name == "reference":
            for block in re.findall(r"^```\{eval-rst\}\n(.*?)^```$", text, re.S | re.M):
                found.update(re.findall(r"^   (\w+)$", block, re.M))
    assert found == dict.fromkeys(set(polystein.__all__) - {"__version__"}, 1)


def test_the_reference_says_whether_a_name_is_stable() -> None:
    assert set(statuses()) == set(polystein.__all__)
    assert (statuses()["check"], statuses()["refine"]) == ("stable", "experimental")
    for name in ("base", "class"):
        template = (DOCS / "_templates" / "autosummary" / f"{name}.rst").read_text("utf-8")
        assert "status[objname]" in template


def test_every_error_and_warning_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", SOURCES[DOCS / "reference" / "errors.md"], re.M)
    kinds = {name for name in polystein.__all__ if name.endswith(("Error", "Warning"))}
    assert sorted(rows) == sorted(kinds - {"PolysteinError", "PolysteinWarning"})


def test_the_walk_names_files_that_exist() -> None:
    walk = SOURCES[DOCS / "develop" / "walk.md"]
    rows = "\n".join(line for line in walk.splitlines() if line.startswith("|"))
    named = set(re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", rows))
    assert {"stein/", "methods/check/flips.py"} <= named
    package = Path(polystein.__file__).parent
    assert {name for name in named if not (package / name).exists()} == set()


def test_files_beside_the_readme_keep_their_links_on_the_site() -> None:
    text = "[a](SECURITY.md#files) [b](docs/versions.md) [c](https://example.org/x.md) [d](#here)"
    assert from_root(text) == (
        "[a](security.md#files) [b](../../versions.md) [c](https://example.org/x.md) [d](#here)"
    )


def test_the_command_line_is_there_with_its_options() -> None:
    page = command_line()
    for command in ("check", "test", "demo", "refine", "report", "reproduce"):
        assert f"\n## `polystein {command}`\n" in page
    assert "`--tolerance`\n: How far off" in page
    assert "Exit codes: 0 not rejected" in page


def test_inventories_are_what_intersphinx_reads(tmp_path: Path) -> None:
    address, name = inventories(tmp_path)["numpy"]
    assert address.startswith("https://numpy.org/")
    *head, body = Path(name).read_bytes().split(b"\n", 4)
    assert head[0] == b"# Sphinx inventory version 2"
    lines = zlib.decompress(body).decode().splitlines()
    assert "numpy.ndarray py:class 1 reference/generated/numpy.ndarray.html -" in lines


GOOD = '<link href="s.css"><p id="here"></p><a href="b.html#there"></a><a href="https://x.org"></a>'


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (GOOD, ""),
        (GOOD.replace("b.html", "c.html"), "c.html#there, which is not there"),
        (GOOD.replace("#there", "#nowhere"), "b.html#nowhere, and there is no such anchor"),
        (GOOD.replace('"s.css"', '"https://x.org/s.css"'), "a.html loads https://x.org/s.css"),
        (GOOD + '<script src="//x.org/s.js"></script>', "a.html loads //x.org/s.js"),
        (GOOD + '<img alt="a line" src="no.png">', "no.png, which is not there"),
        (GOOD + '<img src="s.css">', "a.html shows s.css without text"),
    ],
)
def test_dead_links_and_what_comes_from_elsewhere_are_noticed(
    tmp_path: Path, changed: str, words: str
) -> None:
    (tmp_path / "a.html").write_text(changed, encoding="utf-8")
    (tmp_path / "b.html").write_text('<a name="there"></a><a href="#there">', encoding="utf-8")
    (tmp_path / "s.css").write_text("p { background: url(data:x) }", encoding="utf-8")
    found = faults(tmp_path)
    assert len(found) == (words != "")
    assert all(words in one for one in found)


@pytest.mark.parametrize("rule", ['@import "https://x.org/a.css"', "p { src: url(//x.org/f) }"])
def test_style_sheets_load_nothing_from_elsewhere(tmp_path: Path, rule: str) -> None:
    (tmp_path / "s.css").write_text(rule, encoding="utf-8")
    assert faults(tmp_path) == ["s.css loads something from elsewhere"]


def test_a_page_tells_what_is_loaded_from_what_is_linked() -> None:
    page = Page(GOOD)
    assert (page.loaded, page.anchors) == ({"s.css"}, {"here"})
    assert page.links == {"b.html#there", "https://x.org"}


@pytest.mark.skipif(not (ROOT / "studies").exists(), reason="there are no studies here")
def test_the_page_on_evidence_names_every_study() -> None:
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/__main__.py")}
    modules = {path.stem for path in (ROOT / "studies").glob("[!_]*.py")}
    named = re.findall(r"`python -m studies\.(\w+)`", SOURCES[DOCS / "evidence" / "index.md"])
    assert set(named) == folders | modules
