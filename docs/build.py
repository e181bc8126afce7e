"""Build the site: `python -m docs.build [FOLDER]`, by default into docs/_build/html.

Warnings are errors. The built pages are then read once more: every link between them must lead
somewhere, nothing that a browser loads by itself may come from elsewhere, and pictures need a text
for those who do not see them. Nothing is fetched. The tutorials in Markdown are executed, and what
their text states of numbers has to be among the outputs; Python's examples on other pages are run
by `tests/test_docs.py`, and not here.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from docs.notebooks import unsupported

HERE = Path(__file__).parent
BUILT = HERE / "_build"
#: Attributes whose address a browser loads without being asked.
LOADED = {"src", "srcset", "poster", "data"}


def inventories(folder: Path = BUILT / "inventories") -> dict[str, tuple[str, str]]:
    """What intersphinx may link to: inventories of other libraries, from lists in inventories/.

    A list has the address of the library's documentation in its first line, and then lines
    ``name domain:role address``. ``objects.inv`` has these lines in compressed form.
    """
    mapping = {}
    for path in sorted((HERE / "inventories").glob("*.txt")):
        address, *lines = path.read_text("utf-8").splitlines()
        head = f"# Sphinx inventory version 2\n# Project: {path.stem}\n# Version: \n"
        entries = [line.split() for line in lines if line]
        body = "".join(f"{name} {role} 1 {place} -\n" for name, role, place in entries)
        compiled = folder / f"{path.stem}.inv"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        compiled.write_bytes(
            (head + "# The remainder of this file is compressed using zlib.\n").encode()
            + zlib.compress(body.encode())
        )
        mapping[path.stem] = (address, str(compiled))
    return mapping


class Page(HTMLParser):
    """The anchors of a built page, its links, and what a browser loads for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.without_text: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the attributes of one element."""
        given = dict(attrs)
        if tag == "img" and not given.get("alt"):
            self.without_text.add(given.get("src") or "")
        for name, value in attrs:
            if not value:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in LOADED or (tag == "link" and name == "href"):
                self.loaded.add(value)
            elif tag == "a" and name == "href":
                self.links.add(value)


def faults(root: Path) -> list[str]:
    """Links between built pages that lead nowhere, and addresses elsewhere that are loaded."""
    root = root.resolve()
    paths = [path for path in root.rglob("*.html") if "_static" not in path.relative_to(root).parts]
    pages = {path: Page(path.read_text("utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        name = path.relative_to(root)
        found += [f"{name} shows {picture} without text" for picture in sorted(page.without_text)]
        for address in sorted(page.loaded):
            if urlsplit(address).netloc:
                found.append(f"{name} loads {address}")
        for address in sorted(page.links | page.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name} links to {address}, which is not there")
            elif (
                target in pages
                and parts.fragment
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                found.append(f"{name} links to {address}, and there is no such anchor")
    for path in root.rglob("*.css"):
        if re.search(r"""(url\(|@import)\s*["']?(https?:)?//""", path.read_text("utf-8")):
            found.append(f"{path.relative_to(root)} loads something from elsewhere")
    return found


def numbers_without_output(folder: Path) -> list[str]:
    """Numbers in the text of executed tutorials that no output has."""
    return [
        f"{path.name}: no output has the number {number} of the text"
        for path in sorted(folder.rglob("*.ipynb"))
        for number in unsupported(json.loads(path.read_text("utf-8")))
    ]


def main(words: list[str]) -> None:
    """Build, check, and say how long it took."""
    from sphinx.cmd.build import build_main

    start = time.monotonic()
    folder = Path(words[0]) if words else BUILT / "html"
    # What an earlier build left would be linked, or warned about.
    if (folder / ".buildinfo").exists():
        shutil.rmtree(folder)
    for generated in HERE.glob("*/generated"):
        shutil.rmtree(generated)
    executed = folder.resolve().parent / "jupyter_execute"
    shutil.rmtree(executed, ignore_errors=True)
    if build_main(["-W", "-q", "-E", "-d", str(BUILT / "doctrees"), str(HERE), str(folder)]):
        sys.exit("the site was not built")
    if not list(executed.rglob("*.ipynb")):
        sys.exit(f"{executed} has none of the tutorials that were executed")
    found = [*faults(folder), *numbers_without_output(executed)]
    if found:
        sys.exit("\n".join(found))
    count = len(list(folder.rglob("*.html")))
    print(f"{folder}: {count} pages, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
