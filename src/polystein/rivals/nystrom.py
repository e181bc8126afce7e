"""The kernel Stein discrepancy on landmarks, a few of the rows."""

from __future__ import annotations

import math

import numpy as np

from polystein._lib.arguments import is_integer, replicates_of
from polystein._lib.numerics import EPSILON, finite
from polystein._lib.random import Streams, seed_setting
from polystein.data.sample import as_source
from polystein.data.source import Source
from polystein.errors import InputError
from polystein.methods.wild_bootstrap import bootstrap_result, dependence_length
from polystein.results.evidence import Evidence
from polystein.results.result import GofResult
from polystein.rivals.kernel_rows import held_rows
from polystein.rivals.rows import forbid_repeats, wild_means
from polystein.stein.kernel import (
    IMQKernel,
    Kernel,
    RadialKernel,
    fixed_kernel,
    pairs,
    stein_kernel,
    stein_rows,
)
from polystein.types import RNG, Array, FloatArray, MultiplierLength, Progress, ScoreFunction

_IMQ = IMQKernel()
# Numbers of one block of the kernel matrix, rows times landmarks: it stays in cache.
BLOCK_ELEMENTS = 65_536
LEAST_ROWS = 128


def nystrom_ksd_test(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    kernel: Kernel = _IMQ,
    n_landmarks: int | None = None,
    n_bootstrap: int = 500,
    length: MultiplierLength = "auto",
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """Nyström kernel Stein test (Kalinke, Szabó and Sriperumbudur, 2024).

    The mean of the functions h(x_j, .), whose squared norm is KSD^2 (see `ksd`), is
    projected onto the span of h(z_1, .), ..., h(z_m, .) at m landmarks z, rows that are
    drawn uniformly with replacement: KSD^2 becomes beta' H_mm^- beta, where H_mm is the
    Stein kernel matrix of the landmarks, H_mm^- its pseudo-inverse and beta the mean
    over the rows of h(z, x_j). The wild bootstrap multiplies the rows in beta as in
    `ksd_test`, with signs for independent rows and AR(1) multipliers for chains.

    Parameters
    ----------
    draws, scores, kernel
        As for `ksd_test`.
    n_landmarks : int, optional
        The number m of landmarks, at most that of the rows. The default, 4 sqrt(n)
        rounded up, is the paper's in its experiments.
    n_bootstrap, length, rng, progress
        As for `ksd_test`.

    Returns
    -------
    GofResult
        ``statistic`` is n times the squared discrepancy (a V-statistic).

    Notes
    -----
    Time is O(n m (d + B) + m^3), memory O(m (m + B)) beyond a block of rows. It is linear
    in n for a fixed number of landmarks only: with the default m = 4 sqrt(n) time is
    O(n^1.5 (d + B)). The landmarks are rows, and all replicates share them. The paper
    treats independent rows only, for which that does no harm if m is small against n.

    At level 0.05, n = 300 draws from N(0, I) were rejected in 44 (d = 2) and 40 (d = 16)
    of 1,000 replicates.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.1, 1.0, size=(2000, 2))
    >>> ps.nystrom_ksd_test(draws, lambda x: -x, n_bootstrap=199, rng=1).pvalue
    0.005
    """
    replicates_of(n_bootstrap, "n_bootstrap")
    source = as_source(draws, scores)
    count = _validated_landmarks(n_landmarks, source.layout.total)
    draws, scores, _ = held_rows(source)
    fixed = fixed_kernel(kernel, draws)
    forbid_repeats(source)
    streams, dependence = Streams(rng), dependence_length(source, length)
    chosen = streams.split.choice(source.layout.total, count, replace=True)
    landmarks = Landmarks(fixed, draws[chosen], scores[chosen])
    means = wild_means(
        source,
        landmarks.stein_kernel,
        count,
        n_bootstrap,
        int(streams.resampling.integers(2**63)),
        dependence,
        most=max(LEAST_ROWS, BLOCK_ELEMENTS // count),
        progress=progress,
    )
    squares = projected_squares(means, landmarks.stein_kernel(draws[chosen], scores[chosen]))
    return bootstrap_result(
        finite(source.layout.total * float(squares[0]), "the statistic"),
        int(np.count_nonzero(squares[1:] >= squares[0])),
        n_bootstrap,
        source,
        method="nystrom-ksd",
        settings={
            "kernel": repr(kernel),
            "n_landmarks": count,
            "length": length,
            "rng": seed_setting(rng),
        },
        evidence=Evidence(estimates={"kernel": repr(fixed), "multiplier_length": dependence}),
    )


class Landmarks:
    """The m rows that span the functions onto which the mean is projected."""

    @np.errstate(over="ignore", invalid="ignore")  # it is reported with the discrepancy
    def __init__(self, kernel: RadialKernel, draws: FloatArray, scores: FloatArray) -> None:
        self._kernel, self._centre = kernel, draws.mean(axis=0)
        self._rows = stein_rows(draws, scores, self._centre)

    def stein_kernel(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """h(x_j, z) for every row and every landmark."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rows = stein_rows(draws, scores, self._centre)
            values = stein_kernel(self._kernel, pairs(rows, self._rows))
            finite(float(np.sum(np.abs(values))), "the Stein kernel")
        return values


def projected_squares(means: FloatArray, matrix: FloatArray) -> FloatArray:
    """beta' H_mm^- beta for every row beta of the means.

    Eigenvalues that rounding alone explains are zeros: landmarks may repeat.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > values[-1] * values.size * EPSILON
    coordinates = means @ (vectors[:, kept] / np.sqrt(values[kept]))
    squares: FloatArray = np.vecdot(coordinates, coordinates)
    return squares


def _validated_landmarks(n_landmarks: int | None, total: int) -> int:
    """The number of landmarks, by default 4 sqrt(n) and never more than rows."""
    if n_landmarks is None:
        return min(total, math.ceil(4.0 * math.sqrt(total)))
    if not is_integer(n_landmarks, least=1) or n_landmarks > total:
        raise InputError(
            f"`n_landmarks` must be an integer from 1 to the number of rows, {total}; "
            f"got {n_landmarks!r}"
        )
    return int(n_landmarks)
