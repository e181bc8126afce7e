"""Expectations under the target, corrected for what is wrong with the draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from polystein._lib.threads import one_blas_thread
from polystein.corrections.candidates import best_estimates, coordinate_candidates, joint_candidates
from polystein.corrections.estimates import (
    RELIABLE_ENOUGH,
    Candidate,
    Estimate,
    FirstLook,
    Quantity,
    Rows,
    estimated,
    first_look,
)
from polystein.corrections.fit import EXACT
from polystein.corrections.requests import Asked, Functions, asked
from polystein.data.axes import rows_or_chains
from polystein.data.coordinates import Frame
from polystein.data.sample import as_source
from polystein.data.source import Source, is_source
from polystein.results.effects import LEVEL, ExpectationRow, ExpectationTable, quantile
from polystein.types import Array, ScoreFunction


def expectations(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    functions: Functions = None,
    *,
    names: Sequence[str] | None = None,
    model: object = None,
    iid: bool = False,
) -> ExpectationTable:
    """Means, standard deviations and other expectations of the target, corrected.

    A Stein feature is a function of a draw and its score that has mean 0 under the target. A
    function f of the draws is fitted by least squares on a constant and such features. If they
    explain f, the constant is the expectation of f under the target, *whatever distribution the
    draws come from*: wrong draws are corrected, and of right ones the variance is lowered. The
    average of f over the draws minus that constant is the sampler's error.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one chain in
        time order. ``expectations(sample, functions)`` is understood, too.
    functions : optional
        What to estimate; by default mean and sd of every coordinate, and of every parameter on its
        own scale if the sample has a transform to it. A function from (n, d) draws to n values or
        n rows of values; a mapping from names to such functions; or a list of functions, of
        ``"mean"``, ``"sd"``, ``"skew"`` (third standardised moment), ``"tail"`` (fourth), of pairs
        of names for correlations, and of names of parameters on their own scale. Of functions,
        mean and sd are estimated.
    names : sequence of str, optional
        The coordinates whose moments are estimated; all by default.
    model : optional
        As for `check`: the model that draws of another library were taken of.
    iid : bool
        Whether the rows of (n, d) draws are independent.

    Returns
    -------
    ExpectationTable
        ``rows``, each with the plain value and its error, the corrected value and its error, the
        difference with an interval, and a reliability.

    Notes
    -----
    Features are the scores s; the products s_l x_j with the coordinate that is asked for; s_j x_j^k
    for k = 2, 3, 4; and all d^2 products if there are 10 d^2 rows. For each function the smallest
    set that is about as good as the best is chosen by its residuals out of fold. The
    reliability is R^2 out of fold. Below 0.99 the function is not explained well enough: if the
    draws are wrong, the corrected value may be off by more than its error says.

    Errors come from influence functions with leverages; for chains they allow for autocorrelation
    (lugsail batch means), and intervals have t quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.3, 0.5, size=(1000, 2))
    >>> sample = ps.Sample(draws, lambda x: -x, names=["a", "b"])  # the target is N(0, I)
    >>> table = ps.expectations(sample)
    >>> row = table["a", "sd"]
    >>> round(row.plain, 2), round(row.corrected, 2)
    (0.51, 1.0)
    >>> table = ps.expectations(sample, {"a above 0": lambda x: x[:, 0] > 0.0})
    >>> table["a above 0", "mean"].reliable
    False
    """
    if functions is None and scores is not None and is_source(draws):
        functions, scores = scores, None
    source = rows_or_chains(as_source(draws, scores, model), iid)
    wanted = asked(source, functions, names)
    with one_blas_thread():
        rows = Rows.of(source)
        estimates = _estimates(rows, first_look(rows), wanted)
    return ExpectationTable(
        tuple(
            expectation_row(name, estimates[quantity][0], estimates[quantity][1])
            for quantity, name in wanted.quantities.items()
        )
    )


def _estimates(
    rows: Rows, look: FirstLook, wanted: Asked
) -> dict[Quantity, tuple[Estimate, Callable[[float], float]]]:
    """Every quantity's estimate, and how its values are put back into the draws' units."""
    quantities = list(wanted.quantities)
    own = [quantity for quantity in quantities if not quantity.of_function]
    functions = [quantity for quantity in quantities if quantity.of_function]
    found: dict[Quantity, tuple[Estimate, Callable[[float], float]]] = {}
    if own and all(quantity.what == "mean" for quantity in own):
        exact, own = _explained_by_scores(look, own)
        for estimate in estimated(rows, look.rough, exact) if exact else []:
            found[estimate.quantity] = estimate, _units(look.rough, estimate.quantity)
    candidates = coordinate_candidates(rows, look, own) if own else {}
    if functions:
        candidates |= joint_candidates(rows, look.frame, functions, wanted.values, products=False)
    values = wanted.values
    for estimate in best_estimates(rows, look.frame, candidates, values) if candidates else []:
        quantity = estimate.quantity
        units = _function_units(wanted, quantity) if quantity.of_function else None
        found[quantity] = estimate, units or _units(look.frame, quantity)
    return found


def _explained_by_scores(
    look: FirstLook, means: list[Quantity]
) -> tuple[list[Candidate], list[Quantity]]:
    """Means that the scores alone explain, and the others, which need further features."""
    candidates = [Candidate(quantity, look.means, quantity.indices) for quantity in means]
    exact = [one for one in candidates if one.reliability >= RELIABLE_ENOUGH]
    return exact, [one.quantity for one in candidates if one.reliability < RELIABLE_ENOUGH]


def _units(frame: Frame, quantity: Quantity) -> Callable[[float], float]:
    """From the scale of the functional in the frame to the units of the draws."""
    index = quantity.indices[0]
    centre = 0.0 if frame.centre is None else float(frame.centre[index])
    scale = 1.0 if frame.scale is None else float(frame.scale[index])
    return _back(quantity, centre, scale)


def _function_units(wanted: Asked, quantity: Quantity) -> Callable[[float], float]:
    centres = np.concatenate([function.centre for function in wanted.values])
    scales = np.concatenate([function.scale for function in wanted.values])
    index = quantity.indices[0]
    return _back(quantity, float(centres[index]), float(scales[index]))


def _back(quantity: Quantity, centre: float, scale: float) -> Callable[[float], float]:
    if quantity.what == "mean":
        return lambda value: centre + scale * value
    if quantity.what == "sd":
        return lambda value: scale * math.exp(value)
    return math.tanh if quantity.what == "correlation" else lambda value: value


def expectation_row(
    name: str, estimate: Estimate, units: Callable[[float], float]
) -> ExpectationRow:
    """An estimate in the units of the draws."""
    plain, corrected = units(estimate.plain), units(estimate.corrected)
    reach = quantile(LEVEL, estimate.df[2]) * estimate.bias_se
    low, high = (
        (units(estimate.corrected + estimate.bias + sign * reach) - corrected)
        if math.isfinite(reach)
        else sign * math.inf
        for sign in (-1.0, 1.0)
    )
    variance = estimate.corrected_se**2
    # Of what features explain but for rounding, only rounding is left.
    variance = 0.0 if variance <= EXACT * estimate.plain_se**2 else variance
    return ExpectationRow(
        name=name,
        what=estimate.quantity.what,
        plain=plain,
        mcse=_slope(units, estimate.plain, estimate.quantity) * estimate.plain_se,
        corrected=corrected,
        error=_slope(units, estimate.corrected, estimate.quantity) * estimate.corrected_se,
        bias=plain - corrected,
        lower=low,
        upper=high,
        reliability=estimate.candidate.reliability,
        reduction=estimate.plain_se**2 / variance if variance > 0.0 else math.inf,
        ess=estimate.marginal / variance if variance > 0.0 else math.inf,
    )


def _slope(units: Callable[[float], float], value: float, quantity: Quantity) -> float:
    """The derivative of the change of units."""
    if quantity.what == "sd":
        return units(value)
    if quantity.what == "correlation":
        return 1.0 - units(value) ** 2
    return units(1.0) - units(0.0)
