"""What the rivals ask of rows and settings, those for independent rows above all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.data.passes import read_blocks
from polystein.data.sample import Sample
from polystein.data.screen import forbid_duplicates
from polystein.errors import DependenceWarning, InputError
from polystein.protocols import FloatArray, Rows
from polystein.results.result import GofResult, Notes
from polystein.rivals.kernels import MEDIAN_ROWS, median_distance


def require_unweighted(sample: Sample, method: str) -> None:
    """Raise where there are importance weights, of which the method knows nothing."""
    if sample.log_weights is not None:
        raise InputError(
            f"`log_weights` must be None for `{method}`, which is for unweighted draws; got "
            f"weights for {sample.layout.total} draws"
        )


def note_dependence(sample: Sample, notes: Notes, method: str) -> None:
    """Warn where rows are chains, which the method takes for independent rows."""
    if sample.layout.time_ordered:
        notes.add(
            DependenceWarning(
                f"`draws` are {len(sample.layout.lengths)} time-ordered chains, but `{method}` "
                "holds for independent rows only: on autocorrelated draws from the right target "
                "it rejects too often. Use `ksd_test` or `psd_l2_test`, whose bootstrap keeps "
                "the dependence, or `check`."
            )
        )


def require_rows(sample: Sample) -> None:
    """A distance and a variance take two rows."""
    if sample.layout.total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {sample.layout.total}")


def forbid_repeats(sample: Sample) -> None:
    """Raise where rows that are said to be independent repeat; a chain's may."""
    if not sample.layout.time_ordered:
        forbid_duplicates(sample)


def median_of_rows(sample: Sample, rows: Iterable[Rows], count: int) -> float:
    """The median heuristic over at most `MEDIAN_ROWS` evenly spaced ones of `count` rows."""
    stride = -(-count // MEDIAN_ROWS)
    kept: list[FloatArray] = []
    offset = 0
    for block in read_blocks(sample, rows):
        kept.append(to_numpy(block.draws)[-offset % stride :: stride])
        offset += block.rows
    return median_distance(np.concatenate(kept))


def with_warnings(result: GofResult, notes: Notes) -> GofResult:
    """The result with the messages of the warnings."""
    return replace(result, warnings=(*result.warnings, *notes.messages))
