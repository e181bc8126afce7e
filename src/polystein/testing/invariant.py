"""One transition of a kernel, judged by rows before and after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri, stdtrit

from polystein._lib.arguments import boolean
from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein._lib.random import seed_sequence
from polystein.data.sample import validated_array
from polystein.data.target import Target, user_code
from polystein.errors import InputError
from polystein.inference.skewed_means import tails_of_means
from polystein.testing.draws_from import CHANCE, read_target, scores_at
from polystein.testing.features import (
    frame_of,
    parts_shown,
    plain_columns,
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
from polystein.testing.seeds import number_of
from polystein.testing.stretches import starts_of, stretches_of
from polystein.types import RNG, Array, FloatArray, ScoreFunction

#: More times the draws than anyone has.
_UNREACHABLE = 1e12
#: Shares of the level of the differences, and of the Stein features after the transition.
_DIFFERENCES, _AFTER = 0.7, 0.3


def assert_invariant(
    kernel: Callable[[FloatArray, np.random.Generator], Array],
    target: ScoreFunction | Target,
    draws: Array,
    *,
    iid: bool = False,
    false_alarm: float | None = None,
    detect: tuple[float, float] = Detect(),
    rng: RNG = 0,
) -> SamplerTest:
    """Raise an error unless one transition of a kernel leaves the target invariant.

    Parameters
    ----------
    kernel : callable
        ``kernel(x, rng)`` moves each row of x, an array (n, d), by one transition, and each row
        independently of the others. It need not be reversible.
    target : callable, Target or Sample
        The score function of (n, d) draws, or what knows it.
    draws : array
        Draws from the target: rows (n, d) of one chain in time order, or (chain, draw, d) of
        independent chains. A fourth of them gives the frame and is not judged.
    iid : bool
        Whether rows are exact independent draws, so that few of them are enough. Draws whose
        neighbours are clearly correlated are then an error.
    false_alarm : float, optional
        The rate at which a correct kernel fails. By default that of the test's marker, or 0.001.
    detect : (float, float)
        What has to be noticed with a chance of 95 %: by how many sds one transition moves a mean,
        and by which part it changes an sd.
    rng : int, SeedSequence, Generator or None
        The kernel gets a generator made from it.

    Returns
    -------
    SamplerTest
        Draws, rate, and what would have been noticed.

    Raises
    ------
    FaultError
        An AssertionError: the kernel does not keep the target. It lists the effects.
    UndecidedError
        The draws were too few for `detect`.

    Notes
    -----
    If x has the law of the target and y = kernel(x), then f(y) - f(x) has mean 0 for every f, and
    so have the Stein features of y. The former have little variance where a transition is short,
    and 0.7 of the level; the latter have the rest. Rows are judged by means over stretches of
    consecutive rows. A stretch of chains has at least ten autocorrelation times, of the slowest of
    the judged features and of the draws themselves, after a gap of two. Draws that are too few for
    60 such stretches are an error. If there are 134 chains or more, each is one stretch.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((20_000, 1))
    >>> def kernel(x, rng):
    ...     return 0.8 * x + 0.6 * rng.standard_normal(x.shape)
    >>> ps.testing.assert_invariant(kernel, lambda x: -x, draws).outcome
    'passed'
    """
    rate, sought = rate_of(false_alarm), detected(detect)
    given = validated_array(draws, "draws")
    score, names = read_target(target)
    starts, number = starts_of(given, boolean(iid, "iid")), number_of(rng)
    before, tuning = starts.rows, starts.tuning
    # A child: draws often come from `default_rng(0)`, whose numbers must not come again.
    generator = np.random.default_rng(seed_sequence(number).spawn(1)[0])
    with user_code("kernel", "It must take (n, d) rows and a generator"):
        moved = kernel(before.copy(), generator)
        found = moved if is_array(moved) else np.asarray(moved)
    if not holds_real_numbers(found) or found.shape != before.shape:
        raise InputError(
            f"`kernel` must return real rows of the shape {before.shape}; got dtype {found.dtype} "
            f"of shape {tuple(found.shape)}"
        )
    after = to_numpy(found)
    if not np.isfinite(after).all():
        raise InputError("`kernel` must return finite rows; got values that are not finite")
    labels = names or tuple(f"x[{place}]" for place in range(before.shape[1]))
    frame, _ = frame_of(before[tuning], scores_at(score, before[tuning]), labels)
    x, y = before[~tuning], after[~tuning]
    stein, plain = stein_columns(frame, y, scores_at(score, y)), plain_columns(frame, x)
    columns = np.hstack([plain_columns(frame, y) - plain, sizes_of(frame, stein)])
    stretches = stretches_of(starts, np.hstack([columns, plain]), x)
    kept = stretches >= 0
    first = np.flatnonzero(np.diff(stretches[kept], prepend=-1))
    lengths = np.diff(np.append(first, kept.sum()))
    # Stretches differ by few rows: they count alike.
    means = np.add.reduceat(columns[kept], first, axis=0) / lengths[:, None]
    shares = np.concatenate([_DIFFERENCES * frame.shares, _AFTER * frame.shares])
    pvalues = np.minimum(tails_of_means(means) / shares, 1.0)
    errors, sizes = means.std(axis=0, ddof=1) / np.sqrt(len(means)), means.mean(axis=0)
    reach = (stdtrit(len(means) - 1, 1.0 - 0.5 * rate * shares) + ndtri(CHANCE)) * errors
    # Either of the two features of an effect notices it.
    half, d = len(frame.features), before.shape[1]
    shown = parts_shown(frame, stein[:, :d].T @ stein[:, :d] / len(y), len(y))
    after_reach = np.divide(reach[half:], shown, out=np.full(half, np.inf), where=shown > 0.0)
    reach = np.minimum(reach[:half], after_reach)
    with np.errstate(over="ignore"):
        times = min(float((reach / frame.promised(sought)).max()) ** 2, _UNREACHABLE)
    outcome: Outcome = "passed" if times <= 1.0 else "undecided"
    if pvalues.min() <= rate:
        outcome = "failed"
    effects = found_effects(frame.features * 2, sizes, errors, pvalues, rate)
    return answered(
        SamplerTest(
            outcome,
            rate,
            float(pvalues.min()),
            len(before),
            max(len(before), int(np.ceil(times * len(before)))),
            Detect(float(reach[:d].max()), float(reach[d : 2 * d].max())),
            effects,
            None,
            f"ps.testing.assert_invariant(kernel, target, draws, iid={bool(iid)}, "
            f"false_alarm={rate!r}, detect={tuple(sought)!r}, rng={number})",
        )
    )
