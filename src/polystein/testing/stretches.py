"""Which rows are judged together: stretches of chains, far enough apart to be independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from polystein.errors import InputError
from polystein.inference.autocorrelation import autocorrelation_times
from polystein.testing.draws_from import FEW_DRAWS, FEWEST_SKEWED, fewest_seeds
from polystein.types import FloatArray

#: Means of no more stretches than this are compared.
_MOST = 200
#: A stretch has this many autocorrelation times, after a gap of so many that no stretch has.
_LENGTH, _GAP = 10.0, 2.0
#: Of independent rows no coordinate has ranks, nor ranks of the distance from the middle, with an
#: autocorrelation of so many standard errors: that happens once in 10⁸ tests of one column.
_CLEARLY = 6.0


class Starts(NamedTuple):
    """Rows to move: chain by chain, and which rows give the frame and are not judged.

    ``independent`` is None for chains that are cut into stretches.
    """

    rows: FloatArray
    chains: int
    tuning: NDArray[np.bool_]
    independent: str | None

    def judged(self, columns: FloatArray) -> list[FloatArray]:
        """Columns of the rows that are judged, chain by chain."""
        return np.split(columns, self.chains)


def starts_of(given: FloatArray, iid: bool) -> Starts:
    """Rows (n, d) or (chain, draw, d), one after another. A fourth of each gives the frame."""
    if given.ndim not in (2, 3):
        raise InputError(
            "`draws` must be an array (n, d) or (chain, draw, d); got the shape "
            f"{given.shape}. Draws of one parameter are `draws[:, None]`"
        )
    rows = given.reshape(-1, given.shape[-1])
    # A row or a chain may be as skewed as the target.
    least = FEWEST_SKEWED * 4 // 3 + 1
    if iid and len(rows) < least:
        raise InputError(f"`draws` must have at least {least} rows; got the shape {given.shape}")
    places = np.arange(len(rows))
    if iid:
        return Starts(rows, 1, places < len(rows) // 4, "rows")
    chains = len(given) if given.ndim == 3 else 1
    length = len(rows) // chains
    if chains >= least:
        return Starts(rows, chains - chains // 4, places // length < chains // 4, "chains")
    return Starts(rows, chains, places % length < length // 4, None)


def stretches_of(starts: Starts, columns: FloatArray, rows: FloatArray) -> NDArray[np.intp]:
    """The number of the stretch of each row that is judged; -1 for rows of no stretch.

    ``columns`` are all whose means are judged, and others that may remember longer; ``rows`` are
    those before the transition.
    """
    places = np.arange(len(columns))
    if starts.independent == "chains":
        return places // (len(places) // starts.chains)
    if starts.independent == "rows":
        _require_independence(rows)
        return places * min(_MOST, len(places)) // len(places)
    time = float(autocorrelation_times(starts.judged(columns)).max())
    length = len(places) // starts.chains
    gap, least = int(np.ceil(_GAP * time)), fewest_seeds(FEW_DRAWS)
    count = min(length // (gap + int(np.ceil(_LENGTH * time))), max(_MOST // starts.chains, 1))
    if count * starts.chains < least:
        needed = int(np.ceil((_LENGTH + _GAP) * time * least * 4 / 3))
        raise InputError(
            f"`draws` must be about {needed:,} rows, as their autocorrelation time is about "
            f"{time:.3g}; got {len(starts.rows):,}. Give more of them or thinned ones, "
            f"(chain, draw, d) of at least {FEWEST_SKEWED * 4 // 3 + 1} independent chains, or "
            "exact independent ones with `iid=True`"
        )
    place = places % length
    number = place * count // length
    # The first row of a stretch is the first place with its number.
    within = place - -(-number * length // count)
    number += places // length * count
    number[within < gap] = -1
    return number


def _require_independence(rows: FloatArray) -> None:
    """An error if neighbouring rows are clearly correlated."""
    # Of ranks, as two wild rows may be neighbours by chance.
    ranks = rankdata(rows, axis=0)
    centred = np.hstack([ranks, np.abs(ranks - ranks.mean(axis=0))])
    centred -= centred.mean(axis=0)
    squares = np.einsum("ij,ij->j", centred, centred)
    products = np.abs(np.einsum("ij,ij->j", centred[1:], centred[:-1]))
    correlations = products / np.where(squares > 0.0, squares, 1.0)
    if (largest := float(correlations.max())) * np.sqrt(len(rows)) > _CLEARLY:
        raise InputError(
            f"`draws` must be independent rows with `iid=True`; neighbouring ones have a "
            f"correlation of {largest:.2g}. Leave `iid` out for draws of a chain, in time order"
        )
