"""Figures 1 and 2 and that of the appendix, with Matplotlib (extra ``cli``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from polystein.experiments.engine.cells import Row, number
from polystein.experiments.engine.summary import PUBLISHED_LINE, TEXT_LINE
from polystein.experiments.paper.methods import LABELS, LEVEL, Method
from polystein.report.canvas import BLACK, GREEN, GREY, SKY, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLERS = {
    "gaussian": "Standard Gaussian (null)",
    "perturbed": "Perturbed Gaussian",
    "student_t": "Student-t(5)",
    "laplace": "Laplace",
}
# Nine steps from blue to yellow that stay apart in grey; the last is left out as too pale.
_ORDER_COLOURS = (
    "#0d0887", "#4c02a1", "#7e03a8", "#aa2395", "#cc4778",
    "#e66c5c", "#f89540", "#e0b000", "#b5b500",
)  # fmt: skip
_RIVAL_COLOURS = {
    "ksd_imq": BLACK,
    "ksd_gauss": GREY,
    "fssd_opt": GREEN,
    "rfsd_published": VERMILION,
    "rfsd": SKY,
}

#: What figure 1 leaves to figure 2 and to the tables.
_HIDDEN = ("psd", "lambda_psd_published")
_AXES = {"d": "dimension d", "order": "order Q"}

#: Value and standard error of a summary row, as drawn.
_Point = Callable[[Row], tuple[float, float]]


def figure1(summary: Sequence[Row]) -> Figure:
    """Figure 1: rejection rate against d, lambda-PSD beside the kernel methods.

    Order 0 is left to figure 2: there lambda-PSD is PSD.
    """
    figure = new_figure(13.0, 3.9)
    panels = figure.subplots(1, 4, sharey=True)
    for axes, sampler in zip(panels, SAMPLERS, strict=True):
        rows = [row for row in summary if row["sampler"] == sampler]
        shown = [one for one in _methods(rows) if one.name not in _HIDDEN and one.order != 0]
        for place, method in enumerate(shown):
            _curve(axes, method, _of(rows, method), "d", _rate, 0.05 * (place - len(shown) / 2))
        _finish(axes, "d", LEVEL)
        axes.set_title(_title(sampler, rows, "d"), fontsize=11)
        axes.set_xlabel(_AXES["d"])
    panels[0].set_ylabel("rejection rate")
    note = (
        "dashed, triangles: λ-PSD; solid, squares: kernel methods; dotted: 0.05; "
        "λ-PSD (Q=0), which is PSD (Q=0), is in figure 2"
    )
    _legend(figure, panels, note)
    return figure


def figure2(summary: Sequence[Row]) -> Figure:
    """Figure 2: PSD against lambda-PSD, rejection rate and both MSNRs against d."""
    return _grid(summary, "d")


def appendix_figure(summary: Sequence[Row]) -> Figure:
    """Return the figure of the appendix: the same quantities against the order at d = 16."""
    return _grid(summary, "order")


def _grid(summary: Sequence[Row], x: str) -> Figure:
    """Three rows of quantities, four columns of samplers."""
    quantities: tuple[tuple[str, _Point, float], ...] = (
        ("rejection rate", _rate, LEVEL),
        ("MSNR as published:\nmean of log₁₀ z²", _log_squares, PUBLISHED_LINE),
        ("MSNR as in the text:\nlog₁₀ of the mean of |z|", _log_mean, TEXT_LINE),
    )
    figure = new_figure(13.0, 9.0)
    panels = figure.subplots(3, 4, sharex=True, sharey="row")
    for line, (label, point, level) in zip(panels, quantities, strict=True):
        line[0].set_ylabel(label)
        for axes, sampler in zip(line, SAMPLERS, strict=True):
            rows = [row for row in summary if row["sampler"] == sampler and row["mean_abs_z"]]
            for place, (name, method, points) in enumerate(_curves(rows, x)):
                _curve(axes, method, points, x, point, 0.03 * (place % 2), label=name)
            _finish(axes, x, level)
            axes.set_title(_title(sampler, rows, x), fontsize=10)
    for bottom in panels[-1]:
        bottom.set_xlabel(_AXES[x])
    note = "solid, circles: PSD; dashed, triangles: λ-PSD; dotted: 0.05, and |z| = 1.96"
    _legend(figure, panels.ravel(), note)
    return figure


def _title(sampler: str, rows: Sequence[Row], x: str) -> str:
    """The sampler with n, and with d where it is not the abscissa."""
    dimension = "" if x == "d" else f", d = {rows[0]['d']}"
    return f"{SAMPLERS[sampler]}\nn = {rows[0]['n']}{dimension}"


def _curves(rows: Sequence[Row], x: str) -> Iterable[tuple[str, Method, list[Row]]]:
    """One curve for each method and order, or for each method if the order is the abscissa."""
    if x == "order":
        # Here the colour is free to tell the methods apart.
        for name, colour in (("psd", 0), ("lambda_psd", 2), ("lambda_psd_published", 3)):
            yield LABELS[name], Method(name, colour), [row for row in rows if row["method"] == name]
        return
    for method in _methods(rows):
        if method.name != "lambda_psd_published":
            yield method.label, method, _of(rows, method)


def _methods(rows: Iterable[Row]) -> list[Method]:
    found = (
        Method(str(row["method"]), None if row["order"] is None else int(row["order"]))
        for row in rows
    )
    return list(dict.fromkeys(found))


def _of(rows: Iterable[Row], method: Method) -> list[Row]:
    return [row for row in rows if (row["method"], row["order"]) == (method.name, method.order)]


def _curve(
    axes: Axes,
    method: Method,
    rows: Sequence[Row],
    x: str,
    point: _Point,
    aside: float,
    label: str | None = None,
) -> None:
    """Draw values with their standard errors, a little aside so that none hides another."""
    points = [point(row) for row in rows]
    at = column(rows, x)
    axes.errorbar(
        [value * 2**aside for value in at] if x == "d" else [value + aside for value in at],
        [value for value, _ in points],
        yerr=[error for _, error in points],
        label=label or method.label,
        **_style(method),
    )


def _style(method: Method) -> dict[str, Any]:
    """The paper's: solid squares for kernels, dashed triangles for lambda-PSD, solid circles."""
    common = {"capsize": 2, "markersize": 4.5, "linewidth": 1.3, "elinewidth": 0.8}
    if method.order is None:
        return {**common, "color": _RIVAL_COLOURS[method.name], "marker": "s", "linestyle": "-"}
    weighted = method.name != "psd"
    return {
        **common,
        "color": order_colour(method.order),
        "marker": "^" if weighted else "o",
        "linestyle": "--" if weighted else "-",
    }


def order_colour(order: int) -> str:
    """The colour of an order in every figure."""
    return _ORDER_COLOURS[(2 * order) % len(_ORDER_COLOURS)]


def column(rows: Iterable[Row], name: str) -> list[float]:
    """A field of every row, which must hold numbers."""
    return [number(row, name) for row in rows]


def _error(row: Row, name: str) -> float:
    """A standard error; one replicate has none."""
    return 0.0 if row[name] is None else number(row, name)


def _rate(row: Row) -> tuple[float, float]:
    return number(row, "rejection_rate"), _error(row, "rejection_se")


def _log_squares(row: Row) -> tuple[float, float]:
    return number(row, "mean_log10_z2"), _error(row, "mean_log10_z2_se")


def _log_mean(row: Row) -> tuple[float, float]:
    """log10 of the mean of |z|; its standard error by the derivative of log10."""
    mean, error = number(row, "mean_abs_z"), _error(row, "mean_abs_z_se")
    return math.log10(mean), error / (mean * math.log(10.0))


def _finish(axes: Axes, x: str, level: float) -> None:
    """The level as a dotted line, ticks where the points are."""
    axes.axhline(level, color="black", linestyle=":", linewidth=1.0)
    if x == "d":
        axes.set_xscale("log", base=2)
        axes.set_xticks([2**k for k in range(1, 8)], [str(2**k) for k in range(1, 8)])
    else:
        axes.set_xticks(range(9))
    clean(axes)


def clean(axes: Axes) -> None:
    """Leave out the upper and the right spine, and draw a pale grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)


def _legend(figure: Figure, panels: Iterable[Axes], note: str) -> None:
    """One legend below all panels, in two lines, with the caption's key to line styles."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    # A legend is filled column by column: each of two kinds of methods gets a line of its own.
    kind = next(iter(handles)).split(" ")[0]
    one = [label for label in handles if label.split(" ")[0] == kind]
    other = [label for label in handles if label.split(" ")[0] != kind]
    # The longer line comes first, as the last column would else begin with what is left of it.
    longer, shorter = sorted((one, other), key=len, reverse=True)
    labels = [label for pair in zip_longest(longer, shorter) for label in pair if label]
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=len(longer),
        frameon=False,
        fontsize=9,
        title=note,
        title_fontsize=9,
    )
