"""A forest plot of effects: how far each property of the draws is off, with its interval."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from polystein._lib.imports import imported
from polystein.errors import InputError
from polystein.report.canvas import (
    AGAINST,
    GREY,
    MOST_LETTERS,
    NOT_AGAINST,
    axes_for,
    label_rows,
    legend_below,
    most_shown,
    note_beside,
    shortened,
    signed,
    title_with_verdict,
)
from polystein.report.effects import shown_names
from polystein.results.effect_rows import RELIABLE, EffectRow
from polystein.results.effects import EffectTable
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.results.tolerance import UNIT_VARIANCE, checked_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Intervals count for the range of the axis up to this many times the largest size; arrows say
#: that they go on.
_REACH = 3.0
#: Sizes beyond this are drawn on a scale that is linear up to 1 and logarithmic from there on.
_LINEAR_UP_TO = 8.0
#: Letters of each of two names in one label.
_LETTERS_IN_PAIR = 17
#: The tolerance behind the rows that it is for.
_BAND = "#DDDDDD"
#: Decimals of a ratio that is next to 1.
_MOST_DECIMALS = 8
#: The least range of the axis: effects of less than this are small in any unit.
_LEAST_RANGE = 0.05


def plot_effects(
    effects: EffectTable | GofResult,
    /,
    *,
    tolerance: float | None = None,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far each mean, sd, correlation and shape of the draws is off, with its interval.

    Parameters
    ----------
    effects : EffectTable or GofResult
        What `effects` or `check` gave.
    tolerance : float, optional
        Half the width of the band drawn around 0, strictly between 0 and 1: means within
        this many posterior sds, and sds within this share, are good enough. The
        default is the tolerance of the result, if it has one.
    most : int
        How many effects to draw, in the order of the table: what was found comes first, and
        within that the surest.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The default is a new figure, ``ax.figure``, which is not shown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Sizes of means are in posterior sds, those of sds are the ratio minus 1, and others are
    differences. Intervals are of level 0.95, each for its row alone. Rows whose reliability is
    below 0.99 are hollow: they may be off by more than their interval says. What cannot be judged
    is not drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2)) * [1.0, 1.3]
    >>> sample = ps.Sample(draws, -draws, names=["mu", "tau"])
    >>> ax = ps.plot_effects(ps.effects(sample), tolerance=0.1)
    >>> ax.get_yticklabels()[0].get_text()
    'tau  sd'
    >>> ax.figure.savefig("effects.png")  # doctest: +SKIP
    """
    most = most_shown(most)
    table, bound = _table_and_bound(effects, tolerance)
    forest = forest_of(table, bound, most)
    if not forest.lines:
        raise InputError(
            "`effects` must have at least one row that can be judged, to draw it; got none"
        )
    axes = axes_for(ax, 8.0, 2.1 + 0.27 * (len(forest.lines) + bool(forest.left_out)))
    label_rows(axes, [_label(line) for line in forest.lines], forest.left_out)
    if forest.logarithmic:
        axes.set_xscale("symlog", linthresh=1.0)
    axes.set_xlim(-forest.reach, forest.reach)
    axes.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    for place, line in enumerate(forest.lines):
        if bound is not None and line.row.what in UNIT_VARIANCE:
            axes.barh(place, 2.0 * bound, 1.0, -bound, color=_BAND, zorder=-1)
        _draw_line(axes, place, line)
        note_beside(axes, place, size_words(line.row))
    axes.set_xlabel(
        "draws against target: means in posterior sd, sds as\n"
        "ratio − 1, shapes and correlations as differences"
    )
    if isinstance(effects, GofResult):
        title_with_verdict(axes, effects, DEFAULT_LEVEL)
    legend_below(axes, _handles(forest))
    return axes


class ForestLine(NamedTuple):
    """A row of the table where it is drawn: no effect is 0, and intervals end at the limit."""

    row: EffectRow
    #: The coordinate, with the model's parameter where it is known.
    names: tuple[str, ...]
    size: float
    low: float
    high: float
    #: Whether the interval goes on beyond its lower and its upper end.
    cut: tuple[bool, bool]

    @property
    def name(self) -> str:
        """The name, or both of a pair."""
        return ", ".join(self.names)


class Forest(NamedTuple):
    """The numbers of a forest plot, whatever draws it."""

    lines: tuple[ForestLine, ...]
    left_out: int
    #: Half the range of sizes and intervals.
    limit: float
    bound: float | None

    @property
    def reach(self) -> float:
        """Half the range of the axis."""
        return 1.06 * self.limit

    @property
    def logarithmic(self) -> bool:
        """Whether the axis is linear up to 1 and logarithmic from there on."""
        return self.limit > _LINEAR_UP_TO


def forest_of(table: EffectTable, bound: float | None, most: int) -> Forest:
    """The first rows of a table that could be judged, as they are drawn."""
    rows = table.judged[:most]
    limit = _limit(rows, bound)
    lines = []
    for row in rows:
        ends = [_on_axis(row, end) for end in (row.lower, row.upper)]
        low, high = (min(max(end, -limit), limit) for end in ends)
        cut = (ends[0] != low, ends[1] != high)
        names = shown_names(table, row)
        lines.append(ForestLine(row, names, _on_axis(row, row.size), low, high, cut))
    return Forest(tuple(lines), len(table.judged) - len(rows), limit, bound)


def _table_and_bound(effects: object, tolerance: float | None) -> tuple[EffectTable, float | None]:
    """The table of effects, and the tolerance that was given or that the result has."""
    if not isinstance(effects, EffectTable | GofResult):
        raise InputError(
            "`effects` must be what `polystein.effects` or `check` gave; got "
            f"{type(effects).__name__}"
        )
    bound = None if tolerance is None else checked_bound(tolerance)
    if isinstance(effects, EffectTable):
        return effects, bound
    if bound is None and effects.tolerance is not None:
        bound = float(effects.settings["tolerance"])
    return effects.effects, bound


def _on_axis(row: EffectRow, size: float) -> float:
    """A size or a bound as it is drawn: no effect is 0."""
    return size - 1.0 if row.what.endswith("sd") else size


def _limit(rows: Sequence[EffectRow], bound: float | None) -> float:
    """Half the range of the axis: all sizes, and intervals unless they are many times as long."""
    sizes = [abs(_on_axis(row, row.size)) for row in rows]
    largest = max([*sizes, bound or 0.0, _LEAST_RANGE])
    ends = [abs(_on_axis(row, end)) for row in rows for end in (row.lower, row.upper)]
    return 1.08 * max([largest, *(min(end, _REACH * largest) for end in ends)])


def _draw_line(axes: Axes, place: int, line: ForestLine) -> None:
    row = line.row
    colour = AGAINST if row.found else NOT_AGAINST
    inside = [line.low, line.high]
    axes.plot(inside, [place, place], color=colour, linewidth=1.6, zorder=2)
    for drawn, cut, marker in zip(inside, line.cut, "<>", strict=True):
        if cut:
            axes.plot(drawn, place, marker, color=colour, markersize=6, zorder=2)
    axes.plot(
        line.size,
        place,
        "o",
        markersize=6.5,
        markeredgewidth=1.4,
        markeredgecolor=colour,
        markerfacecolor=colour if row.reliable else "white",
        zorder=3,
    )


def size_words(row: EffectRow) -> str:
    """The size in the unit in which people read it."""
    if row.what.endswith("sd"):
        return f"× {_ratio(row.size)}"
    return f"{signed(row.size)}{' sd' if row.what.endswith('mean') else ''}"


def _ratio(value: float) -> str:
    """A ratio whose difference from 1 has two digits, as in the percentage of a sentence."""
    if not 0.1 < value < 100.0:
        return f"{value:.3g}"
    short, off = f"{value:.2f}", abs(value - 1.0)
    if off == 0.0 or off >= 0.1:
        return short
    longer = f"{value:.{min(_MOST_DECIMALS, 1 - math.floor(math.log10(off)))}f}"
    return short if float(short) == float(longer) else longer


def no_size(row: EffectRow) -> str:
    """What stands where a size would, in a row without one."""
    return "cannot be judged" if math.isfinite(row.size) else "not known"


def _label(line: ForestLine) -> str:
    """The parameter and its property; long directions lose their small loadings."""
    row, name = line.row, line.name
    if row.direction:
        return f"{property_words(row)} {shortened(_fewer_terms(name), 2 * _LETTERS_IN_PAIR + 2)}"
    if len(line.names) == 2:
        name = ", ".join(shortened(one, _LETTERS_IN_PAIR) for one in line.names)
    return f"{shortened(name, 2 * _LETTERS_IN_PAIR + 2)}  {row.what}"


def property_words(row: EffectRow) -> str:
    """The property as it stands beside a name: of directions, "mean along"."""
    return f"{row.what.removeprefix('direction ')} along" if row.direction else row.what


def _fewer_terms(name: str) -> str:
    """A direction of not too many letters: its first terms, which have the largest loadings."""
    if len(name) <= MOST_LETTERS:
        return name
    terms, rest = re.split(r" (?=[+-] )", name.removesuffix(" + ...")), " + ..."
    while len(terms) > 1 and len(" ".join(terms) + rest) > MOST_LETTERS:
        terms.pop()
    return " ".join(terms) + rest


def legend_words(forest: Forest) -> list[tuple[str, str]]:
    """What a legend explains, by its kind of mark: only what there is."""
    rows = [line.row for line in forest.lines]
    return [
        (kind, words)
        for kind, words, shown in (
            (
                "found",
                "found at the level 0.05, all together",
                any(row.found for row in rows),
            ),
            ("chance", "not found: may be chance", not all(row.found for row in rows)),
            (
                "hollow",
                f"hollow: R² below {RELIABLE:g}, may be off by more than the interval says",
                not all(row.reliable for row in rows),
            ),
            (
                "band",
                f"tolerance {forest.bound or 0.0:g}, of means and sds",
                forest.bound is not None,
            ),
        )
        if shown
    ]


def _handles(forest: Forest) -> list[object]:
    line = imported("matplotlib.lines", "cli", "plotting").Line2D
    patch = imported("matplotlib.patches", "cli", "plotting").Patch
    made: list[object] = []
    for kind, words in legend_words(forest):
        if kind == "band":
            made.append(patch(color=_BAND, label=words))
            continue
        colour = {"found": AGAINST, "chance": NOT_AGAINST}.get(kind, GREY)
        face = "white" if kind == "hollow" else colour
        made.append(line([], [], color=colour, marker="o", markerfacecolor=face, label=words))
    return made
