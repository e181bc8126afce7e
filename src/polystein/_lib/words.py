"""Words that others chose, fit to be printed."""

from __future__ import annotations


def one_line(name: str) -> str:
    r"""The name with line breaks and other characters that are not printed written out.

    Examples
    --------
    >>> print(one_line("a\nb"))
    a\nb
    """
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in name
    )
