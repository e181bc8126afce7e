"""A result on one screen, and the words that every kind of report shares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from polystein.report.effects import effect_facts
from polystein.results.evidence import Arm, Explanation
from polystein.results.result import DEFAULT_LEVEL, GofResult

WIDTH = 88

_QUESTION = "Do these draws come from the target?"
_MOST_LINES = 24
_MOST_ROWS, _FEWEST_ROWS = 7, 2
_MOST_WARNING_LINES = 4
_BAR = 22
_TESTS = {
    "psd": "PSD z-test",
    "lambda-psd": "lambda-PSD z-test",
    "psd-bootstrap": "PSD wild-bootstrap test",
    "check": "check",
}
#: From this p-value down, evidence is called strong.
_STRONG = 0.001


def render(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """Return at most 24 lines of at most 88 ASCII columns.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    alpha : float
        Level at which the verdict is worded.
    """
    title, facts = (
        _shorten(f"{_QUESTION} {name_of_test(result)}", WIDTH),
        list(_facts(result, alpha)),
    )
    warnings = _warning_lines(result.warnings)
    # Blank lines, the table's head and what follows its rows take up to six lines.
    left = _MOST_LINES - 1 - len(facts) - len(warnings) - 6
    table = list(_table(result, alpha, max(_FEWEST_ROWS, min(_MOST_ROWS, left))))
    blocks = [[title], facts, table, warnings]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def verdict_words(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """The verdict in words, which never say that the draws are right."""
    if not result.rejected(alpha):
        return f"no evidence against it at the level {alpha:g}"
    strength = "strong evidence" if result.pvalue <= _STRONG else "evidence"
    return f"{strength} against it at the level {alpha:g}"


def name_of_test(result: GofResult) -> str:
    """Name of the test, with its order if it has one, and the dimension."""
    name = _TESTS.get(result.method, result.method)
    order = f", order {result.settings['order']}" if "order" in result.settings else ""
    return f"{name}{order}, dimension {result.dimension}"


def p_words(pvalue: float) -> str:
    """Return "p = 0.043"; for very small p-values, an upper bound."""
    return "p < 0.0001" if pvalue < 1e-4 else f"p = {pvalue:.2g}"


def statistic_words(result: GofResult) -> str:
    """Return the statistic with its name."""
    if result.statistic_name == "z":
        return f"z = {result.statistic:.2f} ({result.alternative})"
    return f"{result.statistic_name}, {result.statistic:.4g} (large values speak against the draws)"


def draws_words(result: GofResult) -> str:
    """How many draws trained, were left out, and tested."""
    if result.n_train == 0:
        text = f"all {result.n_test} tested, none needed for training"
    else:
        gap = f", {result.n_gap} left out between" if result.n_gap else ""
        text = f"{result.n_train} trained the test function{gap}, {result.n_test} tested it"
        if (flips := _arm_on_all_rows(result)) is not None:
            text = f"the {flips.name} used all; {text}"
    return text if math.isnan(result.ess) else f"{text}; {result.ess:.0f} effective test draws"


def _arm_on_all_rows(result: GofResult) -> Arm | None:
    """The arm that judged all rows, of a test whose arms judged different ones."""
    return next((arm for arm in result.evidence.arms if arm.rows == "all rows"), None)


def meaning(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """What the p-value means, in plain words."""
    if not result.rejected(alpha):
        return (
            "This is no proof: small faults need more draws to show, and a mode that no draw "
            "visited, or a chain shuffled out of its order, shows in no score test."
        )
    return (
        "Draws from the target would give a statistic this far out in "
        f"{_how_often(result.pvalue)} tests."
    )


def found_words(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """What a test of several parts found, and where; empty if it found nothing.

    If several arms found something, the one on all rows is shown: it is easier to read.
    """
    arms = [arm for arm in result.evidence.arms if arm.pvalue <= alpha]
    if not arms or not result.rejected(alpha):
        return ""
    arm = next((arm for arm in arms if arm.rows == "all rows"), arms[0])
    part = arm.leading
    places = " and ".join(part.coordinates) or "all coordinates together"
    return f"{part.words} of {places} ({part.name}, {arm.rows})"


def headings(result: GofResult) -> tuple[str, str, str]:
    """Titles for a row's name, for its number, and for what it has a share of."""
    if result.evidence.arms:
        return "Part", "level", "evidence"
    return "Feature", "weight", "statistic"


def number_of(row: Explanation) -> float:
    """The number beside z: lambda, or a share of the level."""
    if row.weight is not None:
        return row.weight
    return math.nan if row.level_share is None else row.level_share


def percent(share: float) -> str:
    """Return a share in whole per cent, zero without a sign; empty for NaN."""
    return "" if math.isnan(share) else f"{round(100.0 * share)} %"


def _how_often(pvalue: float) -> str:
    if pvalue < 1e-6:
        return "fewer than 1 in 1,000,000"
    if pvalue < 0.01:
        return f"about 1 in {float(f'{1.0 / pvalue:.1e}'):,.0f}"
    return f"about {100.0 * pvalue:.0f} in 100"


def _facts(result: GofResult, alpha: float) -> Iterator[str]:
    caution = " Read the warnings." if result.warnings else ""
    words = f"{verdict_words(result, alpha)}: {p_words(result.pvalue)}.{caution}"
    yield from _labelled("Verdict", words)
    yield from _labelled("", meaning(result, alpha))
    effects = effect_facts(result, alpha)
    for label, text in effects:
        yield from _labelled(label, text)
    yield from _labelled("Statistic", statistic_words(result))
    if found := found_words(result, alpha):
        yield from _labelled(
            "By" if any(label == "Found" for label, _ in effects) else "Found", found
        )
    yield from _labelled("Draws", draws_words(result))


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<11}", subsequent_indent=" " * 11)


def _table(result: GofResult, alpha: float, most: int) -> Iterator[str]:
    """One line for each feature or part; shares only if the result is rejected."""
    rows = result.explain()
    if not rows:
        return
    found = result.rejected(alpha)
    name, number, shared = headings(result)
    head = f"{name:<16} {'looks at':<20} {number:>7} {'z':>8}"
    yield f"{head}  share of the {shared}" if found else head
    shown = rows[:most]
    yield from (_line(row, found) for row in shown)
    if len(rows) > len(shown):
        yield f"... and {len(rows) - len(shown)} more"
    if found and any("-" in _bar(row.share) for row in shown):
        yield "Bars of minus signs: features that pulled the statistic the other way."


def _line(row: Explanation, found: bool) -> str:
    names = f"{_shorten(row.name, 16):<16} {_shorten(row.words, 20):<20}"
    numbers = f"{number_of(row):>7.3f} {row.z:>8.2f}"
    share = f"  {percent(row.share):>6}  {_bar(row.share)}" if found else ""
    return f"{names} {numbers}{share}".rstrip()


def _bar(share: float) -> str:
    if math.isnan(share):
        return ""
    return ("#" if share >= 0.0 else "-") * min(_BAR, round(_BAR * abs(share)))


def _warning_lines(warnings: tuple[str, ...]) -> list[str]:
    """Wrap the warnings; if they do not fit, say where to find them."""
    lines = [
        line
        for message in warnings
        for line in textwrap.wrap(
            " ".join(message.split()),
            WIDTH,
            initial_indent="Warning: ",
            subsequent_indent=" " * 9,
        )
    ]
    if len(lines) <= _MOST_WARNING_LINES:
        return lines
    return [*lines[: _MOST_WARNING_LINES - 1], " " * 9 + "... (in full in `result.warnings`)"]


def _shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 2] + ".."
