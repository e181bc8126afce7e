"""A plot of samplers side by side, by their distance from the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polystein._lib.arguments import one_of
from polystein._lib.notes import shown_name
from polystein.errors import InputError
from polystein.report.canvas import (
    AGAINST,
    GREY,
    NOT_AGAINST,
    axes_for,
    label_rows,
    most_shown,
    note_beside,
    shortened,
)
from polystein.results.sampler_comparison import Measure, SamplerComparison, rank_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {
    "discrepancy": "discrepancy from the target, with its 95 % interval",
    "means": "error of means, in sd of the target, with its 95 % interval",
    "sds": "error of sds, as log ratio, with its 95 % interval",
}


def plot_compare(
    comparison: SamplerComparison,
    /,
    *,
    measure: Measure = "discrepancy",
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far each set of draws is from the target, with intervals and ranks.

    Parameters
    ----------
    comparison : SamplerComparison
        What `compare` returned.
    measure : {"discrepancy", "means", "sds"}
        The distance that is drawn. Ranks are those of the discrepancy.
    most : int
        How many sets to draw, those with the smallest discrepancy first.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The default is a new figure, ``ax.figure``, which is not shown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Sets that may be the nearest to the target, as far as the draws tell, are blue, the others
    orange. A set whose distance is not known has a row without a point.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> right, wide = np.random.default_rng(0).standard_normal((2, 4, 500, 2))
    >>> comparison = ps.compare({"right": (right, -right), "wide": (1.3 * wide, -1.3 * wide)})
    >>> ax = ps.plot_compare(comparison)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['right', 'wide']
    """
    most = most_shown(most)
    if not isinstance(comparison, SamplerComparison):
        raise InputError(
            f"`comparison` must be what `compare` returned; got a {type(comparison).__name__}"
        )
    one_of(measure, Measure, "measure")
    shown = comparison.sets[:most]
    left_out = len(comparison) - len(shown)
    axes = axes_for(ax, 7.5, 1.3 + 0.32 * (len(shown) + bool(left_out)))
    label_rows(axes, [shortened(shown_name(one.name)) for one in shown], left_out)
    for place, one in enumerate(shown):
        found = one.distance(measure)
        if found is None:
            note_beside(axes, place, "not known")
            continue
        colour = NOT_AGAINST if one.rank[0] == 1 else AGAINST
        axes.plot([found.lower, found.upper], [place, place], color=colour, linewidth=2.0)
        axes.plot([found.value], [place], "o", color=colour, markersize=6.0)
        note_beside(axes, place, f"rank {rank_words(one.rank)}")
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_xlim(left=0.0)
    axes.set_xlabel(_LABELS[measure])
    axes.set_title("How far from the target?", fontsize=11, loc="left")
    return axes
