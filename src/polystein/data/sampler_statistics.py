"""What the sampler said about its own run: divergences, depth of trees, energy.

Scores cannot see a region that no draw entered. A divergence is a sign of one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.types import Array

#: The names that samplers give to one statistic; the first is ours.
SPELLINGS = {
    "diverging": ("diverging", "divergent", "divergent__", "is_divergent"),
    "reached_max_treedepth": (
        "reached_max_treedepth",
        "maxdepth_reached",
        "reached_max_tree_depth",
    ),
    "energy": ("energy", "energy__"),
}


def known_statistics(found: Mapping[str, Array]) -> dict[str, Array]:
    """The statistics that we know, by our names, of shape (chain, draw)."""
    known = {}
    for name, spellings in SPELLINGS.items():
        given = next((found[one] for one in spellings if one in found), None)
        if given is not None:
            known[name] = given
    return known


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
