"""The one call for users: safe for MCMC, nothing to tune."""

from __future__ import annotations

from polystein.gof import lambda_psd_test
from polystein.protocols import RNG, Array, Split, Variance
from polystein.result import GofResult
from polystein.sample import Sample, ScoreFunction
from polystein.split import BlockSplit, RandomSplit
from polystein.variance import IID, InitialSequence
from polystein.weights import ClosedForm

ORDER = 3


def check(
    draws: Array | Sample,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    iid: bool = False,
    rng: RNG = None,
) -> GofResult:
    """Answer whether these draws come from that target.

    Safe for MCMC output: the early half of every chain trains, rows that still
    remember it are dropped, and the verdict on the rest allows for autocorrelation.
    Coordinates are centred and scaled by the training rows, so that units do not
    matter.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one
        chain in time order.
    iid : bool
        The rows of (n, d) draws are independent: split them at random instead. Do
        not say so of shuffled or thinned chains.
    rng : int, SeedSequence, Generator or None
        Only used with ``iid=True``.

    Returns
    -------
    GofResult

    Notes
    -----
    The reference is asymptotic. With one or two coordinates and a few hundred
    effective draws the size at level 0.05 is up to 0.09, because u is skewed there.

    A small p-value says that the draws do not come from the target. A large one
    says that this test found no evidence of it: scores are local, so that a mode
    that no chain has visited, or a wrong balance between modes far apart, shows in
    no score-based method.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> rng = np.random.default_rng(0)
    >>> chains = np.empty((4, 1000, 3))  # AR(1) chains with the right law, N(0, I)
    >>> chains[:, 0] = rng.standard_normal((4, 3))
    >>> for t in range(1, 1000):
    ...     chains[:, t] = 0.9 * chains[:, t - 1] + 0.19**0.5 * rng.standard_normal((4, 3))
    >>> ps.check(chains, lambda x: -x).pvalue > 0.05
    True
    >>> ps.check(1.3 * chains, lambda x: -x).pvalue < 0.01
    True
    """
    split: Split = RandomSplit(0.5) if iid else BlockSplit(0.5, gap="auto")
    variance: Variance = IID() if iid else InitialSequence()
    return lambda_psd_test(
        draws,
        scores,
        order=ORDER,
        weights=ClosedForm(),
        split=split,
        variance=variance,
        alternative="greater",
        standardise=True,
        rng=rng,
    )
