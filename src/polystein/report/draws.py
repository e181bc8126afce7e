"""Plots of draws: Stein moments of order 1 by parameter, and discrepancies as chains grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polystein._lib.arguments import one_of, order_of
from polystein._lib.imports import imported
from polystein.data.sample import as_source
from polystein.data.source import Source, coordinate_names
from polystein.methods.views import first_moments, growing_chains
from polystein.report.canvas import (
    BLACK,
    COLOURS,
    DIVERGING,
    LITERAL,
    axes_for,
    most_shown,
    shortened,
)
from polystein.types import Array, ScoreFunction, Structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Moments with more parameters than this are no longer legible, and their errors take long.
MOST_PARAMETERS = 40
#: The least range of the colours: moments of right draws are to look pale.
_LEAST_RANGE = 0.2
#: Letters of a name on both axes.
_LETTERS = 18
#: Lines that differ in colour or style. Yellow is for areas: a thin line of it is lost on white.
_LINES = COLOURS[:-1]
_STYLES = ("-", "--", ":", "-.")


def plot_moments(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Stein moments of order 1 as a matrix with the parameters' names on both axes.

    Each of them is 0 if the draws come from the target. The entry in row l and column j is the
    mean of s_l x_j + [l = j], with s the score and all coordinates standardised by the
    draws. The diagonal shows spreads, other entries dependence. The first column has the means
    of the scores, which show locations.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both.
    most : int
        How many parameters to draw, at most 40. Of more, those with the largest moments are
        drawn, the largest first.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The default is a new figure, ``ax.figure``, which is not shown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Dots mark moments that are farther from 0 than chance explains: by Student's t with errors of
    batch means, which allow for autocorrelation, at the level 0.05 for all d (d + 1) moments
    together. Fewer than 16 rows have no dots. Where the target is nearly Gaussian, a negative
    number on the diagonal is a spread that is too wide.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2)) * [1.0, 1.3]
    >>> ax = ps.plot_moments(ps.Sample(draws, -draws, names=["mu", "tau"]))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['score alone', 'mu', 'tau']
    """
    most = most_shown(most, MOST_PARAMETERS)
    source = as_source(draws, scores)
    axes_for(ax, 1.0, 1.0)  # what is wrong with the axes is said before the work is done
    found = first_moments(source, most)
    every = coordinate_names(source)
    names = [shortened(every[index], _LETTERS) for index in found.shown]
    size, left_out = len(names), len(every) - len(names)
    side = 0.3 * max(size, 5)
    axes = axes_for(ax, 2.9 + side, 1.9 + side)
    limit = max(_LEAST_RANGE, float(np.abs(found.means).max()))
    colours = imported("matplotlib.colors", "cli", "plotting").LinearSegmentedColormap
    image = axes.imshow(
        found.means,
        cmap=colours.from_list("polystein", DIVERGING),
        vmin=-limit,
        vmax=limit,
        aspect="equal",
    )
    if found.beyond_chance is not None:
        row, column = np.nonzero(found.beyond_chance)
        axes.scatter(column, row, s=9.0, color=BLACK, linewidth=0.0)
    axes.axvline(0.5, color=BLACK, linewidth=0.8)
    axes.set_xticks(range(size + 1), ["score alone", *names], rotation=90, **LITERAL)
    axes.set_yticks(range(size), names, **LITERAL)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("times the parameter")
    more = f"\n(and {left_out:,} more parameters)" if left_out else ""
    axes.set_ylabel(f"score of the parameter{more}")
    bar = axes.figure.colorbar(image, ax=axes, shrink=min(1.0, 3.0 / side), pad=0.03)
    bar.set_label("mean, 0 for right draws\n(dots: beyond chance)")
    bar.outline.set_visible(False)
    return axes


def plot_chains(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int = 1,
    structure: Structure = "diagonal",
    most: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """Draw the discrepancy of each chain against the number of its draws so far.

    The discrepancy of right draws falls like one over the root of their number. That of a chain
    which is stuck, or of wrong draws, stops falling.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both. Draws of shape (n, d) are one chain.
    order : int
        As for `psd`, of coordinates standardised by all draws.
    structure : {"diagonal", "full"}
        As for `psd`. Of a diagonal structure the discrepancy sees each parameter by itself.
        A full one sees dependence as well, and of many parameters mostly noise.
    most : int
        How many chains to draw, those with the largest discrepancies.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The default is a new figure, ``ax.figure``, which is not shown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    The dashed line is where right and independent draws would be, about: the root of the mean
    square of the Stein features over the number of draws. Right chains lie above it, in parallel,
    by the root of their autocorrelation time.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> ax = ps.plot_chains(draws, -draws)
    >>> ax.get_xlabel()
    'draws of the chain so far'
    """
    most = most_shown(most)
    order_of(order, least=0)
    one_of(structure, Structure, "structure")
    source = as_source(draws, scores)
    axes = axes_for(ax, 7.0, 4.2)
    chains, square = growing_chains(source, order, structure, most)
    for place, one in enumerate(chains):
        axes.plot(
            one.rows,
            one.values,
            color=_LINES[place % len(_LINES)],
            linestyle=_STYLES[(place // len(_LINES)) % len(_STYLES)],
            linewidth=1.6,
            marker="o" if len(one.rows) == 1 else None,
            label=f"chain {one.chain}",
        )
    lengths = [count for one in chains for count in one.rows]
    ends = np.array([min(lengths), max(lengths)])
    expected = np.sqrt(square / ends)
    axes.plot(ends, expected, color=BLACK, linestyle=(0, (6, 4)), linewidth=1.0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    if min(value for one in chains for value in one.values) > 0.0 and expected.min() > 0.0:
        axes.set_yscale("log")
        ticker = imported("matplotlib.ticker", "cli", "plotting")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.set_xlabel("draws of the chain so far")
    axes.set_ylabel(f"discrepancy (PSD, order {order})")
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    line = imported("matplotlib.lines", "cli", "plotting").Line2D
    left_out = len(source.layout.lengths) - len(chains)
    if left_out:
        handles.append(line([], [], linestyle="none"))
        labels.append(f"and {left_out:,} more, with less")
    handles.append(line([], [], color=BLACK, linestyle=(0, (6, 4)), linewidth=1.0))
    labels.append("right, independent\ndraws (about)")
    axes.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9
    )
    return axes
