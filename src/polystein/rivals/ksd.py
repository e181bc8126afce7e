"""The kernel Stein discrepancy, as a number and as a test."""

from __future__ import annotations

import numpy as np

from polystein._lib.arguments import one_of, replicates_of
from polystein._lib.numerics import finite
from polystein._lib.random import seed_setting
from polystein.data.guard.rows import require_shared_weight
from polystein.data.sample import as_source
from polystein.data.source import Source
from polystein.methods.wild_bootstrap import (
    bootstrap_result,
    chosen_estimator,
    dependence_length,
    resampling_seed,
)
from polystein.results.evidence import Evidence
from polystein.results.result import GofResult
from polystein.rivals.kernel_rows import held_stein_rows, wild_factors
from polystein.rivals.rows import forbid_repeats
from polystein.stein.kernel import (
    IMQKernel,
    Kernel,
    fixed_kernel,
    quadratic_forms,
    stein_diagonal,
    unbiased_square,
)
from polystein.types import RNG, Array, Estimator, MultiplierLength, Progress, ScoreFunction

_IMQ = IMQKernel()


def ksd(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    kernel: Kernel = _IMQ,
    estimator: Estimator = "v",
) -> float:
    """Kernel Stein discrepancy with the first-order Langevin operator.

    KSD^2 is the mean over all pairs of rows of the Stein kernel h(x, y) =
    s(x)'s(y) k + s(x)'∇_y k + s(y)'∇_x k + tr ∇_x ∇_y k, whose mean is 0 under the
    target (Liu, Lee and Jordan, 2016; Chwialkowski, Strathmann and Gretton, 2016;
    Gorham and Mackey, 2017).

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both. Importance weights make it a
        weighted mean over pairs.
    kernel : IMQKernel or GaussianKernel
        The kernel k.
    estimator : {"v", "u"}
        "v" gives KSD, the root of the V-statistic, which is positive even for perfect
        draws; "u" gives the unbiased estimate of KSD^2 (not its root), without the
        pairs of a row with itself, which may be negative.

    Returns
    -------
    float

    Notes
    -----
    Time is O(n^2 d) and memory O(n d): pairs are processed in square blocks, on and
    above the diagonal only.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> good, shifted = (ps.ksd(x, lambda x: -x) for x in (draws, draws + 0.5))
    >>> good < 0.1 < 0.4 < shifted
    True
    """
    one_of(estimator, Estimator, "estimator")
    source = as_source(draws, scores)
    rows, weights = held_stein_rows(source)
    if estimator == "u":
        require_shared_weight(source)
    kernel = fixed_kernel(kernel, rows.draws)
    form = float(quadratic_forms(rows, [kernel], weights[:, None])[0, 0])
    if estimator == "v":
        # A positive definite kernel: only rounding makes the form negative.
        return float(np.sqrt(max(0.0, form)))
    return unbiased_square(kernel, rows, weights, form)


def ksd_test(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    kernel: Kernel = _IMQ,
    estimator: Estimator | None = None,
    n_bootstrap: int = 500,
    length: MultiplierLength = "auto",
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """Wild-bootstrap test of the kernel Stein discrepancy.

    Under H0 KSD^2 is a degenerate V-statistic of the Stein kernel h (see `ksd`),
    whose law the bootstrap imitates by 1/n^2 sum_jk W_j W_k h(x_j, x_k) with random
    multipliers W of mean 0 and variance 1: signs for independent rows (Liu, Lee and
    Jordan, 2016), an AR(1) process for chains, independent across them (Chwialkowski,
    Strathmann and Gretton, 2016).

    Parameters
    ----------
    draws, scores, kernel
        As for `ksd`. Draws of shape (n, d) are independent rows, (chain, draw, d) are
        chains in time order.
    estimator : {"u", "v"}, optional
        Which statistic is used. The default is "u" for independent rows, where both
        give the same p-value, since signs do not change the diagonal terms. It is "v"
        for chains, where neighbouring rows bias the statistic as the diagonal terms do,
        and dropping the diagonal alone would not help.
    n_bootstrap : int
        Number of replicates B, at most 1,000,000; the p-value is (b + 1)/(B + 1), where b
        of them are at least as large as the statistic, and so never 0.
    length : float or "auto"
        For chains: the number of rows over which the multipliers stay dependent. "auto"
        estimates it from the autocorrelation of the scores.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result.
    progress : callable, optional
        Called as ``progress(done, total)`` after every block of pairs.

    Returns
    -------
    GofResult
        ``statistic`` is n times the squared discrepancy.

    Notes
    -----
    Time is O(n^2 (d + B)); every block of the kernel matrix meets all multipliers in
    one matrix product and is then discarded. Memory is O(n (d + B)). The bandwidth
    "median" is fixed by the draws before any multiplier is drawn, which leaves the
    bootstrap valid.

    At level 0.05, n = 300 draws from N(0, I) were rejected in 45 (d = 2) and 44 (d = 16)
    of 1,000 replicates with the IMQ kernel, in 44 and 46 with the Gaussian one.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.3, 1.0, size=(300, 2))
    >>> ps.ksd_test(draws, lambda x: -x, n_bootstrap=199, rng=1).pvalue
    0.005
    """
    replicates_of(n_bootstrap, "n_bootstrap")
    source = as_source(draws, scores)
    estimator = chosen_estimator(estimator, source)
    rows, weights = held_stein_rows(source)
    fixed = fixed_kernel(kernel, rows.draws)
    forbid_repeats(source)
    dependence = dependence_length(source, length)
    factors = wild_factors(source, weights, n_bootstrap, resampling_seed(rng), dependence)
    forms = quadratic_forms(rows, [fixed], factors, progress)[0]
    value = float(forms[0])
    if estimator == "u":
        value = unbiased_square(fixed, rows, weights, value)
        # Signs do not change the diagonal, so that it cancels from the comparison.
        if dependence is not None:
            forms = forms - (factors**2).T @ stein_diagonal(fixed, rows)
    return bootstrap_result(
        finite(source.layout.total * value, "the statistic"),
        int(np.count_nonzero(forms[1:] >= forms[0])),
        n_bootstrap,
        source,
        method="ksd",
        settings={
            "kernel": repr(kernel),
            "estimator": estimator,
            "length": length,
            "rng": seed_setting(rng),
        },
        evidence=Evidence(estimates={"kernel": repr(fixed), "multiplier_length": dependence}),
    )
