"""From replicates to rates and mean signal-to-noise ratios, and tables of them in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from polystein.experiments.engine.cells import Row, Scalar
from polystein.types import FloatArray

#: |z| = 1.96 on the axis of the published figures, the mean of log10 z^2.
PUBLISHED_LINE = 2.0 * math.log10(1.96)
#: The same on the axis that the paper's text describes, log10 of the mean of |z|.
TEXT_LINE = math.log10(1.96)


def summarise(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """Rejection rate and both MSNRs of every cell and method.

    ``mean_log10_z2`` is what the published figures show under the name of MSNR, the
    mean of log10(z^2) over replicates; ``mean_abs_z`` is what the paper's text says it
    is, the average absolute z-statistic. Both are empty for a test without a z.
    """
    signal = ("mean_log10_z2", "mean_log10_z2_se", "mean_abs_z", "mean_abs_z_se")
    table: list[Row] = []
    for key, group in grouped(rows, by).items():
        rejected = np.array([row["rejected"] for row in group], dtype=float)
        rate, error = _mean(rejected)
        line: Row = {
            **dict(zip(by, key, strict=True)),
            "replicates": len(group),
            "rejections": int(rejected.sum()),
            "rejection_rate": rate,
            "rejection_se": error,
            **dict.fromkeys(signal),
        }
        if group[0]["z"] is not None:
            sizes = np.abs(np.array([row["z"] for row in group], dtype=float))
            with np.errstate(divide="raise"):
                log_squares = 2.0 * np.log10(sizes)
            line.update(zip(signal, (*_mean(log_squares), *_mean(sizes)), strict=True))
        table.append(line)
    return table


def decisions(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """Every single decision, one character for each replicate: x where it was rejected."""
    return [
        {**dict(zip(by, key, strict=True)), "decisions": marks(group)}
        for key, group in grouped(rows, by).items()
    ]


def marks(rows: Sequence[Row]) -> str:
    """One character for each row: x where it was rejected."""
    return "".join("x" if row["rejected"] else "." for row in rows)


def markdown_table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    r"""A table in Markdown, line by line.

    Examples
    --------
    >>> print("\n".join(markdown_table(["Q", "rate"], [[0, "0.050"]])))
    | Q | rate |
    |---|---|
    | 0 | 0.050 |
    """
    head, *lines = (f"| {' | '.join(map(str, cells))} |" for cells in (heads, *rows))
    return [head, "|" + "---|" * len(heads), *lines]


def grouped(rows: Sequence[Row], by: Sequence[str]) -> dict[tuple[Scalar, ...], list[Row]]:
    """Rows by the values of these fields, in the order in which they first come."""
    groups: dict[tuple[Scalar, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups


def _mean(values: FloatArray) -> tuple[float, float | None]:
    """Mean and its standard error; one value has none."""
    if values.size < 2:
        return float(values.mean()), None
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size))
