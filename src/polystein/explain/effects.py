"""Which property of which parameter the draws get wrong, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from polystein._lib.threads import one_blas_thread
from polystein.data.guard.chains import rows_or_chains
from polystein.data.guard.repeats import forbid_copies
from polystein.data.sample import as_source
from polystein.data.source import Source, coordinate_names
from polystein.explain.candidates import best_estimates, coordinate_candidates
from polystein.explain.directions import AlongDirection, along_directions, direction_name
from polystein.explain.estimates import (
    Candidate,
    Estimate,
    FirstLook,
    Quantity,
    Rows,
    estimated,
    first_look,
)
from polystein.explain.functionals import What
from polystein.explain.heavy_tails import tail_indices, too_heavy
from polystein.explain.hints import NOTHING_ELSE, Circumstances, hint_for, refine_call
from polystein.explain.multiplicity import weighted_holm
from polystein.explain.own_names import own_names, own_words
from polystein.explain.own_scale import with_own_scale
from polystein.explain.refusals import require_full_scores
from polystein.explain.screening import Chosen, chosen
from polystein.explain.sentences import (
    at_most,
    correlation_sentence,
    not_judged,
    sentence,
    size_unknown,
)
from polystein.results.effect_rows import LEVEL, TRUSTED, EffectRow
from polystein.results.effects import EffectTable
from polystein.results.tolerance import quantile
from polystein.types import Array, FloatArray, ScoreFunction

#: Shares of the level. What is left out without pairs goes to the others.
SHARES = {"mean": 0.14, "sd": 0.14, "correlation": 0.39, "skew": 0.24, "tail": 0.04}
#: What is left is that of directions.
DIRECTION_SHARE = 0.05
#: Directions that are judged: one of means, one of sds.
DIRECTIONS = 2


def effects(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    model: object = None,
    iid: bool = False,
) -> EffectTable:
    """Which property of which parameter the draws get wrong, and by how much.

    For every parameter the mean, the sd, the skewness and the tails of the draws are compared with
    those of the target, for pairs of parameters the correlation, and mean and sd along the
    directions that stand out. The target's side comes from the draws themselves and their scores,
    see `expectations`.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one chain in
        time order.
    model : optional
        As for `check`: the model that draws of another library were taken of.
    iid : bool
        Whether the rows of (n, d) draws are independent.

    Returns
    -------
    EffectTable
        ``rows``, the most important first: what is found at the level 0.05 and, below the line,
        what is not. ``print`` shows them in sentences.

    Notes
    -----
    P-values are Holm's, over everything together, with shares of the level for means (0.14), sds
    (0.14), correlations (0.39), skewness (0.24), tails (0.04) and directions (0.05). Of
    many pairs only 20 get the dear computation, those that stand out in a quick look; of many
    dimensions only some coordinates. P-values allow for those that do not.

    Intervals are of level 0.95, each for its own row. They allow for how far a size changes with a
    wider set of features, and for what no features explain. Where the scores do not tell a size,
    with a reliability below 0.9, the row has none: it says that the parameter is off, if it was
    found, and no more. Of chains that are short beside their memory only the sums of whole chains
    count: intervals are wide, and next to nothing is found.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 3))
    >>> draws[:, 2] *= 1.4
    >>> sample = ps.Sample(draws, -draws, names=["mu", "theta", "tau"])  # the target is N(0, I)
    >>> table = ps.effects(sample, iid=True)
    >>> print(table.rows[0].sentence)
    the sd of `tau` is 43 % too large (37 to 49 %)
    """
    given = as_source(draws, scores, model)
    source = rows_or_chains(given, iid)
    forbid_copies(source)
    return effects_of(source, known=Circumstances(refine=refine_call(given, draws, model)))


def effects_of(
    source: Source,
    *,
    complete: bool = False,
    known: Circumstances = NOTHING_ELSE,
) -> EffectTable:
    """The effects of a source, taken as chains if it is in time order.

    With `complete` mean and sd of every coordinate are computed, whatever it costs. The hint rests
    on what else is ``known``, too. Draws of one chain without statistics of a sampler may be those
    of an approximation, and get no advice about chains.
    """
    require_full_scores(source)
    with one_blas_thread():
        rows = Rows.of(source)
        look = first_look(rows)
        choice = chosen(rows, look, every_spread=complete)
        looks = _looks(source, _measured(rows, look, choice), along_directions(rows))
        names = own_names(source)
        own = own_words(names)
        table = _table(source, looks, len(choice.spreads) == source.layout.dimension, own)
        table = replace(table, rows=with_own_scale(rows, look, table.rows, names))
    target, layout = source.facts.target, source.layout
    known = known._replace(
        chains=layout.time_ordered
        and (len(layout.lengths) > 1 or bool(source.facts.sampler_statistics)),
        refine=known.refine or refine_call(source, source),
        # Samplers that report statistics, of PyMC, NumPyro and Stan, have an accept step.
        accepts=bool(source.facts.sampler_statistics),
    )
    hint = hint_for(table, layout.dimension, known, _targets(looks))
    words = hint.text
    for name, shown in own.items():
        words = words.replace(f"`{name}`", shown)
    unconstrained = target is not None and target.transform is not None
    return replace(
        table,
        hint=words,
        action=hint.code,
        own_names=names,
        unconstrained=unconstrained,
        refine=known.refine,
    )


def _targets(looks: Sequence[_Look]) -> dict[tuple[str, str], float]:
    """The target's own correlations, skewnesses and kurtoses, by name and property."""
    return {
        (", ".join(look.names), look.what): (
            math.tanh(look.estimate.corrected)
            if look.what == "correlation"
            else look.estimate.corrected
        )
        for look in looks
        if look.what in ("correlation", *_SHAPES)
    }


def _measured(rows: Rows, look: FirstLook, choice: Chosen) -> list[Estimate]:
    """All that was chosen, and the means of what was not."""
    d = rows.source.layout.dimension
    quantities = [Quantity(what, (j,)) for j in choice.spreads for what in _MOMENTS]
    quantities += [Quantity(what, (j,)) for j in choice.shapes for what in _SHAPES]
    quantities += [Quantity("correlation", pair) for pair in choice.pairs]
    candidates = coordinate_candidates(rows, look, quantities)
    found = best_estimates(rows, look.frame, candidates)
    others = sorted(set(range(d)) - set(choice.spreads))
    if others:
        means = [Candidate(Quantity("mean", (j,)), look.means, (j,)) for j in others]
        found += [_in_own_sd(one) for one in estimated(rows, look.rough, means)]
    return found


_MOMENTS: tuple[What, ...] = ("mean", "sd")
_SHAPES: tuple[What, ...] = ("skew", "tail")


def _in_own_sd(estimate: Estimate) -> Estimate:
    """A mean without a second moment of the target: in units of the draws' own sd."""
    (place,) = estimate.candidate.places
    unit = math.sqrt(estimate.candidate.fit.spread[place, place])
    return estimate._replace(error=estimate.error / unit, error_se=estimate.error_se / unit)


class _Look(NamedTuple):
    """An estimate, whose it is, its share of the level, and its direction if it has one."""

    estimate: Estimate
    names: tuple[str, ...]
    what: str
    share: float
    direction: tuple[float, ...] = ()


def _looks(
    source: Source, found: Sequence[Estimate], along: Sequence[AlongDirection]
) -> list[_Look]:
    d, names = source.layout.dimension, coordinate_names(source)
    single = [
        _Look(
            one,
            tuple(names[index] for index in one.quantity.indices),
            one.quantity.what,
            _weight(one.quantity, d),
        )
        for one in found
    ]
    return single + [
        _Look(
            one.estimate,
            (direction_name(one.coefficients, names),),
            f"direction {one.estimate.quantity.what}",
            DIRECTION_SHARE / DIRECTIONS,
            tuple(one.coefficients.tolist()),
        )
        for one in along
    ]


def _table(
    source: Source, looks: Sequence[_Look], complete: bool, own: Mapping[str, str]
) -> EffectTable:
    d = source.layout.dimension
    tails = np.full(d, -np.inf) if source.weighted else tail_indices(source)
    heavy = [_is_heavy(look, tails) for look in looks]
    pvalues = [
        1.0 if beyond else _pvalue(look.estimate) for look, beyond in zip(looks, heavy, strict=True)
    ]
    adjusted = weighted_holm(pvalues, [look.share for look in looks])
    rows = sorted(
        (
            _row(look, pvalue, own, heavy=beyond)
            for look, pvalue, beyond in zip(looks, adjusted.tolist(), heavy, strict=True)
        ),
        key=_importance,
    )
    count = 4 * d + d * (d - 1) // 2 + (DIRECTIONS if d > 1 else 0)
    return EffectTable(tuple(rows), count, complete=complete)


def _is_heavy(look: _Look, tails: FloatArray) -> bool:
    """Whether the target's tails are too heavy for this look."""
    along = np.array(look.direction)
    return too_heavy(tails, look.what, () if len(along) else look.estimate.quantity.indices, along)


def _importance(row: EffectRow) -> tuple[bool, bool, bool, bool, float, float]:
    """What has a size first, and single parameters before directions, which are harder to read."""
    vague, size = row.found and not row.directed, -abs(row.statistic) if row.judged else 0.0
    return not row.found, not row.judged, vague, bool(row.direction), size, row.pvalue


def _pvalue(estimate: Estimate) -> float:
    if not math.isfinite(estimate.error_se):
        return 1.0
    if estimate.error_se == 0.0:
        return 1.0 if estimate.error == 0.0 else 0.0
    return min(1.0, 2.0 * float(stdtr(estimate.df[3], -abs(estimate.error) / estimate.error_se)))


def _weight(quantity: Quantity, dimension: int) -> float:
    """The share of the level of one look."""
    share = SHARES[quantity.what]
    if quantity.what == "correlation":
        return share / (dimension * (dimension - 1) / 2)
    alone = 1.0 - SHARES["correlation"] - DIRECTION_SHARE
    return share / dimension / (1.0 if dimension > 1 else alone)


def _row(look: _Look, pvalue: float, own: Mapping[str, str], *, heavy: bool) -> EffectRow:
    """A row with its size, or without one where the scores do not tell it, or tails are heavy."""
    estimate, found = look.estimate, pvalue <= LEVEL
    reliability, doubt = estimate.reliability_of_error, estimate.error_doubt.reach
    reach = quantile(LEVEL, estimate.df[3]) * estimate.error_se + doubt
    name, pair = ", ".join(look.names), look.names if len(look.names) == 2 else ()
    if heavy:
        reliability = 0.0
    if reliability < TRUSTED or not math.isfinite(reach):
        unknown = (size_unknown if found else not_judged)(look.what, look.names, own)
        unknown += "; the target's tails are too heavy" if heavy else ""
        return EffectRow(
            name, look.what, math.nan, -math.inf, math.inf, pvalue, found, reliability,
            unknown, math.nan, math.inf, estimate.df[3],
            look.direction, pair,
        )  # fmt: skip
    ends = (estimate.error, estimate.error - reach, estimate.error + reach)
    size, lower, upper = (_size(estimate, end) for end in ends)
    words = sentence(look.what, look.names, size, lower, upper, reliability, own)
    if look.what == "correlation":
        of_draws = estimate.corrected + estimate.error
        drawn, right, least, most = (
            math.tanh(one)
            for one in (of_draws, estimate.corrected, of_draws - ends[2], of_draws - ends[1])
        )
        words = correlation_sentence(look.names, drawn, right, least, most, reliability, own)
    if found and reach > abs(estimate.error):
        words = at_most(look.what, look.names, lower, upper, own)
    return EffectRow(
        name, look.what, size, lower, upper, pvalue, found, reliability, words,
        estimate.error, estimate.error_se, estimate.df[3], look.direction, pair, doubt,
    )  # fmt: skip


def _size(estimate: Estimate, error: float) -> float:
    """An error on the scale of its interval in units that people read."""
    if estimate.quantity.what == "sd":
        with np.errstate(over="ignore"):
            return float(np.exp(error))
    if estimate.quantity.what == "correlation":
        return math.tanh(estimate.corrected + error) - math.tanh(estimate.corrected)
    return error
