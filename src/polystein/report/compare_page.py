"""The page of a comparison of samplers: all sets, their differences, and the effects of each."""

from __future__ import annotations

from polystein._lib.notes import shown_name
from polystein.report.canvas import signed
from polystein.report.compare import (
    COMPARE_QUESTION,
    HEAD,
    cells,
    legend_words,
    number,
    samplers_headline,
)
from polystein.report.page import (
    NOTHING_KNOWN,
    Block,
    Origin,
    Page,
    Section,
    effects_block,
    forest_block,
    made_section,
    rendered,
    table,
    text,
)
from polystein.report.pvalues import p_number
from polystein.results.sampler_comparison import ComparedSet, SamplerComparison, SetDifference

_DIFFERENCES = [
    ("set", ""),
    ("less", ""),
    ("measure", ""),
    ("difference (95 % interval)", "number"),
    ("p, adjusted", "number"),
]


def compare_page(found: SamplerComparison, origin: Origin = NOTHING_KNOWN) -> str:
    """A page with the table of all sets, all differences, and the effects of each set."""
    rows = [cells(one) for one in found]
    differences = [_difference(one) for one in found.differences]
    sections = [
        Section(
            "All sets",
            [table("All sets", [*HEAD], rows, "`comparison.sets`"), text(legend_words(found))],
        ),
        Section(
            "Differences",
            [
                text(
                    "The distance of the first set from the target less that of the second. "
                    "P-values are adjusted for all pairs of a measure."
                ),
                table("Differences", _DIFFERENCES, differences, "`comparison.differences`"),
            ],
        ),
        *(_by_itself(one) for one in found),
        made_section(
            [("test", f"compare, {len(found)} sets of draws, d = {found.dimension}")],
            [("order", found.order), ("structure", found.structure), ("alpha", found.alpha)],
            f"import polystein as ps\n\ncomparison = ps.compare(sets, order={found.order}, "
            f"alpha={found.alpha:g})",
            origin,
        ),
    ]
    return rendered(
        Page(
            f"polystein, {len(found)} sets of draws compared",
            "Which sampler is nearest to the target?",
            "not-rejected",
            samplers_headline(found),
            COMPARE_QUESTION,
            found.warnings,
            sections,
        )
    )


def _difference(one: SetDifference) -> tuple[str, ...]:
    ends = f"({signed(one.lower)} to {signed(one.upper)})"
    names = (shown_name(one.first), shown_name(one.second), one.measure)
    return (*names, f"{signed(one.value)} {ends}", p_number(one.pvalue))


def _by_itself(one: ComparedSet) -> Section:
    """What is wrong with one set."""
    size = f"{one.chains} × {one.draws} draws, effective {number(one.ess)}"
    blocks: list[Block] = [text(f"{size}. Largest effect: {one.largest_effect or 'none found'}.")]
    where = f"in `comparison[{one.name!r}].effects`"
    if (forest := forest_block(one.effects, None, where)) is not None:
        blocks.append(forest)
    blocks.append(effects_block(f"Effects of {shown_name(one.name)}", one.effects, where))
    return Section(shown_name(one.name), blocks)
