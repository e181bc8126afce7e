r"""Exact Stein moments of p = N(0, I_d) and q = N(delta 1, sigma^2 I_d), in rational numbers.

With s_p(x) = -x every Stein feature is a polynomial in the power sums S_a = sum_j x_j^a, and for
independent, identically distributed coordinates

    E[S_a S_b ...] = sum over set partitions pi of {a, b, ...} of
                     d (d-1) ... (d-|pi|+1) * prod over blocks B of E[X^(sum of B)].

Rational arithmetic keeps high orders free of cancellation; `gaussian.py` rounds the results once.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

from polystein.errors import ScaleError

# A product of sums T_ab = sum_j x_j^a y_j^b, written as its exponents, and a polynomial in them.
Term = tuple[tuple[int, int], ...]
Polynomial = dict[Term, Fraction]
Partition = tuple[tuple[int, ...], ...]


class ExactPair:
    """The rational numbers behind `polystein.theory.GaussianPair`, whose arguments it takes."""

    def __init__(self, dimension: int, delta: float, variance: float) -> None:
        self.dimension = dimension
        self.delta = Fraction(delta)
        self.variance = Fraction(variance)
        self._moments = [Fraction(1), self.delta]
        self._known: dict[Term, Fraction] = {}

    def stein_means(self, order: int) -> tuple[list[Fraction], list[Fraction], Fraction]:
        """Return a_i, e_i with mu_i = a_i 1 1^T + e_i I for i = 1..Q, and the entries of mu_b."""
        orders = range(1, order + 1)
        return (
            [-self.delta * self.moment(i) for i in orders],
            [(1 - self.variance) * i * self.moment(i - 1) for i in orders],
            -self.delta,
        )

    def squared_norms(self, order: int) -> list[Fraction]:
        """Return |mu_1|_F^2, ..., |mu_Q|_F^2, |mu_b|^2: the features' means times Z."""
        d = self.dimension
        off_diagonal, excess, score = self.stein_means(order)
        norms = [
            d * (a + e) ** 2 + d * (d - 1) * a**2 for a, e in zip(off_diagonal, excess, strict=True)
        ]
        return [*norms, d * score**2]

    def squared_psd(self, order: int) -> Fraction:
        """Return Z^2 of Proposition 3.2."""
        return sum(self.squared_norms(order), Fraction(0))

    def feature_covariance(self, order: int) -> list[list[Fraction]]:
        """Return the covariance of the features of Proposition 4.3, times Z^2."""
        return self._covariance(self._features(order), self.squared_norms(order))

    def lambda_snr_squared(self, order: int) -> Fraction:
        """Return mu_Psi^T Sigma_Psi^-1 mu_Psi of Proposition 4.3, in which Z cancels."""
        return _inverse_quadratic_form(self.squared_norms(order), self.feature_covariance(order))

    def o_psd(self, order: int) -> Fraction:
        """Return mu^T Sigma^-1 mu of Proposition 4.2, over all Q d^2 + d features.

        Permuting the coordinates changes neither q nor mu, and so not Sigma^-1 mu either: the best
        A_i are alpha_i 1 1^T + beta_i I, and the best b is gamma 1. That leaves 2 Q + 1 features.
        """
        orders = range(1, order + 1)
        score: Polynomial = {((1, 0),): Fraction(-1)}
        features = [*map(_total, orders), *map(_trace, orders), score]
        one: Polynomial = {(): Fraction(1)}
        means = [self._mean_of_product(feature, one) for feature in features]
        return _inverse_quadratic_form(means, self._covariance(features, means))

    def zeta1(self, order: int) -> Fraction:
        """V[xi(x)^T mu]: the variance of the sum of the features."""
        return sum((sum(row, Fraction(0)) for row in self.feature_covariance(order)), Fraction(0))

    def zeta2(self, order: int) -> Fraction:
        """V[k(x, x')] of k(x, x') = xi(x)^T xi(x'), whose mean is Z^2."""
        kernel = _kernel(order)
        return self._mean_of_product(kernel, kernel) - self.squared_psd(order) ** 2

    def moment(self, power: int) -> Fraction:
        """E[X^power] of one coordinate, by E[X^(k+1)] = delta E[X^k] + k sigma^2 E[X^(k-1)]."""
        moments = self._moments
        for k in range(len(moments) - 1, power):
            moments.append(self.delta * moments[k] + k * self.variance * moments[k - 1])
        return moments[power]

    def _features(self, order: int) -> list[Polynomial]:
        """Return <mu_i, Phi_i(x)> for i = 1..Q and mu_b^T s_p(x), in S_a = T_a0."""
        off_diagonal, excess, score = self.stein_means(order)
        features: list[Polynomial] = []
        for i, (a, e) in enumerate(zip(off_diagonal, excess, strict=True), start=1):
            total, trace = _total(i), _trace(i)
            features.append(
                {t: a * total.get(t, 0) + e * trace.get(t, 0) for t in {**total, **trace}}
            )
        return [*features, {((1, 0),): -score}]

    def _covariance(
        self, features: Sequence[Polynomial], means: Sequence[Fraction]
    ) -> list[list[Fraction]]:
        """Return the covariance of features whose means are known."""
        return [
            [self._mean_of_product(f, g) - m * k for g, k in zip(features, means, strict=True)]
            for f, m in zip(features, means, strict=True)
        ]

    def _mean_of_product(self, left: Polynomial, right: Polynomial) -> Fraction:
        """E[left * right] for independent x, y from q."""
        return sum(
            (u * v * self._mean_of_term(s + t) for s, u in left.items() for t, v in right.items()),
            Fraction(0),
        )

    def _mean_of_term(self, term: Term) -> Fraction:
        """E[T_ab T_cd ...] by the module's formula; the order of the factors is immaterial."""
        term = tuple(sorted(term))
        if term not in self._known:
            total = Fraction(0)
            for blocks in _set_partitions(len(term)):
                product = Fraction(math.perm(self.dimension, len(blocks)))
                for block in blocks:
                    product *= self.moment(sum(term[r][0] for r in block))
                    product *= self.moment(sum(term[r][1] for r in block))
                total += product
            self._known[term] = total
        return self._known[term]


def _total(i: int) -> Polynomial:
    """1^T Phi_i(x) 1 = -S_1 S_i + i S_(i-1)."""
    return {((1, 0), (i, 0)): Fraction(-1), ((i - 1, 0),): Fraction(i)}


def _trace(i: int) -> Polynomial:
    """Return tr Phi_i(x) = -S_(i+1) + i S_(i-1)."""
    return {((i + 1, 0),): Fraction(-1), ((i - 1, 0),): Fraction(i)}


def _kernel(order: int) -> Polynomial:
    """Return k(x, y) in T_ab: `u_statistic._gram` at s_p(x) = -x."""
    kernel: dict[Term, int] = {((1, 1),): 1}
    for i in range(1, order + 1):
        parts: tuple[tuple[Term, int], ...] = (
            (((1, 1), (i, i)), 1),
            (((i + 1, i - 1),), -i),
            (((i - 1, i + 1),), -i),
            (((i - 1, i - 1),), i * i),
        )
        for term, coefficient in parts:
            kernel[term] = kernel.get(term, 0) + coefficient
    return {term: Fraction(coefficient) for term, coefficient in kernel.items()}


@cache
def _set_partitions(size: int) -> tuple[Partition, ...]:
    """Return all set partitions of range(size)."""
    return tuple(_with_one_more(size - 1)) if size else ((),)


def _with_one_more(new: int) -> Iterator[Partition]:
    """Put element `new` into each block of each partition of range(new), and on its own."""
    for blocks in _set_partitions(new):
        for r, block in enumerate(blocks):
            yield (*blocks[:r], (*block, new), *blocks[r + 1 :])
        yield (*blocks, (new,))


def _inverse_quadratic_form(mean: Sequence[Fraction], matrix: list[list[Fraction]]) -> Fraction:
    """Return mean^T matrix^-1 mean of a covariance matrix, leaving out repeated features."""
    # A zero pivot is a combination of Stein features that does not vary. It is zero, because its
    # mean under p is, and so is its mean under q.
    rows = [[*row, value] for row, value in zip(matrix, mean, strict=True)]
    total = Fraction(0)
    for k, pivot_row in enumerate(rows):
        pivot, value = pivot_row[k], pivot_row[-1]
        if pivot == 0:
            continue
        total += value**2 / pivot
        for row in rows[k + 1 :]:
            factor = row[k] / pivot
            row[k:] = [x - factor * y for x, y in zip(row[k:], pivot_row[k:], strict=True)]
    return total


def as_float(value: Fraction) -> float:
    """Round once; what does not fit a float64 is an error."""
    try:
        return float(value)
    except OverflowError as error:
        raise ScaleError("the result does not fit a float64; lower `order` or `delta`") from error


def root(value: Fraction) -> float:
    """Return the square root, also where the square itself does not fit a float64."""
    exponent = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    try:
        return math.ldexp(math.sqrt(value / Fraction(4) ** exponent), exponent)
    except OverflowError as error:
        raise ScaleError("the result does not fit a float64; lower `order` or `delta`") from error
