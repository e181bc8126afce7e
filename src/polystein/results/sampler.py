"""What the sampler said about itself: divergences, trajectories that were cut off, energies.

Scores cannot see a region that no draw entered. A divergence is a sign of one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.data.facts import Facts, known_statistics
from polystein.types import Array


class SamplerDiagnostics(NamedTuple):
    """What the sampler said about itself: divergences, and trajectories that were cut off.

    ``divergences`` and ``saturations`` count draws, and are None if the sampler kept no such
    statistic. A saturation is a trajectory that reached the greatest depth of its tree. ``bfmi``
    is the smallest energy Bayesian fraction of missing information of a chain: below 0.3, tails
    are explored slowly.
    """

    draws: int
    divergences: int | None
    saturations: int | None
    bfmi: float | None = None

    @property
    def divergent_share(self) -> float:
        """The share of draws that diverged; 0 if it is not known."""
        return (self.divergences or 0) / self.draws


def sampler_diagnostics(facts: Facts) -> SamplerDiagnostics | None:
    """Count divergences and saturations among the sampler's statistics; None without any.

    Examples
    --------
    >>> import numpy as np
    >>> from polystein.data.facts import Facts
    >>> diverging = np.array([[True, False, False], [False, False, True]])
    >>> sampler_diagnostics(Facts(sampler_statistics={"diverging": diverging}))
    SamplerDiagnostics(draws=6, divergences=2, saturations=None, bfmi=None)
    """
    kept = {
        name: to_numpy(array) for name, array in known_statistics(facts.sampler_statistics).items()
    }
    found = [kept.get("diverging"), kept.get("reached_max_treedepth")]
    energy = kept.get("energy")
    bfmi = None if energy is None else smallest_bfmi(energy)
    sizes = [array.size for array in found if array is not None]
    sizes += [] if energy is None or bfmi is None else [energy.size]
    if not sizes or not max(sizes):
        return None
    divergences, saturations = (
        None if array is None else int(np.count_nonzero(array)) for array in found
    )
    return SamplerDiagnostics(max(sizes), divergences, saturations, bfmi)


def smallest_bfmi(energy: Array) -> float | None:
    """The smallest energy Bayesian fraction of missing information of a chain.

    It is the mean of (E_t - E_{t-1})^2 over the variance of E (Betancourt, 2016). Below 0.3, tails
    are explored slowly. None if there are too few energies, or if they do not vary.
    """
    chains = np.atleast_2d(to_numpy(energy))
    if chains.shape[1] < 3 or not np.isfinite(chains).all():
        return None
    variances = chains.var(axis=1)
    if not variances.all():
        return None
    return float(np.min(np.mean(np.diff(chains, axis=1) ** 2, axis=1) / variances))


def sampler_words(sampler: SamplerDiagnostics) -> str:
    """Divergences, and trajectories that were cut off, in words."""
    parts = []
    if sampler.divergences is not None:
        share = f"{100.0 * sampler.divergent_share:.2g} %"
        parts.append(f"{sampler.divergences} of {sampler.draws} draws diverged ({share})")
    if sampler.saturations is not None:
        parts.append(f"{sampler.saturations} reached the greatest depth of the tree")
    if sampler.bfmi is not None:
        parts.append(f"BFMI {sampler.bfmi:.2f}")
    return "; ".join(parts)
