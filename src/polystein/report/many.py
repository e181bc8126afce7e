"""A table of many checks, on one screen and in a notebook."""

from __future__ import annotations

import textwrap
from html import escape

from polystein._lib.notes import first_of, shown_name
from polystein.report.effects import effect_facts
from polystein.report.html import STYLE, with_names
from polystein.report.lines import WIDTH
from polystein.report.pvalues import p_number
from polystein.report.text import HEIGHT, found_words
from polystein.results.many import CheckRow, CheckTable, count_of_fits

#: What stands below a fit, and how many lines of it at most.
_INDENT, _MOST_LINES = "    ", 2
#: Lines that are always there: the verdict in up to two, the question, two empty ones, the heading
#: of the table, what is left out, and a word on warnings.
_FIXED_LINES = 8
#: Columns of the longest name; longer ones lose their beginning, which files often share.
_LONGEST_NAME = 32
_CORRECTIONS = {
    "holm": "Holm's correction",
    "benjamini-hochberg": "the correction of Benjamini and Hochberg",
}


def render_many(
    table: CheckTable,
    *,
    rows_in: str = "`table.rows`",
    warnings_in: str = "`table[name].result.warnings`",
) -> str:
    """Return at most 24 lines of at most 88 columns, the worst fits first.

    The rest says where a reader finds what is left out.
    """
    rows = table.worst_first
    name = min(_LONGEST_NAME, max(len("fit"), *(len(shown_name(row.name)) for row in rows)))
    tolerance = any(row.result is not None and row.result.tolerance for row in rows)
    lines: list[str] = []
    shown = 0
    for row in rows:
        own = [_line(row, name, tolerance), *_below(row)]
        if len(lines) + len(own) > HEIGHT - _FIXED_LINES:
            break
        lines += own
        shown += 1
    head = f"{'fit':<{name}}  {'verdict':<12}  {'p':>8}  {'adjusted':>8}  chains x draws x d"
    lines.insert(0, f"{head:<{name + 56}}  tolerance" if tolerance else head)
    if shown < len(rows):
        kinds = sorted({row.verdict for row in rows[shown:]})
        lines.append(f"... and {len(rows) - shown} more ({', '.join(kinds)}), in {rows_in}")
    top = [*textwrap.wrap(many_headline(table), WIDTH), MANY_QUESTION]
    blocks = [top, lines, textwrap.wrap(_warned(table, warnings_in), WIDTH)[:2]]
    return "\n\n".join("\n".join(block) for block in blocks if block)


MANY_QUESTION = "Do the draws of each fit come from its target? check, the worst fits first"


def many_headline(table: CheckTable) -> str:
    """How many fits are rejected, and how many of the others say little."""
    total, rejected, errors = len(table), table.count("rejected"), table.count("error")
    if errors == total:
        return (
            "The fit could not be checked."
            if total == 1
            else f"None of {count_of_fits(total)} could be checked."
        )
    which = f"{rejected or 'None'} of {count_of_fits(total)} {_is_or_are(rejected)} rejected"
    if total == 1:
        which = f"The fit is {'' if rejected else 'not '}rejected"
    sentence = f"{which} at the level {table.alpha:g} after {_CORRECTIONS[table.adjust]}"
    if vague := table.count("inconclusive"):
        which = "it" if total == 1 else f"{vague}"
        sentence += f"; {which} {_is_or_are(vague)} inconclusive"
    if errors:
        sentence += f"; {errors} could not be checked"
    return f"{sentence}."


def _is_or_are(count: int) -> str:
    return "are" if count > 1 else "is"


def _line(row: CheckRow, name: int, tolerance: bool) -> str:
    shown = shown_name(row.name)
    short = shown if len(shown) <= name else ".." + shown[2 - name :]
    text = f"{short:<{name}}  {row.verdict:<12}"
    if row.result is None or row.pvalue is None or row.adjusted is None:
        return text.rstrip()
    text = f"{text}  {p_number(row.pvalue):>8}  {p_number(row.adjusted):>8}  {size_words(row)}"
    return f"{text:<{name + 56}}  {row.result.tolerance}" if tolerance else text


def size_words(row: CheckRow) -> str:
    """Chains, draws of the longest and coordinates, as in "4 x 1000 x 3"."""
    return f"{row.chains} x {row.draws} x {row.dimension}" if row.result is not None else ""


def _below(row: CheckRow) -> list[str]:
    """What was found, why the question stays open, or what went wrong, in at most two lines."""
    text = " ".join(row_words(row).split())
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        max_lines=_MOST_LINES,
        placeholder=" ...",
    )


def row_words(row: CheckRow) -> str:
    """The largest effect in words, the first reason or the error; empty if nothing was found."""
    if row.verdict == "rejected" and row.result is not None:
        alpha = max(row.result.pvalue, _SMALLEST_LEVEL)
        for label, words in effect_facts(row.result, alpha, 1):
            if label == "Off":
                return words
        return found_words(row.result, alpha)
    return row.error or next(iter(row.reasons), "")


#: A level must be above 0, and p-values may be 0 to rounding.
_SMALLEST_LEVEL = 1e-300


def _warned(table: CheckTable, warnings_in: str) -> str:
    """Which fits have warnings, and where to read them."""
    names = [
        shown_name(one.name) for one in table.fits if one.result is not None and one.result.warnings
    ]
    if not names:
        return ""
    return f"Read the warnings about {first_of(names, 3)} in {warnings_in}."


def many_fragment(table: CheckTable) -> str:
    """A compact table that takes its text colour from the page around it."""
    name = {"error": "inconclusive"}.get(table.verdict, table.verdict.replace(" ", "-"))
    head = "".join(
        f'<th scope="col"{number}>{title}</th>'
        for title, number in (
            ("fit", ""),
            ("verdict", ""),
            ("p", ' class="number"'),
            ("adjusted p", ' class="number"'),
            ("chains × draws × d", ""),
            ("largest effect, or reason", ""),
        )
    )
    return "\n".join(
        [
            '<div class="polystein">',
            STYLE,
            f'<p class="verdict {name}">{escape(many_headline(table))}</p>',
            f"<p>{escape(MANY_QUESTION)}.</p>",
            f"<table>\n<tr>{head}</tr>",
            *map(_html_row, table.worst_first),
            "</table>\n</div>",
        ]
    )


def _html_row(row: CheckRow) -> str:
    pvalues = [
        f'<td class="number">{"" if p is None else escape(p_number(p))}</td>'
        for p in (row.pvalue, row.adjusted)
    ]
    tolerance = row.result.tolerance if row.result is not None else None
    verdict = row.verdict + (f", {tolerance} the tolerance" if tolerance else "")
    return (
        f'<tr><th scope="row">{escape(shown_name(row.name))}</th>'
        f"<td>{verdict}</td>{''.join(pvalues)}"
        f"<td>{size_words(row).replace('x', '×')}</td><td>{with_names(row_words(row))}</td></tr>"
    )
