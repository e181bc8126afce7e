"""A page as one self-contained file: sections of blocks, which one template shows (Jinja2).

A page has no scripts and loads nothing from anywhere. It needs the extra ``html``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from polystein._lib.arguments import boolean, path_of
from polystein._lib.files import MARK, is_replaceable, write_whole
from polystein._lib.imports import imported
from polystein._lib.notes import one_line
from polystein._lib.versions import versions
from polystein._version import __version__
from polystein.errors import InputError
from polystein.report.effects import shown_name
from polystein.report.forest import forest_of, legend_words, no_size, property_words, size_words
from polystein.report.html import with_names
from polystein.report.lines import shorten
from polystein.report.pvalues import p_number
from polystein.report.svg import Drawing, forest_axis, forest_line
from polystein.results.effect_rows import EffectRow
from polystein.results.effects import EffectTable

#: Rows of a forest plot, and of a table: with these a page of any result is below 500 KB.
MOST_DRAWN, MOST_ROWS = 20, 500
#: Letters of a name, or of a word, on a page.
MOST_LETTERS = 120


class Block(NamedTuple):
    """A part of a section, and how the template shows it."""

    kind: Literal["text", "heading", "list", "pairs", "code", "forest", "table"]
    content: Any


class Section(NamedTuple):
    """A title and what stands below it."""

    title: str
    blocks: Sequence[Block]


class Page(NamedTuple):
    """What the template shows."""

    title: str
    question: str
    #: The verdict with a hyphen for a space: it has a colour of its own.
    kind: str
    heading: str
    test: str
    warnings: Sequence[str]
    sections: Sequence[Section]
    footer: str = f"{MARK} {__version__}."
    version: str = __version__


class Origin(NamedTuple):
    """Where a result came from, as far as it does not know that itself.

    ``files`` are names with their SHA-256, ``command`` is the line that made the result, and
    ``versions`` those of what made it, as far as they are known. ``when`` is the time of the page.
    """

    files: tuple[tuple[str, str], ...] = ()
    command: str = ""
    versions: Mapping[str, str] | None = None
    when: datetime | None = None


NOTHING_KNOWN = Origin()


def text(words: str) -> Block:
    """A paragraph; names stand between backticks."""
    return Block("text", words)


def listed(items: Iterable[str]) -> Block:
    """One item below the other."""
    return Block("list", tuple(items))


def table(
    label: str, head: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]], rest: str = ""
) -> Block:
    """A table that scrolls, cut after so many rows that the page stays small.

    ``head`` has a title and the kind of each column, ``rest`` says where the other rows are.
    """
    left_out = len(rows) - MOST_ROWS
    where = f"... and {left_out:,} more{rest and f', in {rest}'}" if left_out > 0 else ""
    kept = [(shorten(first, MOST_LETTERS), *others) for first, *others in rows[:MOST_ROWS]]
    content = {"label": label, "head": head, "rows": kept, "left_out": where}
    return Block("table", content)


def forest_block(
    effects: EffectTable, bound: float | None, rest: str = "in the table below"
) -> Block | None:
    """The forest plot of the first effects; None where no effect could be judged.

    ``rest`` says where the others are.
    """
    forest = forest_of(effects, bound, MOST_DRAWN)
    if not forest.lines:
        return None
    more = f" The other {forest.left_out:,} are {rest}." if forest.left_out else ""
    vague = sum(row.found and not row.judged for row in effects.rows)
    unknown = len(effects.rows) - len(effects.judged) - vague
    left = [f"{unknown:,} cannot be judged"] if unknown else []
    left += [f"{vague:,} {'is' if vague == 1 else 'are'} off by an unknown amount"] if vague else []
    if left:
        more += f" Of {len(effects.rows):,} properties {' and '.join(left)}: not drawn."
    content = {
        "lines": [
            (
                shorten(line.name, MOST_LETTERS),
                property_words(line.row) + ("" if line.row.direction else " of"),
                forest_line(forest, line),
                interval_words(line.row),
            )
            for line in forest.lines
        ],
        "axis": forest_axis(forest),
        "legend": legend_words(forest),
        "caption": "Means in posterior sd, sds as ratio − 1, shapes and correlations as "
        f"differences.{more}",
    }
    return Block("forest", content)


def interval_words(row: EffectRow) -> str:
    """The size of an effect with its interval, as in "+0.30 sd (+0.21 to +0.39)"."""
    size, low, high = (
        size_words(row._replace(size=value)).removesuffix(" sd").removeprefix("× ")
        for value in (row.size, row.lower, row.upper)
    )
    if row.what.endswith("sd"):
        return f"× {size} ({low} to {high})"
    return f"{size}{' sd' if row.what.endswith('mean') else ''} ({low} to {high})"


def effects_block(label: str, effects: EffectTable, rest: str) -> Block:
    """Every effect that was looked at closely, as a table."""
    head = [
        ("parameter", ""),
        ("property", ""),
        ("size (95 % interval)", "number"),
        ("p, adjusted", "number"),
        ("found", ""),
        ("R²", "number"),
    ]
    rows = [
        (
            shown_name(effects, row),
            row.what,
            interval_words(row) if row.judged else no_size(row),
            p_number(row.pvalue),
            "yes" if row.found else "no",
            f"{np.floor(1000.0 * row.reliability) / 1000.0:g}",
        )
        for row in effects.rows
    ]
    return table(label, head, rows, rest)


def made_section(
    facts: Sequence[tuple[str, str]], settings: Iterable[tuple[str, Any]], code: str, origin: Origin
) -> Section:
    """How the result came about: draws, settings, versions, date, files and code."""
    when, here = origin.when or datetime.now(UTC), versions()
    pairs = [
        *facts,
        *((f"setting: {name}", str(value)) for name, value in settings),
        *(("file", one_line(f"{name} (SHA-256 {digest})")) for name, digest in origin.files),
    ]
    if origin.versions:
        pairs.append(("versions", _version_words(origin.versions)))
    if origin.versions != here:  # a stored result may come from another machine
        pairs.append(("page written with", _version_words(here)))
    pairs.append(("page written", f"{when:%Y-%m-%d %H:%M} UTC"))
    lines = [text("The same again:"), Block("code", one_line(origin.command) or code)]
    return Section("How this was made", [Block("pairs", pairs), *lines])


def _version_words(found: Mapping[str, str]) -> str:
    """As in "polystein 0.1.0, Python 3.11.2"."""
    names = {"polystein": "polystein", "python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
    return ", ".join(
        f"{name} {one_line(found[key])}" for key, name in names.items() if key in found
    )


def _shown(words: object) -> Drawing:
    """Words as HTML with names set as names, long ones cut; drawings as they are."""
    if isinstance(words, Drawing):
        return words
    names = _LONG_NAME.sub(lambda found: f"`{shorten(found[1], MOST_LETTERS)}`", str(words))
    return Drawing(with_names(_LONG_WORD.sub(lambda found: shorten(found[0], MOST_LETTERS), names)))


#: What is cut: names between backticks, and words without a space.
_LONG_NAME = re.compile(rf"`([^`]{{{MOST_LETTERS + 1},}})`")
_LONG_WORD = re.compile(rf"[^\s`]{{{MOST_LETTERS + 1},}}")


@cache
def _template() -> Any:
    jinja = imported("jinja2", "html", "writing a page")
    environment = jinja.Environment(
        loader=jinja.PackageLoader("polystein.report"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["names"] = _shown
    return environment.get_template("page.html")


def rendered(page: Page) -> str:
    """The page as HTML."""
    found: str = _template().render(page=page)
    return found


def write_document(words: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a page; an earlier one is replaced, another file only with ``overwrite``."""
    file = path_of(path, "path")
    if not boolean(overwrite, "overwrite") and not is_replaceable(file):
        raise InputError(
            f"`path` must be a new file or an earlier page; got {path}, a file that polystein did "
            "not write. Choose another name, or replace the file with `overwrite=True`"
        )
    write_whole(file, words.encode())
