"""The wild bootstrap of the U- and V-statistic (Section 3.4), linear in the draws."""

from __future__ import annotations

import numpy as np

from polystein._lib.arguments import replicates_of
from polystein._lib.numerics import finite
from polystein._lib.random import seed_setting
from polystein.data.guard.repeats import forbid_duplicates
from polystein.data.guard.rows import require_shared_weight
from polystein.data.passes import every_row, visit_blocks
from polystein.data.sample import as_source
from polystein.data.source import Block, Source
from polystein.errors import DegenerateError, InputError
from polystein.inference.multipliers import Multipliers, multipliers
from polystein.methods.wild_bootstrap import (
    bootstrap_result,
    chosen_estimator,
    dependence_length,
    drawn_multipliers,
    resampling_seed,
)
from polystein.results.evidence import Evidence
from polystein.results.result import GofResult
from polystein.scale.threads import working
from polystein.stein.basis import Basis, Monomial
from polystein.stein.moments import stein_moments
from polystein.stein.operator import Operator, operator_for
from polystein.types import (
    RNG,
    Array,
    Estimator,
    FloatArray,
    MultiplierLength,
    Progress,
    ScoreFunction,
    Structure,
)

# Bytes that the sums of all replicates may take; more features than fit are
# summed in several passes over the draws, each with the same multipliers.
MEMORY_BUDGET = 32 * 2**20


def psd_bootstrap_test(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    estimator: Estimator | None = None,
    structure: Structure = "full",
    n_bootstrap: int = 500,
    length: MultiplierLength = "auto",
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """Wild-bootstrap test of the polynomial Stein discrepancy (Section 3.4).

    Under H0 the discrepancy ||mean of xi||^2 is a degenerate V-statistic, whose
    law the bootstrap imitates by multiplying every row's features xi(x_j) by a
    random W_j of mean 0 and variance 1: replicates are ||1/n sum_j W_j xi(x_j)||^2.
    For independent rows W_j = +-1; for chains W is an AR(1) process, independent
    across chains (Leucht and Neumann, 2013; Chwialkowski et al., 2016).

    Parameters
    ----------
    draws, scores, order, structure
        As for `psd`. Draws of shape (n, d) are independent rows, (chain, draw, d)
        are chains in time order.
    estimator : {"u", "v"}, optional
        Which statistic is used. The default is "u" for independent rows, where both
        give the same p-value, since signs do not change the diagonal terms. It is
        "v" for chains, where neighbouring rows bias the statistic as the diagonal
        terms do, and dropping the diagonal alone would not help.
    n_bootstrap : int
        Number of replicates B, at most 1,000,000; the p-value is (b + 1)/(B + 1), where b
        of them are at least as large as the statistic, and so never 0.
    length : float or "auto"
        For chains: the number of rows over which the multipliers stay dependent. "auto"
        estimates it from the autocorrelation of the scores.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result.
    progress : callable, optional
        Called as ``progress(done, total)`` as rows are processed.

    Returns
    -------
    GofResult
        ``statistic`` is n times the squared discrepancy.

    Notes
    -----
    Time is O(B n (Q d^2 + d)), and memory does not grow with n. Nothing is trained,
    and nothing may be: a test function or weights trained on the same rows are
    aligned with xi(x_j), which the replicates are not, so that the bootstrap would
    reject draws from the right target. That is why lambda-PSD, whose features are
    trained, is tested on separate rows.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(500, 2))
    >>> ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=199, rng=1).pvalue
    0.005
    """
    replicates_of(n_bootstrap, "n_bootstrap")
    basis = Monomial(order)
    source = as_source(draws, scores)
    estimator = chosen_estimator(estimator, source)
    if source.layout.total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {source.layout.total}")
    if not source.layout.time_ordered:
        forbid_duplicates(source)
    require_shared_weight(source)
    mean = stein_moments(source, every_row(source), basis, structure, norms=True).finalise()
    diagonal = mean.squared_norms or 0.0
    if diagonal == 0.0:
        raise DegenerateError("every Stein feature is zero on every draw; are `scores` all zero?")
    memory = dependence_length(source, length)
    squares, diagonals = wild_replicates(
        source,
        basis,
        structure,
        n_bootstrap,
        seed=resampling_seed(rng),
        length=memory,
        progress=progress,
    )
    observed = np.float64(mean.norm()) ** 2
    value = mean.unbiased_square() if estimator == "u" else float(observed)
    # Signs do not change the diagonal, so that it cancels from the comparison.
    if estimator == "u" and memory is not None:
        squares, observed = squares - diagonals, observed - diagonal
    return bootstrap_result(
        finite(source.layout.total * value, "the statistic"),
        int(np.count_nonzero(squares >= observed)),
        n_bootstrap,
        source,
        method="psd-bootstrap",
        settings={
            "order": basis.order,
            "structure": structure,
            "estimator": estimator,
            "length": length,
            "rng": seed_setting(rng),
        },
        evidence=Evidence(estimates={"multiplier_length": memory}),
    )


def wild_replicates(
    source: Source,
    basis: Basis,
    structure: Structure,
    count: int,
    *,
    seed: int,
    length: float | None = None,
    progress: Progress | None = None,
) -> tuple[FloatArray, FloatArray]:
    """||sum_j W_j w_j xi(x_j)||^2 for `count` multiplier vectors W, weights w summing to 1.

    Also the diagonal terms sum_j (W_j w_j)^2 ||xi(x_j)||^2. The multipliers (count x
    rows of a block) meet the features (rows x some of the features) in matrix
    products. Sums that do not fit the memory budget are taken in further
    passes, which draw the same multipliers again from the seed.
    """
    operator = operator_for(structure)
    parts = _parts(source.layout.dimension, basis, operator, count)
    squares, diagonals = np.zeros(count), np.zeros(count)
    with working(source, None, progress, reads=len(parts)):
        for part in parts:
            sums = _PartSums(basis, operator, part, count, multipliers(count, seed, length))
            visit_blocks(source, every_row(source), sums.add)
            squares += sums.squared_norms()
            diagonals += sums.diagonals()
    finite(float(squares.max()), "a bootstrap replicate")
    return squares, diagonals


class _PartSums:
    """Sums of signed features, for the score coordinates of one part."""

    def __init__(
        self, basis: Basis, operator: Operator, part: slice, count: int, stream: Multipliers
    ) -> None:
        self._basis, self._operator, self._part, self._stream = basis, operator, part, stream
        self._sums: list[FloatArray] = [np.zeros((count, 1))] * (basis.order + 1)
        self._diagonals = np.zeros(count)
        self._weight = 0.0

    def add(self, block: Block) -> None:
        """Add one block: one matrix product for each order, and one for the score."""
        draws, scores = block.draws, block.scores
        factors = drawn_multipliers(self._stream, block)
        if block.weights is None:
            self._weight += block.rows
        else:
            self._weight += float(block.weights.sum())
            factors = factors * block.weights
        norms = np.zeros(block.rows)
        parts = [
            *(
                self._operator.stacked(scores, term, self._part)
                for term in self._basis.terms(draws)
            ),
            scores[:, self._part],
        ]
        for i, features in enumerate(parts):
            self._sums[i] = self._sums[i] + factors @ features
            norms += np.vecdot(features, features)
        self._diagonals += factors**2 @ norms

    def squared_norms(self) -> FloatArray:
        """Squared norms of the weighted averages, one for each replicate."""
        squares: FloatArray = np.sum([np.vecdot(sums, sums) for sums in self._sums], axis=0)
        return squares / self._weight**2

    def diagonals(self) -> FloatArray:
        """The part of the squared norms in which a row is paired with itself."""
        return self._diagonals / self._weight**2


def _parts(dimension: int, basis: Basis, operator: Operator, count: int) -> list[slice]:
    """Cut the score coordinates so that the sums of one part fit the budget."""
    features = basis.order * operator.parameters(dimension) / dimension + 1
    size = max(1, int(MEMORY_BUDGET / (8 * count * features)))
    return [slice(low, min(low + size, dimension)) for low in range(0, dimension, size)]
