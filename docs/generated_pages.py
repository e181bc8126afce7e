"""Pages that are written from something else: commands, files beside the README, the gallery."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polystein.cli.app import app as commands
from polystein.cli.session import EXIT_CODES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
HEAD = """# Command line

The command `polystein` comes with the extra `cli`. Each command prints this help with `--help`.

"""
#: Pages of the section Develop, and the files that they are.
ROOT_FILES = {
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "support": "SUPPORT.md",
    "security": "SECURITY.md",
    "conduct": "CODE_OF_CONDUCT.md",
}
#: Where links of these files lead on the site.
LINKS = {name: f"{page}.md" for page, name in ROOT_FILES.items()}
LINKS |= {"README.md": "../../index.md", "docs": "../../guides/index.md"}


def from_root(text: str) -> str:
    """A file beside the README, with its links as they are on the site."""

    def moved(found: re.Match[str]) -> str:
        name, anchor = found[1], found[2] or ""
        if name in LINKS:
            return f"]({LINKS[name]}{anchor})"
        return f"](../../{name.removeprefix('docs/')}{anchor})"

    return re.sub(r"\]\(((?!https?:)[^)#\s]+)(#[^)]*)?\)", moved, text)


def sentence(text: str | None) -> str:
    """A paragraph in one line of Markdown, in which stars and angles mean themselves."""
    words = " ".join((text or "").split())
    return words.replace("*", r"\*").replace("<", r"\<") + "\n"


def option(parameter: Any) -> str:
    """One argument or option: its names and what it does."""
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    default = parameter.default
    if default in (None, False, ()) or callable(default):
        return f"{names}\n: {sentence(parameter.help)}"
    shown = getattr(default, "value", default)
    return f"{names}\n: {sentence(f'{parameter.help} Default: {shown}.')}"


def command_line() -> str:
    """All commands with their arguments and options."""
    parts = [HEAD, sentence(EXIT_CODES)]
    for name, command in sorted(typer.main.get_command(commands).commands.items()):  # type: ignore[attr-defined]
        parts.append(f"## `polystein {name}`\n")
        paragraphs = (command.help or "").replace("\b", "").strip().split("\n\n")
        parts += [sentence(paragraph) for paragraph in paragraphs]
        parts += [option(one) for one in command.params if one.name != "help"]
    return "\n".join(parts)


def statuses() -> dict[str, str]:
    """Which public names are stable and which experimental, as the page on versions says."""
    text = (HERE / "versions.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*`) \| (stable|experimental) \|$", text, re.M)
    return {name: status for names, status in rows for name in re.findall(r"`(\w+)`", names)}


def write(app: Sphinx) -> None:
    """Write the pages that are not as they should be."""
    pages = {HERE / "reference/generated/command_line.md": command_line()}
    for page, name in ROOT_FILES.items():
        text = (HERE.parent / name).read_text("utf-8")
        pages[HERE / f"develop/generated/{page}.md"] = from_root(text)
    for path, text in pages.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
    gallery = HERE / "learn/generated/gallery.md"
    # It takes half a minute; `python -m docs.build` removes it first.
    if not gallery.exists():
        from examples.gallery.page import write as write_gallery

        gallery.parent.mkdir(exist_ok=True)
        write_gallery(gallery)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
