"""Pictures as tests see them: drawn once, then asked for what is in them."""

import math
from itertools import pairwise
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg

from polystein.results.effect_rows import EffectRow
from polystein.results.effects import EffectTable
from tests.rows import Array


def names_of(dimension: int) -> list[str]:
    """Names that Matplotlib would take for formulas, and ordinary ones."""
    return [f"a_$b${place}" if place % 2 else f"tau_log__[{place}]" for place in range(dimension)]


def effect(name: str, what: str, size: float, **changes: Any) -> EffectRow:
    """A row with an interval of 0.1 to both sides."""
    values = {
        "lower": size - 0.1,
        "upper": size + 0.1,
        "pvalue": 0.001,
        "found": True,
        "reliability": 0.999,
        "sentence": f"the {what} of {name} is off",
        "estimate": size,
        "error": 0.05,
        "df": math.inf,
    }
    return EffectRow(name, what, size, **{**values, **changes})


def effects_of(dimension: int) -> EffectTable:
    """Mean and sd of every parameter, the first of them found and the second of them unreliable."""
    names = names_of(dimension)
    rows = [effect(names[0], "mean", 0.3), effect(names[0], "sd", 1.4, reliability=0.5)]
    for name in names[1:]:
        rows.append(effect(name, "mean", 0.05, found=False))
        rows.append(effect(name, "sd", 0.98, found=False))
    return EffectTable(tuple(rows), 4 * dimension)


def labels(axes: Any, which: str = "y") -> list[str]:
    """The texts of the ticks of an axis."""
    ticks = axes.get_yticklabels() if which == "y" else axes.get_xticklabels()
    return [text.get_text() for text in ticks]


def notes(axes: Any) -> list[str]:
    """The texts beside the rows."""
    return [text.get_text() for text in axes.texts]


def legend(axes: Any) -> list[str]:
    """The texts of the legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


def _shown_ticks(axis: Any) -> list[Any]:
    low, high = sorted(axis.get_view_interval())
    ticks = axis.get_major_ticks()
    return [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]


def assert_legible(axes: Any) -> None:
    """Lay the figure out: no text is cut off, and no names of rows or columns overlap."""
    figure, canvas = axes.figure, FigureCanvasAgg(axes.figure)
    figure.draw_without_rendering()
    renderer = canvas.get_renderer()
    texts = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
    # Ticks beyond the limits of an axis are not drawn.
    ticks = {name: _shown_ticks(getattr(axes, f"{name}axis")) for name in "xy"}
    texts += [*ticks["x"], *ticks["y"]]
    texts += [] if axes.get_legend() is None else axes.get_legend().get_texts()
    for text in texts:
        box = text.get_window_extent(renderer)
        if text.get_text() and box.width:
            assert box.x0 >= -1.0, text
            assert box.y0 >= -1.0, text
            assert box.x1 <= figure.bbox.x1 + 1.0, text
            assert box.y1 <= figure.bbox.y1 + 1.0, text
    for place, names in ticks.items():
        boxes = [text.get_window_extent(renderer) for text in names if text.get_text()]
        spans = sorted((getattr(box, f"{place}0"), getattr(box, f"{place}1")) for box in boxes)
        assert all(one[1] <= other[0] + 1.0 for one, other in pairwise(spans)), place


def shifted(dimension: int, rng: Any) -> Array:
    """Four chains of right draws but for the second coordinate, whose sd is 1.5 times too large."""
    draws: Array = rng.standard_normal((4, 250, dimension))
    draws[..., 1] *= 1.5
    return draws
