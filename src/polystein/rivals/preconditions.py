"""Checks of rows that rivals for independent rows share, and the median heuristic."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from polystein._lib.notes import Notes
from polystein.data.guard.rows import forbid_duplicates
from polystein.data.passes import visit_blocks
from polystein.data.source import Block, Rows, Source
from polystein.errors import DependenceWarning, InputError
from polystein.rivals.kernels import MEDIAN_ROWS, median_distance
from polystein.types import FloatArray


def require_unweighted(source: Source, method: str) -> None:
    """Raise an error if there are importance weights, which the method cannot use."""
    if source.weighted:
        raise InputError(
            f"`log_weights` must be None for `{method}`, which is for unweighted draws; got "
            f"weights for {source.layout.total} draws"
        )


def note_dependence(source: Source, notes: Notes, method: str) -> None:
    """Warn if the rows are chains, which the method takes for independent rows."""
    if source.layout.time_ordered:
        notes.add(
            DependenceWarning(
                f"`draws` are {len(source.layout.lengths)} time-ordered chains, but `{method}` "
                "holds for independent rows only: on autocorrelated draws from the right target "
                "it rejects too often. Use `ksd_test` or `psd_l2_test`, whose bootstrap keeps "
                "the dependence, or `check`."
            )
        )


def require_rows(source: Source) -> None:
    """Raise an error if there is only one row: distances and variances need two."""
    if source.layout.total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {source.layout.total}")


def forbid_repeats(source: Source) -> None:
    """Raise an error if independent rows repeat; those of a chain may."""
    if not source.layout.time_ordered:
        forbid_duplicates(source)


def median_of_rows(source: Source, rows: Iterable[Rows], count: int) -> float:
    """The median heuristic over at most `MEDIAN_ROWS` evenly spaced rows out of `count`."""
    stride = -(-count // MEDIAN_ROWS)
    kept: list[FloatArray] = []
    offset = 0

    def visit(block: Block) -> None:
        nonlocal offset
        kept.append(block.draws[-offset % stride :: stride].copy())
        offset += block.rows

    visit_blocks(source, rows, visit)
    return median_distance(np.concatenate(kept))
