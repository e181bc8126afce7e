"""Pilots: rows that are no starts. They are moved first, and everything is tuned by them.

What is chosen by pilots alone - mass, step size, centres, the number of steps - is independent of
the starts if rows are independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from polystein.refinement.groups import separate_groups
from polystein.refinement.kernels import Evaluations, Kernel, Moves, State
from polystein.refinement.settled import MOST_LOST, settled
from polystein.types import FloatArray

#: With fewer pilots than this for each coordinate the covariance is a diagonal.
ROWS_FOR_EACH_COORDINATE = 10
#: Rounds of tuning, and steps in each of them: the covariance is estimated after every round.
_ROUNDS, _STEPS = 4, 6
#: Chances of acceptance that step sizes are tuned to: of trajectories, and of random walks.
_ACCEPTED, _ACCEPTED_WALKS = 0.8, 0.3
#: Largest step in standard deviations: eight steps of 0.35 lead across a Gaussian, not beyond.
_LARGEST_STEP = 0.35
#: Smaller steps would lead nowhere, however often they are accepted.
_SMALLEST_STEP = 1e-4
#: Temperatures that some pilots go up to and down again, and steps at each of them.
_LADDER, _STEPS_AT_EACH = np.geomspace(1.0, 16.0, 8), 2
#: Every so many pilots climb the ladder.
_CLIMBERS = 4
#: |u| of scale moves is at most this, in bins of this width.
_FARTHEST_SCALE, _BINS = 3.0, 12
#: This part of the scale moves goes to all bins alike, the others where proposals are accepted.
_ALIKE = 0.5
#: If more than this part of the trajectories of pilots loses much energy, steps are halved: those
#: of the starts would hardly pass.
_FEW_LOST = 0.75 * MOST_LOST
#: Most times that they are: ever shorter trajectories lead nowhere.
_MOST_HALVED = 2
#: Most doublings of the number of steps.
MOST_DOUBLINGS = 3


@dataclass(frozen=True)
class Piloted:
    """What the pilots say: the kernel, how many steps the starts take, and where they lead."""

    kernel: Kernel
    steps: int
    #: The pilots after this many steps of this kernel, as the starts will take them.
    pilots: State


def piloted(evaluate: Evaluations, pilots: State, steps: int, rng: np.random.Generator) -> Piloted:
    """Tune a kernel by the pilots, and double the number of steps while they are unsettled.

    Pilots that moved while the kernel was tuned are nearer to the target than the starts. The rows
    that they were at first are therefore run again, and judged by the rule that judges the starts.
    """
    kernel, state = tuned(evaluate, pilots, rng)
    kernel, state = with_centres(kernel, state, rng)
    kernel = with_scales(kernel, state, rng)
    kernel, state = tuned_step(kernel, state, rng)
    for doubling in range(MOST_DOUBLINGS + 1):
        taken = steps * 2**doubling
        middle, moves = run(kernel, pilots, taken // 2, rng)
        end, later = run(kernel, middle, taken - taken // 2, rng)
        judged = settled(
            middle.position,
            end.position,
            [*moves, *later],
            trajectories=evaluate.target.has_score,
        )
        if (judged.still and judged.lost <= _FEW_LOST) or doubling == MOST_DOUBLINGS:
            break
        longest = kernel.step * (
            0.5 if judged.lost > _FEW_LOST and doubling < _MOST_HALVED else 1.0
        )
        kernel = replace(kernel, factor=_factor(end.position, kernel.centres))
        kernel, _ = tuned_step(kernel, end, rng)
        kernel = replace(kernel, step=min(kernel.step, longest))
    return Piloted(kernel, taken, end)


def run(
    kernel: Kernel, state: State, steps: int, rng: np.random.Generator
) -> tuple[State, list[Moves]]:
    """Rows after some steps, and what became of the proposals."""
    moves = []
    for _ in range(steps):
        state, made = kernel.step_of(state, rng)
        moves.append(made)
    return state, moves


def tuned(evaluate: Evaluations, pilots: State, rng: np.random.Generator) -> tuple[Kernel, State]:
    """A kernel with mass and step size from the pilots, which move while it is tuned."""
    centre = pilots.position.mean(axis=0, keepdims=True)
    kernel = Kernel(
        evaluate,
        _factor(pilots.position, centre),
        0.1 if evaluate.target.has_score else 1.0 / np.sqrt(pilots.position.shape[1]),
        centre,
        np.linspace(0.0, _FARTHEST_SCALE, _BINS + 1),
        np.full(_BINS, 1.0 / _BINS),
        pilots.position,
    )
    state = pilots
    for _ in range(_ROUNDS):
        kernel, state = tuned_step(kernel, state, rng)
        centre = state.position.mean(axis=0, keepdims=True)
        factor = _factor(state.position, centre)
        kernel = replace(kernel, factor=factor, centres=centre, others=state.position)
    return kernel, state


def tuned_step(kernel: Kernel, state: State, rng: np.random.Generator) -> tuple[Kernel, State]:
    """The kernel with another step size, and the pilots after the steps that tuned it."""
    gradient = kernel.evaluate.target.has_score
    wanted, tuning = (_ACCEPTED, ("trajectory",)) if gradient else (_ACCEPTED_WALKS, ("walk",))
    numbers = [number for number, name in enumerate(kernel.kinds) if name in tuning]
    for count in range(_STEPS if gradient else 4 * _STEPS):
        state, moves = kernel.step_of(state, rng)
        judged = np.isin(moves.kind, numbers) & (moves.factor > 0.5)
        if judged.any():
            change = (moves.chance[judged].mean() - wanted) * 2.0 / np.sqrt(1.0 + count)
            largest = _LARGEST_STEP if gradient else 3.0
            step = kernel.step * float(np.exp(change))
            kernel = replace(kernel, step=min(max(step, _SMALLEST_STEP), largest))
    return kernel, state


def _factor(rows: FloatArray, centres: FloatArray) -> FloatArray:
    """The Cholesky factor of the covariance about the nearest of the centres.

    It is shrunk a little towards its diagonal, and is that diagonal where pilots are few.
    """
    nearest = ((rows[:, None] - centres) ** 2 / rows.var(axis=0).clip(1e-300)).sum(axis=2).argmin(1)
    away = rows.copy()
    for group in range(len(centres)):
        own = nearest == group
        if own.any():
            away[own] -= rows[own].mean(axis=0)
    (n, d), covariance = rows.shape, away.T @ away / len(rows)
    diagonal = np.diag(np.maximum(np.diag(covariance), 1e-300))
    if n < ROWS_FOR_EACH_COORDINATE * d:
        return np.asarray(np.sqrt(diagonal))
    shrunk = (n * covariance + 5.0 * diagonal) / (n + 5.0)
    return np.linalg.cholesky(shrunk)


def with_centres(kernel: Kernel, state: State, rng: np.random.Generator) -> tuple[Kernel, State]:
    """The kernel with the centres of groups, among them those that some pilots find when heated."""
    climbing = state.take(np.arange(0, len(state.density), _CLIMBERS))
    for temperature in [*_LADDER, *_LADDER[::-1]]:
        heated = replace(kernel, temperature=float(temperature), step=kernel.step)
        heated = replace(heated, factor=kernel.factor * np.sqrt(temperature))
        climbing, _ = run(heated, climbing, _STEPS_AT_EACH, rng)
    # Where the density is negligible beside that of all pilots nothing is to be found.
    worth = climbing.density > state.density.min() - 20.0
    points = np.concatenate([state.position, climbing.position[worth]])
    labels = separate_groups(points)
    centres = np.stack([points[labels == group].mean(axis=0) for group in np.unique(labels)])
    kernel = replace(kernel, centres=centres, others=points)
    return replace(kernel, factor=_factor(state.position, centres)), state


def with_scales(kernel: Kernel, state: State, rng: np.random.Generator) -> Kernel:
    """The kernel whose scale moves go where they are accepted, beyond what trajectories reach.

    The chance of acceptance is averaged over pilots and both signs in each bin of |u|.
    """
    n, d = state.position.shape
    accepted, width = np.zeros(_BINS), _FARTHEST_SCALE / _BINS
    for _ in range(2):
        u = rng.uniform(-_FARTHEST_SCALE, _FARTHEST_SCALE, size=n)
        centre = kernel.centres[rng.integers(len(kernel.centres), size=n)]
        rows = centre + np.exp(u)[:, None] * (state.position - centre)
        there = kernel.evaluate(rows, state.position)
        chance = np.exp(np.minimum(0.0, there.density - state.density + u * d))
        np.add.at(accepted, np.minimum((np.abs(u) / width).astype(int), _BINS - 1), chance)
    local = np.arange(_BINS) * width < 3.0 / np.sqrt(d)
    far = np.where(local, 0.0, accepted)
    if far.sum() > 0.0:
        chances = _ALIKE / _BINS + (1.0 - _ALIKE) * far / far.sum()
        return replace(kernel, scale_chances=chances)
    return kernel
