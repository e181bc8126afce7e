r"""Theorem 3.3 and Corollary 3.4: PSD of a Gaussian target as differences of moments.

For p = N(m, S) the score is -S^-1 (x - m), and every Stein moment is S^-1 times a difference
between moments of q that Stein's identity makes zero under p:

    mu_b = -S^-1 (E[X] - m),
    mu_i = -S^-1 D_i,    [D_i]_lj = E[(X_l - m_l) X_j^i] - i S_lj E[X_j^(i-1)].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polystein._lib.arguments import order_of
from polystein.errors import InputError, ScaleError
from polystein.types import FloatArray

# A covariance may differ from its transpose by the rounding of the program that computed it.
_ASYMMETRY = 1e-10


class ProductMoments(NamedTuple):
    """Moments of a sampler that is known without draws; see `moment_differences`.

    Attributes
    ----------
    mean : array_like of shape (d,)
        E[X].
    products : array_like of shape (Q, d, d)
        ``products[i-1][l, j]`` = E[X_l X_j^i] for i = 1, ..., Q.

    Examples
    --------
    >>> import polystein as ps
    >>> moments = ps.theory.ProductMoments(mean=[0.5], products=[[[1.25]]])  # N(0.5, 1)
    >>> found = ps.theory.moment_differences(moments, mean=[0.0], covariance=[[1.0]], order=1)
    >>> print(f"{found.psd:.4f}, {ps.theory.GaussianPair(1, 0.5, 1.0).psd(order=1):.4f}")
    0.5590, 0.5590
    """

    mean: npt.ArrayLike
    products: npt.ArrayLike


@dataclass(frozen=True)
class MomentDifferences:
    """What keeps PSD of a Gaussian target from zero; see `moment_differences`.

    Attributes
    ----------
    mean : array of shape (d,)
        E[X] - m.
    products : array of shape (Q, d, d)
        ``products[i-1][l, j]`` = E[(X_l - m_l) X_j^i] - i S_lj E[X_j^(i-1)].
    covariance : array of shape (d, d), or None
        E[(X - m) (X - m)^T] - S, the second condition of Corollary 3.4; None at order 0.
    matrices : array of shape (Q, d, d)
        mu_1, ..., mu_Q: -S^-1 times `products`.
    vector : array of shape (d,)
        mu_b: -S^-1 times `mean`.
    psd : float
        The root of the sum of squares of `matrices` and `vector` (Proposition 3.2). It is zero if
        and only if `mean` and `products` are.

    Examples
    --------
    >>> import polystein as ps
    >>> wide = ps.theory.ProductMoments(mean=[0.0, 0.0], products=[[[1.7, 0.0], [0.0, 1.0]]])
    >>> found = ps.theory.moment_differences(
    ...     wide, mean=[0.0, 0.0], covariance=[[1.0, 0.0], [0.0, 1.0]], order=1
    ... )
    >>> print(found.covariance.round(2))
    [[0.7 0. ]
     [0.  0. ]]
    """

    mean: FloatArray
    products: FloatArray
    covariance: FloatArray | None
    matrices: FloatArray
    vector: FloatArray
    psd: float


def moment_differences(
    draws: npt.ArrayLike | ProductMoments,
    /,
    *,
    mean: npt.ArrayLike,
    covariance: npt.ArrayLike,
    order: int,
) -> MomentDifferences:
    """Return the moment conditions of Theorem 3.3 as differences, and PSD from them.

    For a Gaussian target PSD is zero if and only if these differences are. With `order` = 1 they
    say that q has the mean and the covariance of the target (Corollary 3.4). Each higher order i
    adds the moments E[X_l X_j^i].

    Parameters
    ----------
    draws : array_like of shape (n, d), or ProductMoments
        The sampler q: draws, or its moments where they are known.
    mean : array_like of shape (d,)
        The target's mean m.
    covariance : array_like of shape (d, d)
        The target's covariance S, positive definite.
    order : int
        The order Q >= 0. With moments, Q may be at most as many as `products` has.

    Returns
    -------
    MomentDifferences
        With draws, `psd` is `polystein.psd` of the same draws with the scores -S^-1 (x - m).

    Raises
    ------
    InputError
        If an argument has the wrong type, shape or values.
    ScaleError
        If a moment does not fit a float64.

    Examples
    --------
    Why no order below 3 sees the Laplace sampler of the paper's Experiment 1: its variance is
    1, and its first moment that a standard Gaussian does not share is E[X^4] = 6 instead of 3.

    >>> import polystein as ps
    >>> moments = ps.theory.ProductMoments(mean=[0.0], products=[[[1.0]], [[0.0]], [[6.0]]])
    >>> for order in (1, 2, 3):
    ...     found = ps.theory.moment_differences(moments, mean=[0], covariance=[[1]], order=order)
    ...     print(order, found.products.ravel().tolist(), found.psd)
    1 [0.0] 0.0
    2 [0.0, 0.0] 0.0
    3 [0.0, 0.0, 3.0] 3.0

    With draws the value is that of `polystein.psd`:

    >>> import numpy as np
    >>> draws = np.random.default_rng(0).laplace(0.0, 0.5**0.5, (1000, 2))
    >>> found = ps.theory.moment_differences(draws, mean=[0, 0], covariance=np.eye(2), order=3)
    >>> print(f"{found.psd:.6f} {ps.psd(draws, -draws, order=3):.6f}")
    4.645542 4.645542
    """
    order = order_of(order, least=0)
    centre = real_array("mean", mean)
    if centre.ndim != 1 or not centre.size:
        raise InputError(f"`mean` must have shape (d,) with d >= 1; got {centre.shape}")
    target = _covariance(covariance, centre.size)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(draws, ProductMoments):
            shift, cross, powers = _known_moments(draws, centre, order)
        else:
            shift, cross, powers = _moments_of_draws(draws, centre, order)
        # [D_i]_lj = E[(X_l - m_l) X_j^i] - i S_lj E[X_j^(i-1)].
        products = np.array(
            [cross[i - 1] - i * target * powers[i - 1] for i in range(1, order + 1)]
        ).reshape(order, centre.size, centre.size)
        matrices = -np.linalg.solve(target, products)
        vector = np.asarray(-np.linalg.solve(target, shift), dtype=np.float64)
        squares = float(np.sum(matrices**2)) + float(vector @ vector)
    if not math.isfinite(squares):
        raise ScaleError(
            f"the moments of order {order} do not fit a float64; rescale draws and target"
        )
    # D_1 = E[(X - m) X^T] - S, and X = (X - m) + m.
    second = products[0] - np.outer(shift, centre) if order else None
    return MomentDifferences(shift, products, second, matrices, vector, math.sqrt(squares))


def _moments_of_draws(
    draws: npt.ArrayLike, centre: FloatArray, order: int
) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
    """Return E[X] - m, the matrices E[(X_l - m_l) X_j^i], and E[X_j^(i-1)], for i = 1..Q."""
    rows = real_rows("draws", draws, least=1)
    if rows.shape[1] != centre.size:
        raise InputError(
            f"`draws` must have as many columns as `mean`, {centre.size}; got {rows.shape[1]}"
        )
    centred = rows - centre
    cross, powers = [], []
    power = np.ones_like(rows)
    for _ in range(order):
        powers.append(np.mean(power, axis=0))
        power = power * rows
        cross.append(centred.T @ power / len(rows))
    return np.mean(centred, axis=0), cross, powers


def _known_moments(
    moments: ProductMoments, centre: FloatArray, order: int
) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
    """Return what `_moments_of_draws` does; E[X_j^(i+1)] is the entry [j, j] of E[X_l X_j^i]."""
    d = centre.size
    mean = real_array("draws.mean", moments.mean)
    products = real_array("draws.products", moments.products)
    if mean.shape != (d,):
        raise InputError(f"`draws.mean` must have the shape of `mean`, ({d},); got {mean.shape}")
    if products.shape[:1] < (order,) or (order and products.shape[1:] != (d, d)):
        raise InputError(
            f"`draws.products` must have shape (Q, {d}, {d}) with Q >= `order`, {order}; "
            f"got {products.shape}"
        )
    if order:
        _require_symmetric(products[0], "draws.products[0]")
    powers = [np.ones(d), mean, *(np.diagonal(product) for product in products)][: order + 1]
    cross = [products[i - 1] - np.outer(centre, powers[i]) for i in range(1, order + 1)]
    return mean - centre, cross, powers[:order]


def _covariance(values: npt.ArrayLike, d: int) -> FloatArray:
    """Return a symmetric, positive definite matrix, or say what it is instead."""
    matrix = real_array("covariance", values)
    if matrix.shape != (d, d):
        raise InputError(
            f"`covariance` must have shape ({d}, {d}) as `mean` has; got {matrix.shape}"
        )
    _require_symmetric(matrix, "covariance")
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(matrix)[0]
        raise InputError(
            f"`covariance` must be positive definite; its smallest eigenvalue is {smallest:.3g}"
        ) from None
    return matrix


def _require_symmetric(matrix: FloatArray, name: str) -> None:
    gap = np.abs(matrix - matrix.T)
    if np.max(gap) > _ASYMMETRY * np.max(np.abs(matrix)):
        row, column = divmod(int(np.argmax(gap)), len(matrix))
        raise InputError(
            f"`{name}` must be symmetric; got {matrix[row, column]} at [{row}, {column}] and "
            f"{matrix[column, row]} at [{column}, {row}]"
        )


def real_array(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a copy in double precision of finite real numbers of any shape."""
    try:
        given = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` must be an array of numbers; {error}") from error
    if given.dtype.kind not in "fiu":
        raise InputError(f"`{name}` must hold real numbers; got dtype {given.dtype}")
    with np.errstate(over="ignore"):  # of long doubles; what overflows is not finite
        array = given.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"`{name}` must be finite; got {len(bad)} non-finite values, the first at "
            f"{tuple(map(int, bad[0]))}"
        )
    return array


def real_rows(name: str, values: npt.ArrayLike, *, least: int) -> FloatArray:
    """Return `real_array` of shape (n, d) with at least this many rows."""
    array = real_array(name, values)
    shape = array.shape
    if len(shape) != 2 or shape[0] < least or shape[1] < 1:
        raise InputError(f"`{name}` must have shape (n, d) with n >= {least}, d >= 1; got {shape}")
    return array
