"""Draws of several samplers side by side with the target, drawn with Matplotlib (extra ``cli``)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from polystein._lib.imports import imported
from polystein.report.canvas import (
    AGAINST,
    BLACK,
    GREY,
    LITERAL,
    NOT_AGAINST,
    new_figure,
)
from polystein.report.effects import effect_facts
from polystein.report.pvalues import p_words
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Draws that a panel shows, evenly spaced: more would be one blot.
_MOST_POINTS = 400
#: The ellipse reaches this many standard deviations along every direction.
_REACH = 2.0
_COLOURS = {"rejected": AGAINST, "not rejected": NOT_AGAINST, "inconclusive": GREY}
#: Letters of a line below a panel.
_LETTERS = 34
#: Things that are off among which one is looked for that the axes show.
_MOST_TOLD = 50
#: Names of parameters in a sentence.
_NAMES = re.compile("`([^`]+)`")


def plot_draws(
    draws: Mapping[str, FloatArray],
    results: Mapping[str, GofResult],
    target: FloatArray,
    names: tuple[str, str],
    alpha: float = DEFAULT_LEVEL,
) -> Figure:
    """Draw two coordinates of several samplers, each beside the target, with the verdict.

    Parameters
    ----------
    draws : mapping
        Name of the sampler to its draws of the two coordinates, (n, 2).
    results : mapping
        Name of the sampler to what a test said of all of its draws.
    target : array
        Draws of the target, (n, 2): their mean and covariance give the dashed ellipse.
    names : pair of str
        The two coordinates.
    alpha : float
        Level at which the verdict is worded.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot, so that no global state is touched.
    """
    figure = new_figure(3.0 * len(draws), 4.4)
    panels = np.atleast_1d(figure.subplots(1, len(draws), sharex=True, sharey=True))
    for axes, (name, rows) in zip(panels, draws.items(), strict=True):
        result = results[name]
        colour = _COLOURS[result.verdict_at(alpha)]
        few = rows[:: max(1, len(rows) // _MOST_POINTS)]
        axes.plot(*few.T, ".", color=colour, markersize=3, alpha=0.35)
        _ellipse(axes, rows, colour, "-")
        _ellipse(axes, target, BLACK, "--")
        axes.set_title(
            f"{name}\n{result.verdict_at(alpha)}, {p_words(result.pvalue)}",
            color=colour,
            fontsize=11,
            **LITERAL,
        )
        axes.set_xlabel(f"{names[0]}\n\n{_below(result, names, alpha)}", **LITERAL)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(names[1], **LITERAL)
    line = imported("matplotlib.lines", "cli", "plotting").Line2D
    handles = [
        line([], [], color=colour, linestyle=style, linewidth=1.8, label=label)
        for colour, style, label in (
            (GREY, "-", "these draws, two sds around their mean"),
            (BLACK, "--", "the posterior, by exact draws"),
        )
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _ellipse(axes: Axes, rows: FloatArray, colour: str, style: str) -> None:
    """The points at `_REACH` standard deviations from the mean."""
    angles = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    factor = np.linalg.cholesky(np.cov(rows.T))
    points = rows.mean(axis=0)[:, None] + _REACH * factor @ circle
    axes.plot(*points, style, color=colour, linewidth=1.8)


def _below(result: GofResult, names: tuple[str, str], alpha: float) -> str:
    """The first thing that is off on these axes, without its interval, on three lines."""
    facts = effect_facts(result, alpha, _MOST_TOLD)
    told = [words for label, words in facts if label in ("Off", "", "Effects")]
    on_axes = [words for words in told if set(_NAMES.findall(words)) <= set(names)]
    words = next(iter([*on_axes, *told]), "no sign of a fault").partition(" (")[0].replace("`", "")
    words = words if on_axes or not told else f"{words}; not on these axes"
    lines = textwrap.wrap(words, _LETTERS)[:3]
    return "\n".join([*lines, *[" "] * (3 - len(lines))])
