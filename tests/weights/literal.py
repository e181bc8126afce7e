"""u with finer weights, written out from the literal transcription of Section 4.4."""

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from tests.conftest import Array, RecordingSplit
from tests.reference import resolution as literal


def standardised(sample: ps.Sample, rows: NDArray[np.intp], w: Array) -> tuple[Array, Array]:
    """By the weighted mean and standard deviation of the training rows."""
    shares = w[rows] / w[rows].sum()
    mean = shares @ sample.draws[rows]
    spread = np.sqrt(shares @ (sample.draws[rows] - mean) ** 2)
    return (sample.draws - mean) / spread, sample.scores * spread


def literal_u(
    sample: ps.Sample,
    split: RecordingSplit,
    basis: str,
    order: int,
    structure: str,
    resolution: str,
    solve: literal.Solve,
    w: Array,
) -> tuple[Array, list[float]]:
    """u for every row, and the norm of the weights of each order."""
    draws, scores = standardised(sample, split.train, w)
    one, two = split.rows["witness"], split.rows["weights"]
    maximiser = literal.maximiser(
        draws[one], scores[one], basis, order, structure, w[one] / w[one].sum()
    )
    build = literal.entry_table if resolution == "entry" else literal.coordinate_table
    table = build(draws, scores, basis, structure, *maximiser)
    share, d = w[two] / w[two].sum(), draws.shape[1]
    if resolution == "hierarchical":
        alpha, beta, _ = literal.hierarchical(table[two], d, solve, share)
        return table @ np.outer(alpha, beta).ravel(), [abs(float(a)) for a in alpha]
    weights = solve(table[two], share)
    width = d**2 if resolution == "entry" and structure == "full" else d
    starts = [i * width for i in range(order + 1)]
    stops = [*starts[1:], len(weights)]
    norms = [float(np.linalg.norm(weights[a:b])) for a, b in zip(starts, stops, strict=True)]
    return table @ weights, norms
