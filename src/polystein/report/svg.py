"""Drawings of a page as inline SVG, in shares of the width that there is.

Their colours are those of classes that the page's style sets, for light and for dark screens.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polystein.report.forest import Forest, ForestLine
from polystein.results.tolerance import UNIT_VARIANCE

#: Height of a row, and where its middle is, in pixels.
_HEIGHT, _MIDDLE = 24, 12
_RADIUS = 5
#: What Matplotlib's symmetric logarithm gives the part between -1 and 1, in decades.
_LINEAR_PART = 1.0 / (1.0 - 0.1)
#: Digits that a round number may begin with.
_ROUND = (5.0, 2.0, 1.0)
#: The outermost tick is within this part of half the range: its label needs room, too.
_TICKS_WITHIN = 0.85
#: On a logarithmic axis it is at least this many decades inside.
_ROOM_FOR_LABEL = 0.5


class Drawing(str):
    """HTML or SVG of ours, which a template shows as it is: what came from others is escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        """The text itself."""
        return str(self)


def forest_line(forest: Forest, line: ForestLine) -> Drawing:
    """The interval and the size of one effect, with the tolerance behind them."""
    at = _position(forest)
    kind = "found" if line.row.found else "chance"
    parts = [_zero()]
    if forest.bound is not None and line.row.what in UNIT_VARIANCE:
        low, high = at(-forest.bound), at(forest.bound)
        band = f'<rect class="band" x="{low:.2f}%" y="0" width="{high - low:.2f}%" height="100%"/>'
        parts.insert(0, band)
    parts.append(
        f'<line class="{kind}" x1="{at(line.low):.2f}%" x2="{at(line.high):.2f}%" '
        f'y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
    )
    for end, cut, outwards in zip((line.low, line.high), line.cut, (-1, 1), strict=True):
        if cut:
            back = -7 * outwards
            parts.append(
                f'<svg x="{at(end):.2f}%" y="{_MIDDLE}" class="arrow">'
                f'<path class="{kind}" d="M{back},-5 0,0 {back},5"/></svg>'
            )
    hollow = "" if line.row.reliable else " hollow"
    parts.append(
        f'<circle class="{kind}{hollow}" cx="{at(line.size):.2f}%" cy="{_MIDDLE}" r="{_RADIUS}"/>'
    )
    return _drawing("".join(parts))


def forest_axis(forest: Forest) -> Drawing:
    """The numbers below the rows of a forest plot."""
    at = _position(forest)
    parts = [
        f'<line class="axis" x1="{at(tick):.2f}%" x2="{at(tick):.2f}%" y1="0" y2="5"/>'
        f'<text x="{at(tick):.2f}%" y="19" text-anchor="middle">{_number(tick)}</text>'
        for tick in ticks(forest)
    ]
    return _drawing('<line class="axis" x1="0" x2="100%" y1="0" y2="0"/>' + "".join(parts))


def ticks(forest: Forest) -> list[float]:
    """Round numbers on both sides of 0, which is one of them."""
    if forest.logarithmic:
        furthest = 10.0 ** math.floor(math.log10(forest.limit) - _ROOM_FOR_LABEL)
        return [-furthest, -1.0, 0.0, 1.0, furthest] if furthest > 1.0 else [-1.0, 0.0, 1.0]
    room = _TICKS_WITHIN * forest.reach
    unit = 10.0 ** math.floor(math.log10(room))
    step = next(digit * unit for digit in _ROUND if digit * unit <= room)
    return [-step, 0.0, step]


def share_bar(share: float) -> Drawing:
    """A share in [-1, 1] from the line in the middle; its number stands beside it.

    What speaks against the draws has the colour of what is found.
    """
    if math.isnan(share):
        return Drawing("")
    length = 50.0 * min(1.0, abs(share))
    start, kind = (50.0, "found") if share >= 0.0 else (50.0 - length, "chance")
    return _drawing(
        f'{_zero()}<rect class="{kind}" x="{start:.2f}%" y="6" width="{length:.2f}%" height="12"/>'
    )


def _position(forest: Forest) -> Callable[[float], float]:
    """Where a number is drawn, in per cent of the width."""

    def scaled(value: float) -> float:
        if not forest.logarithmic:
            return value
        if abs(value) <= 1.0:
            return value * _LINEAR_PART
        return math.copysign(_LINEAR_PART + math.log10(abs(value)), value)

    furthest = scaled(forest.reach)
    return lambda value: 50.0 + 50.0 * scaled(value) / furthest


def _zero() -> str:
    return '<line class="axis" x1="50%" x2="50%" y1="0" y2="100%"/>'


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _drawing(content: str) -> Drawing:
    return Drawing(f'<svg class="plot" height="{_HEIGHT}" aria-hidden="true">{content}</svg>')
