"""Every statistic of `check` in one table: what it looks at, its share of the level, its minima.

Four arms share the level, and the statistics of an arm share the arm's part of it. The shares were
chosen by ``python -m studies.check choose``, on draws that no table shows. Where an arm abstains,
the others keep their own shares. What a statistic cannot judge is left to the other statistics of
its arm (`flip_shares`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from polystein.stein.basis import LinearAndBounded, SmoothTails, Waves

#: The arms, and which rows they judge.
FLIPS, TRAINED, AGREEMENT, NET = (
    "sign flips",
    "trained witnesses",
    "agreement of chains",
    "kernel net",
)
ALL_ROWS, TEST_ROWS, SOME_ROWS = "all rows", "the test rows", "evenly spaced rows"
#: What sign flips do not look at in many dimensions, and with few rows.
PAIRS, DIRECTIONS, FINE = (
    "sign flips of pairs of coordinates",
    "sign flips of whole directions",
    "sign flips of waves",
)
#: How the name of an abstention begins that is of one family or form of the sign flips.
FAMILY_PREFIX = f"{FLIPS} of "
#: Whose abstention does not hold a verdict open: `Evidence.abstained` says so instead.
LEAVES_NOTHING_OPEN = (
    PAIRS,  # of too many coordinates, which no more rows change; the trained witnesses see pairs
    DIRECTIONS,  # single coordinates are judged; it takes rows or memory that there are not
    FINE,  # of too many coordinates, which no more rows change
    NET,  # its power is low: that it finds nothing says little in any case
    AGREEMENT,  # R-hat holds the verdict open where chains disagree
)

#: x sees location, spread and correlation best; four bounded functions, the Hermite functions G1 to
#: G4, see the shape.
BASIS = LinearAndBounded(5)
#: The functions whose pairs of coordinates are looked at, by their order: x for correlation, G2 for
#: curved dependence.
PAIR_ORDERS: Mapping[str, int] = {name: 1 + BASIS.names.index(name) for name in ("x", "G2")}
#: The bounded functions fall off beyond two standard deviations; these do not.
TAILS = SmoothTails()
#: They do not see fine structure, either; these do.
WAVES = Waves()

#: Fewer batches than this have too few patterns of signs for a p-value.
FEWEST_BATCHES = 8
#: The diagonal of order 1 is as skewed as a square: on fewer batches than this it rejects too
#: often (0.11 instead of 0.05 on 32), and bounded functions see the spread alone. Few rows lie in
#: the tails, whose functions need as many.
FEWEST_FOR_SPREADS = 120
#: Autocorrelated chains visit a tail for several batches. For spreads and tails they must be worth
#: this many independent rows, twice as many as independent rows need: the autocorrelation is not
#: known exactly.
FEWEST_ROWS_FOR_SPREADS = 960.0
#: Overall spreads reject too often on fewer batches than this (0.08 on 12).
FEWEST_FOR_TRACES = 32
#: The kernel net has products of this many batches at least.
FEWEST_FOR_NET = 40

HOTELLING, TRACE, SQUARE, KERNEL = "Hotelling", "trace", "trace of square", "KSD"


class Statistic(NamedTuple):
    """One row of the table.

    ``looks_at`` says in words what it sees, and ``features`` what is summed over batches, for
    coordinates l and m. ``share`` is its part of the level where coordinates are uncorrelated,
    ``correlated`` where they are correlated. Statistics of sums over batches need ``batches``
    batches, and chains that are worth ``rows`` independent rows. Those of a family need the same.
    """

    name: str
    looks_at: str
    features: str
    share: float
    correlated: float
    batches: int = FEWEST_BATCHES
    rows: float = 0.0

    @property
    def is_sum(self) -> bool:
        """Whether it adds up features, or is the largest of them."""
        return self.name.endswith(": sum")


_SPREADS = FEWEST_FOR_SPREADS, FEWEST_ROWS_FOR_SPREADS
#: The statistics of the sign flips. "sum" adds the squared t-statistics of all features, "max" is
#: the largest. Where coordinates are uncorrelated, Hotelling's statistic is the sum over the
#: scores, and the trace of the square shows what pairs show. Where they are correlated, sums over
#: coordinates see the stiff directions alone.
OF_FLIPS = (
    Statistic("score: sum", "location", "s_l", 0.29, 0.005),
    Statistic("score: max", "location", "s_l", 0.005, 0.005),
    Statistic("x: sum", "spread", "s_l x_l + 1", 0.01, 0.015, *_SPREADS),
    Statistic("x: max", "spread", "s_l x_l + 1", 0.02, 0.005, *_SPREADS),
    Statistic("G1-4: sum", "spread, shape", "s_l G_k(x_l) + G_k'(x_l)", 0.095, 0.01),
    Statistic("G1-4: max", "spread, shape", "s_l G_k(x_l) + G_k'(x_l)", 0.005, 0.005),
    Statistic("tails: max", "tails", "s_l T(x_l) + T'(x_l)", 0.02, 0.015, *_SPREADS),
    Statistic("waves: max", "fine structure", "s_l sin(w x_l) + w cos(w x_l)", 0.03, 0.005),
    Statistic("trace: sum", "overall spread", "sum of s_l x_l + 1", 0.22, 0.28, FEWEST_FOR_TRACES),
    Statistic("x pairs: max", "correlation", "s_l x_m", 0.005, 0.01),
    Statistic("G2 pairs: max", "curved dependence", "s_l G2(x_m)", 0.04, 0.005),
    Statistic(
        "magnitude pairs: sum",
        "dependence of magnitudes",
        "(s_l g(x_l) + g'(x_l)) k(x_m)",
        0.005,
        0.005,
    ),
    Statistic(
        "magnitude pairs: max",
        "dependence of magnitudes",
        "(s_l g(x_l) + g'(x_l)) k(x_m)",
        0.01,
        0.005,
    ),
    Statistic("Hotelling: sum", "location, directions", "s", 0.005, 0.23),
    Statistic(
        "trace of square: sum", "spread, directions", "s x' + I", 0.005, 0.165, FEWEST_FOR_TRACES
    ),
)


def of_family(family: str) -> tuple[Statistic, ...]:
    """The statistics of a family, or the one of a quadratic form: the name before the colon."""
    return tuple(one for one in OF_FLIPS if one.name.partition(":")[0] == family)


#: The trained witnesses. Their p-value is that of the largest of four correlated t-statistics.
OF_TRAINED = (
    Statistic("trained score", "location", "s", 0.00125, 0.00125),
    Statistic("sparse stack", "spread, shape", "s_l phi(x_l) + phi'(x_l)", 0.00125, 0.00125),
    Statistic("trained x", "spread, correlation", "s x' + I", 0.00125, 0.00125),
    Statistic("trained stack", "everything at once", "all orders", 0.00125, 0.00125),
)
#: The questions of the agreement of chains. What is not asked leaves its share to the others.
OF_AGREEMENT = (
    Statistic("chains", "late halves", "x_l and s_l, bounded", 0.0125, 0.0125),
    Statistic("starts of all chains", "beginnings", "x_l and s_l, bounded", 0.0125, 0.0125),
    Statistic("start of a chain", "beginnings", "x_l and s_l, bounded", 0.0125, 0.0125),
    Statistic("frozen chains", "chains that do not move", "x_l", 0.0125, 0.0125),
)
#: The net under everything, of low power and consistent against every alternative.
OF_NET = (Statistic(KERNEL, "any difference", "Stein kernel of pairs", 0.18, 0.18, FEWEST_FOR_NET),)
#: The table.
STATISTICS: Mapping[str, tuple[Statistic, ...]] = {
    FLIPS: OF_FLIPS,
    TRAINED: OF_TRAINED,
    AGREEMENT: OF_AGREEMENT,
    NET: OF_NET,
}

#: The arms' shares of the level. Independent rows have no chains that could agree: the sign flips
#: have that share.
SHARES_OF_CHAINS: Mapping[str, float] = {
    arm: math.fsum(one.share for one in own) for arm, own in STATISTICS.items()
}
SHARES_OF_ROWS: Mapping[str, float] = {
    FLIPS: math.fsum(SHARES_OF_CHAINS[arm] for arm in (FLIPS, AGREEMENT)),
    TRAINED: SHARES_OF_CHAINS[TRAINED],
    NET: SHARES_OF_CHAINS[NET],
}

#: Total correlations of the scores, in nats a coordinate, beyond what chance explains: from the
#: first on shares change, and from the second on they are those of correlated coordinates.
LEAST_CORRELATION, MOST_CORRELATION = 0.02, 0.06
#: Traces have their whole share of the level from this many coordinates on.
MANY_COORDINATES = 8


def correlation_weight(correlation: float) -> float:
    """How far shares are those of correlated coordinates, from 0 to 1, by the total correlation."""
    span = MOST_CORRELATION - LEAST_CORRELATION
    return min(max((correlation - LEAST_CORRELATION) / span, 0.0), 1.0)


def flip_shares(judged: Collection[str], coordinates: int, correlation: float) -> dict[str, float]:
    """The shares of the level of those statistics of the sign flips that are judged.

    They sum to 1. ``correlation`` is the total correlation of the scores beyond chance. Between
    uncorrelated and correlated coordinates shares change in proportion to it. Traces add up what
    all coordinates have in common. Of a few there is less to add up, and single coordinates show
    as much. If Hotelling's statistic is not judged, the sum over the scores has its share.

    Examples
    --------
    >>> shares = flip_shares(["score: sum", "trace: sum"], 2, 0.0)
    >>> round(shares["score: sum"], 3)
    0.843
    """
    weight = correlation_weight(correlation)
    shares = {one.name: (1.0 - weight) * one.share + weight * one.correlated for one in OF_FLIPS}
    for one in (*of_family(TRACE), *of_family(SQUARE)):
        shares[one.name] *= min(1.0, coordinates / MANY_COORDINATES)
    if f"{HOTELLING}: sum" not in judged:
        shares["score: sum"] += shares[f"{HOTELLING}: sum"]
    whole = sum(share for name, share in shares.items() if name in judged)
    return {name: share / whole for name, share in shares.items() if name in judged}
