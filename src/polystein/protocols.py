"""The seams of the package: what each room expects of its neighbours.

Nothing here computes. A new kind of storage is one more `Source`, a new family
of test functions one more `Basis`, and so on; see ``CONTRIBUTING.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: An array of any array-API namespace (NumPy, PyTorch, JAX, ...).
Array: TypeAlias = Any
FloatArray: TypeAlias = NDArray[np.float64]
RNG: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
Role: TypeAlias = Literal["witness", "weights", "gap", "test"]
Structure: TypeAlias = Literal["full", "diagonal"]
BasisName: TypeAlias = Literal["monomial", "hermite", "bounded-hermite"]
Resolution: TypeAlias = Literal["order", "coordinate", "hierarchical", "entry"]
Alternative: TypeAlias = Literal["two-sided", "greater"]
Estimator: TypeAlias = Literal["u", "v"]
Progress: TypeAlias = Callable[[int, int], None]


class Layout(NamedTuple):
    """How the draws are arranged: draws per chain, dimension, and what a row is."""

    lengths: tuple[int, ...]
    dimension: int
    time_ordered: bool

    @property
    def total(self) -> int:
        """Number of rows over all chains."""
        return sum(self.lengths)


class Block(NamedTuple):
    """Consecutive (or selected) rows of one chain, in time order."""

    draws: Array
    scores: Array
    weights: FloatArray | None
    chain: int
    start: int
    #: Importance weights are ``weights * exp(log_scale)``.
    log_scale: float = 0.0

    @property
    def rows(self) -> int:
        """Number of rows in the block."""
        return int(self.draws.shape[0])


class Rows(NamedTuple):
    """A stretch ``start:stop`` of one chain, thinned by ``mask`` if there is one."""

    chain: int
    start: int
    stop: int
    mask: NDArray[np.bool_] | None = None


class Term(NamedTuple):
    """One basis function at the draws: phi_i and phi_i' = factor * derivative.

    A derivative of None is 1 everywhere, which need not be multiplied out.
    """

    values: Array
    factor: float
    derivative: Array | None


class FeatureMoments(NamedTuple):
    """All that a weight rule may see: mean, covariance (1/n), effective number of rows.

    Of features too many for a matrix, ``covariance`` holds only the variances: it
    is (K, K) or (K,).
    """

    mean: FloatArray
    covariance: FloatArray
    rows: float

    @property
    def variance(self) -> FloatArray:
        """The variance of each feature."""
        if self.covariance.ndim == 1:
            return self.covariance
        return np.diagonal(self.covariance)


class LongRun(NamedTuple):
    """What a variance rule makes of the test columns.

    ``covariance`` is that of the *mean* of the columns, so that a z-statistic is
    ``mean / sqrt(diag(covariance))``; ``df`` is the t reference's degrees of
    freedom (infinite for the normal) and ``ess`` the effective number of rows,
    both per column.
    """

    mean: FloatArray
    covariance: FloatArray
    df: FloatArray
    ess: FloatArray


class Source(Protocol):
    """Where rows come from: memory, files, a generator."""

    #: Draws per chain, dimension, and whether rows are time-ordered.
    layout: Layout

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain."""


class Partition(Protocol):
    """A role for every row; never a new order."""

    def rows(self, *roles: Role) -> Iterator[Rows]:
        """The rows that hold one of the roles, chain by chain in time order."""

    def count(self, *roles: Role) -> int:
        """How many rows hold one of the roles."""

    @property
    def awaits_gap(self) -> bool:
        """Whether the gap is still to be estimated from training rows."""

    def with_gap(self, gap: int) -> Partition:
        """The same roles, but with this many rows a chain dropped before the test rows."""


class Split(Protocol):
    """Decides which rows train and which rows test."""

    #: Whether it keeps time: no test row between training rows of the same chain.
    respects_time: bool

    def partition(self, layout: Layout, rng: np.random.Generator) -> Partition:
        """Give every row of the layout a role."""


class Basis(Protocol):
    """Elementwise functions phi_1, ..., phi_Q and their derivatives."""

    @property
    def order(self) -> int:
        """The paper's Q."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each function."""

    def terms(self, draws: Array) -> Iterator[Term]:
        """Evaluate the functions one after the other."""


class Witness(Protocol):
    """A trained test function whose Stein image splits into named features."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each feature."""

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Features of every row, of shape (rows, len(names))."""


class Weights(Protocol):
    """A rule from the features' mean and covariance to lambda."""

    def solve(self, moments: FeatureMoments, rng: np.random.Generator) -> FloatArray:
        """Return lambda with unit norm and lambda' mean >= 0."""


class Accumulator(Protocol):
    """Test columns go in block by block, their mean and covariance come out."""

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        """Take the columns of one block."""

    def finalise(self) -> LongRun:
        """Mean, covariance of the mean, degrees of freedom, effective size."""


class Variance(Protocol):
    """How the variance of the mean of the test columns is estimated."""

    #: Effective rows below which the reference distribution is not to be trusted.
    least_ess: float
    #: Whether it holds for autocorrelated rows.
    respects_time: bool

    def accumulator(self, layout: Layout, columns: int) -> Accumulator:
        """Return a fresh accumulator."""
