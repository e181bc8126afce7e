"""A result on one screen, and the words that every kind of report shares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from polystein.errors import InputError
from polystein.results.result import Explanation, GofResult

WIDTH = 88
LEVEL = 0.05

_QUESTION = "Do these draws come from the target?"
_MOST_ROWS = 7
_MOST_WARNING_LINES = 4
_BAR = 22
_TESTS = {
    "psd": "PSD z-test",
    "lambda-psd": "lambda-PSD z-test",
    "psd-bootstrap": "PSD wild-bootstrap test",
    "check": "check",
}
_MOMENTS = {"score": "location", "x": "spread, correlation", "x^2": "skewness", "x^3": "tails"}
# What the parts of `check` look at; several parts may look at the same.
_PARTS = {
    "score": "location",
    "x": "spread",
    "G1-4": "spread, shape",
    "x pairs": "correlation",
    "G2 pairs": "curved dependence",
    "trained score": "location",
    "sparse score": "location",
    "sparse stack": "spread, shape",
    "trained x": "spread, correlation",
    "trained stack": "everything at once",
}


def render(result: GofResult, alpha: float = LEVEL) -> str:
    """Return at most 24 lines of at most 88 ASCII columns.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    alpha : float
        Level at which the verdict is worded.
    """
    blocks = [
        [_shorten(f"{_QUESTION} {name_of_test(result)}", WIDTH)],
        list(_facts(result, alpha)),
        list(_feature_lines(result)),
        _warning_lines(result.warnings),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def rejected(result: GofResult, alpha: float = LEVEL) -> bool:
    """Whether the p-value is at most the level."""
    if not 0.0 < alpha < 1.0:
        raise InputError(f"`alpha` must be a level strictly between 0 and 1; got {alpha!r}")
    return result.pvalue <= alpha


def verdict(result: GofResult, alpha: float = LEVEL) -> str:
    """Words for the verdict; that draws are right is never among them."""
    if not rejected(result, alpha):
        return f"no evidence against it at the level {alpha:g}"
    strength = "strong evidence" if result.pvalue <= 0.001 else "evidence"
    return f"{strength} against it at the level {alpha:g}"


def name_of_test(result: GofResult) -> str:
    """Name of the test, with order and dimension where it has them."""
    parts = [_TESTS.get(result.method, result.method)]
    parts += [
        f"{key} {result.settings[key]}" for key in ("order", "dimension") if key in result.settings
    ]
    return ", ".join(parts)


def p_words(pvalue: float) -> str:
    """Return "p = 0.043"; what is too small to matter is an upper bound."""
    return "p < 0.0001" if pvalue < 1e-4 else f"p = {pvalue:.2g}"


def statistic_words(result: GofResult) -> str:
    """Return the statistic, named z where it is one."""
    if result.components:
        return f"z = {result.statistic:.2f} ({result.alternative})"
    return f"{result.statistic:.4g} (large values speak against the draws)"


def draws_words(result: GofResult) -> str:
    """How many draws trained, were left out, and tested."""
    if result.n_train == 0:
        text = f"all {result.n_test} tested, none needed for training"
    else:
        gap = f", {result.n_gap} left out between" if result.n_gap else ""
        text = f"{result.n_train} trained the test function{gap}, {result.n_test} tested it"
        if "full" in result.settings.get("arms", {}):
            text = f"sign flips used all; {text}"
    return text if math.isnan(result.ess) else f"{text}; {result.ess:.0f} effective test draws"


def meaning(result: GofResult, alpha: float = LEVEL) -> str:
    """What the p-value says, for readers who do not live with p-values."""
    if not rejected(result, alpha):
        return (
            "This is no proof: small faults need more draws to show, and a mode that no draw "
            "visited, or a chain shuffled out of its order, shows in no score test."
        )
    return (
        "Draws from the target would give a statistic this far out in "
        f"{_how_often(result.pvalue)} tests."
    )


def looks_at(name: str) -> str:
    """Everyday words for the moment that a feature adds; a feature's own name if there are none."""
    return _MOMENTS.get(name) or _PARTS.get(name.split(":")[0], name)


def found_words(result: GofResult, alpha: float = LEVEL) -> str:
    """What `check` found where; empty for other tests, and if nothing was found.

    Where both arms found something, what the full-sample arm has to say is plainer.
    """
    arms = result.settings.get("arms")
    if not arms or not rejected(result, alpha):
        return ""
    arm = "full" if arms.get("full", 1.0) <= alpha else "split"
    found = result.settings["found"][arm]
    places = " and ".join(found["coordinates"]) or "all coordinates together"
    rows = "all rows" if arm == "full" else "the test rows"
    return f"{looks_at(found['component'])} of {places} ({found['component']}, {rows})"


def moment(name: str) -> str:
    """Order of the moment of the draws that a feature adds: 1 for the score, i + 1 for x^i."""
    if name in _MOMENTS:
        return f"{list(_MOMENTS).index(name) + 1}, {_MOMENTS[name]}"
    if name.split(":")[0] in _PARTS:
        return looks_at(name)
    power = name.removeprefix("x^")
    return str(int(power) + 1) if power.isdecimal() else ""


def headings(result: GofResult) -> tuple[str, str, str, str]:
    """Titles for a feature, what it looks at, its weight, and what it has a share of."""
    if result.method == "check":
        return "Part", "looks at", "level", "evidence"
    return "Feature", "moment it adds", "weight", "statistic"


def percent(share: float) -> str:
    """Return a share in whole per cent, without a sign on nothing; empty for NaN."""
    return "" if math.isnan(share) else f"{round(100.0 * share)} %"


def _how_often(pvalue: float) -> str:
    if pvalue < 1e-6:
        return "fewer than 1 in 1,000,000"
    if pvalue < 0.01:
        return f"about 1 in {float(f'{1.0 / pvalue:.1e}'):,.0f}"
    return f"about {100.0 * pvalue:.0f} in 100"


def _facts(result: GofResult, alpha: float) -> Iterator[str]:
    caution = " Read the warnings." if result.warnings else ""
    yield from _labelled("Verdict", f"{verdict(result, alpha)}: {p_words(result.pvalue)}.{caution}")
    yield from _labelled("", meaning(result, alpha))
    yield from _labelled("Statistic", statistic_words(result))
    if found := found_words(result, alpha):
        yield from _labelled("Found", found)
    yield from _labelled("Draws", draws_words(result))


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<11}", subsequent_indent=" " * 11)


def _feature_lines(result: GofResult) -> Iterator[str]:
    rows = result.explain()
    if not rows:
        return
    part, sight, weight, share = headings(result)
    yield f"{part:<14} {sight:<22} {weight:>7} {'z':>8}  share of the {share}"
    shown = rows[:_MOST_ROWS]
    yield from (_feature_line(row) for row in shown)
    if len(rows) > len(shown):
        yield f"... and {len(rows) - len(shown)} more with smaller shares"
    if any("-" in _bar(row.share) for row in shown):
        yield "Bars of minus signs: features that pulled the statistic the other way."


def _feature_line(row: Explanation) -> str:
    numbers = f"{row.weight:>7.3f} {row.z:>8.2f}  {percent(row.share):>6}  {_bar(row.share)}"
    return f"{_shorten(row.name, 14):<14} {moment(row.name):<22} {numbers}".rstrip()


def _bar(share: float) -> str:
    if math.isnan(share):
        return ""
    return ("#" if share >= 0.0 else "-") * min(_BAR, round(_BAR * abs(share)))


def _warning_lines(warnings: tuple[str, ...]) -> list[str]:
    """Wrap the warnings; what does not fit is pointed to."""
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
