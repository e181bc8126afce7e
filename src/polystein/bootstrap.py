"""The wild bootstrap of the U- and V-statistic (Section 3.4), linear in the draws."""

from __future__ import annotations

import numpy as np

from polystein._arrays import to_numpy
from polystein._random import Streams
from polystein.basis import Monomial
from polystein.blocks import every_row, reduce_blocks
from polystein.errors import DegenerateError, DependenceWarning, InputError
from polystein.moments import finite, stein_mean
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
from polystein.result import GofResult, Notes
from polystein.sample import Sample, ScoreFunction, as_sample
from polystein.stein import Operator, operator_for

# Bytes that the sums of all replicates may take; more features than fit are
# summed in several passes over the draws, each with the same multipliers.
MEMORY_BUDGET = 32 * 2**20


def psd_bootstrap_test(
    draws: Array | Sample,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    estimator: Estimator = "u",
    structure: Structure = "full",
    n_bootstrap: int = 500,
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """Wild-bootstrap test of the polynomial Stein discrepancy (Section 3.4).

    Under H0 the discrepancy ||mean of xi||^2 is a degenerate V-statistic, whose
    law the bootstrap imitates by flipping the sign of every row's features xi(x_j)
    at random: replicates are ||1/n sum_j e_j xi(x_j)||^2 with e_j = +-1.

    Parameters
    ----------
    draws, scores, order, structure
        As for `psd`.
    estimator : {"u", "v"}
        Which statistic is reported. Flipping signs leaves the diagonal terms as
        they are, so that both give the same p-value.
    n_bootstrap : int
        Number of replicates B; the p-value is (b + 1)/(B + 1), where b of them are
        at least as large as the statistic, and so never 0.
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
    are aligned with xi(x_j), which the flipped replicates are not, so that the
    bootstrap would reject draws from the right target. That is why lambda-PSD,
    whose features are trained, is tested on rows of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(500, 2))
    >>> ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=199, rng=1).pvalue
    0.005
    """
    _validate_options(estimator, n_bootstrap)
    basis = Monomial(order)
    sample = as_sample(draws, scores)
    total = sample.layout.total
    if total < 2:
        raise InputError(f"`draws` must have at least 2 rows; got {total}")
    mean = stein_mean(sample, every_row(sample), basis, structure, norms=True)
    observed = np.float64(mean.norm()) ** 2
    if observed == 0.0 and mean.squared_norms == 0.0:
        raise DegenerateError("every Stein feature is zero on every draw; are `scores` all zero?")
    replicates = wild_replicates(
        sample,
        basis,
        structure,
        n_bootstrap,
        seed=int(Streams(rng).resampling.integers(2**63)),
        progress=progress,
    )
    larger = int(np.count_nonzero(replicates >= observed))
    value = mean.unbiased_square() if estimator == "u" else float(observed)
    notes = Notes()
    if sample.layout.time_ordered:
        notes.add(
            DependenceWarning(
                f"`draws` are {len(sample.layout.lengths)} time-ordered chains, but independent "
                "sign flips hold for independent rows only: on autocorrelated draws from the "
                "right target they reject far too often"
            )
        )
    result = GofResult(
        statistic=finite(total * value, "the statistic"),
        pvalue=(larger + 1) / (n_bootstrap + 1),
        alternative="greater",
        method="psd-bootstrap",
        ess=1.0 / mean.weight_squares,
        n_test=total,
        settings={
            "order": basis.order,
            "dimension": sample.layout.dimension,
            "structure": structure,
            "estimator": estimator,
            "n_bootstrap": n_bootstrap,
        },
        warnings=notes.messages,
    )
    notes.emit()
    return result


def wild_replicates(
    source: Source,
    basis: Basis,
    structure: Structure,
    count: int,
    *,
    seed: int,
    progress: Progress | None = None,
) -> FloatArray:
    """||sum_j e_j w_j xi(x_j)||^2 for `count` vectors of signs e, weights w summing to 1.

    The multipliers (count x rows of a block) meet the features (rows x some of
    the features) in matrix products. What does not fit the memory budget is done
    in further passes, which draw the same multipliers again from the seed.
    """
    operator = operator_for(structure)
    parts = _parts(source.layout.dimension, basis, operator, count)
    tick = _Ticker(progress, len(parts) * source.layout.total)

    def part_norms(part: slice) -> FloatArray:
        rng = np.random.default_rng(seed)

        def update(state: _PartSums, block: Block) -> _PartSums:
            state.add(block, rademacher(rng, count, block.rows))
            tick(block.rows)
            return state

        def zero() -> _PartSums:
            return _PartSums(basis, operator, part, count)

        return reduce_blocks(source, every_row(source), zero, update, _no_merge).squared_norms()

    with np.errstate(over="ignore", invalid="ignore"):
        norms: FloatArray = np.sum([part_norms(part) for part in parts], axis=0)
    finite(float(norms.max()), "a bootstrap replicate")
    return norms


class _PartSums:
    """Sums of signed features, for the score coordinates of one part."""

    def __init__(self, basis: Basis, operator: Operator, part: slice, count: int) -> None:
        self._basis, self._operator, self._part = basis, operator, part
        self._sums: list[FloatArray] = [np.zeros((count, 1))] * (basis.order + 1)
        self._weight = 0.0

    def add(self, block: Block, multipliers: FloatArray) -> None:
        """Add one block: one matrix product for each order, and one for the score."""
        draws, scores = to_numpy(block.draws), to_numpy(block.scores)
        if block.weights is None:
            self._weight += block.rows
        else:
            self._weight += float(block.weights.sum())
            multipliers = multipliers * block.weights
        for i, term in enumerate(self._basis.terms(draws)):
            features = self._operator.stacked(scores, term, self._part)
            self._sums[i] = self._sums[i] + multipliers @ features
        self._sums[-1] = self._sums[-1] + multipliers @ scores[:, self._part]

    def squared_norms(self) -> FloatArray:
        """Squared norms of the averages, one a replicate."""
        squares: FloatArray = np.sum([np.vecdot(sums, sums) for sums in self._sums], axis=0)
        return squares / self._weight**2


def rademacher(rng: np.random.Generator, count: int, rows: int) -> FloatArray:
    """Independent signs, one random bit each."""
    bytes_a_row = (rows + 7) // 8
    random_bytes = rng.integers(0, 256, size=(count, bytes_a_row), dtype=np.uint8)
    bits = np.unpackbits(random_bytes, axis=1, count=rows)
    return np.subtract(bits, 0.5, dtype=np.float64) * 2.0


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


def _validate_options(estimator: str, n_bootstrap: int) -> None:
    if estimator not in ("u", "v"):
        raise InputError(f"`estimator` must be 'u' or 'v'; got {estimator!r}")
    if not isinstance(n_bootstrap, int | np.integer) or n_bootstrap < 1:
        raise InputError(f"`n_bootstrap` must be a positive integer; got {n_bootstrap!r}")


def _no_merge(first: _PartSums, second: _PartSums) -> _PartSums:
    raise AssertionError("multipliers are drawn in one thread, in time order")
