"""What wild-bootstrap tests share: how long multipliers stay dependent, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polystein._lib.arguments import is_finite_number, one_of
from polystein._lib.notes import Notes
from polystein._lib.random import Streams
from polystein.data.guard.chains import require_time_along_chains
from polystein.data.passes import every_row, visit_blocks
from polystein.data.source import Block, Source
from polystein.data.weight_sums import effective_weights
from polystein.errors import InputError, LowESSWarning
from polystein.inference.autocorrelation import STILL
from polystein.inference.columns import ColumnMoments
from polystein.inference.multipliers import Multipliers, plug_in_length
from polystein.inference.pvalues import monte_carlo_pvalue
from polystein.results.evidence import Evidence
from polystein.results.result import GofResult
from polystein.types import RNG, Estimator, FloatArray, MultiplierLength

# Effective draws of chains below which the bootstrap has next to no power.
LEAST_ESS = 100.0
STATISTIC_NAME = "n times the squared discrepancy"


def resampling_seed(rng: RNG) -> int:
    """The seed of the multipliers."""
    return int(Streams(rng).resampling.integers(2**63))


def drawn_multipliers(stream: Multipliers, block: Block) -> FloatArray:
    """Multipliers of the rows of a block, of shape (count, rows)."""
    parts = [stream.draw(own.chain, own.high - own.low) for own in block.chains]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def chosen_estimator(estimator: Estimator | None, source: Source) -> Estimator:
    """The estimator asked for; by default "u" for independent rows and "v" for chains."""
    if estimator is None:
        return "v" if source.layout.time_ordered else "u"
    one_of(estimator, Estimator, "estimator")
    return estimator


def dependence_length(source: Source, length: MultiplierLength) -> float | None:
    """The multipliers' length: None for independent rows, a number for chains.

    "auto" is the plug-in length for the largest lag-one autocorrelation among s_j and s_j x_j.
    """
    automatic = length is None or (isinstance(length, str) and length == "auto")
    if not source.layout.time_ordered:
        if not automatic:
            raise InputError(
                "`length` must be None or 'auto' for independent rows, (n, d); pass chains as "
                f"(chain, draw, d). Got {length!r}"
            )
        return None
    require_time_along_chains(source)
    if automatic:
        return plug_in_length(lag_one_autocorrelation(source), source.layout.total)
    if not is_finite_number(length) or not float(length or 0.0) > 0.0:
        raise InputError(f"`length` must be a positive number or 'auto'; got {length!r}")
    return float(length or 0.0)


def lag_one_autocorrelation(source: Source) -> float:
    """Largest lag-one autocorrelation of the columns s_j and s_j x_j, in [0, 0.999]."""
    moments = ColumnMoments(2 * source.layout.dimension, joint=False)
    visit_blocks(
        source, every_row(source), lambda block: moments.update(_scores_and_products(block), None)
    )
    lagged = _LaggedProducts(moments.mean)
    visit_blocks(source, every_row(source), lagged.update)
    varies = moments.scatter > moments.weight * (STILL * moments.mean) ** 2
    highest = float(np.max(lagged.sums[varies] / moments.scatter[varies], initial=0.0))
    # A chain that never moves has a correlation of 1, for which no length is long enough.
    return min(0.999, highest)


def _scores_and_products(block: Block) -> FloatArray:
    """s_j and s_j x_j, as columns."""
    return np.concatenate([block.scores, block.scores * block.draws], axis=1)


class _LaggedProducts:
    """Sums of products of neighbouring rows of a chain, less the mean."""

    def __init__(self, mean: FloatArray) -> None:
        self._mean, self.sums = mean, np.zeros_like(mean)
        self._chain, self._last = -1, self.sums

    def update(self, block: Block) -> None:
        columns = _scores_and_products(block) - self._mean
        for chain, _, low, high in block.chains:
            centred = columns[low:high]
            self.sums += np.einsum("ij,ij->j", centred[1:], centred[:-1])
            # The product of the last row of a block with the first of the next one.
            self.sums += centred[0] * self._last if chain == self._chain else 0.0
            self._chain, self._last = chain, centred[-1]


def bootstrap_result(
    statistic: float,
    larger: int,
    n_bootstrap: int,
    source: Source,
    *,
    method: str,
    settings: Mapping[str, Any],
    evidence: Evidence | None = None,
    notes: Notes | None = None,
) -> GofResult:
    """A result whose p-value is (b + 1)/(B + 1)."""
    notes = notes or Notes(source.facts.warnings)
    ess = _effective_draws(source)
    if source.layout.time_ordered and ess < LEAST_ESS:
        notes.add(
            LowESSWarning(
                f"the chains hold about {ess:.0f} effective draws; with fewer than {LEAST_ESS:.0f} "
                "the bootstrap hardly ever rejects: take more draws"
            )
        )
    notes.emit()
    return GofResult(
        statistic=statistic,
        pvalue=monte_carlo_pvalue(larger, n_bootstrap),
        alternative="greater",
        method=method,
        dimension=source.layout.dimension,
        evidence=evidence or Evidence(),
        ess=ess,
        n_test=source.layout.total,
        statistic_name=STATISTIC_NAME,
        settings={**settings, "n_bootstrap": int(n_bootstrap)},
        warnings=notes.messages,
    )


def _effective_draws(source: Source) -> float:
    """Kish's size of the rows; of chains as if they were AR(1), by the slowest column."""
    size = effective_weights(source)
    if not source.layout.time_ordered:
        return size
    correlation = lag_one_autocorrelation(source)
    return size * (1.0 - correlation) / (1.0 + correlation)
