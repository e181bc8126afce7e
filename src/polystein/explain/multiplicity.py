"""P-values that allow for everything that was looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polystein.types import FloatArray


def weighted_holm(pvalues: Sequence[float], weights: Sequence[float]) -> FloatArray:
    """Holm's adjusted p-values with weights that sum to at most 1.

    Sort by p/w. The k-th adjusted p-value is the largest, over the first k, of p/w times the
    weights not used up before. Weight that no p-value has belongs to looks that were left out:
    their p-values count as 1, so that it does not matter how they were chosen.
    """
    p, w = np.asarray(pvalues, dtype=float), np.asarray(weights, dtype=float)
    order = np.argsort(p / w, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(w[order])[:-1]])
    steps = (p / w)[order] * np.maximum(1.0 - before, w[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
