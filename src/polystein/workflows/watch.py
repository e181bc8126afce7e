"""What a monitor keeps of the chains: bounded sums, test functions and looks, and no rows.

Rows are summed in blocks whose bounds depend on a row's number alone, so that it does not matter
whether draws come one by one or many at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import is_constant
from polystein.data.coordinates import DrawMoments
from polystein.data.source import Block
from polystein.errors import DegenerateError, PolysteinError, ScaleError
from polystein.inference.lugsail import LugsailBatches
from polystein.inference.pvalues import combined_pvalue, tail_probability
from polystein.stein.moments import SteinMoments, merge_all
from polystein.stein.witness import PrimalWitness, maximiser, project
from polystein.types import FloatArray
from polystein.workflows.looks import BLOCK_ROWS, Look, Plan

#: Why no look can judge any more, and why there is no discrepancy.
OVERFLOW = (
    "sums over the draws overflow a float64: rescale draws (x/c) and scores (c s), and start a new "
    "monitor"
)
INTERRUPTED = (
    "an update was interrupted while its draws were summed, and it is not known which of them "
    "were: load an earlier `state_dict()`, or start a new monitor"
)


class Tester(NamedTuple):
    """A test function fixed by earlier rows, with its features brought to one scale."""

    witness: PrimalWitness
    weights: FloatArray

    def columns(self, block: Block) -> FloatArray:
        """u, the sum of the scaled features, and then these."""
        features = project(self.witness, block) * self.weights
        return np.concatenate([features.sum(axis=1, keepdims=True), features], axis=1)


class Sums:
    """Stein moments and the moments of the draws themselves."""

    def __init__(self, moments: SteinMoments, dimension: int) -> None:
        self.moments, self.draws = moments.zero(), DrawMoments(dimension)

    def zero(self) -> Sums:
        """Sums of no rows."""
        return Sums(self.moments, self.draws.dimension)

    def add(self, block: Block) -> None:
        """Add the rows of a block."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.moments.add(block)
            self.draws.update(block)

    def merge(self, other: Sums) -> None:
        """Add the rows of other sums."""
        self.moments.merge(other.moments)
        self.draws.merge(other.draws)


class Chain:
    """One chain: rows that wait until their block is full, and sums since the last boundary."""

    def __init__(self, recent: Sums, dimension: int) -> None:
        self.rows = 0
        self.waiting = np.empty((2, BLOCK_ROWS, dimension))
        self.recent = recent
        #: The last block before the last boundary.
        self.last_block: Block | None = None
        #: Fixed when the first tested row after a boundary comes; a reason if that is impossible.
        self.tester: Tester | str | None = None

    def held(self, number: int, start: int) -> Block:
        """The rows from ``start`` on, which wait for their block to be full."""
        draws, scores = self.waiting[:, : self.rows - start].copy()
        return Block(draws, scores, None, number, start)


class Watch:
    """The state of a monitor, which pickles."""

    def __init__(self, plan: Plan, moments: SteinMoments, dimension: int) -> None:
        self.plan, self.dimension = plan, dimension
        # Rows of every chain up to its last boundary: what test functions are fixed by.
        self._done = Sums(moments, dimension)
        self._merged = 0
        self._fixed: tuple[int, Tester | str] | None = None
        self._chains = [Chain(self._done.zero(), dimension) for _ in range(plan.chains)]
        self._batches: dict[int, LugsailBatches] = {}
        self._reasons: dict[int, str] = {}
        # Why no look can judge any more: `OVERFLOW` or `INTERRUPTED`.
        self._stopped = ""
        self.looks: list[Look] = []

    @property
    def rows(self) -> list[int]:
        """Draws of each chain so far."""
        return [chain.rows for chain in self._chains]

    def feed(self, numbers: Sequence[int], draws: FloatArray, scores: FloatArray) -> list[Look]:
        """Take draws and scores, (chain, n, d), of these chains; the looks that are due by then.

        The chains advance side by side, from block to block.
        """
        before, place = len(self.looks), 0
        try:
            while place < draws.shape[1]:
                stop = draws.shape[1]
                # All test functions are fixed before any of these rows counts as an earlier one.
                for number in numbers:
                    chain = self._chains[number]
                    planned = self.plan.block_of(chain.rows)
                    if planned.tested and chain.tester is None:
                        chain.tester = self._tester()
                    stop = min(stop, place + planned.stop - chain.rows)
                for index, number in enumerate(numbers):
                    self._extend(number, draws[index, place:stop], scores[index, place:stop])
                place, rows = stop, min(self.rows)
                while (taken := len(self.looks)) < len(self.plan.looks) and (
                    rows >= self.plan.looks[taken]
                ):
                    self.looks.append(self._look(taken))
        except BaseException:  # Ctrl-C, or no memory, anywhere between the sums
            self._stopped = INTERRUPTED
            raise
        return self.looks[before:]

    def _extend(self, number: int, draws: FloatArray, scores: FloatArray) -> None:
        """Add rows of one block, and sum and test the block if it is full."""
        chain = self._chains[number]
        planned = self.plan.block_of(chain.rows)
        place = slice(chain.rows - planned.start, chain.rows - planned.start + len(draws))
        chain.waiting[0, place], chain.waiting[1, place] = draws, scores
        chain.rows += len(draws)
        if chain.rows < planned.stop or self._stopped:
            return
        block = chain.held(number, planned.start)
        try:
            chain.recent.add(block)
            if planned.tested and planned.look is not None:
                self._test(chain, block, planned.look)
            if planned.stop in self.plan.boundaries:
                self._done.merge(chain.recent)
                self._merged += 1
                chain.recent, chain.last_block, chain.tester = self._done.zero(), block, None
        except ScaleError:
            self._stopped = OVERFLOW

    def _test(self, chain: Chain, block: Block, look: int) -> None:
        """Add a block to the batches of its look."""
        if not isinstance(chain.tester, Tester):
            self._reasons[look] = chain.tester or "there is no test function"
            return
        columns = chain.tester.columns(block)
        if look not in self._batches:
            self._batches[look] = self.plan.batches(look, columns.shape[1])
        self._batches[look].update(columns, None, block.chain, block.start)

    def _tester(self) -> Tester | str:
        """The test function by all rows up to the boundaries, or why there is none.

        It is the same one for the same rows.
        """
        if self._stopped:
            return self._stopped
        if self._fixed is None or self._fixed[0] != self._merged:
            fixed: Tester | str
            try:
                fixed = self._trained()
            except DegenerateError as error:
                fixed = str(error)
            except ScaleError:
                fixed = OVERFLOW
            self._fixed = self._merged, fixed
        return self._fixed[1]

    def _trained(self) -> Tester:
        """The maximiser of standardised draws; each feature is scaled to variance 1."""
        frame, moments = self._done.draws.standard_frame(), self._done.moments
        mean = moments.mean_in(frame)
        witness = maximiser(mean, moments.basis, moments.structure, frame)
        blocks = [chain.last_block for chain in self._chains if chain.last_block is not None]
        features = np.concatenate([project(witness, block) for block in blocks])
        with np.errstate(over="ignore", invalid="ignore"):
            centre, spread = features.mean(axis=0), features.std(axis=0)
        if not (np.isfinite(centre).all() and np.isfinite(spread).all()):
            raise ScaleError("the features of the test function overflow")
        flat = is_constant(spread, centre)
        if flat.all():
            raise DegenerateError("the features of the test function do not vary")
        return Tester(witness, np.divide(1.0, spread, out=np.zeros_like(spread), where=~flat))

    def discrepancy(self) -> float:
        """The polynomial Stein discrepancy of all rows so far."""
        if self._stopped:
            raise (PolysteinError if self._stopped == INTERRUPTED else ScaleError)(self._stopped)
        try:
            waiting = self._done.moments.zero()
            for number, chain in enumerate(self._chains):
                block = chain.held(number, self.plan.block_of(chain.rows).start)
                if block.rows:
                    waiting.add(block)
            recent = (chain.recent.moments for chain in self._chains)
            return merge_all([self._done.moments, *recent, waiting]).finalise().norm()
        except ScaleError as error:
            raise ScaleError(OVERFLOW) from error

    def _look(self, number: int) -> Look:
        """Judge a look: by its own rows, and by those of all looks that have a p-value."""
        batches = self._batches.pop(number, None)
        reason = self._reasons.pop(number, "") or self._stopped
        if batches is None or reason:
            return self._inconclusive(number, reason or "no draws could be tested")
        found = batches.finalise()
        error = np.sqrt(np.diagonal(found.covariance))
        if not np.isfinite([error[0], found.mean[0]]).all():
            return self._inconclusive(number, OVERFLOW)
        if is_constant(error, found.mean)[0]:
            return self._inconclusive(number, "the test column does not vary")
        ess = float(found.ess[0])
        if reason := self._doubt(number, ess):
            return self._inconclusive(number, reason, ess)
        statistics = np.divide(found.mean, error, out=np.zeros_like(error), where=error > 0.0)
        recent = tail_probability(float(statistics[0]), float(found.df[0]), "greater")
        # The others have NaN in place of a p-value.
        earlier = [look for look in self.looks if look.verdict != "inconclusive"]
        rows = [self.plan.rows_tested[look.number - 1] for look in earlier]
        so_far = combined_pvalue(
            [*(look.pvalue_recent for look in earlier), recent],
            [*rows, self.plan.rows_tested[number]],
        )
        pvalue, level = min(1.0, 2.0 * min(recent, so_far)), self.plan.levels[number]
        names = self._done.moments.basis.feature_names
        return replace(
            self._inconclusive(number, "", ess),
            statistic=float(statistics[0]),
            pvalue=pvalue,
            pvalue_recent=recent,
            pvalue_so_far=so_far,
            verdict="rejected" if pvalue <= level else "not rejected",
            features=dict(zip(names, statistics[1:].tolist(), strict=True)),
        )

    def _doubt(self, number: int, ess: float) -> str:
        """Why a p-value is not to be trusted, if it is not."""
        if ess < self.plan.least_ess:
            least = f"{self.plan.least_ess:.0f} are needed"
            return f"{ess:.0f} effective draws were tested, {least}: look less often"
        # After two autocorrelation times little is left of what training rows and tested rows
        # have in common; independent rows have a time of 1 and nothing in common.
        time = self.plan.rows_tested[number] / ess
        if self.plan.gap < 2.0 * (time - 1.0):
            gap = f"a `gap` of {self.plan.gap} draws is too short"
            return f"the autocorrelation time is {time:.0f}, and {gap}: use {5 * time:.0f}"
        return ""

    def _inconclusive(self, number: int, reason: str, ess: float = 0.0) -> Look:
        """A look without a p-value."""
        # A discrepancy beyond the range of a float64 must not stop the sampler.
        try:
            found = math.nan if self._stopped == INTERRUPTED else self.discrepancy()
        except ScaleError:
            found = math.inf
        return Look(
            number=number + 1,
            draws=self.plan.looks[number],
            statistic=math.nan,
            pvalue=math.nan,
            pvalue_recent=math.nan,
            pvalue_so_far=math.nan,
            level=self.plan.levels[number],
            verdict="inconclusive",
            discrepancy=found,
            ess=ess,
            n_gap=self.plan.chains * self.plan.gap,
            n_test=self.plan.rows_tested[number],
            reason=reason,
        )
