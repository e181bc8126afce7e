"""Samplers or settings of one target, compared on one scale."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from polystein._lib.arguments import is_finite_number, order_of, require_progress
from polystein._lib.notes import first_of, warn_caller
from polystein._lib.numerics import TINY
from polystein._lib.threads import one_blas_thread
from polystein.data.coordinates import Frame
from polystein.data.guard.chains import rows_or_chains
from polystein.data.guard.repeats import forbid_copies
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Source, coordinate_names
from polystein.errors import InputError, PolysteinError, PolysteinWarning
from polystein.explain.effects import effects_of
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.inference.squared_length import SquaredLength, squared_length
from polystein.results.effect_rows import LEVEL
from polystein.results.effects import EffectTable
from polystein.results.many import checked_mapping
from polystein.results.result import DEFAULT_LEVEL
from polystein.results.sampler_comparison import (
    ComparedSet,
    Distance,
    SamplerComparison,
    distance_of,
)
from polystein.results.tolerance import quantile
from polystein.stein.basis import Monomial
from polystein.stein.batched import BatchedMoments, feature_count
from polystein.types import Progress, Structure
from polystein.workflows.many import loaded
from polystein.workflows.set_differences import differences_of, ranks_of
from polystein.workflows.set_moments import Moments, farthest, moments_of, target_frame

#: Batches of independent rows, and numbers in the sums over batches of one set, 256 MiB; with more
#: features than fit, each coordinate meets only its own score.
ROW_BATCHES, MOST_NUMBERS = 256, 2**25
#: Scores of minibatches tell no sizes of effects.
NO_EFFECTS = EffectTable((), 0, complete=False)


def compare(
    sets: Mapping[str, Any],
    /,
    *,
    cost: Mapping[str, float] | None = None,
    order: int = 2,
    alpha: float = DEFAULT_LEVEL,
    iid: bool | Collection[str] = False,
    progress: Progress | None = None,
) -> SamplerComparison:
    """Compare samplers, or settings of one, on the same target.

    How far is each sampler's law from the target, which differences are beyond chance, and what do
    the draws cost? Numbers of draws may differ: no measure falls with the number of draws alone.

    Parameters
    ----------
    sets : mapping
        From names to at least two sets of draws, in any form that `check_many` takes: a `Sample`, a
        pair ``(draws, scores)``, the path of a file, a function that returns one of these, and so
        on. All must have the same target.
    cost : mapping, optional
        What sets cost, by their names, in any unit: seconds, gradients.
    order : int
        Order of the discrepancy, the paper's Q.
    alpha : float
        The probability that any rank is wrong is at most about this.
    iid : bool or names
        Whether the rows of (n, d) draws are independent; or the names of the sets for which they
        are. Draws of shape (chain, draw, d) are chains in time order.
    progress : callable, optional
        Called as ``progress(done, total)``, twice for each set.

    Returns
    -------
    SamplerComparison
        The set nearest to the target first.

    Notes
    -----
    All sets are seen in the same coordinates, centred and scaled by the target's means and sds: for
    each, the median over the sets of their corrected values (`expectations`).

    The discrepancy is the polynomial Stein discrepancy Z in these coordinates. Its square is
    estimated without the part that is noise, as by a U-statistic, where the noise allows for
    autocorrelation (lugsail batch means). So are the squared errors of means and sds. Estimates of
    squares may be negative; the distance is 0 then. With scores of minibatches, of which a `Sample`
    says so in its ``facts``, the noise is subtracted, too. Only discrepancies are compared then, in
    coordinates that are scaled by the draws, and there are no effects. Distances are those of the
    sampler's law, so that the Monte Carlo error of the averages stands beside them, in ``mcse``.

    Differences take sets to be independent of each other. The interval for a difference of
    distances combines those of the two (Zou and Donner, 2008). P-values are those of differences of
    squares, with Holm's correction for all pairs of a measure. A rank is a range: from one more
    than the number of sets that are clearly nearer to the target, down to what those clearly
    farther leave.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> rng = np.random.default_rng(0)
    >>> right, also_right, wide = rng.standard_normal((3, 4, 500, 2))
    >>> sets = {"right": right, "right, too": also_right, "wide": 1.3 * wide}
    >>> found = ps.compare({name: (x, -x) for name, x in sets.items()})  # the target is N(0, I)
    >>> found["wide"].rank, found["right"].rank
    ((3, 3), (1, 2))
    >>> round(found["wide"].sds.value, 1)
    0.3
    """
    names = checked_mapping(sets, "sets", 2)
    basis = Monomial(order_of(order, least=1))
    if not (is_finite_number(alpha) and 0.0 < alpha < 1.0):
        raise InputError(f"`alpha` must be a level strictly between 0 and 1; got {alpha!r}")
    costs = _costs(cost, names)
    independent = _independent(iid, names)
    require_progress(progress)

    sources = [
        _source(name, given, name in independent)
        for name, given in zip(names, sets.values(), strict=True)
    ]
    _require_one_target(names, sources)
    found, rows = [], []
    with one_blas_thread():
        for name, source in zip(names, sources, strict=True):
            with _of_set(name):
                found.append(moments_of(source))
            if progress is not None:
                progress(len(found), 2 * len(names))
        frame, structure = target_frame(found), _structure(sources, basis)
        for name, source, moments in zip(names, sources, found, strict=True):
            with _of_set(name):
                discrepancy = _discrepancy(source, basis, structure, frame)
                effects = NO_EFFECTS if source.facts.minibatch else effects_of(source)
            rows.append(_row(name, source, discrepancy, moments, effects, costs.get(name)))
            if progress is not None:
                progress(len(names) + len(rows), 2 * len(names))
    differences = differences_of(rows)
    ranks = ranks_of(rows, differences, alpha)
    ranked = [row._replace(rank=ranks[row.name]) for row in rows]
    ranked.sort(key=lambda row: row.discrepancy.square)
    notes = _notes(names, sources, found, frame)
    for note in notes:
        warn_caller(PolysteinWarning(note))
    dimension = sources[0].layout.dimension
    return SamplerComparison(
        tuple(ranked), differences, basis.order, structure, float(alpha), dimension, notes
    )


def _costs(cost: Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    """What sets cost, or an error if a cost is no positive number or belongs to no set."""
    if cost is None:
        return {}
    if not isinstance(cost, Mapping):
        raise InputError(f"`cost` must be a mapping from names of sets to numbers; got {cost!r}")
    for name, value in cost.items():
        if name not in names:
            raise InputError(f"`cost` must have the names of sets, {_few(names)}; got {name!r}")
        if not (is_finite_number(value) and value > 0.0):
            raise InputError(f"`cost` must hold positive numbers; got {value!r} for {name!r}")
    return {name: float(value) for name, value in cost.items()}


def _independent(iid: bool | Collection[str], names: Sequence[str]) -> Collection[str]:
    """The sets whose rows are independent."""
    if isinstance(iid, bool | np.bool_):
        return names if iid else ()
    if isinstance(iid, str) or not isinstance(iid, Collection):
        raise InputError(f"`iid` must be True, False or a list of names of sets; got {iid!r}")
    for name in iid:
        if name not in names:
            raise InputError(f"`iid` must hold names of sets, {_few(names)}; got {name!r}")
    return iid


def _few(names: Sequence[str]) -> str:
    return first_of([repr(name) for name in names], 6)


@contextmanager
def _of_set(name: str) -> Iterator[None]:
    """Errors of one set name it."""
    try:
        yield
    except PolysteinError as error:
        raise InputError(f"the set {name!r} of `sets` cannot be compared: {error}") from error
    except Exception as error:  # of a function of the user's
        error.add_note(f"It was raised by the set {name!r} of `sets`.")
        raise


def _source(name: str, given: Any, independent: bool) -> Source:
    """The draws of a set, as independent rows or as chains."""
    with _of_set(name):
        source = rows_or_chains(loaded(given), independent)
        forbid_copies(source)
    return source


def _require_one_target(names: Sequence[str], sources: Sequence[Source]) -> None:
    """Raise an error if sets differ in the number or the names of their coordinates."""
    first, known = sources[0], None
    for name, source in zip(names, sources, strict=True):
        if source.layout.dimension != first.layout.dimension:
            raise InputError(
                f"`sets` must have one target; {names[0]!r} has {first.layout.dimension} "
                f"coordinates and {name!r} has {source.layout.dimension}"
            )
        if source.names is None:
            continue
        own = tuple(source.names)
        if known is not None and own != known[1]:
            place = next(
                j for j, pair in enumerate(zip(known[1], own, strict=True)) if len({*pair}) > 1
            )
            raise InputError(
                f"`sets` must have one target, with coordinates in the same order; coordinate "
                f"{place} is {known[1][place]!r} in {known[0]!r} and {own[place]!r} in {name!r}"
            )
        known = known or (name, own)


def _structure(sources: Sequence[Source], basis: Monomial) -> Structure:
    """All products of scores and powers, if the sums over batches of every set fit into memory."""
    most = max(_batches(source).total for source in sources)
    count = feature_count(basis, "full", sources[0].layout.dimension)
    return "full" if most * count <= MOST_NUMBERS else "diagonal"


def _batches(source: Source) -> EqualBatches | IndependentBatches:
    if source.layout.time_ordered:
        return EqualBatches(source.layout.lengths)
    return IndependentBatches(source.layout.lengths, ROW_BATCHES)


def _discrepancy(
    source: Source, basis: Monomial, structure: Structure, frame: Frame
) -> SquaredLength:
    """The squared discrepancy of one set in the frame of all."""
    batches, d = _batches(source), source.layout.dimension
    moments = BatchedMoments(basis, structure, frame, d, batches)
    run_pass(source, every_row(source), moments)
    found = moments.finalise()
    return squared_length(found.mean, found.sums, batches)


def _row(
    name: str,
    source: Source,
    discrepancy: SquaredLength,
    moments: Moments,
    effects: EffectTable,
    cost: float | None,
) -> ComparedSet:
    """The numbers of one set; ranks come later."""
    d, lengths = source.layout.dimension, source.layout.lengths
    means, sds = _error(moments, slice(0, d)), _error(moments, slice(d, 2 * d))
    mcse = ess = None
    if sds is not None:
        # Standard errors of means, in the target's sd: sds are logarithms in the same frame.
        spread = [math.exp(one.corrected) for one in moments.estimates[d:]]
        errors = [one.plain_se for one in moments.estimates[:d]]
        mcse = math.sqrt(np.mean(np.square(np.divide(errors, spread))))
        ess = 1.0 / max(mcse**2, TINY)
    return ComparedSet(
        name,
        len(lengths),
        max(lengths),
        _distance(discrepancy),
        means,
        sds,
        mcse,
        ess,
        cost,
        None if cost is None or ess is None else ess / cost,
        0.0
        if source.facts.minibatch
        else min(one.reliability_of_error for one in moments.estimates),
        (1, 1),
        effects,
    )


def _error(moments: Moments, part: slice) -> Distance | None:
    """Root mean square of the errors of some moments; None if one of them is not known."""
    estimates = moments.estimates[part]
    if not all(math.isfinite(one.error_se) for one in estimates):
        return None
    errors = np.array([one.error for one in estimates]) / math.sqrt(len(estimates))
    sums = moments.sums[:, part] / math.sqrt(len(estimates))
    return _distance(squared_length(errors, sums, moments.batches))


def _distance(found: SquaredLength) -> Distance:
    return distance_of(*found[:2], quantile(LEVEL, found.df), found.df)


def _notes(
    names: Sequence[str], sources: Sequence[Source], found: Sequence[Moments], frame: Frame
) -> tuple[str, ...]:
    """What the numbers do not say: sets that seem to have different targets, errors not known."""
    d = sources[0].layout.dimension
    coordinates = next((tuple(s.names) for s in sources if s.names), coordinate_names(sources[0]))
    notes = []
    far = farthest(names, found, frame)
    if far is not None:
        place, first, second = far
        what, name = "mean" if place < d else "sd", coordinates[place % d]
        notes.append(
            f"The sets {first!r} and {second!r} seem to have different targets: their scores do "
            f"not agree on the {what} of `{name}`. They may also cover different parts of one "
            "target."
        )
    for name, one in zip(names, found, strict=True):
        unknown = [j for j, e in enumerate(one.estimates) if not math.isfinite(e.error_se)]
        if unknown:
            what = "mean" if unknown[0] < d else "sd"
            notes.append(
                f"The scores of {name!r} do not explain the {what} of "
                f"`{coordinates[unknown[0] % d]}`: errors of means or sds are not known."
            )
    return tuple(notes)
