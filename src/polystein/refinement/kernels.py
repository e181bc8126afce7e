"""Reversible Markov steps that leave the target invariant, for many rows side by side.

Every row draws its kind of step, its step size and all else by itself, whatever its state. The
kernel P of one step is therefore a mixture of reversible kernels, and reversible; so is P^k. A
schedule common to all rows would leave the target invariant, but would not be reversible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.target import Target
from polystein.types import FloatArray

#: Leapfrog steps of a trajectory.
LEAPFROG_STEPS = 8
#: This part of the steps is smaller than the others, log-uniformly down to the second number: the
#: neck of a funnel needs steps that would be wasted elsewhere.
SMALL_PART, SMALLEST = 0.3, 0.03
#: The other steps are uniform between these, so that no period of the target is met exactly.
USUAL = (0.8, 1.2)
#: Trajectories whose energy varies by more than this are given up.
MOST_ENERGY = 1000.0
#: A proposal that loses more energy than this shows a place where the step is much too large.
LOST_ENERGY = 100.0
#: Moves of scale in one step. They cost one evaluation each, and together what a trajectory does;
#: a walk costs one, too. A thin, wide slab accepts one move in hundreds.
SCALE_MOVES = {True: LEAPFROG_STEPS, False: 1}
#: Shares of the kinds of steps, with gradients and without.
WITH_GRADIENT = {"trajectory": 0.75, "scale": 0.1, "jump": 0.15}
WITHOUT = {"walk": 0.4, "difference": 0.35, "scale": 0.1, "jump": 0.15}
#: Every so many differences of pilots are taken in full: they lead from mode to mode.
FULL_DIFFERENCES = 0.1
#: Coordinates beyond this are not evaluated.
FARTHEST = 1e100


class State(NamedTuple):
    """Rows with the target's log-density and, if it is known, its score; 0 if it is not."""

    position: FloatArray
    density: FloatArray
    score: FloatArray

    def take(self, rows: NDArray[np.intp]) -> State:
        """Some of the rows."""
        return State(self.position[rows], self.density[rows], self.score[rows])

    def where(self, accepted: NDArray[np.bool_], other: State) -> State:
        """The other state wherever it is accepted."""
        return State(
            np.where(accepted[:, None], other.position, self.position),
            np.where(accepted, other.density, self.density),
            np.where(accepted[:, None], other.score, self.score),
        )


class Evaluations:
    """States of rows, and how many rows were evaluated so far."""

    def __init__(self, target: Target) -> None:
        self.target, self.count = target, 0

    def __call__(self, rows: FloatArray, instead: FloatArray) -> State:
        """The states of rows; the log-density is -inf wherever any part is not finite.

        Rows that are themselves not finite, or beyond all bounds, are not given to the target's
        functions: those of ``instead`` are.
        """
        with np.errstate(all="ignore"):
            usable = np.asarray((np.abs(rows) < FARTHEST).all(axis=1))
            given = np.where(usable[:, None], rows, instead)
            if self.target.has_score:
                density, score = self.target.log_density_and_score(given)
            else:
                density, score = self.target.log_density(given), np.zeros(given.shape)
        self.count += len(rows)
        usable &= np.isfinite(density) & np.isfinite(score).all(axis=1)
        return State(
            rows, np.where(usable, density, -np.inf), np.where(usable[:, None], score, 0.0)
        )


class Moves(NamedTuple):
    """What became of the proposals of one step of all rows."""

    kind: NDArray[np.intp]
    accepted: NDArray[np.bool_]
    #: The chance of being accepted.
    chance: FloatArray
    #: How much energy (minus the log-density, plus that of the momentum) the proposal loses.
    loss: FloatArray
    #: The row's own factor of the step size.
    factor: FloatArray


@dataclass(frozen=True)
class Kernel:
    """All that a step needs and that does not depend on the rows that take it."""

    evaluate: Evaluations
    #: The Cholesky factor of the covariance that steps are drawn by.
    factor: FloatArray
    step: float
    #: Centres of groups, at least one: jumps lead from one to another, scales are about one.
    centres: FloatArray
    #: Bounds and chances of bins for |u| of scale moves.
    scale_bounds: FloatArray
    scale_chances: FloatArray
    #: Rows whose differences are proposals, where there are no gradients.
    others: FloatArray
    #: The target's log-density is divided by this.
    temperature: float = 1.0

    @property
    def kinds(self) -> dict[str, float]:
        """The kinds of steps with their shares; without a second group there are no jumps."""
        shares = dict(WITH_GRADIENT if self.evaluate.target.has_score else WITHOUT)
        if len(self.centres) < 2:
            first = next(iter(shares))
            shares[first] += shares.pop("jump")
        return shares

    def step_of(self, state: State, rng: np.random.Generator) -> tuple[State, Moves]:
        """One step of every row. Nothing that is drawn at random depends on a row's state."""
        (n, d), kinds = state.position.shape, self.kinds
        kind = np.asarray(rng.choice(len(kinds), size=n, p=list(kinds.values())))
        usual = rng.uniform(*USUAL, size=n)
        small = np.exp(rng.uniform(np.log(SMALLEST), 0.0, size=n))
        factor = np.where(rng.random(n) < SMALL_PART, small, usual)
        normal, level = rng.standard_normal((n, d)), np.log(rng.random(n))
        proposal = state.position.copy()
        shift = np.zeros(n)  # the energy of the momentum, after minus before
        varied = np.zeros(n, dtype=np.bool_)
        proposed = State(proposal, state.density.copy(), state.score.copy())
        scaled = np.zeros(n)
        for number, name in enumerate(kinds):
            rows = np.flatnonzero(kind == number)
            if not len(rows):
                continue
            if name == "trajectory":
                ends, shift[rows], varied[rows] = self._trajectories(
                    state.take(rows), factor[rows] * self.step, normal[rows]
                )
                _put(proposed, rows, ends)
                continue
            if name == "scale":
                ends, scaled[rows] = self._scaled(state.take(rows), rng)
                _put(proposed, rows, ends)
                continue
            if name == "jump":
                proposal[rows] += self._jumps(len(rows), rng)
            elif name == "walk":
                steps = (factor[rows] * self.step)[:, None] * normal[rows]
                proposal[rows] += steps @ self.factor.T
            else:
                proposal[rows] += self._differences(rows, factor, normal, rng)
            _put(proposed, rows, self.evaluate(proposal[rows], state.position[rows]))
        loss = (state.density - proposed.density) / self.temperature + shift
        # Each move of scale was accepted, or not, by itself.
        by_scale = kind == list(kinds).index("scale")
        loss = np.where(by_scale, 0.0, np.where(varied, np.inf, loss))
        chance = np.where(by_scale, scaled, np.exp(np.minimum(0.0, -loss)))
        accepted = np.where(by_scale, scaled > 0.0, level < -loss)
        return state.where(accepted, proposed), Moves(kind, accepted, chance, loss, factor)

    def _trajectories(
        self, state: State, steps: FloatArray, momentum: FloatArray
    ) -> tuple[State, FloatArray, NDArray[np.bool_]]:
        """Hamiltonian trajectories by leapfrog steps: ends, change of kinetic energy, given up.

        A trajectory is given up by what all of its points say together, the end points among
        them: the same trajectory the other way round is given up, too.
        """
        here, step, start = state, steps[:, None], 0.5 * np.einsum("ij,ij->i", momentum, momentum)
        heat, kinetic = self.temperature, start
        lowest = highest = start - state.density / heat
        with np.errstate(all="ignore"):
            for _ in range(LEAPFROG_STEPS):
                momentum = momentum + 0.5 * step * (here.score @ self.factor) / heat
                here = self.evaluate(
                    here.position + step * (momentum @ self.factor.T), state.position
                )
                momentum = momentum + 0.5 * step * (here.score @ self.factor) / heat
                kinetic = 0.5 * np.einsum("ij,ij->i", momentum, momentum)
                energy = kinetic - here.density / heat
                lowest = np.minimum(lowest, energy)
                highest = np.maximum(highest, energy)
            given_up = ~(highest - lowest < MOST_ENERGY)
        return here, np.where(given_up, np.inf, kinetic - start), given_up

    def _scaled(self, state: State, rng: np.random.Generator) -> tuple[State, FloatArray]:
        """Moves x -> c + e^u (x - c) one after another, and the part of them that is accepted.

        u is symmetric, c one of the centres, both drawn without looking at x; the Jacobian is
        e^{ud}. The target is left as it is by every single move, in both directions alike.
        """
        n, d = state.position.shape
        moves, taken = SCALE_MOVES[self.evaluate.target.has_score], np.zeros(n)
        for _ in range(moves):
            centre = self.centres[rng.integers(len(self.centres), size=n)]
            place = rng.choice(len(self.scale_chances), size=n, p=self.scale_chances)
            size = rng.uniform(self.scale_bounds[place], self.scale_bounds[place + 1])
            u = size * rng.choice([-1.0, 1.0], size=n)
            rows = centre + np.exp(u)[:, None] * (state.position - centre)
            there = self.evaluate(rows, state.position)
            ratio = (there.density - state.density) / self.temperature + u * d
            accepted = np.log(rng.random(n)) < ratio
            state = state.where(accepted, there)
            taken += accepted / moves
        return state, taken

    def _jumps(self, count: int, rng: np.random.Generator) -> FloatArray:
        """c_a - c_b for a pair of centres that is drawn without looking at the row."""
        groups = len(self.centres)
        first = rng.integers(groups, size=count)
        second = (first + rng.integers(1, groups, size=count)) % groups
        jumps: FloatArray = self.centres[first] - self.centres[second]
        return jumps

    def _differences(
        self,
        rows: NDArray[np.intp],
        factor: FloatArray,
        normal: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Differences of two pilots, shortened as a rule, with a little noise."""
        count = len(rows)
        first = rng.integers(len(self.others), size=count)
        second = (first + rng.integers(1, len(self.others), size=count)) % len(self.others)
        # Differences have twice the variance of the target.
        length = factor[rows] * self.step / np.sqrt(2.0)
        length = np.where(rng.random(count) < FULL_DIFFERENCES, 1.0, length)
        noise = 0.05 * self.step * normal[rows] @ self.factor.T
        found: FloatArray = length[:, None] * (self.others[first] - self.others[second]) + noise
        return found


def _put(state: State, rows: NDArray[np.intp], other: State) -> None:
    """Write the states of some rows into those of all."""
    for own, part in zip(state, other, strict=True):
        own[rows] = part
