"""The arm of `check` under all others: a kernel Stein discrepancy of some rows.

Its power is low and it is consistent: the other arms look at chosen functions, and a fault that
none of them shows has to show here if there are enough rows. It takes 500 rows, evenly
spaced over all chains, and three times the root of the number of rows if that is more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein.data.spread import KeptRows
from polystein.inference.quadratic_forms import Whole, form_memory
from polystein.inference.signflips import is_decided, random_signs
from polystein.methods.check.forms import LEAST_DEFLATION
from polystein.methods.check.look import ROWS_A_ROOT
from polystein.methods.check.statistics import FEWEST_FOR_NET, KERNEL, NET, OF_NET, SOME_ROWS
from polystein.methods.check.sums import BatchSums
from polystein.results.evidence import Abstention, Arm, Part
from polystein.stein.kernel import IMQKernel, batch_products, stein_rows
from polystein.types import FloatArray

#: Rows of the net, if there are, or more of very many.
NET_ROWS = 500
#: The inverse multiquadric in whitened coordinates. A wider one, such as that of the median
#: distance, does not see a parity of four signs or a hole.
NET_KERNEL = IMQKernel(c=0.3**0.5)
#: Second moments of scores whiten if there are this many rows for each coordinate.
ROWS_TO_WHITEN = 10.0
#: Patterns of signs, that of the draws included: 1/1,000 is below the net's share of the level
#: 0.05. Where the p-value is near a level that people use, flips go on until this many.
FIRST_PATTERNS, FURTHER_PATTERNS = 1_000, (5_000, 20_000)
#: Directions in which scores vary by less than this, relative to the most, are not stretched more.
_LEAST_EIGENVALUE = 1e-8


def net_arm(
    kept: KeptRows,
    sums: BatchSums,
    rng: np.random.Generator,
    *,
    left_out: NDArray[np.bool_],
    levels: Sequence[float] = (),
) -> Arm | Abstention:
    """The arm: products of batches of rows under flips of the batches' signs.

    The batches are those of the sign flips. On chains they are joined as long as there are 40 of
    them, but not to the greatest length, and products within a batch and of neighbours are left
    out. What correlation is left makes the spread over flips grow with the length of batches, and
    is allowed for. If it grows from one length to the next, batches are too short, and the arm
    abstains.
    """
    coordinates = np.flatnonzero(~left_out)
    # The longest batches have none of twice their length, which would show what is left.
    shorter = sums.joinings[:-1] or sums.joinings
    enough = [one for one in shorter if sums.effective_count(one) >= FEWEST_FOR_NET]
    if not (sums.memory_is_known and coordinates.size and enough):
        return Abstention(NET, _FEW)
    with np.errstate(over="ignore"):
        if not np.isfinite(sums.squares[:, 1, coordinates].sum()):
            return Abstention(NET, "squares of scores overflow. Rescale draws and scores")
    products = kernel_products(kept, sums, coordinates)
    joining, chains, deflation = enough[-1], None, 1.0
    if len(sums.joinings) > 1:
        first = len(enough) - 1
        traces = list(Whole(products).traces(sums.joinings))[first:]
        memory = form_memory(traces, sums.joinings[first:])
        if memory.level > 0 or memory.deflation < LEAST_DEFLATION:
            return Abstention(NET, _FEW)
        chains, deflation = joining.chains, memory.deflation
    form = Whole(products).kept(joining, chains)
    if not form.cumulants.variance > 0.0:
        return Abstention(NET, "no pair of batches tells anything. Take more draws")
    signs = random_signs(FIRST_PATTERNS, joining.count, rng, unflipped_first=True)
    values = form.flipped(signs)
    own, extreme, patterns = deflation * values[0], 1, 1
    values = values[1:]
    for further in (*FURTHER_PATTERNS, 0):
        extreme, patterns = extreme + int(np.count_nonzero(values >= own)), patterns + len(values)
        if not further or is_decided(extreme, patterns, levels):
            break
        values = form.flipped(random_signs(further - patterns, joining.count, rng))
    pvalue = extreme / patterns
    return Arm(NET, SOME_ROWS, pvalue, (Part(KERNEL, OF_NET[0].looks_at, (), (), pvalue, 1.0),))


_FEW = f"there are too few rows for {FEWEST_FOR_NET} independent batches. Take more draws"


def kernel_products(kept: KeptRows, sums: BatchSums, coordinates: NDArray[np.intp]) -> FloatArray:
    """Sums of the Stein kernel over pairs of batches, of evenly spaced rows in white coordinates.

    Coordinates are whitened by the second moments M = A A' of the scores of all rows: x -> A'x and
    s -> A^-1 s. M exists where the draws have no variance.
    """
    draws, scores = kept.draws_and_scores
    wanted = max(NET_ROWS, int(ROWS_A_ROOT * sums.source.layout.total**0.5))
    some = np.arange(min(wanted, len(draws))) * len(draws) // min(wanted, len(draws))
    batches = sums.batches.of_rows(*(part[some] for part in kept.places))
    draws, scores = sums.frame.apply(draws[some], scores[some])
    draws, scores = draws[:, coordinates], scores[:, coordinates]
    rows = sums.effective_rows
    if sums.score_products.size and rows >= ROWS_TO_WHITEN * coordinates.size:
        moments = sums.score_products[np.ix_(coordinates, coordinates)] * (sums.weight_scale / rows)
        root, inverse = _roots(moments)
        draws, scores = draws @ root, scores @ inverse
    white = stein_rows(draws, scores, draws.mean(axis=0))
    weights = kept.weights[some]
    return batch_products(NET_KERNEL, white, weights, batches, sums.count)


def _roots(moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A with A A' = M, and A'^-1, by the symmetric root of the correlation matrix of the scores."""
    spread = np.sqrt(np.diagonal(moments))
    spread = np.where(spread > TINY, spread, 1.0)
    values, vectors = np.linalg.eigh(moments / spread[:, None] / spread)
    # Moments that underflow do not whiten.
    values = (
        np.maximum(values, _LEAST_EIGENVALUE * values[-1]) if values[-1] > 0.0 else values + 1.0
    )
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    return spread[:, None] * root, inverse / spread[:, None]
