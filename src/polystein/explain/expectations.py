"""Expectations under the target, corrected for what is wrong with the draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from polystein._lib.threads import one_blas_thread
from polystein.data.coordinates import Frame
from polystein.data.guard.chains import rows_or_chains
from polystein.data.guard.repeats import forbid_copies
from polystein.data.sample import as_source
from polystein.data.source import Source, is_source
from polystein.errors import DegenerateError
from polystein.explain.candidates import best_estimates, coordinate_candidates, joint_candidates
from polystein.explain.estimates import (
    Candidate,
    Estimate,
    FirstLook,
    Quantity,
    Rows,
    estimated,
    first_look,
)
from polystein.explain.fit import EXACT
from polystein.explain.functionals import What
from polystein.explain.refusals import ConstantValuesError, require_full_scores
from polystein.explain.requests import Asked, Functions, asked
from polystein.results.effect_rows import LEVEL, TRUSTED, ExpectationRow
from polystein.results.effects import ExpectationTable
from polystein.results.tolerance import quantile
from polystein.types import Array, ScoreFunction

#: A mean of this reliability is one of the scores themselves, as those of Gaussian targets are.
SPANNED = 1.0 - 1e-9


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
        mean and sd are estimated. They are called on blocks of rows, several times: a value may
        depend on its own row only, not on a mean or a rank among all.
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
    for k = 2, 3, 4; and, where the others leave the reliability below 0.9999, all d^2 products if
    there are 10 d^2 rows and n rows times the squared number of these features are at most 2e10.
    For each function the smallest set that is about as good as the best is chosen by its residuals
    out of fold. The reliability is R^2 over the draws, out of fold. Below 0.99 the function is not
    explained well enough: if the draws are wrong, the corrected value may be off by more than its
    error says. A high reliability is no bound: parts of the target that no draw visits are not in
    it.

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
    forbid_copies(source)
    require_full_scores(source)
    wanted = asked(source, functions, names)
    with one_blas_thread():
        rows = Rows.of(source)
        return expectations_of(rows, first_look(rows), wanted)


def expectations_of(rows: Rows, look: FirstLook, wanted: Asked) -> ExpectationTable:
    """The expectations of rows that have been looked at."""
    with _named(wanted):
        estimates = _estimates(rows, look, wanted)
    return ExpectationTable(
        tuple(
            expectation_row(name, estimates[quantity][0], estimates[quantity][1])
            for quantity, name in wanted.quantities.items()
        )
    )


@contextmanager
def _named(wanted: Asked) -> Iterator[None]:
    """A function that is constant is called by its name."""
    try:
        yield
    except ConstantValuesError as error:
        name = wanted.quantities[Quantity("mean", (error.number,), of_function=True)]
        raise DegenerateError(
            f"`functions` must vary over the draws; the values of {name!r} are constant but for "
            "rounding"
        ) from None


class Units(NamedTuple):
    """From the scale of a functional, in a frame, to the units of the draws."""

    what: What
    centre: float = 0.0
    scale: float = 1.0

    def value(self, there: float) -> float:
        """A value in the units of the draws."""
        if self.what == "mean":
            return self.centre + self.scale * there
        if self.what == "sd":
            return self.scale * math.exp(there)
        return math.tanh(there) if self.what == "correlation" else there

    def change(self, start: float, by: float) -> float:
        """By how much a value changes; no digits are lost where the centre is large."""
        if self.what == "mean":
            return self.scale * by
        if self.what == "sd":
            with np.errstate(over="ignore"):
                return self.value(start) * float(np.expm1(by))
        return self.value(start + by) - self.value(start)

    def slope(self, there: float) -> float:
        """The derivative of the value."""
        if self.what == "mean":
            return self.scale
        if self.what == "sd":
            return self.value(there)
        return 1.0 - math.tanh(there) ** 2 if self.what == "correlation" else 1.0


def _estimates(
    rows: Rows, look: FirstLook, wanted: Asked
) -> dict[Quantity, tuple[Estimate, Units]]:
    """Every quantity's estimate, and how its values are put back into the draws' units."""
    quantities = list(wanted.quantities)
    own = [quantity for quantity in quantities if not quantity.of_function]
    functions = [quantity for quantity in quantities if quantity.of_function]
    found: dict[Quantity, tuple[Estimate, Units]] = {}
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
    exact = [one for one in candidates if one.reliability >= SPANNED]
    return exact, [one.quantity for one in candidates if one.reliability < SPANNED]


def _units(frame: Frame, quantity: Quantity) -> Units:
    index = quantity.indices[0]
    centre = 0.0 if frame.centre is None else float(frame.centre[index])
    scale = 1.0 if frame.scale is None else float(frame.scale[index])
    return Units(quantity.what, centre, scale)


def _function_units(wanted: Asked, quantity: Quantity) -> Units:
    centres = np.concatenate([function.centre for function in wanted.values])
    scales = np.concatenate([function.scale for function in wanted.values])
    index = quantity.indices[0]
    return Units(quantity.what, float(centres[index]), float(scales[index]))


def expectation_row(name: str, estimate: Estimate, units: Units) -> ExpectationRow:
    """An estimate in the units of the draws; below a reliability of 0.9 nothing is corrected."""
    plain, mcse = units.value(estimate.plain), units.slope(estimate.plain) * estimate.plain_se
    name_and_what, reliability = (name, estimate.quantity.what), estimate.reliability
    if reliability < TRUSTED:
        missing, unknown = (math.nan, math.nan, math.nan), (-math.inf, math.inf)
        return ExpectationRow(
            *name_and_what, plain, mcse, *missing, *unknown, reliability, math.nan, math.nan
        )
    reach = quantile(LEVEL, estimate.df[2]) * estimate.bias_se + estimate.bias_doubt.reach
    low, high = (
        units.change(estimate.corrected, estimate.bias + sign * reach)
        if math.isfinite(reach)
        else sign * math.inf
        for sign in (-1.0, 1.0)
    )
    variance = estimate.corrected_se**2
    # Of what features explain but for rounding, only rounding is left.
    variance = 0.0 if variance <= EXACT * estimate.plain_se**2 else variance
    return ExpectationRow(
        *name_and_what,
        plain,
        mcse,
        corrected=units.value(estimate.corrected),
        error=units.slope(estimate.corrected) * estimate.corrected_se,
        bias=units.change(estimate.corrected, estimate.bias),
        lower=low,
        upper=high,
        reliability=reliability,
        reduction=estimate.plain_se**2 / variance if variance > 0.0 else math.inf,
        ess=estimate.marginal / variance if variance > 0.0 else math.inf,
    )
