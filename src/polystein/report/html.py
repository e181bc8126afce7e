"""Results and tables as fragments of HTML, for notebooks; they take their colours from around."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from polystein.report.effects import MOST_ROWS, expectation_cells, shown_name
from polystein.report.forest import no_size, size_words
from polystein.report.lines import percent
from polystein.report.pvalues import p_number
from polystein.report.refinement import refinement_facts
from polystein.report.same_target import comparison_facts, comparison_headline
from polystein.report.summary import NOT_OF_CHAINS, has_chains, shown_rows, summary_grid
from polystein.report.text import asked, headline, report_facts
from polystein.results.effects import EffectTable, ExpectationTable
from polystein.results.refinement import Refinement
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.results.same_target import TargetComparison
from polystein.results.summary import SummaryTable

#: A notebook has room for more sentences on what is wrong than a screen, and for longer names.
MOST_SENTENCES, MOST_LETTERS = 20, 100
STYLE = """<style>
.polystein table { border-collapse: collapse; margin: 0.5em 0; }
.polystein tr, .polystein th, .polystein td { background: transparent; border: 0; }
.polystein th, .polystein td { padding: 0.2em 0.8em 0.2em 0; text-align: left;
                               vertical-align: top; }
.polystein td.number, .polystein th.number { text-align: right; }
.polystein .verdict { font-size: 1.15em; font-weight: normal; padding-left: 0.6em;
                      border-left: 0.4em solid; }
.polystein .rejected { border-color: #d9641e; }
.polystein .not-rejected { border-color: #2f86c8; }
.polystein .inconclusive { border-color: #b8860b; }
</style>"""


def fragment(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """Return what the printed result says.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    alpha : float
        Level at which the verdict is worded.
    """
    reasons = result.reasons if result.verdict_at(alpha) == "inconclusive" else ()
    facts = report_facts(result, alpha, reasons, most=MOST_SENTENCES, letters=MOST_LETTERS)
    parts = [_verdict(result, alpha), f"<p>{escape(asked(result))}</p>", _listed("Why", reasons)]
    parts.append(_pairs(facts))
    if result.components:
        found = result.rejected(alpha)
        head = ["feature", "looks at", "weight", "z", *(["share"] if found else [])]
        parts.append(
            _grid(
                head,
                (
                    [row.name, row.words, f"{row.weight or 0.0:.3f}", f"{row.z:.2f}"]
                    + ([percent(row.share)] if found else [])
                    for row in result.explain()
                ),
                words=2,
            )
        )
    return _framed(*parts, _listed("Warnings", result.warnings))


def refinement_fragment(refined: Refinement, alpha: float = DEFAULT_LEVEL) -> str:
    """What the printed refinement says."""
    return _framed(_verdict(refined, alpha), _pairs(refinement_facts(refined, alpha)))


def comparison_fragment(compared: TargetComparison) -> str:
    """What the printed comparison of two targets says."""
    name = "not-rejected" if compared.same else "rejected"  # for the colour
    head = f'<p class="verdict {name}">{escape(comparison_headline(compared))}</p>'
    found, end = comparison_facts(compared)
    return _framed(head, _pairs([*found[:MOST_SENTENCES], *end]))


def effects_fragment(table: EffectTable) -> str:
    """The first effects: what was found, and below that what was not."""
    rows = (
        [
            *(shown_name(table, row), row.what, size_words(row) if row.judged else no_size(row)),
            *(p_number(row.pvalue), "yes" if row.found else "no"),
        ]
        for row in table.rows[:MOST_ROWS]
    )
    head = ["parameter", "property", "size", "p, adjusted", "found"]
    hint = f"<p>What next: {with_names(table.hint)}</p>" if table.hint else ""
    return _framed(_grid(head, rows, words=2), _more(len(table.rows)), hint)


def expectations_fragment(table: ExpectationTable) -> str:
    """The first expectations, plain and corrected."""
    head = ["parameter", "what", "plain", "mcse", "corrected", "error", "bias", "interval", "R2"]
    rows = (expectation_cells(row) for row in table.rows[:MOST_ROWS])
    return _framed(_grid(head, rows, words=2), _more(len(table.rows)))


def summary_fragment(table: SummaryTable) -> str:
    """The parameters with their numbers."""
    head, *rows = summary_grid(table, shown_rows(table, MOST_ROWS))
    note = "" if has_chains(table) else f"<p>{NOT_OF_CHAINS}</p>"
    return _framed(_grid(head, rows, words=1), _more(len(table.rows)), note)


def preformatted(text: str) -> str:
    """A text with its columns as they are."""
    return f"<pre>{escape(text)}</pre>"


def with_names(text: str) -> str:
    """A text whose names of parameters, between backticks, are set as names."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _framed(*parts: str) -> str:
    return "\n".join(
        ['<div class="polystein">', STYLE, *(part for part in parts if part), "</div>"]
    )


def _verdict(result: GofResult | Refinement, alpha: float) -> str:
    verdict, rest = headline(result, alpha)
    name = result.verdict_at(alpha).replace(" ", "-")
    return f'<p class="verdict {name}"><strong>{verdict}</strong> {escape(rest)}</p>'


def _listed(title: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{with_names(sentence)}</li>" for sentence in sentences)
    return f"<p><strong>{title}</strong></p>\n<ul>{items}</ul>"


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    cells = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{with_names(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>\n{cells}\n</table>" if cells else ""


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]], words: int) -> str:
    """A table of which all columns but the first ``words`` hold numbers."""

    def kind(place: int) -> str:
        return "" if place < words else ' class="number"'

    titles = "".join(f'<th scope="col"{kind(j)}>{escape(one)}</th>' for j, one in enumerate(head))
    lines = [
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td{kind(j)}>{escape(one)}</td>" for j, one in enumerate(row) if j)
        + "</tr>"
        for row in rows
    ]
    return "\n".join(["<table>", f"<tr>{titles}</tr>", *lines, "</table>"])


def _more(count: int) -> str:
    return f"<p>... and {count - MOST_ROWS} more, in <code>rows</code></p>" * (count > MOST_ROWS)
