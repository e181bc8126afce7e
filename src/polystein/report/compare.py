"""A comparison of samplers on one screen and in a notebook."""

from __future__ import annotations

import textwrap
from html import escape

from polystein._lib.notes import first_of, shown_name
from polystein.report.html import STYLE, with_names
from polystein.report.lines import WIDTH
from polystein.report.text import HEIGHT
from polystein.results.effect_rows import size_number
from polystein.results.sampler_comparison import (
    ComparedSet,
    Distance,
    SamplerComparison,
    rank_words,
)

COMPARE_QUESTION = "Which sampler's law is nearest to the target? compare, the nearest first"
#: Columns of the longest name; longer ones lose their beginning, which files often share.
_LONGEST_NAME = 20
#: Lines of the largest effect, and of warnings, at most.
_EFFECT_LINES, _WARNING_LINES = 1, 3
_INDENT = " " * 6


def render_samplers(found: SamplerComparison, *, rest_in: str = "`sets`") -> str:
    """Return at most 24 lines of at most 88 columns, the nearest sets first.

    ``rest_in`` says where a reader finds what is left out.
    """
    name = min(_LONGEST_NAME, max(len("set"), *(len(shown_name(one.name)) for one in found)))
    top = [*textwrap.wrap(samplers_headline(found), WIDTH)[:3], COMPARE_QUESTION]
    warned = [
        line
        for words in found.warnings
        for line in textwrap.wrap(f"Warning: {words}", WIDTH, subsequent_indent="  ")
    ][:_WARNING_LINES]
    legend = textwrap.wrap(legend_words(found), WIDTH)
    priced = any(one.ess_per_cost is not None for one in found)
    head = f"{'rank':<5} {'set':<{name}}  {'discrepancy':<20} {'means':>7} {'sds':>7} {'mcse':>7}"
    head += f" {'ess':>8}" + (f" {'ess/cost':>9}" if priced else "")
    # Beside the sets: the heading, what is left out, and empty lines between the blocks.
    room = HEIGHT - len(top) - len(warned) - len(legend) - 4 - bool(warned)
    lines: list[str] = []
    shown = 0
    for one in found:
        own = [_line(one, name, priced), *_below(one)]
        if len(lines) + len(own) > room:
            break
        lines += own
        shown += 1
    if shown < len(found):
        lines.append(f"... and {len(found) - shown} more, in {rest_in}")
    blocks = [top, [head, *lines], legend, warned]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def samplers_headline(found: SamplerComparison) -> str:
    """Which set is nearest, and which others the draws do not tell from it."""
    first, *others = found.sets
    near = [f"`{shown_name(one.name)}`" for one in others if one.rank[0] == 1]
    name = f"`{shown_name(first.name)}`"
    if first.rank == (1, 1):
        return f"{name} is clearly nearest to the target (level {found.alpha:g})."
    clearly = len(others) - len(near)
    tail = "" if not clearly else f" {clearly} {'is' if clearly == 1 else 'are'} clearly farther."
    return (
        f"{name} is nearest to the target, but the draws do not tell it from "
        f"{first_of(near, 4)} (level {found.alpha:g}).{tail}"
    )


def legend_words(found: SamplerComparison) -> str:
    """What the columns are."""
    kind = "" if found.structure == "full" else ", diagonal"
    return (
        f"discrepancy: order {found.order}{kind}, with its 95 % interval. means: root mean square "
        "error in sd of the target. sds: the same of log sd. mcse: Monte Carlo error of the means, "
        "which more draws lower. ess: independent draws with this error. "
        "~: approximate, reliability below 0.99."
    )


def _line(one: ComparedSet, name: int, priced: bool) -> str:
    shown = shown_name(one.name)
    short = shown if len(shown) <= name else ".." + shown[2 - name :]
    about = "" if one.reliable else "~"
    cells = [f"{about}{distance_number(one.means)}", f"{about}{distance_number(one.sds)}"]
    text = f"{rank_words(one.rank):<5} {short:<{name}}  {interval(one.discrepancy):<20}"
    text += "".join(f" {cell:>7}" for cell in (*cells, number(one.mcse)))
    text += f" {number(one.ess):>8}" + (f" {number(one.ess_per_cost):>9}" if priced else "")
    return text.rstrip()


def _below(one: ComparedSet) -> list[str]:
    return textwrap.wrap(
        one.largest_effect,
        WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        max_lines=_EFFECT_LINES,
        placeholder=" ...",
    )


def number(value: float | None) -> str:
    """A number as people read it; "?" where it is not known."""
    if value is None:
        return "?"
    if value == 0.0:
        return "0"
    return size_number(value) if value < 10.0 else f"{value:.4g}" if value < 1e4 else f"{value:.2g}"


def distance_number(distance: Distance | None) -> str:
    """A distance without its interval."""
    return number(None if distance is None else distance.value)


def interval(distance: Distance | None) -> str:
    """A distance with its interval, as in "0.20 (0.11 to 0.27)"."""
    if distance is None:
        return "?"
    return f"{number(distance.value)} ({number(distance.lower)} to {number(distance.upper)})"


HEAD = (
    ("rank", "number"),
    ("set", ""),
    ("discrepancy (95 % interval)", "number"),
    ("means off, sd", "number"),
    ("sds off, log", "number"),
    ("mcse", "number"),
    ("ESS", "number"),
    ("cost", "number"),
    ("ESS / cost", "number"),
    ("largest effect", "words"),
)


def cells(one: ComparedSet) -> tuple[str, ...]:
    """A set in the columns of `HEAD`."""
    about = "" if one.reliable else "~ "
    return (
        rank_words(one.rank),
        shown_name(one.name),
        interval(one.discrepancy),
        about + interval(one.means),
        about + interval(one.sds),
        number(one.mcse),
        number(one.ess),
        "" if one.cost is None else number(one.cost),
        "" if one.cost is None else number(one.ess_per_cost),
        one.largest_effect or "none found",
    )


def samplers_fragment(found: SamplerComparison) -> str:
    """A compact table that takes its text colour from the page around it."""
    head = "".join(f'<th scope="col"{_kind(kind)}>{escape(title)}</th>' for title, kind in HEAD)
    rows = [
        "<tr>"
        + "".join(
            f"<td{_kind(kind)}>{with_names(cell)}</td>"
            for cell, (_, kind) in zip(cells(one), HEAD, strict=True)
        )
        + "</tr>"
        for one in found
    ]
    warned = [f"<p>Warning: {with_names(words)}</p>" for words in found.warnings]
    return "\n".join(
        [
            '<div class="polystein">',
            STYLE,
            f"<p>{with_names(samplers_headline(found))}</p>",
            f"<table>\n<tr>{head}</tr>",
            *rows,
            "</table>",
            f"<p>{with_names(legend_words(found))}</p>",
            *warned,
            "</div>",
        ]
    )


def _kind(kind: str) -> str:
    return ' class="number"' if kind == "number" else ""
