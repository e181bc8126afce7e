"""The code on a page: shown blocks wherever they stand, hidden ones, and commands of a shell.

A page is read as Markdown is, so that blocks within lists, quotations and admonitions are found. A
comment above a Python block says who runs it::

    <!-- examples/check_x.py -->   the integration tests, as that program
    <!-- integration -->           the integration tests, with the real libraries
    <!-- pymc6 -->                 the integration tests with PyMC 6 and ArviZ 1

Other Python blocks run with every other test. Python in a comment that begins with `python` (or
`integration python`, `pymc6 python`) runs with the blocks and is not shown: it prepares them, or
holds a page to the numbers that its text states.
"""

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: Directives whose content is no Markdown.
OPAQUE = {"{code-cell}", "{eval-rst}", "{toctree}", "{literalinclude}", "{glossary}", "{image}"}
HIDDEN = re.compile(r"<!-- (?:(integration|pymc6) )?python\n(.*?)^-->$", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"<!-- examples/\w+\.py -->\s*$")
INTEGRATION = re.compile(r"<!-- (integration|pymc6) -->\s*$")


class Block(NamedTuple):
    """A block of code, and what is said to run it: "here", "integration", "pymc6", "example"."""

    language: str
    code: str
    where: str
    line: int
    hidden: bool = False
    #: Whether it stands right below another block.
    follows: bool = False


def blocks(text: str, start: int = 0) -> Iterator[Block]:
    """All blocks of a page in their order. Those that are indented have no language."""
    comment, before = "", ""
    for token in MarkdownIt("commonmark").parse(text):
        line = start + (token.map[0] if token.map else 0) + 1
        if token.type == "html_block":
            comment = token.content
            for found in HIDDEN.finditer(comment):
                yield Block("python", found[2], found[1] or "here", line, True)
        elif token.type == "code_block":
            yield Block("", token.content, "here", line)
        elif token.type == "fence":
            language = token.info.split()[0] if token.info.strip() else ""
            if language.startswith("{") and language not in OPAQUE:
                yield from blocks(token.content, line)
            else:
                marked = INTEGRATION.search(comment)
                where = marked[1] if marked else "here"
                where = "example" if EXAMPLE.search(comment) else where
                yield Block(language, token.content, where, line, follows=before == "fence")
        before = token.type
        if token.type != "html_block":
            comment = ""


def examples(text: str, where: str = "here") -> list[tuple[str, str | None]]:
    """The Python blocks that are run here or there, each with the output that follows, or None."""
    found: list[tuple[str, str | None]] = []
    shown = False
    for block in blocks(text):
        if block.language == "python" and block.where == where:
            found.append((block.code, None))
        elif block.language == "text" and block.follows and shown:
            found[-1] = (found[-1][0], block.code)
        shown = block.language == "python" and block.where == where and not block.hidden
    return found


def run(text: str, name: str = "README.md", where: str = "here") -> None:
    """Run the examples of a page one after another in one namespace, and compare outputs."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for code, expected in examples(text, where):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), namespace)
        if expected is not None:
            same = doctest.OutputChecker().check_output(expected, printed.getvalue(), FLAGS)
            assert same, f"{name} shows\n{expected}\nbut the example prints\n{printed.getvalue()}"


def spans(text: str) -> Iterator[str]:
    """The code within lines."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for child in token.children or []:
            if child.type == "code_inline":
                yield child.content


def commands(text: str) -> list[list[str]]:
    """The words of every command in blocks of a shell, and in code within lines that is one."""
    lines = [
        line
        for block in blocks(text)
        if block.language in {"bash", "console", "sh"}
        for line in block.code.replace("\\\n", " ").splitlines()
    ]
    lines += [
        span
        for span in spans(text)
        if re.match(r"(\.venv/bin/)?(polystein|python3?|pytest|pip) -{0,2}\w", span)
    ]
    return [words for line in lines for words in words_of(line)]


def words_of(line: str) -> Iterator[list[str]]:
    """The commands of one line, without settings of variables and files for input and output."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    words: list[str] = []
    is_file = False
    for word in [*lexer, ";"]:
        if is_file:
            is_file = False
        elif set(word) <= set("<>"):
            is_file = True
        elif not set(word) <= set(";&|"):
            words.append(word)
        else:
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words = words[1:]
            if words:
                yield [words[0].removeprefix(".venv/bin/"), *words[1:]]
            words = []
