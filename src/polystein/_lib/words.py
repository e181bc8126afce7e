"""Words that others chose, fit to be printed."""

from __future__ import annotations

from polystein.errors import printable


def one_line(name: str) -> str:
    r"""The name with line breaks and other characters that are not printed written out.

    Examples
    --------
    >>> print(one_line("a\nb"))
    a\nb
    """
    return printable(name).replace("\n", "\\n")
