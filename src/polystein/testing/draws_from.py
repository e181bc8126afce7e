"""A sequential test of a sampler: more seeds until a fault is found, or would have been."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from polystein._lib.arguments import integer
from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein.data.source import complete, is_source
from polystein.data.target import Target, scores_by_differences, user_code
from polystein.errors import InputError
from polystein.inference.skewed_means import tails_of_means
from polystein.testing.features import (
    frame_of,
    parts_shown,
    sizes_of,
    stein_columns,
)
from polystein.testing.outcome import (
    Detect,
    Outcome,
    SamplerTest,
    answered,
    detected,
    found_effects,
    rate_of,
)
from polystein.testing.seeds import MOST_SEEDS, Seeds, number_of
from polystein.types import RNG, Array, FloatArray, ScoreFunction

#: Seeds of the pilots, which give the frame and the plan, and are not judged.
PILOTS = 32
#: No look has fewer seeds: with fewer, the t-law says little far out in its tail. With so many of
#: 100 draws, correct samplers fail as rarely as stated, skewed ones too (`studies.gates`).
FEWEST = 60
#: Means of fewer draws than this are nearly as skewed as the features themselves, and 60 of them
#: are too few for Hall's transformation: no look has fewer seeds than `FEWEST_SKEWED`.
FEW_DRAWS, FEWEST_SKEWED = 10, 100
#: The plan takes this many times the seeds that the pilots' variances ask for. They are the largest
#: of several estimates, and too large on average; where they are too small, a later look follows.
_MARGIN = 1.1
#: The planned look has half of the level. Looks before it, and those after it, have a quarter each.
PLANNED, EARLY, LATE = 0.5, 0.25, 0.25
#: The chance with which `detect` is noticed.
CHANCE = 0.95
#: Pilots of fewer rows for each coordinate do not tell how visible an error is.
ENOUGH_ROWS = 10
#: More seeds than any run has.
_UNREACHABLE = 1e15


def assert_draws_from(
    sampler: Callable[[int, int], Array],
    target: ScoreFunction | Target,
    *,
    n: int = 100,
    false_alarm: float | None = None,
    detect: tuple[float, float] = Detect(),
    budget: int = 100_000,
    rng: RNG = 0,
) -> SamplerTest:
    """Raise an error unless a sampler draws from its target, as far as asked for.

    The sampler is run with more and more seeds, until a fault is found or one of the size
    `detect` would have been found.

    Parameters
    ----------
    sampler : callable
        ``sampler(seed, n)`` gives n draws, an array (n, d) or (chain, draw, d) with n rows in all.
        They must depend on the seed alone. What is tested is what comes back, warm-up included.
    target : callable, Target or Sample
        The score function of (n, d) draws, or what knows it.
    n : int
        Draws of each seed.
    false_alarm : float, optional
        The rate at which a correct sampler fails, over all looks and features. By default that of
        the test's marker, or else 0.001.
    detect : (float, float)
        What has to be noticed with a chance of 95 %: a mean off by this many sds, an sd off by
        this part. Other faults, of shape and dependence, are looked for without a promise.
    budget : int
        Most draws.
    rng : int, SeedSequence, Generator or None
        Gives the seeds, integers below 2**31, no two of which are neighbours: a sampler may use
        seed + 1, seed + 2, ... for its chains. The same `rng` gives the same test.

    Returns
    -------
    SamplerTest
        Draws, rate, and what would have been noticed.

    Raises
    ------
    FaultError
        An AssertionError: the draws are not from the target. It lists effects, and has the call
        that runs the same test again.
    UndecidedError
        The budget was used up before `detect` would have been noticed; ``error.result.needed``
        says how many draws it takes.

    Notes
    -----
    Every seed is one independent block. The mean of a Stein feature over the draws of a seed has
    mean 0 whatever the autocorrelation, so that a t-test over seeds needs no estimate of it. Block
    means may be skewed: the p-value is the larger one of the t-law and of Hall's transformation.
    Looks and features share the rate (Bonferroni). Pilots of 32 further seeds plan how many
    seeds `detect` takes.

    Gandy and Scott (2020, arXiv 2001.06465) test samplers sequentially by ranks of parameters.
    Here the score of one target takes their place.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def sampler(seed, n):
    ...     return np.random.default_rng(seed).normal(0.0, 0.9, (n, 1))
    >>> ps.testing.assert_draws_from(sampler, lambda x: -x / 0.81).outcome
    'passed'
    >>> ps.testing.assert_draws_from(sampler, lambda x: -x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polystein.errors.FaultError: The draws are not from the target ...
    """
    rate, sought = rate_of(false_alarm), detected(detect)
    rows, most = integer(n, "n", least=1), integer(budget, "budget", least=1)
    seeds = PILOTS + fewest_seeds(rows)
    if most < (least := seeds * rows):
        raise InputError(
            f"`budget` must be at least {least:,} draws, {seeds} seeds of n = {rows}; "
            f"got {budget!r}"
        )
    number, count = number_of(rng), min(most // rows, MOST_SEEDS)
    again = (
        f"ps.testing.assert_draws_from(sampler, target, n={rows}, false_alarm={rate!r}, "
        f"detect={tuple(sought)!r}, budget={most}, rng={number})"
    )
    runs = Runs(sampler, *read_target(target), rows, Seeds(number, count))
    return answered(judged(runs, rate, sought, count - PILOTS, again))


class Runs(NamedTuple):
    """The sampler, its seeds, and the target's scores."""

    sampler: Callable[[int, int], Array]
    score: ScoreFunction
    names: tuple[str, ...] | None
    rows: int
    seeds: Seeds

    def draws(self, start: int, stop: int) -> FloatArray:
        """The draws of some seeds, (seed, n, d)."""
        found = [self._of_seed(seed) for seed in self.seeds.between(start, stop)]
        widths = sorted({one.shape[1] for one in found})
        if len(widths) > 1:
            raise InputError(
                f"`sampler` must return as many coordinates with every seed; got {widths[0]} and "
                f"{widths[-1]}"
            )
        return np.stack(found)

    def scores(self, draws: FloatArray) -> FloatArray:
        """The scores at (n, d) draws."""
        return scores_at(self.score, draws)

    def _of_seed(self, seed: int) -> FloatArray:
        with user_code("sampler", "It must take a seed and a number of draws"):
            given = self.sampler(seed, self.rows)
            found = given if is_array(given) else np.asarray(given)
        if not holds_real_numbers(found) or found.ndim not in (2, 3):
            raise InputError(
                "`sampler` must return real draws, an array (n, d) or (chain, draw, d); got dtype "
                f"{found.dtype} of shape {tuple(found.shape)} with the seed {seed}"
            )
        draws = to_numpy(found).reshape(-1, found.shape[-1])
        if len(draws) != self.rows or not np.isfinite(draws).all():
            raise InputError(
                f"`sampler` must return {self.rows} finite draws; got the shape "
                f"{tuple(found.shape)} with the seed {seed}"
                + (", with values that are not finite" if len(draws) == self.rows else "")
            )
        return draws


def scores_at(score: ScoreFunction, draws: FloatArray) -> FloatArray:
    """The scores at (n, d) draws, checked."""
    with user_code("target", "It must take any (n, d) draws"):
        scores = to_numpy(np.asarray(score(draws.copy())))
    if scores.shape != draws.shape or not np.isfinite(scores).all():
        raise InputError(
            f"`target` must give finite scores of the shape {draws.shape} of the draws; got "
            f"the shape {scores.shape}"
            + (" with values that are not finite" if scores.shape == draws.shape else "")
        )
    return scores


def read_target(target: object) -> tuple[ScoreFunction, tuple[str, ...] | None]:
    """The score function of a target, and the names of its coordinates."""
    if is_source(target):
        known = complete(target)  # type: ignore[arg-type]
        if known.facts.target is None:
            raise InputError(
                "`target` must know its score function; the Sample given has stored scores alone"
            )
        score, _ = read_target(known.facts.target)
        return score, known.names
    if isinstance(target, Target):
        own: Target = target
        if own.has_score:
            return (lambda rows: own.log_density_and_score(rows)[1]), own.names
        return (lambda rows: scores_by_differences(own, rows)), own.names
    if not callable(target) or isinstance(target, type):
        raise InputError(
            f"`target` must be a score function of (n, d) draws, a Target or a Sample; got a "
            f"{type(target).__name__}"
        )
    return target, None


def judged(runs: Runs, rate: float, sought: Detect, most: int, again: str) -> SamplerTest:
    """Look at more and more seeds; at most this many after the pilots."""
    different: set[int] = set()

    def different_draws(start: int, stop: int) -> FloatArray:
        """The draws of some seeds, of which most must give results of their own."""
        draws = runs.draws(start, stop)
        different.update(hash(one.tobytes()) for one in draws)
        if 2 * len(different) < stop:
            raise InputError(
                f"`sampler` must use its seed; {stop} seeds have only {len(different)} different "
                "results"
            )
        return draws

    pilots = different_draws(0, PILOTS)
    rows = pilots.reshape(-1, pilots.shape[-1])
    names = runs.names or tuple(f"x[{place}]" for place in range(rows.shape[1]))
    frame, columns = frame_of(rows, runs.scores(rows), names)
    (d, shares), promised = (rows.shape[1], frame.shares), frame.promised(sought)
    moment, shown = np.zeros((d, d)), np.ones(len(shares))

    def means(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """The effects that the draws of each seed estimate; the second moments of scores."""
        draws = different_draws(start, stop).reshape(-1, d)
        columns = stein_columns(frame, draws, runs.scores(draws))
        found: FloatArray = sizes_of(frame, columns).reshape(stop - start, runs.rows, -1)
        return found.mean(axis=1), columns[:, :d].T @ columns[:, :d] / len(columns)

    def noticed(blocks: FloatArray, count: int, share: float) -> FloatArray:
        """The effects that a look with so many seeds notices, by the spread of these blocks."""
        reject = stdtrit(count - 1, 1.0 - 0.5 * rate * share * shares)
        reach = (reject + ndtri(CHANCE)) * blocks.std(axis=0, ddof=1) / np.sqrt(count)
        reach = np.divide(reach, shown, out=np.full_like(reach, np.inf), where=shown > 0.0)
        return np.asarray(reach)

    def takes(blocks: FloatArray, share: float) -> int:
        """The seeds that `detect` takes."""
        with np.errstate(over="ignore"):
            seeds = (noticed(blocks, len(blocks), share) / promised).max() ** 2 * len(blocks)
        return int(min(np.ceil(seeds), _UNREACHABLE))

    if len(rows) > ENOUGH_ROWS * d:
        shown = parts_shown(frame, columns[:, :d].T @ columns[:, :d] / len(rows), len(rows))
    blocks = sizes_of(frame, columns).reshape(PILOTS, runs.rows, -1).mean(axis=1)
    fewest = fewest_seeds(runs.rows)
    planned = max(fewest, int(_MARGIN * takes(blocks, PLANNED)))
    looks = planned_looks(min(planned, most), fewest)
    blocks, smallest = blocks[:0], 1.0
    outcome: Outcome = "undecided"
    for look in looks:
        added, of_added = means(PILOTS + len(blocks), PILOTS + look.seeds)
        moment += (of_added - moment) * (len(added) / look.seeds)
        shown = parts_shown(frame, moment, look.seeds * runs.rows)
        blocks = np.vstack([blocks, added])
        pvalues = np.minimum(tails_of_means(blocks) / (shares * look.share), 1.0)
        smallest = min(smallest, float(pvalues.min()))
        reach, needed = noticed(blocks, look.seeds, look.share), takes(blocks, look.share)
        if smallest <= rate:
            outcome = "failed"
            break
        # Whether a look before the planned one is the last must not hang on what it saw.
        if look is looks[-1] and needed <= look.seeds:
            outcome = "passed"
        elif look is looks[-1] and look.seeds < most:
            share = 0.5 * (LATE if look.share == PLANNED else look.share)
            looks.append(Look(min(most, int(1.1 * takes(blocks, share)) + 1), share))
    errors, sizes = blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks)), blocks.mean(axis=0)
    effects = found_effects(frame.features, sizes, errors, pvalues, rate)
    draws = (PILOTS + len(blocks)) * runs.rows
    return SamplerTest(
        outcome,
        rate,
        smallest,
        draws,
        (PILOTS + needed) * runs.rows if outcome == "undecided" else draws,
        Detect(float(reach[:d].max()), float(reach[d : 2 * d].max())),
        effects,
        tuple(runs.seeds.between(0, PILOTS + len(blocks))),
        again,
    )


class Look(NamedTuple):
    """A look at so many seeds, with its share of the level."""

    seeds: int
    share: float


def fewest_seeds(rows: int) -> int:
    """The seeds of the first look, for so many draws of each."""
    return FEWEST_SKEWED if rows < FEW_DRAWS else FEWEST


def planned_looks(planned: int, fewest: int) -> list[Look]:
    """Looks at as few seeds as there may be, twice as many, ..., and at the planned number.

    The k-th early look has the share 2^-k of a quarter of the level.
    """
    early: list[Look] = []
    seeds = fewest
    while seeds * 1.5 <= planned:
        early.append(Look(seeds, EARLY * 0.5 ** (len(early) + 1)))
        seeds *= 2
    return [*early, Look(planned, PLANNED)]
