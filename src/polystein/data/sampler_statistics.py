"""What the sampler said about its own run: divergences, depth of trees, energy.

Scores cannot see a region that no draw entered. A divergence is a sign of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.data.source import Source
from polystein.errors import SamplerWarning
from polystein.types import Array, FloatArray

#: The names that samplers give to one statistic; the first is ours.
SPELLINGS = {
    "diverging": ("diverging", "divergent__", "is_divergent"),
    "reached_max_treedepth": (
        "reached_max_treedepth",
        "maxdepth_reached",
        "reached_max_tree_depth",
    ),
    "energy": ("energy", "energy__"),
}
#: Below this fraction of missing information of the energy, chains explore tails too slowly
#: (Betancourt, 2016).
LEAST_BFMI = 0.3


@dataclass(frozen=True)
class SamplerSummary:
    """Counts over all draws; None where the sampler kept no such statistic."""

    draws: int
    divergences: int | None = None
    tree_depth_saturated: int | None = None
    #: The smallest energy Bayesian fraction of missing information of a chain.
    bfmi: float | None = None

    def warning(self) -> SamplerWarning | None:
        """What to know before trusting a verdict; None if there is nothing."""
        words = []
        if self.divergences:
            words.append(
                f"{self.divergences} of {self.draws} transitions diverged: there may be a region "
                "that no draw entered, and scores at draws cannot show it. Raise the target "
                "acceptance rate, or reparameterise"
            )
        if self.tree_depth_saturated:
            words.append(
                f"{self.tree_depth_saturated} of {self.draws} transitions reached the largest "
                "tree depth: the chain moves slowly"
            )
        if self.bfmi is not None and self.bfmi < LEAST_BFMI:
            words.append(
                f"the energy's fraction of missing information is {self.bfmi:.2f} in one chain, "
                f"below {LEAST_BFMI:g}: tails are explored slowly. Reparameterise"
            )
        return SamplerWarning("the sampler reports: " + "; ".join(words)) if words else None


def known_statistics(found: Mapping[str, Array]) -> dict[str, Array]:
    """The statistics that we know, by our names, of shape (chain, draw)."""
    known = {}
    for name, spellings in SPELLINGS.items():
        given = next((found[one] for one in spellings if one in found), None)
        if given is not None:
            known[name] = given
    return known


def sampler_summary(source: Source) -> SamplerSummary | None:
    """The sampler's statistics in a few numbers; None if there are none."""
    known = known_statistics(source.facts.sampler_statistics)
    arrays = {name: np.atleast_2d(to_numpy(values)) for name, values in known.items()}
    if not arrays:
        return None
    energy = arrays.get("energy")
    return SamplerSummary(
        draws=next(iter(arrays.values())).size,
        divergences=_count(arrays.get("diverging")),
        tree_depth_saturated=_count(arrays.get("reached_max_treedepth")),
        bfmi=None if energy is None else _smallest_bfmi(energy),
    )


def _count(values: FloatArray | None) -> int | None:
    return None if values is None else int(np.count_nonzero(values))


def _smallest_bfmi(energy: FloatArray) -> float | None:
    """mean of (E_t - E_{t-1})^2 over the variance of E, the smallest of the chains."""
    if energy.shape[1] < 3 or not np.isfinite(energy).all():
        return None
    variances = energy.var(axis=1)
    if not variances.all():
        return None
    return float(np.min(np.mean(np.diff(energy, axis=1) ** 2, axis=1) / variances))
