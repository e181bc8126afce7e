"""KSDAgg: kernel Stein tests with several bandwidths, aggregated at the exact level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from polystein._lib.arguments import is_finite_number, one_of, replicates_of
from polystein._lib.numerics import TINY, finite
from polystein._lib.random import seed_setting
from polystein.data.sample import as_source
from polystein.data.source import Source
from polystein.errors import InputError
from polystein.methods.wild_bootstrap import bootstrap_result, dependence_length, resampling_seed
from polystein.results.evidence import Arm, Evidence, Part
from polystein.results.result import GofResult
from polystein.rivals.kernel_rows import held_stein_rows, wild_factors
from polystein.rivals.rows import forbid_repeats
from polystein.stein.kernel import (
    GaussianKernel,
    IMQKernel,
    Kernel,
    median_distance,
    quadratic_forms,
    unbiased_square,
)
from polystein.types import RNG, Array, FloatArray, MultiplierLength, Progress, ScoreFunction

Family: TypeAlias = Literal["imq", "gaussian"]

# Bandwidths of the default collection, as powers of two times the median distance.
EXPONENTS = range(-5, 4)


def ksdagg_test(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    kernel: Family = "imq",
    bandwidths: Sequence[float] | None = None,
    n_bootstrap: int = 2000,
    n_correction: int = 500,
    length: MultiplierLength = "auto",
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """KSDAgg, the aggregated kernel Stein test (Schrab, Guedj and Gretton, 2022).

    One test for each of L bandwidths, all with weight 1/L; the level of each is
    raised together as far as the wild bootstrap says that the level of their union
    allows. No bandwidth has to be right, and no draws are held back to find one.

    Parameters
    ----------
    draws, scores
        As for `ksd_test`; chains get AR(1) multipliers.
    kernel : {"imq", "gaussian"}
        ``IMQKernel(c=b)`` or ``GaussianKernel(bandwidth=b)`` for every bandwidth b.
    bandwidths : sequence of float, optional
        The collection. The default is 2^i times the median of the distances between
        rows (see `GaussianKernel`), for i from -5 to 3.
    n_bootstrap : int
        Replicates B1 for each bandwidth's own p-value, at most 1,000,000.
    n_correction : int
        Further replicates B2, for the level of the union, at most 1,000,000.
    length, rng, progress
        As for `ksd_test`.

    Returns
    -------
    GofResult
        ``statistic`` is n times the squared discrepancy (the unbiased estimate for
        independent rows) of the bandwidth with the smallest p-value, or, of several,
        with the largest excess over its replicates in their standard deviations.
        ``evidence`` holds that bandwidth, and each bandwidth's own p-value.

    Notes
    -----
    In the paper a bandwidth rejects at the level u/L if its statistic is above that
    quantile of its B1 replicates and itself, which is to say that its p-value
    (b + 1)/(B1 + 1) is at most u/L; and u is the largest for which at most a share
    alpha of B2 further replicates would be rejected, found by bisection. So the union
    rejects if L times the smallest of the p-values is small among the same numbers
    for those replicates. That gives the smallest level at which it rejects without a
    bisection: ``pvalue`` is (b + 1)/(B2 + 1), with b of the replicates at least
    as extreme as the draws. The paper's rule is b/B2, which may be 0 and is smaller by
    less than 1/B2. Replicates beyond all of the B1 count as extreme as anything can be,
    so that the p-value stays above about L/(B1 + 1) at worst: hence the large B1.

    The paper treats independent rows only. For chains the multipliers are dependent
    and the V-statistic is used, as in `ksd_test`.

    Time is O(n^2 (d + L (B1 + B2))), memory O(n (d + B1 + B2)).

    The test is conservative, the more so for small B1 and on chains. At level 0.05 and
    with the IMQ kernel, n = 300 draws from N(0, I) were rejected in 35 (d = 2) and 44
    (d = 16) of 1,000 replicates with the default B1 = 2000 and B2 = 500, in 25 (d = 2)
    with B1 = 300 and B2 = 150.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.3, 1.0, size=(200, 2))
    >>> ps.ksdagg_test(draws, lambda x: -x, rng=1).pvalue < 0.01
    True
    """
    replicates_of(n_bootstrap, "n_bootstrap")
    replicates_of(n_correction, "n_correction")
    one_of(kernel, Family, "kernel")
    source = as_source(draws, scores)
    rows, weights = held_stein_rows(source)
    widths = _collection(bandwidths, rows.draws)
    kernels: list[Kernel] = [
        IMQKernel(c=width) if kernel == "imq" else GaussianKernel(bandwidth=width)
        for width in widths
    ]
    forbid_repeats(source)
    dependence, replicates = dependence_length(source, length), n_bootstrap + n_correction
    factors = wild_factors(source, weights, replicates, resampling_seed(rng), dependence)
    forms = quadratic_forms(rows, kernels, factors, progress)
    pvalues = own_pvalues(forms, n_bootstrap)
    # All weights are 1/L: u/L at which a column is first rejected is its least p-value.
    smallest = pvalues.min(axis=0)
    best = _strongest(forms, pvalues[:, 0])
    value = float(forms[best, 0])
    if not source.layout.time_ordered:
        value = unbiased_square(kernels[best], rows, weights, value)
    larger = int(np.count_nonzero(smallest[1 + n_bootstrap :] <= smallest[0]))
    result = bootstrap_result(
        finite(source.layout.total * value, "the statistic"),
        larger,
        n_correction,
        source,
        method="ksdagg",
        settings={
            "n_correction": int(n_correction),
            "kernel": kernel,
            "bandwidths": bandwidths if bandwidths is None else widths,
            "length": length,
            "rng": seed_setting(rng),
        },
    )
    estimates = {
        "bandwidths": widths,
        "bandwidth": widths[best],
        "multiplier_length": dependence,
    }
    # Every bandwidth's own p-value, as parts that share the level equally.
    parts = tuple(
        Part(
            f"bandwidth {width:.3g}",
            f"distances of about {width:.3g}",
            (),
            (),
            own,
            1 / len(widths),
        )
        for width, own in zip(widths, pvalues[:, 0].tolist(), strict=True)
    )
    arm = Arm("bandwidths", "all rows", result.pvalue, parts)
    return replace(
        result,
        evidence=Evidence((arm,), estimates=estimates),
        settings={**result.settings, "n_bootstrap": int(n_bootstrap)},
    )


def own_pvalues(forms: FloatArray, n_bootstrap: int) -> FloatArray:
    """Each bandwidth's p-value of every column, of the shape of the forms.

    Column 0 is that of the draws, the next B1 are the replicates that it is judged by:
    p = #{b among these 1 + B1: form_b >= form}/(1 + B1).
    """
    reference = np.sort(forms[:, : 1 + n_bootstrap], axis=1)
    below = [np.searchsorted(row, form) for row, form in zip(reference, forms, strict=True)]
    return 1.0 - np.array(below) / (1 + n_bootstrap)


@np.errstate(over="ignore", invalid="ignore")  # a spread beyond all numbers is no excess
def _strongest(forms: FloatArray, pvalues: FloatArray) -> int:
    """The bandwidth with the smallest p-value; of several, the one with the largest excess."""
    replicates = forms[:, 1:]
    spread = np.maximum(replicates.std(axis=1), TINY)
    excess = (forms[:, 0] - replicates.mean(axis=1)) / spread
    return int(np.lexsort((-excess, pvalues))[0])


def _collection(bandwidths: Sequence[float] | None, draws: FloatArray) -> list[float]:
    """The bandwidths: those given, or powers of two times the median distance."""
    if bandwidths is None:
        median = median_distance(draws)
        return [math.ldexp(median, exponent) for exponent in EXPONENTS]
    values = list(bandwidths) if np.iterable(bandwidths) else []
    if not values or not all(is_finite_number(value) and value > 0.0 for value in values):
        raise InputError(f"`bandwidths` must be a sequence of positive numbers; got {bandwidths!r}")
    return [float(value) for value in values]
