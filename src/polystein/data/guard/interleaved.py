"""Whether walkers or chains take turns in what was passed as one chain.

A flat chain of an ensemble sampler has one row of each walker, then the next row of each. Rows k
apart are then alike, k being the number of walkers, and rows at shorter distances are not. An
autocorrelated chain is alike, or opposite, at shorter distances, too.

This is no proof. The cold chain of replica exchange takes turns with a hot one where swaps are
nearly always accepted, and is what it should be. A swap that is refused shifts the turns, which
shows at longer distances; where hardly any is refused, nothing tells the two apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from polystein._lib.numerics import EPSILON
from polystein.data.guard.chains import clipped, shape_of
from polystein.data.guard.rows import ScreenedRows
from polystein.data.source import Layout
from polystein.errors import DependenceWarning, InputError
from polystein.types import FloatArray

#: If walkers take turns, rows are alike at one distance: their correlation is at least this, and at
#: least this many standard errors ...
LEAST_ALIKE, CLEARLY_ALIKE = 0.3, 8.0
#: ... while at shorter distances none is larger than this part of it.
UNLIKE = 1.0 / 3.0
#: This has to hold after this many further multiples of the distance, too. There correlations of
#: less than this many standard errors do not count, as those of quick walkers are small by then.
FURTHER_TURNS, BY_CHANCE = 2, 5.0
#: Most walkers that are looked for, and most coordinates that are looked at.
MOST_WALKERS, MOST_COORDINATES = 256, 8


def interleaved_warning(layout: Layout, rows: ScreenedRows) -> DependenceWarning | None:
    """What to say where rows some distance apart are alike and rows in between are not.

    Of independent rows one correlation is `CLEARLY_ALIKE` standard errors large with probability
    6e-16, and there are at most 8 times 256 of them.
    """
    draws, _, chains, times = rows.in_order()
    follows = (np.diff(chains) == 0) & (np.diff(times) == 1)
    starts = np.concatenate([[0], np.flatnonzero(~follows) + 1])
    sizes = np.diff(starts, append=len(draws))
    most = min(MOST_WALKERS, int(sizes.max()) // 2)
    if most < 2:
        return None
    values = clipped(draws[:, :: -(-draws.shape[1] // MOST_COORDINATES)], axis=0)
    values -= values.mean(axis=0)
    # Rows that follow each other make one row of this array, with zeros after them.
    together = np.zeros((values.shape[1], sizes.size, int(sizes.max())))
    part = np.repeat(np.arange(sizes.size), sizes)
    together[:, part, np.arange(len(draws)) - starts[part]] = values.T
    lags = (1 + FURTHER_TURNS) * most
    length = next_fast_len(together.shape[2] + lags, real=True)
    spectrum = rfft(together, length).view(np.float64)
    power = np.einsum("crf,crf->cf", spectrum, spectrum)  # real and imaginary parts take turns
    sums = irfft(power[:, ::2] + power[:, 1::2], length)[:, : lags + 1].T
    pairs = np.maximum(sizes - np.arange(lags + 1)[:, None], 0).sum(axis=1)[:, None]
    units = pairs * sums[0] / len(draws)
    correlations = np.divide(sums, units, out=np.zeros_like(sums), where=units > EPSILON)

    nearer = np.maximum.accumulate(np.abs(correlations[1:most]), axis=0)
    alike = np.maximum(LEAST_ALIKE, CLEARLY_ALIKE / np.sqrt(pairs[2 : most + 1]))
    at_most = UNLIKE * correlations[2 : most + 1]
    found = np.argwhere((correlations[2 : most + 1] >= alike) & (nearer <= at_most))
    for walkers, column in zip(found[:, 0] + 2, found[:, 1], strict=True):
        if _keep_turns(correlations[:, column], pairs[:, 0], walkers):
            return DependenceWarning(
                f"rows of `draws` that are {walkers} apart are alike (their correlation is "
                f"{correlations[walkers, column]:.2f}, and that of neighbours "
                f"{correlations[1, column]:.2f}), as if {walkers} walkers or chains took turns in "
                "one chain. If they do, autocorrelation goes unseen, and draws from the right "
                "target may be rejected: pass (chain, draw, d), "
                f"`{_chains_of(layout, walkers)}`; the scores likewise. Replica exchange that "
                "swaps at nearly every step looks the same, and is in order."
            )
    return None


def _keep_turns(correlations: FloatArray, pairs: NDArray[np.intp], walkers: int) -> bool:
    """Whether rows between further multiples of the distance are as unlike as those before it."""
    for turn in range(1, FURTHER_TURNS + 1):
        between = slice(turn * walkers + 1, (turn + 1) * walkers)
        by_chance = BY_CHANCE / np.sqrt(np.maximum(pairs[between], 1))
        at_most = np.maximum(UNLIKE * correlations[between.stop], by_chance)
        if np.any(np.abs(correlations[between]) > at_most):
            return False
    return True


def interleaved_rows_error(layout: Layout, walkers: int, alike: str) -> InputError:
    """What to say where every so many rows belong together."""
    return InputError(
        f"`draws` must be chains in time order; rows {walkers} apart are alike ({alike}), as if "
        f"{walkers} walkers or chains took turns in one chain. Autocorrelation is then not seen, "
        "and draws from the right target are rejected. Pass (chain, draw, d), "
        f"`{_chains_of(layout, walkers)}`; the scores likewise."
    )


def _chains_of(layout: Layout, walkers: int) -> str:
    """The line that makes chains of walkers that take turns."""
    chains, draws, dimension = shape_of(layout)
    whole = draws - draws % walkers
    cut = "" if whole == draws else f"[..., :{whole}, :]"
    if chains == 1:
        return f"draws{cut}.reshape(-1, {walkers}, {dimension}).swapaxes(0, 1)"
    return (
        f"draws{cut}.reshape({chains}, -1, {walkers}, {dimension}).swapaxes(1, 2)"
        f".reshape({chains * walkers}, -1, {dimension})"
    )
