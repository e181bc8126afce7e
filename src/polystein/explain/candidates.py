"""Which fits tell a quantity: designs of single coordinates and pairs, or one design for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polystein.data.coordinates import Frame
from polystein.explain.designs import (
    CoordinateDesign,
    Design,
    JointDesign,
    MappedDesign,
    PairDesign,
    Seen,
    ValueFunction,
)
from polystein.explain.estimates import (
    RELIABLE_ENOUGH,
    Candidate,
    Estimate,
    FirstLook,
    Quantity,
    Rows,
    estimated,
)
from polystein.explain.fit import ROWS_PER_FEATURE
from polystein.explain.wider import MOST_MULTIPLICATIONS, confirmed, wider, with_doubt
from polystein.results.effect_rows import RELIABLE
from polystein.types import FloatArray


@dataclass(frozen=True)
class NeighboursDesign(MappedDesign):
    """A design among a few coordinates, where there are too few rows for the scores of all."""

    among: CoordinateDesign | PairDesign
    coordinates: tuple[int, ...]

    @property
    def inner(self) -> CoordinateDesign | PairDesign:
        """That of the coordinate or the pair."""
        return self.among

    def mapped(self, seen: Seen) -> Seen:
        """The few coordinates."""
        few = list(self.coordinates)
        return Seen(seen.draws[:, few], seen.scores[:, few], seen.raw)


class _Weighing:
    """How much each score says about each coordinate, by the fit of the means."""

    def __init__(self, rows: Rows, look: FirstLook) -> None:
        self.dimension, self.rows, self._look = rows.source.layout.dimension, rows.effective, look

    @cached_property
    def weights(self) -> FloatArray:
        """Of score l in the fit of coordinate j, times its spread; correlations break ties."""
        fit, d = self._look.means, self.dimension
        used = len(fit.inverse)
        coefficients = np.zeros((1 + d, d))
        coefficients[:used] = fit.inverse.T @ fit.loading
        spread = np.sqrt(np.diagonal(self._look.products)[1 : 1 + d])
        own = np.sqrt(np.diagonal(fit.spread))
        ties = np.abs(fit.spread) / np.outer(own, own)
        result: FloatArray = np.abs(coefficients[1:]) * spread[:, None] / own + 1e-6 * ties
        return result

    def neighbours(self, indices: tuple[int, ...], count: int) -> tuple[int, ...]:
        """The coordinates themselves, and others whose scores say most about them."""
        weights = self.weights[:, list(indices)].sum(axis=1)
        weights[list(indices)] = np.inf
        order = np.argsort(-weights, kind="stable")[: max(count, len(indices))]
        return tuple(sorted(order.tolist()))


def _design(weighing: _Weighing, indices: tuple[int, ...], shape: bool) -> Design:
    """The design of a coordinate or a pair, among all coordinates if there are rows for it."""
    d = weighing.dimension
    whole = _inner(d, indices, shape)
    needed = whole.cuts[1 + len(indices)]
    if ROWS_PER_FEATURE * needed <= weighing.rows:
        return whole
    # Half of the rows that a set of features needs are left to the powers of a coordinate.
    count = int(weighing.rows / (2 * ROWS_PER_FEATURE) / (1 + len(indices)))
    few = weighing.neighbours(indices, count)
    return NeighboursDesign(_inner(len(few), tuple(map(few.index, indices)), shape), few)


def _inner(dimension: int, indices: tuple[int, ...], shape: bool) -> CoordinateDesign | PairDesign:
    if len(indices) == 2:
        return PairDesign(dimension, *indices)
    return CoordinateDesign(dimension, indices[0], shape)


def coordinate_candidates(
    rows: Rows, look: FirstLook, quantities: Iterable[Quantity]
) -> dict[Quantity, Candidate]:
    """Each coordinate and each pair in a design of its own, and shapes in a further one.

    Where draws are narrow, features that only shapes need would move means and sds away.
    """
    wanted, weighing = list(quantities), _Weighing(rows, look)
    kinds = {q: (q.indices, q.what in ("skew", "tail")) for q in wanted}
    designs = {kind: _design(weighing, *kind) for kind in kinds.values()}
    fits = dict(zip(designs, rows.fits(list(designs.values()), look.frame), strict=True))
    return {q: Candidate(q, fits[kinds[q]], _places(q)) for q in wanted}


def _places(quantity: Quantity) -> tuple[int, ...]:
    count = {"mean": 2, "sd": 2, "skew": 4, "tail": 4, "correlation": 5}[quantity.what]
    return tuple(range(count))


def joint_candidates(
    rows: Rows,
    frame: Frame,
    quantities: Iterable[Quantity],
    values: Sequence[ValueFunction] = (),
    *,
    products: bool = True,
) -> dict[Quantity, Candidate]:
    """All means, sds, correlations and functions of the user's in one design."""
    wanted = [q for q in quantities if q.what in ("mean", "sd", "correlation")]
    if not wanted:
        return {}
    indices = sorted({index for q in wanted if not q.of_function for index in q.indices})
    pairs = tuple(sorted({(q.indices[0], q.indices[1]) for q in wanted if len(q.indices) == 2}))
    d = rows.source.layout.dimension
    design = JointDesign(d, tuple(indices), pairs, tuple(values), products)
    (fit,) = rows.fits([design], frame)

    def places(quantity: Quantity) -> tuple[int, ...]:
        if quantity.of_function:
            return design.of_value(quantity.indices[0])
        if len(quantity.indices) == 2:
            return design.of_pair((quantity.indices[0], quantity.indices[1]))
        return design.of_coordinate(quantity.indices[0])

    return {quantity: Candidate(quantity, fit, places(quantity)) for quantity in wanted}


def improved(
    rows: Rows,
    frame: Frame,
    found: dict[Quantity, Candidate],
    values: Sequence[ValueFunction] = (),
) -> dict[Quantity, Candidate]:
    """Where features do not explain enough, try all products of scores and draws.

    The more reliable fit is taken. If neither is to be trusted, the one that explains the draws.
    """
    doubtful = [q for q, one in found.items() if one.reliability < RELIABLE_ENOUGH]
    if not doubtful or not rows.allow_products:
        return found
    better = joint_candidates(rows, frame, doubtful, values)
    return {
        q: max((one, better[q]), key=_preference) if q in better else one
        for q, one in found.items()
    }


def wider_candidates(
    rows: Rows, frame: Frame, found: dict[Quantity, Candidate]
) -> dict[Quantity, Candidate]:
    """The same quantities by wider sets of features, all of which are used.

    Pairs of coordinates are among them where there is time for it, else higher powers alone.
    """
    designs = {id(one.fit): one.fit.design for one in found.values()}
    for pairs in (True, False):
        wide = {key: wider(design, pairs=pairs) for key, design in designs.items()}
        sizes = [(one.cuts[-1] + one.functions) ** 2 for one in wide.values()]
        if rows.source.layout.total * sum(sizes) <= MOST_MULTIPLICATIONS:
            fits = rows.fits(list(wide.values()), frame, widest=True)
            made = dict(zip(wide, fits, strict=True))
            return {
                q: confirmed(one._replace(fit=made[id(one.fit)]), one, rows.effective)
                for q, one in found.items()
            }
    return {}


def _preference(candidate: Candidate) -> tuple[float, float]:
    return candidate.reliability, candidate.explained


def best_estimates(
    rows: Rows,
    frame: Frame,
    found: dict[Quantity, Candidate],
    values: Sequence[ValueFunction] = (),
) -> list[Estimate]:
    """Estimates by the features that explain most, but none noisier than need be.

    Far from the target a fit on very many features may have an intercept noisier than the plain
    average, however well it explains the draws. The smaller fit then stands, if it is not.
    """
    better, wide = improved(rows, frame, found, values), wider_candidates(rows, frame, found)
    for quantity, one in better.items():
        if one.reliability < RELIABLE and quantity in wide:
            better[quantity] = max((one, wide[quantity]), key=_preference)
        if quantity.of_function and quantity in wide and wide[quantity].uncorrected:
            better[quantity] = wide[quantity]
    estimates = estimated(rows, frame, list(better.values()))
    noisy = [
        one.quantity
        for one in estimates
        if one.corrected_se > one.plain_se and one.candidate is not found[one.quantity]
    ]
    if noisy:
        again = {one.quantity: one for one in estimated(rows, frame, [found[q] for q in noisy])}
        calmer = {q: one for q, one in again.items() if one.corrected_se <= one.plain_se}
        estimates = [calmer.get(one.quantity, one) for one in estimates]
    return [
        with_doubt(one, [part[one.quantity] for part in (found, wide) if one.quantity in part])
        for one in estimates
    ]
