"""Are the draws good enough? Intervals of refined means and sds beside a tolerance, and why."""

from __future__ import annotations

import numpy as np

from polystein._lib.notes import first_of
from polystein.refinement.settled import MOST_LOST, MOST_UNMOVED, Settled
from polystein.results.effect_rows import LEVEL, EffectRow
from polystein.results.effects import EffectTable
from polystein.results.tolerance import checked_bound, quantile
from polystein.types import ToleranceVerdict

#: What every "within" rests on, and what it cannot rest on.
CAVEAT = "as far as the draws, the pilots and their jumps have been"


def checked(tolerance: object) -> float | None:
    """Return a tolerance between 0 and 1, or None."""
    return None if tolerance is None else checked_bound(tolerance)


def judged_tolerance(
    table: EffectTable,
    tolerance: float | None,
    state: Settled,
    names: tuple[str, ...],
    more: str,
) -> tuple[ToleranceVerdict | None, str]:
    """The verdict on the tolerance, with what it rests on; None if none was given.

    Intervals are simultaneous (Bonferroni), as those of `EffectTable.within`. ``more`` says what
    would make them narrower.
    """
    if tolerance is None:
        return None, ""
    if not state.all:
        return "undecided", f"the runs have not settled: {unsettled_words(state, names)}"
    found = table.within(tolerance)
    open_rows = [row for row in table.rows if not _is_inside(row, tolerance, len(table.rows))]
    if found.verdict == "within":
        return "within", f"all {len(table.rows)} means and sds, {CAVEAT}"
    if found.verdict == "beyond" and found.row is not None:
        return "beyond", found.row.sentence
    named = [f"the {row.what} of `{row.name}`" for row in open_rows]
    inside = len(table.rows) - len(open_rows)
    return (
        "undecided",
        f"{inside} of {len(table.rows)} within; open: {first_of(named, 3)}. It takes more {more}",
    )


def unsettled_words(state: Settled, names: tuple[str, ...]) -> str:
    """What has not settled, and how many coordinates have."""
    moving = state.moving
    if moving.any():
        slowest = int(np.argmax(state.worst))
        return (
            f"{int((~moving).sum())} of {len(names)} coordinates have; `{names[slowest]}` moves "
            f"most (between middle and end, rank correlation {state.correlations[slowest]:.2f}, "
            f"correlation of values or squares {state.kept[slowest]:.2f}, "
            f"mean or log sd changed by {state.drifts[slowest]:.2f})"
        )
    if state.held_up:
        return (
            f"steps from the edge of `{names[state.edges.place]}` are hardly ever accepted: what "
            "lies beyond it may be missed"
        )
    if state.still:
        return f"{state.rows} starts are too few to tell"
    if state.lost >= MOST_LOST:
        return f"{100.0 * state.lost:.1f} % of the trajectories lose more than 100 in energy"
    return f"{100.0 * state.unmoved:.1f} % of the draws never moved, at most {MOST_UNMOVED:.0%} may"


def _is_inside(row: EffectRow, tolerance: float, rows: int) -> bool:
    """Whether the simultaneous interval of a mean or an sd lies inside the tolerance."""
    low, high = (-tolerance, tolerance)
    if row.what == "sd":
        low, high = float(np.log1p(-tolerance)), float(np.log1p(tolerance))
    reach = quantile(LEVEL / rows, row.df) * row.error
    return low <= row.estimate - reach and row.estimate + reach <= high
