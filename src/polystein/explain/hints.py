"""What to do next, by the pattern of what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from polystein.data.source import Source, is_source
from polystein.results.coded import CodedText
from polystein.results.effect_rows import EffectRow
from polystein.results.effects import EffectTable

#: Part of the coordinates that counts as nearly all.
NEARLY_ALL = 0.8
#: Sds are off by the same factor if its logarithms differ by less than this part of their mean.
ALIKE = 0.35
GAUSSIAN_KURTOSIS = 3.0
#: Mean-field inference misses correlations by more than this; full-rank fits are off by less.
LEAST_MISSED = 0.02


class Circumstances(NamedTuple):
    """What is known beside the effects, in words that are empty where there is nothing to say.

    ``scores`` says what looks wrong about the scores themselves, ``one_chain`` and ``starts``
    where chains differ from each other and from their own beginnings. ``chains`` says whether a
    Markov chain made the draws: others have no chains, steps or accept steps to look at.
    ``accepts`` says whether it is one with an accept step, as NUTS is.
    ``refine`` is the call of `refine` that fits, where the log-density is known.
    """

    scores: str = ""
    one_chain: str = ""
    starts: str = ""
    chains: bool = True
    refine: str = ""
    accepts: bool = False


NOTHING_ELSE = Circumstances()
#: The target's own value by the name and property of a row.
Targets: TypeAlias = Mapping[tuple[str, str], float]


def refine_call(source: Source, given: object, model: object = None) -> str:
    """The call of `refine` that fits what was given for a source; empty without a log-density."""
    if source.facts.log_density is None or source.weighted:
        return ""
    if model is not None:
        return "ps.refine(idata, model=model)"
    return "ps.refine(sample)" if is_source(given) else "ps.refine(draws)"


def hint_for(
    table: EffectTable,
    dimension: int,
    known: Circumstances = NOTHING_ELSE,
    targets: Targets = MappingProxyType({}),
) -> CodedText:
    """A short hint with the code of its action; empty where nothing was found.

    Input that is suspect comes before chains, and chains before effects: what is wrong with a
    chain, or with the scores, shows in the effects, too. ``targets`` has the target's correlations,
    skewnesses and kurtoses: only with them a hint says whose are larger.
    """
    for words, where in (
        (_BORDER if "unconstrained" in known.scores else _SCORES, known.scores),
        (_STUCK if "does not move" in known.one_chain else _ONE_CHAIN, known.one_chain),
        (_STARTS, known.starts),
    ):
        if where:
            return CodedText(words.format(where), words.code)
    if not table.found:
        return CodedText("", "")
    found = [row for row in table.found if row.directed]
    if not found:
        unsized = _REFINE if known.refine else _NO_SIZE
        return CodedText(unsized.format(known.refine), unsized.code)
    pattern = _pattern(table, found, dimension, known, targets)
    if not table.unsized:
        return pattern
    first = _REFINE_FIRST if known.refine else _SIZE_FIRST
    hint = first.format(known.refine)
    # A parameter to begin with may be the wrong one.
    if pattern.code != _GENERAL.code:
        hint = f"{hint} As far as sizes are known, {pattern}"
    return CodedText(hint, first.code)


def _pattern(
    table: EffectTable,
    found: Sequence[EffectRow],
    dimension: int,
    known: Circumstances,
    targets: Targets,
) -> CodedText:
    """The hint by the rows that were ``found`` with a size."""
    # A direction shows what single parameters show, if these show anything.
    found = [row for row in found if not row.direction]
    if not found:
        return _DIRECTION if known.chains else _FIT_DIRECTION
    sds = [row for row in found if row.what == "sd"]
    pairs = [row for row in found if row.what == "correlation"]
    small = [row for row in sds if row.size < 1.0]
    missed = [row for row in pairs if _weaker(row, targets)]
    clearly = [row for row in missed if abs(row.size) >= LEAST_MISSED]
    by_pairs = found[0].what == "correlation" and 2 * len(pairs) >= len(found)
    only_shapes = _only(found, ("skew", "tail"))
    # What is off by an unknown amount may be off the other way.
    vague = {row.name for row in table.found if not row.directed and row.what in ("mean", "sd")}
    # Where means are further off than spreads, spreads are not the story.
    shift = max((abs(row.size) for row in found if row.what == "mean"), default=0.0)
    change = max((abs(math.log(row.size)) for row in sds), default=0.0)
    alike = not vague - {row.name for row in sds} and shift <= change
    wide = _TOO_WIDE
    if known.chains:
        wide = _CHAINS_TOO_WIDE if known.accepts else _STEP_SIZE
    spreads = "all spreads"
    if len(sds) < dimension:
        spreads = f"nearly all spreads ({len(sds)} of {dimension})"
    for words, applies in (
        (_MEAN_FIELD, _most(clearly, pairs) and _most(small, sds)),
        (_CORRELATION, by_pairs and _most(missed, pairs)),
        (
            wide,
            alike and _all_alike(sds, dimension, larger=True),
        ),
        (_TOO_NARROW, alike and _all_alike(sds, dimension, larger=False)),
        (_LOCATION if known.chains else _FIT_LOCATION, _only(found, ("mean",))),
        (_SHAPE, only_shapes and _weaker(found[0], targets)),
        (_OWN_SHAPE, only_shapes),
        (_OWN_CORRELATION if known.chains else _FIT_CORRELATION, by_pairs),
    ):
        if applies:
            return CodedText(words.format(spreads=spreads), words.code)
    general = _GENERAL if known.chains else _FIT_GENERAL
    names, told = "` and `".join(found[0].names), general.text
    if len(found[0].names) > 1:
        told = told.replace(" its ", " their ")
    return CodedText(told.format(names), general.code, found[0].name)


_MEAN_FIELD = CodedText(
    "sds are too small and correlations are missed, as with mean-field variational inference: use "
    "a full-rank approximation, or MCMC.",
    "full-rank-or-mcmc",
)
_STEP_SIZE = CodedText(
    "{spreads} are too large by about the same factor, as with a step size that no accept step "
    "corrects: use a smaller step, or a Metropolis correction.",
    "smaller-step",
)
_TOO_NARROW = CodedText(
    "{spreads} are too small by about the same factor: look for a tempered target, a wrong "
    "scale, or an approximation that is too narrow.",
    "look-for-scale",
)
_LOCATION = CodedText(
    "only means stand out: look whether early draws are still on their way (a longer warm-up), "
    "and whether the chains agree.",
    "longer-warm-up",
)
_SHAPE = CodedText(
    "no mean or sd stands out, but the shape does: a Gaussian approximation of a skewed or "
    "heavy-tailed parameter looks like this, and so does a parameter near a border; transform it, "
    "or use MCMC.",
    "transform-or-mcmc",
)
_OWN_SHAPE = CodedText(
    "no mean or sd stands out, but the shape does: the draws are more skewed, or have heavier "
    "tails, than the target. Look for a few draws far out, and for a transform that was left out.",
    "look-for-outliers",
)
_CORRELATION = CodedText(
    "above all dependence is off, as with an approximation or a proposal that treats parameters as "
    "independent: use a full-rank approximation, or MCMC.",
    "full-rank-or-mcmc",
)
_OWN_CORRELATION = CodedText(
    "above all dependence is off, and the draws are more dependent than the target: look at "
    "scatter plots of the pairs, and whether the chains moved freely along them.",
    "look-at-pairs",
)
_SCORES = CodedText(
    "the scores themselves look wrong, and effects are measured by them: look at the warning, and "
    "at your gradient, before you look at the sampler.",
    "check-scores",
)
_BORDER = CodedText(
    "a parameter has a border: take draws and scores on the unconstrained scale, the Jacobian "
    "included, as the warning says.",
    "unconstrain",
)
_ONE_CHAIN = CodedText(
    "look at {}, which differs from the other chains: has it found what they missed?",
    "look-at-chain",
)
_STUCK = CodedText(
    "look at {}, and find out why before you use the others.", "leave-out-stuck-chain"
)
_STARTS = CodedText(
    "{} differ from what follows: drop them, or take a longer warm-up.", "drop-starts"
)
_DIRECTION = CodedText(
    "no single parameter stands out, but a combination of them does: look at it, and try a dense "
    "mass matrix, a full-rank approximation or other parameters.",
    "look-at-direction",
)
_GENERAL = CodedText(
    "begin with `{}`: look at its trace, chain by chain, and at its scores.", "look-at-parameter"
)


_TOO_WIDE = CodedText(
    "{spreads} are too large by about the same factor: look for a tempered target, a wrong "
    "scale, or an approximation that is too wide.",
    "look-for-scale",
)
_CHAINS_TOO_WIDE = CodedText(
    "{spreads} are too large by about the same factor: look for a tempered target, a wrong "
    "scale, or draws of another model or other data.",
    "look-for-scale",
)
_FIT_LOCATION = CodedText(
    "only means stand out, as with an optimisation that stopped early: let it run longer, or use "
    "MCMC.",
    "longer-fit",
)
_FIT_CORRELATION = CodedText(
    "above all dependence is off, and the draws are more dependent than the target: look at "
    "scatter plots of the pairs.",
    "look-at-pairs",
)
_FIT_DIRECTION = CodedText(
    "no single parameter stands out, but a combination of them does: look at it, and try a "
    "full-rank approximation or other parameters.",
    "look-at-direction",
)
_FIT_GENERAL = CodedText(
    "begin with `{}`: look at its histogram, and at its scores.", "look-at-parameter"
)
_REFINE = CodedText(
    "the scores tell no size: run `{}`, which moves the draws by the target's own "
    "log-density and compares before and after.",
    "refine",
)
_NO_SIZE = CodedText(
    "the scores tell no size: give `ps.refine` the log-density, too, or compare the draws with a "
    "long run of MCMC.",
    "refine",
)

_REFINE_FIRST = CodedText("run `{}`: it can size the rest.", "refine")
_SIZE_FIRST = CodedText("run `ps.refine` with `log_density=`: it can size the rest.", "refine")


def _weaker(row: EffectRow, targets: Targets) -> bool:
    """Whether a correlation, skewness or excess of kurtosis of the draws is nearer to 0."""
    target = targets.get((row.name, row.what), math.nan)
    nothing = GAUSSIAN_KURTOSIS if row.what == "tail" else 0.0
    return abs(target + row.size - nothing) < abs(target - nothing)


def _most(part: Sequence[EffectRow], rows: Sequence[EffectRow]) -> bool:
    return 2 * len(part) > len(rows)


def _only(found: Sequence[EffectRow], kinds: tuple[str, ...]) -> bool:
    return all(row.what in kinds for row in found)


def _all_alike(sds: Sequence[EffectRow], dimension: int, *, larger: bool) -> bool:
    """Whether nearly all sds are off in the same direction by about the same factor."""
    logs = [math.log(row.size) for row in sds]
    if (
        dimension < 2
        or len(logs) < NEARLY_ALL * dimension
        or any((one > 0.0) != larger for one in logs)
    ):
        return False
    mean = sum(logs) / len(logs)
    spread = math.sqrt(sum((one - mean) ** 2 for one in logs) / len(logs))
    return spread < ALIKE * abs(mean)
