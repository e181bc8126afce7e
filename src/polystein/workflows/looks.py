"""When a monitor looks, at which rows, and what it reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from polystein._lib.arguments import integer, is_finite_number, is_integer
from polystein.errors import InputError
from polystein.inference.lugsail import ChainHalves, LugsailBatches
from polystein.inference.pvalues import spent_levels
from polystein.types import Verdict

#: Batches of all chains together, by which a look estimates its variance.
BATCHES = 32
#: Most rows of a block. The last block before a look gives the features' scale.
BLOCK_ROWS = 256
#: Most chains: a monitor holds a block of every chain, 4 KiB for each coordinate.
MOST_CHAINS = 100_000


@dataclass(frozen=True)
class Look:
    """What a monitor found when every chain had this number of draws.

    ``pvalue`` is for both questions of a look, twice the smaller of ``pvalue_recent`` (of the
    rows since the last look) and ``pvalue_so_far`` (of the rows of all looks so far). The verdict
    is "rejected" if it is at most ``level``, the part of the false alarms that this look may
    spend. An inconclusive look has a ``reason``, and NaN for its statistic and its p-values.

    Of a monitor that looks at any time, ``number`` counts the full batches of every chain, the
    statistic is the logarithm of the wealth, ``features`` has that of bets on each feature alone,
    and ``level`` is the alpha of all looks. There is one p-value, and none of the recent rows.
    """

    number: int
    draws: int
    statistic: float
    pvalue: float
    pvalue_recent: float
    pvalue_so_far: float
    level: float
    verdict: Verdict
    discrepancy: float
    ess: float
    n_gap: int
    n_test: int
    #: The t-statistic of every feature, which tells what is off.
    features: Mapping[str, float] = field(default_factory=dict)
    #: Why a look is inconclusive.
    reason: str = ""

    @property
    def alarm(self) -> bool:
        """Whether the draws since the last look, or all so far, are not those of the target."""
        return self.verdict == "rejected"

    def __str__(self) -> str:
        found = f"level {self.level:.3g}, psd = {self.discrepancy:.3g}"
        if self.verdict != "inconclusive":
            found = f"p = {self.pvalue:.3g}, {found}"
        why = f": {self.reason}" if self.reason else ""
        return f"look {self.number} at {self.draws} draws: {self.verdict} ({found}){why}"


class PlannedBlock(NamedTuple):
    """Rows ``start:stop`` of a chain that are taken together, before look number ``look``."""

    start: int
    stop: int
    #: Counted from 0; after the last look there is none.
    look: int | None
    tested: bool


@dataclass(frozen=True)
class Plan:
    """The looks, fixed before any row is seen, and the roles of the rows between them.

    Look k tests the rows after a gap since look k - 1; the first look those after a gap since the
    middle of its rows.
    """

    looks: tuple[int, ...]
    chains: int
    alpha: float
    gap: int

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Rows of each chain after which a new test function may be fixed."""
        return self.looks[0] // 2, *self.looks

    @property
    def tested(self) -> tuple[tuple[int, int], ...]:
        """First and last row, of each chain, that each look tests."""
        return tuple((low + self.gap, high) for low, high in pairwise(self.boundaries))

    @property
    def rows_tested(self) -> list[int]:
        """Rows that each look tests, over all chains."""
        return [self.chains * (stop - start) for start, stop in self.tested]

    @property
    def levels(self) -> list[float]:
        """What each look may spend of alpha."""
        levels: list[float] = spent_levels(self.alpha, self.looks).tolist()
        return levels

    @property
    def halves(self) -> int:
        """Halves of batches of a chain's tested rows.

        A chain has at least two batches: the covariance of neighbours shows its autocorrelation.
        """
        return 2 * max(2, math.ceil(BATCHES / self.chains))

    @property
    def least_ess(self) -> float:
        """Batches of fewer than five effective rows are not independent of their neighbours."""
        return 5.0 * self.chains * self.halves / 2

    def batches(self, look: int, columns: int) -> LugsailBatches:
        """Sums over batches of the rows that a look tests."""
        start, stop = self.tested[look]
        halves = {
            chain: ChainHalves(start, stop, self.halves, chain * self.halves)
            for chain in range(self.chains)
        }
        return LugsailBatches(halves, columns, halved=True)

    def block_of(self, row: int) -> PlannedBlock:
        """The block that a row belongs to.

        Blocks are counted back from the end of the rows of one role, so that the first of these
        may be short. After the last look there is no end, and blocks are counted from there.
        """
        last = self.looks[-1]
        if row >= last:
            start = last + (row - last) // BLOCK_ROWS * BLOCK_ROWS
            return PlannedBlock(start, start + BLOCK_ROWS, None, tested=False)
        roles = [(0, self.boundaries[0], 0, False)]
        for look, (first, stop) in enumerate(self.tested):
            roles += [(first - self.gap, first, look, False), (first, stop, look, True)]
        start, stop, look, tested = next(role for role in roles if row < role[1])
        high = stop - (stop - row - 1) // BLOCK_ROWS * BLOCK_ROWS
        return PlannedBlock(max(start, high - BLOCK_ROWS), high, look, tested)


def require_chains_and_level(chains: int, alpha: float) -> None:
    """Options of every plan, or an error that names the one to change."""
    if integer(chains, "chains", least=1) > MOST_CHAINS:
        raise InputError(f"`chains` must be at most {MOST_CHAINS:,}; got {chains!r}")
    if not (is_finite_number(alpha) and 0.0 < alpha < 1.0):
        raise InputError(f"`alpha` must be strictly between 0 and 1; got {alpha!r}")


def plan_of(looks: Sequence[int], chains: int, alpha: float, gap: int | None) -> Plan:
    """The plan of these options, or an error that names the one to change."""
    require_chains_and_level(chains, alpha)
    times = tuple(looks) if isinstance(looks, Iterable) else ()
    if not times or not all(is_integer(time, least=2) for time in times):
        raise InputError(
            "`looks` must be numbers of draws of each chain at which to look, fixed in advance, "
            f'such as (1000, 2000, 3000), or "any"; got {looks!r}'
        )
    times = tuple(int(time) for time in times)
    if any(high <= low for low, high in pairwise(times)):
        raise InputError(f"`looks` must increase; got {times}")
    shortest = min(high - low for low, high in pairwise((times[0] // 2, *times)))
    if gap is None:
        gap = max(1, int(0.1 * shortest))
    plan = Plan(times, int(chains), float(alpha), integer(gap, "gap", least=1))
    least = plan.halves + plan.gap
    if shortest < least:
        raise InputError(
            f"`looks` must leave at least {least} draws of each chain between two looks, a gap of "
            f"{plan.gap} and {plan.halves} to test, and twice as many before the first; got {times}"
        )
    return plan
