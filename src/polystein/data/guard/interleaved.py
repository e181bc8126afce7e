"""Whether walkers or chains take turns in what was passed as one chain.

A flat chain of an ensemble sampler has one row of each walker, then the next row of each. Rows k
apart are then alike, k being the number of walkers, and rows at shorter distances are not. A chain
that remembers anything by itself is alike, or opposite, at shorter distances, too.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from polystein._lib.numerics import EPSILON
from polystein.data.guard.chains import clipped, shape_of
from polystein.data.guard.rows import ScreenedRows
from polystein.data.source import Layout
from polystein.errors import InputError

#: If walkers take turns, rows are alike at one distance: their correlation is at least this, and at
#: least this many standard errors ...
LEAST_ALIKE, CLEARLY_ALIKE = 0.3, 8.0
#: ... while at shorter distances none is larger than this part of it.
UNLIKE = 1.0 / 3.0
#: Most walkers that are looked for, and most coordinates that are looked at.
MOST_WALKERS, MOST_COORDINATES = 256, 8


def refuse_interleaved(layout: Layout, rows: ScreenedRows) -> None:
    """Raise where rows some distance apart are alike and rows at shorter distances are not.

    Of independent rows one correlation is `CLEARLY_ALIKE` standard errors large with probability
    6e-16, and there are at most 8 times 256 of them.
    """
    draws, _, chains, times = rows.in_order()
    follows = (np.diff(chains) == 0) & (np.diff(times) == 1)
    starts = np.concatenate([[0], np.flatnonzero(~follows) + 1])
    sizes = np.diff(starts, append=len(draws))
    most = min(MOST_WALKERS, int(sizes.max()) // 2)
    if most < 2:
        return
    values = clipped(draws[:, :: -(-draws.shape[1] // MOST_COORDINATES)], axis=0)
    values -= values.mean(axis=0)
    # Rows that follow each other make one row of this array, with zeros after them.
    together = np.zeros((values.shape[1], sizes.size, int(sizes.max())))
    part = np.repeat(np.arange(sizes.size), sizes)
    together[:, part, np.arange(len(draws)) - starts[part]] = values.T
    length = next_fast_len(together.shape[2] + most, real=True)
    spectrum = rfft(together, length).view(np.float64)
    power = np.einsum("crf,crf->cf", spectrum, spectrum)  # real and imaginary parts take turns
    sums = irfft(power[:, ::2] + power[:, 1::2], length)[:, : most + 1].T
    pairs = np.maximum(sizes - np.arange(most + 1)[:, None], 0).sum(axis=1)[:, None]
    units = pairs * sums[0] / len(draws)
    correlations = np.divide(sums, units, out=np.zeros_like(sums), where=units > EPSILON)

    nearer = np.maximum.accumulate(np.abs(correlations[1:-1]), axis=0)
    alike = correlations[2:] >= np.maximum(LEAST_ALIKE, CLEARLY_ALIKE / np.sqrt(pairs[2:]))
    found = np.argwhere(alike & (nearer <= UNLIKE * correlations[2:]))
    if len(found):
        walkers, column = int(found[0, 0]) + 2, int(found[0, 1])
        raise interleaved_rows_error(
            layout,
            walkers,
            f"their correlation is {correlations[walkers, column]:.2f}, and that of neighbours "
            f"{correlations[1, column]:.2f}",
        )


def interleaved_rows_error(layout: Layout, walkers: int, alike: str) -> InputError:
    """What to say where every so many rows belong together."""
    chains, draws, dimension = shape_of(layout)
    whole = draws - draws % walkers
    cut = "" if whole == draws else f"[..., :{whole}, :]"
    remedy = f"draws{cut}.reshape(-1, {walkers}, {dimension}).swapaxes(0, 1)"
    if chains > 1:
        remedy = (
            f"draws{cut}.reshape({chains}, -1, {walkers}, {dimension}).swapaxes(1, 2)"
            f".reshape({chains * walkers}, -1, {dimension})"
        )
    return InputError(
        f"`draws` must be chains in time order; rows {walkers} apart are alike ({alike}), as if "
        f"{walkers} walkers or chains took turns in one chain. Autocorrelation is then not seen, "
        f"and draws from the right target are rejected. Pass (chain, draw, d), `{remedy}`; the "
        "scores likewise."
    )
