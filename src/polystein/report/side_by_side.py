"""Several results side by side, drawn with Matplotlib (extra ``cli``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scipy.special import ndtri

from polystein.errors import InputError
from polystein.report.canvas import AGAINST, COLOURS, NOT_AGAINST, new_figure
from polystein.report.text import p_words
from polystein.results.result import DEFAULT_LEVEL, GofResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Hatches tell orders apart in grey.
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
_WORDS = {
    "rejected": "evidence against it",
    "not rejected": "no evidence against it",
    "inconclusive": "inconclusive",
}


def plot_results(results: Mapping[str, GofResult], alpha: float = DEFAULT_LEVEL) -> Figure:
    """Draw the z-statistics of several tests, and which features made them up.

    Parameters
    ----------
    results : mapping
        Name of the sampler to the result of a z-test; drawn from top to bottom.
    alpha : float
        Level whose critical value is marked.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot, so that no global state is touched.
    """
    if not results or not all(result.explain() for result in results.values()):
        raise InputError(
            "`results` must be z-tests, at least one of them; got "
            f"{[result.method for result in results.values()]}"
        )
    figure = new_figure(11.0, 1.9 + 0.62 * len(results))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.45, 1.0))
    _draw_statistics(left, results, alpha)
    _draw_shares(right, results, alpha)
    left.set_yticks(range(len(results)), list(results))
    left.invert_yaxis()
    return figure


def _draw_statistics(axes: Axes, results: Mapping[str, GofResult], alpha: float) -> None:
    """|z| of every result (z where only large values count), with the critical value."""
    sizes = [_size(result) for result in results.values()]
    two_sided = {result.alternative == "two-sided" for result in results.values()}
    critical = sorted(float(-ndtri(alpha / 2.0 if both else alpha)) for both in two_sided)
    for value in critical:
        axes.axvline(value, color="black", linestyle="--", linewidth=1.0)
    for row, (result, size) in enumerate(zip(results.values(), sizes, strict=True)):
        against = result.rejected(alpha)
        axes.barh(row, size, height=0.6, color=AGAINST if against else NOT_AGAINST)
        words = _WORDS[result.verdict_at(alpha)]
        axes.annotate(
            f"{words}, {p_words(result.pvalue)}",
            # No label crosses the dashed line.
            (max(size, critical[-1]), row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    # Labels are drawn to the right of the bars and need more than half of the panel.
    axes.set_xlim(min(0.0, *sizes), 2.4 * max(*sizes, 1.5 * critical[-1]))
    values = ", ".join(f"{value:.2f}" for value in critical)
    axes.set_xlabel(
        f"{'|z|' if True in two_sided else 'z'} (dashed: {values}, critical at the level {alpha:g})"
    )
    axes.set_title("Do the draws come from the target?", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def _size(result: GofResult) -> float:
    return result.statistic if result.alternative == "greater" else abs(result.statistic)


def _draw_shares(axes: Axes, results: Mapping[str, GofResult], alpha: float) -> None:
    """Each feature's share in the statistic; results that are not rejected show none."""
    found = {name: result for name, result in results.items() if result.rejected(alpha)}
    names = _feature_order(found or results)
    starts = [0.0] * len(results)
    for index, name in enumerate(names):
        sizes = [
            _share(result, name) if result.rejected(alpha) else 0.0 for result in results.values()
        ]
        axes.barh(
            range(len(results)),
            sizes,
            left=starts,
            height=0.6,
            color=COLOURS[index % len(COLOURS)],
            # Beyond as many features as colours, a colour comes again with another hatch.
            hatch=_HATCHES[(index + index // len(COLOURS)) % len(_HATCHES)],
            edgecolor="white",
            label=name,
        )
        starts = [start + size for start, size in zip(starts, sizes, strict=True)]
    for row, result in enumerate(results.values()):
        if not result.rejected(alpha):
            axes.text(0.02, row, "nothing seen", va="center", fontsize=9)
    axes.set_xlim(0.0, 1.0)
    shared = {"evidence" if result.evidence.arms else "statistic" for result in results.values()}
    axes.set_xlabel(f"share of the {' or '.join(sorted(shared))}, in absolute value")
    axes.set_title("Which feature saw it?", fontsize=11)
    axes.tick_params(axis="y", left=False)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)


def _feature_order(results: Mapping[str, GofResult]) -> list[str]:
    """Labels of all features in the order of the test, that of the score first."""
    names: dict[str, None] = {}
    for result in results.values():
        names |= dict.fromkeys(_label(one.name, one.words) for one in result.components)
        names |= dict.fromkeys(part.words for part in result.evidence.parts)
    return sorted(names, key=lambda label: "location" not in label)


def _label(name: str, words: str) -> str:
    """A feature's name and what it looks at; parts, of which there are many, have only words."""
    return f"{name}: {words}"


def _share(result: GofResult, label: str) -> float:
    return sum(
        abs(row.share)
        for row in result.explain()
        if label == (row.words if row.weight is None else _label(row.name, row.words))
    )
