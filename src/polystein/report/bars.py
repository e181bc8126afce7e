"""Plots of one result as bars: what the evidence is, and which weights the features have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scipy.special import ndtri

from polystein.errors import InputError
from polystein.inference.pvalues import tail_probability
from polystein.report.canvas import (
    AGAINST,
    BLACK,
    GREY,
    NOT_AGAINST,
    axes_for,
    label_rows,
    most_shown,
    note_beside,
    shortened,
    title_with_verdict,
)
from polystein.report.effects import effects_to_tell
from polystein.report.forest import plot_effects
from polystein.report.pvalues import p_number
from polystein.results.evidence import Component, Explanation, Part
from polystein.results.result import DEFAULT_LEVEL, GofResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Bars of smaller p-values end here: digits beyond it say nothing about the draws.
_LEAST_DRAWN = 1e-6
#: Letters of a label that names a part and says what it looks at.
_MOST_LETTERS = 50


def plot_evidence(
    result: GofResult,
    /,
    *,
    alpha: float = DEFAULT_LEVEL,
    most: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw what the verdict rests on: the test as a whole, then its parts or features.

    Parameters
    ----------
    result : GofResult
        What any test returned.
    alpha : float
        Level whose critical values are marked.
    most : int
        How many parts or features to draw, those with the most evidence first.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The default is a new figure, ``ax.figure``, which is not shown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    For `check`, bars are p-values on a logarithmic scale, and longer bars are stronger
    evidence. A part has a share of the level, and the black mark in its row is that share: a bar
    beyond its mark is a rejection. For z-tests bars are z-statistics, that of the test and those
    of its features.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> ax = ps.plot_evidence(ps.check(draws, -draws, rng=1))
    >>> ax.get_yticklabels()[0].get_text()
    'all together'
    """
    most = most_shown(most)
    result = _required_result(result)
    rejected = result.rejected(alpha)  # checks the level
    if result.components:
        return _draw_features(result, alpha, rejected, most, ax)
    parts = sorted(result.evidence.parts, key=lambda part: (part.adjusted, part.pvalue))
    rows = [("all together", result.pvalue, 1.0)]
    rows += [(_label(part), part.pvalue, part.level_share) for part in parts[:most]]
    left_out = len(parts) - len(rows) + 1
    axes = axes_for(ax, 7.5, 1.3 + 0.27 * (len(rows) + bool(left_out)))
    label_rows(axes, [label for label, _, _ in rows], left_out)
    for place, (_, pvalue, share) in enumerate(rows):
        colour = AGAINST if pvalue <= alpha * share else NOT_AGAINST
        axes.barh(place, _length(pvalue), height=0.62, color=colour)
        mark = _length(alpha * share)
        axes.plot([mark, mark], [place - 0.45, place + 0.45], color=BLACK, linewidth=1.4)
        note_beside(axes, place, p_number(pvalue))
    longest = math.ceil(max(_length(min(pvalue, alpha * share)) for _, pvalue, share in rows))
    powers = [f"$10^{{-{tick}}}$" for tick in range(1, longest + 1)]
    if longest == _length(0.0):
        powers[-1] += "\nor less"
    axes.set_xticks(range(longest + 1), ["1", *powers])
    axes.set_xlim(0.0, longest)
    axes.set_xlabel(f"p-value (black marks:\nwhat it takes to reject at the level {alpha:g})")
    title_with_verdict(axes, result, alpha)
    return axes


def _length(pvalue: float) -> float:
    """The length of a bar."""
    return -math.log10(max(pvalue, _LEAST_DRAWN))


def _label(one: Part | Component | Explanation) -> str:
    """What a part or feature looks at, and its name where there is room."""
    whole = f"{one.words} ({one.name})"
    return whole if len(whole) <= _MOST_LETTERS else shortened(one.words, _MOST_LETTERS)


def _draw_features(
    result: GofResult, alpha: float, rejected: bool, most: int, ax: Axes | None
) -> Axes:
    """z of the test and of each feature, the largest share in the statistic first."""
    found = result.explain()
    rows = [("all together", result.statistic)]
    rows += [(_label(row), row.z) for row in found[:most]]
    left_out = len(found) - len(rows) + 1
    axes = axes_for(ax, 7.5, 1.3 + 0.27 * (len(rows) + bool(left_out)))
    label_rows(axes, [label for label, _ in rows], left_out)
    for place, (_, z) in enumerate(rows):
        colour = GREY if place else AGAINST if rejected else NOT_AGAINST
        axes.barh(place, z, height=0.62, color=colour)
        note_beside(axes, place, f"{z:.2f}".replace("-", "−"))
    axes.axvline(0.0, color=GREY, linewidth=1.0)
    meaning = "z, of the test and of each feature alone"
    two_sided = result.alternative == "two-sided"
    normal = tail_probability(result.statistic, math.inf, result.alternative)
    if math.isclose(normal, result.pvalue, rel_tol=1e-6, abs_tol=1e-12):
        # Neither Student's t nor several splits: z has one critical value
        critical = float(-ndtri(alpha / 2.0 if two_sided else alpha))
        for value in (-critical, critical) if two_sided else (critical,):
            axes.axvline(value, color=BLACK, linestyle="--", linewidth=1.0)
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, -1.1 * critical if two_sided else 0.0), max(high, 1.1 * critical))
        meaning += f" (dashed: level {alpha:g})"
    axes.set_xlabel(meaning)
    title_with_verdict(axes, result, alpha)
    return axes


def plot_weights(result: GofResult, /, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the weight, lambda, of each feature of a lambda-PSD test, the largest first.

    Parameters
    ----------
    result : GofResult
        What `lambda_psd_test` returned.
    most : int
        How many features to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The default is a new figure, ``ax.figure``, which is not shown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    The weights have unit norm. Those of a finer resolution are norms over the coordinates,
    and so not negative.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.3, 1.0, size=(1000, 2))
    >>> result = ps.lambda_psd_test(draws, -draws, order=2, weights=ps.ClosedForm(), rng=1)
    >>> ax = ps.plot_weights(result)
    >>> ax.get_yticklabels()[0].get_text()
    'location (score)'
    """
    most = most_shown(most)
    weights = _required_result(result).weights
    if not weights:
        raise InputError(
            "`result` must be that of a test with weights, `lambda_psd_test`; got one of "
            f"{result.method!r}, which has none. `plot_evidence` draws any result."
        )
    labels = {one.name: _label(one) for one in result.components}
    ranked = sorted(weights.items(), key=lambda item: -abs(item[1]))
    rows = ranked[:most]
    left_out = len(ranked) - len(rows)
    axes = axes_for(ax, 7.5, 1.3 + 0.27 * (len(rows) + bool(left_out)))
    label_rows(axes, [labels.get(name, shortened(name)) for name, _ in rows], left_out)
    for place, (_, weight) in enumerate(rows):
        axes.barh(place, weight, height=0.62, color=AGAINST if weight < 0.0 else NOT_AGAINST)
        note_beside(axes, place, f"{round(weight, 3) + 0.0:.3f}".replace("-", "−"))
    axes.axvline(0.0, color=GREY, linewidth=1.0)
    low, high = (bound([0.0, *(weight for _, weight in rows)]) for bound in (min, max))
    margin = 0.05 * max(high - low, 1e-300)
    axes.set_xlim(low - margin if low < 0.0 else 0.0, high + margin if high > 0.0 else margin)
    axes.set_xlabel("weight λ of the feature, trained on rows of its own")
    title_with_verdict(axes, result, DEFAULT_LEVEL)
    return axes


def fitting_plot(result: GofResult, ax: Axes | None) -> Axes:
    """Draw weights where there are any, effects of what is rejected, and else the evidence."""
    if result.weights:
        return plot_weights(result, ax=ax)
    table, _ = effects_to_tell(result, DEFAULT_LEVEL)
    if table is not None and table.judged and result.rejected():
        return plot_effects(result, ax=ax)
    return plot_evidence(result, ax=ax)


def _required_result(result: object) -> GofResult:
    if not isinstance(result, GofResult):
        raise InputError(
            f"`result` must be a GofResult, what a test returned; got {type(result).__name__}"
        )
    return result
