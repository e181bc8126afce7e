"""What all plots share: Matplotlib when it is needed, one palette, and labels as they are.

Figures are made without pyplot, so that no global state is touched and none is shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polystein._lib.arguments import integer
from polystein._lib.files import MARK, write_whole
from polystein._lib.imports import imported
from polystein._version import __version__
from polystein.errors import InputError
from polystein.report.text import name_of_test
from polystein.results.effect_rows import size_number
from polystein.results.result import GofResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Text

# The palette of Okabe and Ito, made for colour-blind eyes.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, YELLOW, BLACK, GREY = "#56B4E9", "#D55E00", "#F0E442", "#000000", "#777777"
#: For things side by side, in this order.
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW)
#: What speaks against the draws, and what does not.
AGAINST, NOT_AGAINST = VERMILION, BLUE
#: From the one to the other through white: numbers below and above zero.
DIVERGING = (BLUE, "#FFFFFF", VERMILION)

#: Most rows, parameters or chains that a plot may be asked for: taller pictures than of these
#: cannot be drawn.
MOST_SHOWN = 1000
#: Letters of a name that a label has room for.
MOST_LETTERS = 30
#: Text as it is: Matplotlib would take what stands between two dollar signs for a formula.
LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
#: Pictures of these kinds say what made them.
_WITH_CREATOR = ("png", "svg", "pdf", "ps", "eps")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, or say which extra has Matplotlib."""
    made: Figure = imported("matplotlib.figure", "cli", "plotting").Figure(
        figsize=(width, height), layout="constrained"
    )
    return made


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure in the format that the file's name asks for."""
    path = Path(path)
    kind = path.suffix.removeprefix(".").lower() or "png"
    metadata = {"Creator": f"{MARK} {__version__}"} if kind in _WITH_CREATOR else None
    picture = BytesIO()
    figure.savefig(picture, dpi=150, format=kind, metadata=metadata)
    write_whole(path, picture.getvalue())


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes that were given, or those of a new figure of this size in inches."""
    kind = imported("matplotlib.axes", "cli", "plotting").Axes
    if ax is None:
        return new_figure(width, height).subplots()
    if not isinstance(ax, kind):
        raise InputError(
            f"`ax` must be Matplotlib's Axes, or None for a new figure; got {type(ax).__name__}"
        )
    given: Axes = ax
    return given


def most_shown(most: object, limit: int = MOST_SHOWN) -> int:
    """How many things a plot shows at most, or an error that names the argument."""
    count = integer(most, "most", least=1)
    if count > limit:
        raise InputError(f"`most` must be at most {limit}; got {most!r}")
    return count


def shortened(name: str, letters: int = MOST_LETTERS) -> str:
    """A name of at most this many letters: long ones lose their middle, as indices come last."""
    if len(name) <= letters:
        return name
    return f"{name[: (letters - 1) // 2]}…{name[-(letters // 2) :]}"


def label_rows(axes: Axes, labels: Sequence[str], left_out: int = 0) -> None:
    """Name the rows 0, 1, ... from the top down, and say below them how many are left out."""
    further = [f"and {left_out:,} more"] if left_out else []
    texts = [*labels, *further]
    axes.set_yticks(range(len(texts)), texts, **LITERAL)
    if further:
        last = axes.get_yticklabels()[-1]
        last.set(style="italic", color=GREY)
    axes.set_ylim(len(texts) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def signed(value: float) -> str:
    """A number with its sign, as sentences have it, or with three digits if it is large."""
    if value == 0.0:
        return "+0.00"
    number = size_number(abs(value)) if abs(value) < 100.0 else f"{abs(value):.3g}"
    return f"{'−' if value < 0.0 else '+'}{number}"


def title_with_verdict(axes: Axes, result: GofResult, alpha: float) -> None:
    """Put the verdict and the name of the test above the axes."""
    words = f"{result.verdict_at(alpha).capitalize()} ({name_of_test(result)})"
    axes.set_title(words, fontsize=11, loc="left", **LITERAL)


def note_beside(axes: Axes, row: float, words: str) -> Text:
    """Words to the right of the axes, at the height of a row."""
    return axes.annotate(
        words,
        (1.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(8, 0),
        textcoords="offset points",
        va="center_baseline",
        fontsize=9,
        annotation_clip=False,
        **LITERAL,
    )


def legend_below(axes: Axes, handles: Sequence[Any]) -> Legend:
    """A legend under the axes and a label of two lines, where it covers nothing."""
    legend = axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        # Below the numbers and the label of the axis, in units of the font's size.
        borderaxespad=5.6,
        borderpad=0.0,
        frameon=False,
        fontsize=9,
    )
    for text in legend.get_texts():
        text.set(**LITERAL)
    return legend
