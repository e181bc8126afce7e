"""What a linear function of draws leaves of scores, by least squares on the rows themselves."""

import numpy as np

from tests.rows import Array


def left_by_halves(draws: Array, scores: Array) -> Array:
    """Squares that are left of each coordinate of the scores, summed over the rows.

    Draws and scores are of shape (chain, piece, row, coordinate), with an even number of pieces.
    The function is fitted to one half of every chain, and judged by the other half.
    """
    half = draws.shape[1] // 2
    halves = [slice(0, half), slice(half, None)]
    left, nothing = np.zeros(scores.shape[-1]), np.zeros(scores.shape[-1])
    for fitted, judged in (halves, halves[::-1]):
        x, s = (part[:, fitted].reshape(-1, part.shape[-1]) for part in (draws, scores))
        slopes, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), s)
        x, s = (part[:, judged].reshape(-1, part.shape[-1]) for part in (draws, scores))
        residuals = s - np.column_stack([np.ones(len(x)), x]) @ slopes
        left += np.sum(residuals**2, axis=0)
        nothing += np.sum(s**2, axis=0)
    return np.minimum(left, nothing)
