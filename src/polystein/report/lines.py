"""Lines of plain text that fit a terminal, and a page of documentation."""

from __future__ import annotations

import math
import re
import textwrap

#: Columns of a report.
WIDTH = 88
#: A number stays with its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|sd\b)")


def wrapped(text: str, first: str = "", further: str = "") -> list[str]:
    """The words of a text on lines that fit; names of users may hold any separator of lines."""
    words = _BEFORE_UNIT.sub("\xa0", " ".join(text.split()))
    lines = textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=further)
    return [line.replace("\xa0", " ") for line in lines]


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 2] + ".."


def percent(share: float) -> str:
    """Return a share in whole per cent, zero without a sign; empty for NaN."""
    return "" if math.isnan(share) else f"{round(100.0 * share)} %"
