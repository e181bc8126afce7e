"""The comparison of two targets on one screen."""

from __future__ import annotations

import textwrap

from polystein._lib.notes import first_of
from polystein.report.lines import WIDTH
from polystein.report.text import HEIGHT
from polystein.results.same_target import TargetComparison

#: Columns of a label, and names that one line lists.
_LABEL, _MOST_NAMES = 15, 6
#: The texts of these name all parameters that they touch.
_SAY_NAMES = ("observations", "unrecognised")
_PRECISIONS = {
    "double": "rounding of double precision",
    "single": "rounding of single precision",
    "differences": "the error of differences of a log-density, as there are no gradients",
}


def render_comparison(result: TargetComparison) -> str:
    """Return at most 24 lines of at most 88 columns: the answer, what differs, how it was found."""
    found, end = comparison_facts(result)
    lines, below = [comparison_headline(result)], [line for one in end for line in _wrapped(*one)]
    for place, one in enumerate(found):
        own = _wrapped(*one)
        if len(lines) + len(own) + len(below) + 2 > HEIGHT:
            left = len(found) - place
            lines.append(f"  ... and {left} more in `differences`")
            break
        lines += own
    return "\n".join([*lines, *below])


def comparison_headline(result: TargetComparison) -> str:
    """The answer in one sentence."""
    if result.same:
        return "The targets are the same up to a constant, at the draws that were compared."
    return "The targets differ."


def comparison_facts(
    result: TargetComparison,
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Labels and words: of what differs, and of how it was compared."""
    by_text: dict[tuple[str, str], list[str]] = {}
    for row in result.differences:
        by_text.setdefault((row.pattern, row.text), []).append(row.parameter)
    found = []
    for (pattern, text), names in by_text.items():
        shown = [f"`{name}`" for name in names if name and pattern not in _SAY_NAMES]
        of = first_of(shown, _MOST_NAMES)
        found.append((pattern.capitalize(), f"{of}: {text}" if of else text))
    end = [("Mapped", words) for words in result.mapping]
    if result.constant is not None:
        end.append(("Constant", f"log-density of b less that of a: {result.constant:.6g}"))
    what = "log-densities and scores" if result.constant is not None else "scores"
    compared = f"{what} at {result.draws} draws, d = {result.dimension}"
    end.append(("Compared", f"{compared}, to {_PRECISIONS[result.precision]}"))
    return found, end


def _wrapped(label: str, words: str) -> list[str]:
    return textwrap.wrap(
        words,
        WIDTH,
        initial_indent=f"  {label:<{_LABEL}} ",
        subsequent_indent=" " * (3 + _LABEL),
    )
