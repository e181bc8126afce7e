"""The wild bootstrap of the U- and V-statistic (Section 3.4), linear in the draws."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from polystein._lib.arguments import positive_integer
from polystein._lib.arrays import to_numpy
from polystein._lib.random import Streams
from polystein.data.passes import every_row, read_blocks
from polystein.data.sample import Sample, ScoreFunction, as_sample, weights_ess
from polystein.data.screen import forbid_duplicates
from polystein.errors import DegenerateError, InputError, LowESSWarning
from polystein.inference.multipliers import dependence_length, lag_one_autocorrelation, multipliers
from polystein.protocols import (
    RNG,
    Array,
    Basis,
    Block,
    Estimator,
    FloatArray,
    Progress,
    Source,
    Structure,
)
from polystein.results.result import GofResult, Notes
from polystein.stein.basis import Monomial
from polystein.stein.moments import finite, stein_moments
from polystein.stein.operator import Operator, operator_for

# Bytes that the sums of all replicates may take; more features than fit are
# summed in several passes over the draws, each with the same multipliers.
MEMORY_BUDGET = 32 * 2**20
# Effective draws of chains below which the bootstrap has next to no power.
LEAST_ESS = 100.0
# Below this the pairs of different rows have a weight that is rounding alone.
LEAST_PAIR_WEIGHT = 1e-12


def psd_bootstrap_test(
    draws: Array | Sample,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    estimator: Estimator | None = None,
    structure: Structure = "full",
    n_bootstrap: int = 500,
    length: float | Literal["auto"] | None = "auto",
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
        give the same p-value, since signs leave the diagonal terms as they are;
        and "v" for chains, where dropping the diagonal alone would leave the
        products of neighbouring rows in.
    n_bootstrap : int
        Number of replicates B; the p-value is (b + 1)/(B + 1), where b of them are
        at least as large as the statistic, and so never 0.
    length : float or "auto"
        For chains: over how many rows the multipliers forget. "auto" estimates it
        from the autocorrelation of the scores.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result.
    progress : callable, optional
        Called as ``progress(done, total)`` while rows are worked through.

    Returns
    -------
    GofResult
        ``statistic`` is n times the squared discrepancy.

    Notes
    -----
    Time is O(B n (Q d^2 + d)), memory does not grow with n. No row is held back for
    training, and none may be: a test function or weights trained on the same rows
    are aligned with xi(x_j), which the replicates are not, so that the bootstrap
    would reject draws from the right target. That is why lambda-PSD, whose features
    are trained, is tested on rows of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(500, 2))
    >>> ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=199, rng=1).pvalue
    0.005
    """
    positive_integer(n_bootstrap, "n_bootstrap")
    basis = Monomial(order)
    sample = as_sample(draws, scores)
    estimator = chosen_estimator(estimator, sample)
    if sample.layout.total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {sample.layout.total}")
    if not sample.layout.time_ordered:
        forbid_duplicates(sample)
    require_shared_weight(sample)
    mean = stein_moments(sample, every_row(sample), basis, structure, norms=True).finalise()
    diagonal = mean.squared_norms or 0.0
    if diagonal == 0.0:
        raise DegenerateError("every Stein feature is zero on every draw; are `scores` all zero?")
    length = dependence_length(sample, length)
    squares, diagonals = wild_replicates(
        sample,
        basis,
        structure,
        n_bootstrap,
        seed=int(Streams(rng).resampling.integers(2**63)),
        length=length,
        progress=progress,
    )
    observed = np.float64(mean.norm()) ** 2
    value = mean.unbiased_square() if estimator == "u" else float(observed)
    # Signs leave the diagonal as it is, so that it cancels from the comparison.
    if estimator == "u" and length is not None:
        squares, observed = squares - diagonals, observed - diagonal
    return bootstrap_result(
        finite(sample.layout.total * value, "the statistic"),
        int(np.count_nonzero(squares >= observed)),
        n_bootstrap,
        sample,
        method="psd-bootstrap",
        settings={
            "order": basis.order,
            "structure": structure,
            "estimator": estimator,
            "length": length,
        },
    )


def bootstrap_result(
    statistic: float,
    larger: int,
    n_bootstrap: int,
    sample: Sample,
    *,
    method: str,
    settings: dict[str, Any],
) -> GofResult:
    """A result whose p-value is (b + 1)/(B + 1)."""
    notes, ess = Notes(), _effective_draws(sample)
    if sample.layout.time_ordered and ess < LEAST_ESS:
        notes.add(
            LowESSWarning(
                f"the chains hold about {ess:.0f} effective draws; with fewer than {LEAST_ESS:.0f} "
                "the bootstrap hardly ever rejects: take more draws"
            )
        )
    result = GofResult(
        statistic=statistic,
        pvalue=(larger + 1) / (n_bootstrap + 1),
        alternative="greater",
        method=method,
        ess=ess,
        n_test=sample.layout.total,
        settings={
            "dimension": sample.layout.dimension,
            "n_bootstrap": int(n_bootstrap),
            **settings,
        },
        warnings=notes.messages,
    )
    notes.emit()
    return result


def _effective_draws(sample: Sample) -> float:
    """Kish's size of the rows; of chains as if they were AR(1), by the slowest column."""
    weights = sample.log_weights
    size = float(sample.layout.total) if weights is None else weights_ess(weights)
    if not sample.layout.time_ordered:
        return size
    correlation = lag_one_autocorrelation(sample)
    return size * (1.0 - correlation) / (1.0 + correlation)


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
    products. What does not fit the memory budget is done in further passes, which
    draw the same multipliers again from the seed.
    """
    operator = operator_for(structure)
    parts = _parts(source.layout.dimension, basis, operator, count)
    tick = _Ticker(progress, len(parts) * source.layout.total)
    squares, diagonals = np.zeros(count), np.zeros(count)
    for part in parts:
        stream = multipliers(count, seed, length)
        sums = _PartSums(basis, operator, part, count)
        for block in read_blocks(source, every_row(source)):
            sums.add(block, stream.draw(block.chain, block.rows))
            tick(block.rows)
        squares += sums.squared_norms()
        diagonals += sums.diagonals()
    finite(float(squares.max()), "a bootstrap replicate")
    return squares, diagonals


class _PartSums:
    """Sums of signed features, for the score coordinates of one part."""

    def __init__(self, basis: Basis, operator: Operator, part: slice, count: int) -> None:
        self._basis, self._operator, self._part = basis, operator, part
        self._sums: list[FloatArray] = [np.zeros((count, 1))] * (basis.order + 1)
        self._diagonals = np.zeros(count)
        self._weight = 0.0

    def add(self, block: Block, factors: FloatArray) -> None:
        """Add one block: one matrix product for each order, and one for the score."""
        draws, scores = to_numpy(block.draws), to_numpy(block.scores)
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
        """Squared norms of the weighted averages, one a replicate."""
        squares: FloatArray = np.sum([np.vecdot(sums, sums) for sums in self._sums], axis=0)
        return squares / self._weight**2

    def diagonals(self) -> FloatArray:
        """The part of the squared norms in which a row meets itself."""
        return self._diagonals / self._weight**2


def _parts(dimension: int, basis: Basis, operator: Operator, count: int) -> list[slice]:
    """Cut the score coordinates so that the sums of one part fit the budget."""
    features = basis.order * operator.parameters(dimension) / dimension + 1
    size = max(1, int(MEMORY_BUDGET / (8 * count * features)))
    return [slice(low, min(low + size, dimension)) for low in range(0, dimension, size)]


class _Ticker:
    """Counts rows and tells `progress`."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, rows: int) -> None:
        self._done += rows
        if self._progress is not None:
            self._progress(self._done, self._total)


def require_shared_weight(sample: Sample) -> None:
    """Raise where one row has all the weight: no multiplier then changes the statistic."""
    if sample.log_weights is None:
        return
    # The weight of the pairs of different rows, 1 - sum of w^2 for weights that sum to 1.
    if 1.0 - 1.0 / weights_ess(sample.log_weights) < LEAST_PAIR_WEIGHT:
        raise DegenerateError(
            "`log_weights` must leave at least two rows of positive weight; one row has all of it"
        )


def chosen_estimator(estimator: Estimator | None, sample: Sample) -> Estimator:
    """The estimator asked for; by default "u" for independent rows and "v" for chains."""
    if estimator not in (None, "u", "v"):
        raise InputError(f"`estimator` must be 'u' or 'v'; got {estimator!r}")
    return estimator or ("v" if sample.layout.time_ordered else "u")
