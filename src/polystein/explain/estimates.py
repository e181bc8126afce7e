"""From rows to plain and corrected values with their errors: passes, fits and choices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import ROUNDING
from polystein.data.coordinates import Frame, working_frame
from polystein.data.passes import Accumulator, every_row, first_block, run_pass
from polystein.data.source import Source
from polystein.data.weight_sums import effective_weights
from polystein.errors import DegenerateError
from polystein.explain.designs import Design, JointDesign, MeansDesign
from polystein.explain.doubt import Doubt
from polystein.explain.fit import Fit, fitted
from polystein.explain.functionals import (
    FUNCTIONALS,
    What,
    difference,
    has_value,
    log_sd,
    variance,
)
from polystein.explain.gram import Folds, GramPass, in_groups
from polystein.explain.influence import (
    Combination,
    InfluencePass,
    few_by_disagreement,
    variances,
)
from polystein.explain.products import ProductSums, share_products
from polystein.explain.refusals import ConstantValuesError, require_varying_scores
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.types import FloatArray

#: With fewer rows, or effective importance weights, nothing is estimated.
FEWEST_ROWS = 20
#: A variance that is a smaller part of the mean square is rounding: long sums lose digits.
CANCELLED = 1e-12
#: Above this reliability no further features are tried.
RELIABLE_ENOUGH = 0.9999
#: All d^2 products are tried with this many rows for each ...
ROWS_PER_PRODUCT = 10
#: ... and if their matrix takes at most this many multiplications.
MOST_MULTIPLICATIONS = 2e10
#: Matrices of designs take at most this many numbers at once, 256 MiB; others wait for a pass.
MATRIX_NUMBERS = 2**25
#: Columns whose variances an estimate needs: plain, corrected, bias, error.
COLUMNS = 4
#: Place, among the moments of a quantity, of the one that it stands and falls with.
HIGHEST: dict[str, int] = {"mean": 0, "sd": 1, "skew": 2, "tail": 3, "correlation": 4}
#: Influence functions that these are made of.
PARTS = 3
#: Variances of the functionals, times the number of rows, for Gaussian draws.
GAUSSIAN_VARIANCE: dict[str, float] = {"sd": 0.5, "correlation": 1.0, "skew": 6.0, "tail": 24.0}
#: The variance of a skewness or kurtosis, times the number of rows, is at least that of Gaussian
#: draws times this power of the target's kurtosis over 3: it rests on rare draws, and is found too
#: small just when they are missing. Gamma laws and their logarithms are about so.
KURTOSIS_POWER = {"skew": 3.0, "tail": 6.0}


class Quantity(NamedTuple):
    """What is estimated: a mean, an sd, a shape or a correlation.

    ``indices`` are those of the coordinates, or the number of a function of the user's.
    """

    what: What
    indices: tuple[int, ...]
    of_function: bool = False


class Candidate(NamedTuple):
    """Where the moments of a quantity are: functions of a fit."""

    quantity: Quantity
    fit: Fit
    places: tuple[int, ...]

    @property
    def plain(self) -> FloatArray:
        """The moments averaged over the draws."""
        return self.fit.plain[list(self.places)]

    @property
    def corrected(self) -> FloatArray:
        """The corrected moments, or the plain ones if those are the moments of no distribution."""
        found = self.fit.corrected[list(self.places)]
        return found if has_value(self.quantity.what, found) else self.plain

    @property
    def uncorrected(self) -> bool:
        """Whether no features were of use."""
        found = self.fit.corrected[list(self.places)]
        alone = self.fit.cuts[self.places[HIGHEST[self.quantity.what]]] == 1
        return alone or not has_value(self.quantity.what, found)

    @property
    def explained(self) -> float:
        """R^2 out of fold over the draws, by which features are compared; it may be negative."""
        if self.uncorrected:
            return -math.inf
        left, all_of_it = self.left(FUNCTIONALS[self.quantity.what](self.corrected).gradient)
        return 1.0 - left / all_of_it if all_of_it > 0.0 else -math.inf

    @property
    def reliability(self) -> float:
        """R^2 out of fold of the function that decides about the quantity."""
        if self.uncorrected:
            return 0.0
        what, unit = self.quantity.what, variance(self.corrected) if self.in_units else None
        return self._explained(FUNCTIONALS[what](self.corrected).gradient, unit)

    @property
    def reliability_of_error(self) -> float:
        """The same of the sampler's error: that of a mean has the target's sd for its unit.

        The farther the mean is off, the more the unit counts.
        """
        if self.uncorrected or self._lacks_unit:
            return 0.0
        error = difference(self.quantity.what, self.plain, self.corrected)
        unit = 1.0 + GAUSSIAN_VARIANCE["sd"] * error.value**2 if self.in_units else None
        return self._explained(error.corrected, unit)

    @property
    def in_units(self) -> bool:
        """Whether the error is one of a mean, in the target's standard deviations."""
        known = self.quantity.what == "mean" and len(self.places) > 1
        return known and not self._lacks_unit

    @property
    def _lacks_unit(self) -> bool:
        """Whether no features tell the second moment, or it is that of no distribution."""
        if self.quantity.what != "mean" or len(self.places) == 1:
            return False
        return self.fit.cuts[self.places[1]] == 1 or variance(self.corrected) <= 0.0

    def _explained(self, gradient: FloatArray, of_target: float | None) -> float:
        """R^2 out of fold of a linear combination of the moments' functions.

        Of the draws, and as far as can be told of the target: how large the mean of what is left
        may be there, beside a variance that is known or taken to be that of a Gaussian target.
        """
        places, (left, all_of_it) = list(self.places), self.left(gradient)
        if all_of_it <= 0.0:
            return 0.0
        there = of_target or GAUSSIAN_VARIANCE.get(self.quantity.what, all_of_it)
        off = left * float(self.fit.inflation[places].max())
        off += float(gradient @ self.fit.damping[places]) ** 2
        return float(np.clip(1.0 - max(left / all_of_it, off / there), 0.0, 1.0))

    def left(self, gradient: FloatArray) -> tuple[float, float]:
        """Of a combination of functions, what is left out of fold, and its variance."""
        block = np.ix_(self.places, self.places)
        left = float(gradient @ self.fit.left[block] @ gradient)
        return max(0.0, left), float(gradient @ self.fit.spread[block] @ gradient)


class Estimate(NamedTuple):
    """Plain and corrected value of a quantity and the sampler's error, with standard errors.

    Values are on the scale of the functional, log for standard deviations and Fisher's z for
    correlations, in the frame. ``error`` is the sampler's, in the target's standard deviations for
    a mean; ``bias`` is the same without that unit.
    """

    candidate: Candidate
    plain: float
    corrected: float
    bias: float
    error: float
    plain_se: float
    corrected_se: float
    bias_se: float
    error_se: float
    #: Degrees of freedom of the four standard errors.
    df: tuple[float, ...]
    #: Variance of the plain value if rows were independent, times their number.
    marginal: float
    #: What is known of the features' part in bias and error.
    bias_doubt: Doubt = Doubt()
    error_doubt: Doubt = Doubt()

    @property
    def quantity(self) -> Quantity:
        """What is estimated."""
        return self.candidate.quantity

    @property
    def reliability(self) -> float:
        """That of the corrected value: R^2, and less where other features give another value."""
        return self.bias_doubt.lowered(self.candidate.reliability, self.bias, self.bias_se)

    @property
    def reliability_of_error(self) -> float:
        """The same of the sampler's error."""
        known = self.candidate.reliability_of_error
        return self.error_doubt.lowered(known, self.error, self.error_se)


@dataclass(frozen=True)
class Rows:
    """The rows that estimates rest on, and how they depend on each other."""

    source: Source
    effective: float
    stretches: EqualBatches | IndependentBatches

    @classmethod
    def of(cls, source: Source) -> Rows:
        """All rows of a source, chains if it is in time order."""
        kind = EqualBatches if source.layout.time_ordered else IndependentBatches
        stretches = kind(source.layout.lengths)
        return cls(source, effective_weights(source), stretches)

    def fits(self, designs: Sequence[Design], frame: Frame, *, widest: bool = False) -> list[Fit]:
        """Fit every design, `widest` or not, in one pass where all matrices fit into memory."""
        shared = [design for design in designs if share_products(design)]
        others = [design for design in designs if not share_products(design)]
        groups = zip_longest(in_groups(shared, MATRIX_NUMBERS), in_groups(others, MATRIX_NUMBERS))
        found: dict[Design, Fit] = {}
        for group in groups:
            for design, matrices in self.sums(group[0] or [], group[1] or [], frame):
                found[design] = fitted(design, matrices, self.effective, widest=widest)
        return [found[design] for design in designs]

    def sums(
        self, shared: Sequence[Design], others: Sequence[Design], frame: Frame
    ) -> Iterator[tuple[Design, FloatArray]]:
        """Sums of products of each design, fold by fold, in one pass."""
        folds = Folds(self.source.layout)
        products, matrices = ProductSums(shared, frame, folds), GramPass(others, frame, folds)
        wanted: list[Accumulator] = [one for one in (products, matrices) if one.designs]
        run_pass(self.source, every_row(self.source), *wanted)
        yield from zip(shared, products.matrices(), strict=True)
        yield from zip(others, matrices.matrices, strict=True)

    def influence_sums(self, combinations: Sequence[Combination], frame: Frame) -> FloatArray:
        """Sums of combinations of influence functions over stretches of rows."""
        sums = InfluencePass(combinations, frame, self.stretches)
        run_pass(self.source, every_row(self.source), sums)
        return sums.sums

    @property
    def allow_products(self) -> bool:
        """Whether there are rows, and time, for all d^2 products of scores and draws."""
        d, rows = self.source.layout.dimension, self.source.layout.total
        features = JointDesign(d).cuts[-1]
        enough = min(rows, self.effective) >= ROWS_PER_PRODUCT * d * d
        return enough and rows * features**2 <= MOST_MULTIPLICATIONS


class FirstLook(NamedTuple):
    """The means' fit in a rough frame, and the frame in which all draws have variance 1.

    ``products`` are the averages of products of (1, s, y) in the rough frame.
    """

    rough: Frame
    means: Fit
    frame: Frame
    products: FloatArray


def first_look(rows: Rows) -> FirstLook:
    """One pass for the means, and for the centre and scale of every coordinate."""
    if rows.effective < FEWEST_ROWS:
        raise DegenerateError(
            f"`draws` must hold at least {FEWEST_ROWS} rows, or effective importance weights, for "
            f"errors to be estimated; got {rows.effective:.3g}"
        )
    rough = working_frame(first_block(rows.source).draws)
    design = MeansDesign(rows.source.layout.dimension)
    ((_, matrices),) = rows.sums([], [design], rough)
    means = fitted(design, matrices, rows.effective)
    spread = np.sqrt(np.maximum(np.diagonal(means.spread), 0.0))
    require_varying_scores(matrices.sum(axis=0) / means.weight)
    # In a working frame no mean is large: more digits than these cancel only for constants.
    constant = spread**2 <= CANCELLED * (spread**2 + means.plain**2)
    if constant.any():
        raise DegenerateError(
            f"`draws` must vary in every coordinate; coordinate {int(np.argmax(constant))} is "
            "constant but for rounding"
        )
    scale = spread if rough.scale is None else spread * rough.scale
    frame = Frame(rough.back(means.plain), scale)
    return FirstLook(rough, means, frame, matrices.sum(axis=0) / means.weight)


def estimated(rows: Rows, frame: Frame, candidates: Sequence[Candidate]) -> list[Estimate]:
    """The quantities with the standard errors of plain value, corrected value and difference."""
    for candidate in candidates:
        _require_value(candidate)
    columns = influence_sums(rows, frame, candidates)
    families = [(one.quantity.what, column) for one in candidates for column in range(COLUMNS)]
    parts = [[(one.of_function, index) for index in one.indices] for one, *_ in candidates]
    found = variances(columns, rows.stretches, families)
    found = few_by_disagreement(found, parts, len(rows.source.layout.lengths))
    squared, freedom = (part.reshape(-1, COLUMNS).tolist() for part in (found.variance, found.df))
    return [
        _estimate(candidate, np.sqrt(squares).tolist(), df)
        for candidate, squares, df in zip(candidates, squared, freedom, strict=True)
    ]


def influence_sums(rows: Rows, frame: Frame, candidates: Sequence[Candidate]) -> FloatArray:
    """Sums over stretches of the influence on plain value, corrected value, bias and error.

    These four columns stand side by side for every candidate, in the order of the candidates.
    """
    by_fit: dict[int, list[int]] = {}
    for place, candidate in enumerate(candidates):
        by_fit.setdefault(id(candidate.fit), []).append(place)
    groups = [[candidates[place] for place in places] for places in by_fit.values()]
    sums = rows.influence_sums([_combination(group) for group in groups], frame)
    found = np.empty((len(sums), len(candidates), COLUMNS))
    for number, place in enumerate(place for places in by_fit.values() for place in places):
        own = sums[:, PARTS * number : PARTS * (number + 1)]
        found[:, place] = own @ _mixing(candidates[place])
    return found.reshape(len(sums), -1)


def _require_value(candidate: Candidate) -> None:
    """Raise an error if the draws themselves have no such quantity."""
    quantity = candidate.quantity
    if quantity.of_function and variance(candidate.plain) <= ROUNDING:
        raise ConstantValuesError(quantity.indices[0])
    if not has_value(quantity.what, candidate.plain):
        raise DegenerateError(
            f"the {quantity.what} of coordinates {quantity.indices} has no value: `draws` must "
            "vary in every coordinate, and no coordinate may be a linear function of another"
        )


def _combination(group: Sequence[Candidate]) -> Combination:
    """Three columns for each candidate: plain value, corrected value, the unit of a mean."""
    functions = group[0].fit.design.functions
    plain = np.zeros((functions, PARTS * len(group)))
    corrected = np.zeros((functions, PARTS * len(group)))
    for number, candidate in enumerate(group):
        at, places = PARTS * number, list(candidate.places)
        functional = FUNCTIONALS[candidate.quantity.what]
        plain[places, at] = functional(candidate.plain).gradient
        corrected[places, at + 1] = functional(candidate.corrected).gradient
        if candidate.in_units:
            corrected[places, at + 2] = log_sd(candidate.corrected).gradient
    return Combination(group[0].fit, plain, corrected)


def _mixing(candidate: Candidate) -> FloatArray:
    """From the three columns of a candidate to plain, corrected, bias and error."""
    result = np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    change = difference(candidate.quantity.what, candidate.plain, candidate.corrected)
    if candidate.quantity.what == "mean":
        result[:2, 3] *= change.plain[0]
    if candidate.in_units:
        result[2, 3] = -change.value
    return result


def _least_variance(candidate: Candidate) -> float:
    """The least variance of a skewness or kurtosis of right draws, times their number."""
    what = candidate.quantity.what
    heavier = max(1.0, FUNCTIONALS["tail"](candidate.corrected).value / 3.0)
    return float(GAUSSIAN_VARIANCE[what] * heavier ** KURTOSIS_POWER[what])


def _estimate(candidate: Candidate, errors: Sequence[float], df: Sequence[float]) -> Estimate:
    """Values and errors together; those of shapes are at least as for right draws."""
    what = candidate.quantity.what
    before = FUNCTIONALS[what](candidate.plain)
    block = np.ix_(candidate.places, candidate.places)
    marginal = float(before.gradient @ candidate.fit.spread[block] @ before.gradient)
    # Values of two kinds have an sd and a kurtosis without a variance: nothing tells their error.
    flat = marginal <= CANCELLED * GAUSSIAN_VARIANCE.get(what, 0.0)
    if what in KURTOSIS_POWER and not flat:
        # Not of the corrected value, which may have next to no variance.
        factor = math.sqrt(max(1.0, _least_variance(candidate) / marginal))
        errors = [factor * errors[0], errors[1], factor * errors[2], factor * errors[3]]
    after = FUNCTIONALS[what](candidate.corrected).value
    change = difference(what, candidate.plain, candidate.corrected).value
    if candidate.uncorrected or flat:
        # Without features the draws say nothing about their own error.
        after, change, errors = before.value, 0.0, (errors[0], errors[0], math.inf, math.inf)
    plain_se, corrected_se, bias_se, error_se = errors
    return Estimate(
        candidate, before.value, after, before.value - after, change,
        plain_se, corrected_se, bias_se, error_se, tuple(df), marginal,
    )  # fmt: skip
