"""Samplers or settings of one target, compared on one scale."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from polystein._lib.arguments import is_finite_number, order_of, require_progress
from polystein._lib.notes import first_of, warn_caller
from polystein._lib.numerics import TINY
from polystein._lib.threads import one_blas_thread
from polystein.corrections.candidates import best_estimates, coordinate_candidates
from polystein.corrections.estimates import (
    COLUMNS,
    Estimate,
    Quantity,
    Rows,
    first_look,
    influence_sums,
)
from polystein.data.coordinates import RAW, Frame
from polystein.data.guard.chains import rows_or_chains
from polystein.data.guard.repeats import forbid_copies
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Source, coordinate_names
from polystein.errors import InputError, PolysteinError, PolysteinWarning
from polystein.explain.effects import effects_of
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.inference.squared_length import SquaredLength, squared_length
from polystein.results.effect_rows import LEVEL, RELIABLE, TRUSTED
from polystein.results.effects import EffectTable
from polystein.results.many import checked_names
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
from polystein.types import FloatArray, Progress, Structure
from polystein.workflows.many import loaded
from polystein.workflows.set_differences import differences_of, ranks_of

#: Batches of independent rows, and numbers in the sums over batches of one set, 256 MiB; with more
#: features than fit, each coordinate meets only its own score.
ROW_BATCHES, MOST_NUMBERS = 256, 2**25
#: Targets are taken for different if the sets put the mean of a parameter this many standard
#: errors, and this many sd, apart: Monte Carlo error and small faults of the sampler do not.
FAR_ERRORS, FAR_SDS = 6.0, 0.2


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
    squares may be negative; the distance is 0 then. Distances are those of the sampler's law, so
    that the Monte Carlo error of the averages stands beside them, in ``mcse``.

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
    if not isinstance(sets, Mapping) or len(sets) < 2:
        raise InputError(f"`sets` must be a mapping from names to at least two sets; got {sets!r}")
    names = checked_names(list(sets), "sets")
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
                found.append(_moments(source))
            if progress is not None:
                progress(len(found), 2 * len(names))
        frame, structure = _target_frame(found), _structure(sources, basis)
        for name, source, moments in zip(names, sources, found, strict=True):
            with _of_set(name):
                discrepancy = _discrepancy(source, basis, structure, frame)
                effects = effects_of(source)
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


class _Moments(NamedTuple):
    """Means and sds of one set, plain and corrected, with batch sums of their errors' influence.

    Means come first, then sds. ``targets`` are the corrected values in the units of the draws,
    (2, d), of sds the logarithms, and ``scale`` is that of the frame of the estimates.
    """

    estimates: list[Estimate]
    sums: FloatArray
    batches: EqualBatches | IndependentBatches
    targets: FloatArray
    scale: FloatArray


def _moments(source: Source) -> _Moments:
    """Mean and sd of every coordinate, as `expectations` gives them."""
    rows = Rows.of(source)
    look = first_look(rows)
    d = source.layout.dimension
    wanted = [Quantity("mean", (j,)) for j in range(d)] + [Quantity("sd", (j,)) for j in range(d)]
    found = best_estimates(rows, look.frame, coordinate_candidates(rows, look, wanted))
    sums = influence_sums(rows, look.frame, [one.candidate for one in found])
    values = np.array([one.corrected for one in found]).reshape(2, d)
    scale = np.broadcast_to(look.frame.scale_in(RAW), d)
    targets = np.stack([look.frame.back(values[0]), values[1] + np.log(scale)])
    return _Moments(found, sums[:, COLUMNS - 1 :: COLUMNS], rows.stretches, targets, scale)


def _target_frame(found: Sequence[_Moments]) -> Frame:
    """The target's means and sds: medians of corrected values, of trusted ones if there are any."""
    targets = np.array([one.targets for one in found])
    trusted = np.array([[e.reliability >= TRUSTED for e in one.estimates] for one in found])
    trusted = trusted.reshape(targets.shape)
    counts = trusted | ~trusted.any(axis=0)
    centre, log_scale = np.nanmedian(np.where(counts, targets, np.nan), axis=0)
    return Frame(centre, np.exp(log_scale))


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
    moments: _Moments,
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
        min(one.reliability_of_error for one in moments.estimates),
        (1, 1),
        effects,
    )


def _error(moments: _Moments, part: slice) -> Distance | None:
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
    names: Sequence[str], sources: Sequence[Source], found: Sequence[_Moments], frame: Frame
) -> tuple[str, ...]:
    """What the numbers do not say: sets that seem to have different targets, errors not known."""
    d = sources[0].layout.dimension
    coordinates = next((tuple(s.names) for s in sources if s.names), coordinate_names(sources[0]))
    notes = []
    far = _farthest(names, found, frame)
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


def _farthest(
    names: Sequence[str], found: Sequence[_Moments], frame: Frame
) -> tuple[int, str, str] | None:
    """The moment, and two sets that disagree most on its value under the target."""
    d = len(found[0].scale)
    common = np.broadcast_to(frame.scale_in(RAW), d)
    worst, answer = 1.0, None
    for place in range(2 * d):
        known = []
        unit = common[place] if place < d else 1.0
        for name, one in zip(names, found, strict=True):
            estimate = one.estimates[place]
            if estimate.reliability >= RELIABLE and math.isfinite(estimate.error_se):
                own = one.scale[place] / unit if place < d else 1.0
                known.append((one.targets.flat[place] / unit, estimate.corrected_se * own, name))
        for (value, error, name), (other, its_error, its_name) in combinations(known, 2):
            least = max(FAR_SDS, FAR_ERRORS * math.hypot(error, its_error))
            if abs(value - other) / least > worst:
                worst, answer = abs(value - other) / least, (place, name, its_name)
    return answer
