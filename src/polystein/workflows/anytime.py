"""A monitor that may look at any time: bets on batches, and what it keeps of the chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polystein._lib.arguments import integer
from polystein._lib.numerics import is_constant
from polystein.data.coordinates import Frame
from polystein.data.source import Block
from polystein.errors import DegenerateError, PolysteinError, ScaleError
from polystein.inference.betting import SignBets
from polystein.inference.columns import ColumnMoments
from polystein.stein.moments import SteinMean, SteinMoments, merge_all
from polystein.types import FloatArray, Verdict
from polystein.workflows.looks import Look, require_chains_and_level
from polystein.workflows.watch import INTERRUPTED, OVERFLOW, Sums

#: Draws of each chain in a batch, unless the user says otherwise.
DEFAULT_BATCH = 100
#: A batch should have ten autocorrelation times. An estimated time is too vague to insist on ten:
#: that of one with twenty would often be found too short.
LEAST_TIMES = 4.0


@dataclass(frozen=True)
class AnytimePlan:
    """Batches of a chain that are bet on one after the other; looks may be taken at any time."""

    batch: int
    chains: int
    alpha: float


def anytime_plan(batch: int | None, chains: int, alpha: float) -> AnytimePlan:
    """The plan of these options, or an error that names the one to change."""
    require_chains_and_level(chains, alpha)
    rows = DEFAULT_BATCH if batch is None else integer(batch, "batch", least=2)
    return AnytimePlan(rows, int(chains), float(alpha))


class Pace:
    """How fast a chain moves: its autocorrelation time, by neighbouring batches of it.

    A wrong level of the draws hardly matters to differences of neighbours, and it must not: a
    fault is not slowness.
    """

    def __init__(self, dimension: int, chains: int) -> None:
        self._last: list[FloatArray | None] = [None] * chains
        self._differences, self._within = np.zeros(dimension), np.zeros(dimension)
        self._pairs = self._batches = 0

    def add(self, batch: ColumnMoments, chain: int) -> None:
        """Take mean and variance of a chain's next batch."""
        variance = batch.scatter / batch.weight
        self._within += np.where(is_constant(np.sqrt(variance), batch.mean), 0.0, variance)
        self._batches += 1
        last, self._last[chain] = self._last[chain], batch.mean
        if last is not None:
            self._differences += 0.5 * (batch.mean - last) ** 2
            self._pairs += 1

    def time(self, rows: int) -> float:
        """The autocorrelation time, in rows, of the slowest coordinate; NaN without two batches.

        It is the variance of a mean of so many rows over that of one of independent rows.
        """
        if not self._pairs:
            return math.nan
        of_means, of_rows = self._differences / self._pairs, self._within / self._batches
        times = np.divide(
            rows * of_means, of_rows, out=np.full_like(of_rows, np.inf), where=of_rows > 0.0
        )
        return float(times.max())


class Batch:
    """The batch of a chain that is under way."""

    def __init__(self, moments: SteinMoments, dimension: int) -> None:
        self.rows = 0
        self.sums = Sums(moments, dimension)
        #: Of the draws in the frame of the bets, once there is one.
        self.columns = ColumnMoments(dimension, joint=False)

    def add(self, block: Block, frame: Frame | None) -> None:
        """Add rows."""
        self.sums.add(block)
        if frame is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                self.columns.update(frame.of_draws(block.draws), None)


class AnytimeWatch:
    """The state of a monitor that may look at any time, which pickles."""

    def __init__(self, plan: AnytimePlan, moments: SteinMoments, dimension: int) -> None:
        self.plan, self.dimension = plan, dimension
        # Rows of all batches that are full.
        self._done = Sums(moments, dimension)
        self._under_way = [Batch(moments, dimension) for _ in range(plan.chains)]
        self._full = [0] * plan.chains
        # Fixed by the first batch of every chain.
        self._frame: Frame | None = None
        self._reason = "there is no batch of every chain yet"
        self._pace = Pace(dimension, plan.chains)
        self._bets: SignBets | None = None
        self._stopped = ""
        #: The first look that raised an alarm, if there is one, and the last look.
        self.looks: list[Look] = []

    @property
    def rows(self) -> list[int]:
        """Draws of each chain so far."""
        return [
            full * self.plan.batch + batch.rows
            for full, batch in zip(self._full, self._under_way, strict=True)
        ]

    def feed(self, numbers: Sequence[int], draws: FloatArray, scores: FloatArray) -> list[Look]:
        """Take draws and scores, (chain, n, d), of these chains; a look if batches got full.

        The chains advance side by side, from batch to batch.
        """
        before, place = min(self._full), 0
        try:
            while place < draws.shape[1]:
                left = [self.plan.batch - self._under_way[number].rows for number in numbers]
                stop = min(draws.shape[1], place + min(left))
                for index, number in enumerate(numbers):
                    self._extend(number, draws[index, place:stop], scores[index, place:stop])
                place = stop
            if min(self._full) == before:
                return []
            look = self._look()
        except BaseException:  # Ctrl-C, or no memory, anywhere between the sums
            self._stopped = INTERRUPTED
            raise
        alarms = [earlier for earlier in self.looks if earlier.alarm][:1]
        self.looks = [*alarms, look]
        return [look]

    def _extend(self, number: int, draws: FloatArray, scores: FloatArray) -> None:
        """Add rows of one batch, and bet on the batch if it is full."""
        batch = self._under_way[number]
        batch.rows += len(draws)
        full = batch.rows == self.plan.batch
        if full:
            self._under_way[number] = Batch(self._done.moments, self.dimension)
            self._full[number] += 1
        if self._stopped:
            return
        try:
            batch.add(Block(draws, scores, None, number, 0), self._frame)
            if full:
                self._bet(number, batch)
                self._done.merge(batch.sums)
                if self._frame is None and min(self._full) > 0:
                    self._fix_frame()
        except ScaleError:
            self._stopped = OVERFLOW

    def _bet(self, number: int, batch: Batch) -> None:
        """Bet on a batch that began after the frame was fixed."""
        if self._frame is None or batch.columns.weight < batch.rows:
            return
        mean = batch.sums.moments.mean_in(self._frame)
        parts = [part.ravel() for part in (*mean.matrices, mean.score)]
        features = np.concatenate(parts)
        if not (np.isfinite(features**2).all() and np.isfinite(batch.columns.scatter).all()):
            raise ScaleError(OVERFLOW)
        if self._bets is None:
            self._bets = SignBets([part.size for part in parts])
        self._pace.add(batch.columns, number)
        self._bets.update(features, number)

    def _fix_frame(self) -> None:
        """Standardise by the draws so far, if they vary."""
        try:
            self._frame = self._done.draws.standard_frame()
        except DegenerateError as error:
            self._reason = str(error)

    def _all(self) -> SteinMean:
        parts = (batch.sums.moments for batch in self._under_way)
        return merge_all([self._done.moments, *parts]).finalise()

    def discrepancy(self) -> float:
        """The polynomial Stein discrepancy of all rows so far."""
        if self._stopped:
            raise (PolysteinError if self._stopped == INTERRUPTED else ScaleError)(self._stopped)
        try:
            return self._all().norm()
        except ScaleError as error:
            raise ScaleError(OVERFLOW) from error

    def _look(self) -> Look:
        """What the bets say so far."""
        try:
            found = math.nan if self._stopped == INTERRUPTED else self.discrepancy()
        except ScaleError:
            found = math.inf
        rounds, time = min(self._full), self._pace.time(self.plan.batch)
        bets = self._bets.bets if self._bets else 0
        statistic = pvalue = math.nan
        features: dict[str, float] = {}
        reason = self._doubt(time)
        if not reason and self._bets:
            statistic, pvalue = float(self._bets.evidence()), float(self._bets.pvalue())
            names = self._done.moments.basis.feature_names
            features = dict(zip(names, self._bets.evidence_by_group().tolist(), strict=True))
        verdict: Verdict = "rejected" if pvalue <= self.plan.alpha else "not rejected"
        if reason:
            verdict = "inconclusive"
        return Look(
            number=rounds,
            draws=rounds * self.plan.batch,
            statistic=statistic,
            pvalue=pvalue,
            pvalue_recent=math.nan,
            pvalue_so_far=pvalue,
            level=self.plan.alpha,
            verdict=verdict,
            discrepancy=found,
            ess=bets * self.plan.batch / time if time > 0.0 else math.nan,
            n_gap=0,
            n_test=bets * self.plan.batch,
            features=features,
            reason=reason,
        )

    def _doubt(self, time: float) -> str:
        """Why the bets are not to be trusted, if they are not."""
        if self._stopped:
            return self._stopped
        if self._frame is None:
            return self._reason
        if self._bets is None or not self._bets.bets:
            return "no batch has been bet on yet: the first ones fix what to bet on"
        if math.isinf(time):
            return "a coordinate is constant within every batch"
        if self.plan.batch < LEAST_TIMES * time:
            needed = math.ceil(10.0 * time)
            return (
                f"the autocorrelation time is about {time:.0f}, and a `batch` of {self.plan.batch} "
                f"draws is too short: use {needed}"
            )
        return ""
