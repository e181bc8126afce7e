"""What the rivals ask of rows, and sums over rows that several of them take."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from polystein._lib.notes import Notes
from polystein.data.guard.repeats import forbid_duplicates
from polystein.data.guard.rows import require_shared_weight
from polystein.data.passes import every_row, visit_blocks
from polystein.data.source import Block, Rows, Source
from polystein.errors import DependenceWarning, InputError
from polystein.inference.multipliers import multipliers
from polystein.methods.wild_bootstrap import drawn_multipliers
from polystein.scale.threads import working
from polystein.stein.kernel import MEDIAN_ROWS, median_distance
from polystein.types import FloatArray, Progress


def require_rows(source: Source) -> None:
    """Raise an error if there is only one row: distances and variances need two."""
    if source.layout.total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {source.layout.total}")


def forbid_repeats(source: Source) -> None:
    """Raise an error if independent rows repeat; those of a chain may."""
    if not source.layout.time_ordered:
        forbid_duplicates(source)


def require_unweighted_rows(source: Source, method: str) -> Notes:
    """Raise an error for one row or for importance weights; the notes warn of chains.

    For a method that takes its rows for independent and unweighted.
    """
    require_rows(source)
    if source.weighted:
        raise InputError(
            f"`log_weights` must be None for `{method}`, which is for unweighted draws; got "
            f"weights for {source.layout.total} draws"
        )
    notes = Notes(source.facts.warnings)
    if source.layout.time_ordered:
        notes.add(
            DependenceWarning(
                f"`draws` are {len(source.layout.lengths)} time-ordered chains, but `{method}` "
                "holds for independent rows only: on autocorrelated draws from the right target "
                "it rejects too often. Use `ksd_test` or `psd_l2_test`, whose bootstrap keeps "
                "the dependence, or `check`."
            )
        )
    return notes


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


def wild_means(
    source: Source,
    features: Callable[[FloatArray, FloatArray], FloatArray],
    columns: int,
    replicates: int,
    seed: int,
    length: float | None,
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Means of features over all rows, and those of their products with random multipliers.

    sum_j w_j W_j f(x_j), of shape (1 + replicates, columns): W = 1 in the first line, then each
    vector of multipliers. The weights w sum to 1.

    Parameters
    ----------
    source : Source
        All of its rows are taken.
    features : callable
        From draws and scores, (rows, d) each, to f, (rows, columns).
    columns, replicates : int
        Numbers of features and of vectors of multipliers.
    seed, length
        As for `multipliers`.
    most : int, optional
        The most rows of a block, for features that take much memory.
    progress : callable, optional
        Called as ``progress(done, total)`` after every block.
    """
    require_shared_weight(source)
    stream = multipliers(replicates, seed, length)
    sums, weight = np.zeros((1 + replicates, columns)), 0.0

    def visit(block: Block) -> None:
        nonlocal weight
        factors = np.ones((1 + replicates, block.rows))
        factors[1:] = drawn_multipliers(stream, block)
        if block.weights is not None:
            factors *= block.weights
        weight += float(factors[0].sum())
        sums[:] += factors @ features(block.draws, block.scores)

    with working(source, None, progress):
        visit_blocks(source, every_row(source), visit, most=most)
    with np.errstate(over="ignore", invalid="ignore"):  # reported with the statistic
        means: FloatArray = sums / weight
    return means
