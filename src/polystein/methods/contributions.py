"""Results of finer weights: which coordinates and entries make up the mean of u."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from polystein.data.source import Rows, Source, coordinate_names
from polystein.methods.split_sample import DividedRows
from polystein.results.evidence import Contribution
from polystein.results.result import GofResult
from polystein.stein.moments import stein_moments
from polystein.stein.operator import DiagonalOperator
from polystein.stein.witness import PrimalWitness
from polystein.types import FloatArray, Resolution, Structure

# How many coordinates, or entries, a result names.
MOST_NAMED = 5


def with_finer_weights(
    result: GofResult,
    rows: DividedRows,
    witness: PrimalWitness,
    factors: list[FloatArray],
    resolution: Resolution,
) -> GofResult:
    """The result of a witness into which finer weights were folded, with what they show.

    The weight of an order is the norm of all its weights.
    """
    norms = dict(zip(witness.names, (float(np.linalg.norm(f)) for f in factors), strict=True))
    parts = mean_parts(witness, rows.source, rows.partition.rows("test"))
    entries = resolution == "entry"
    return replace(
        result,
        weights=norms,
        components=tuple(one._replace(weight=norms[one.name]) for one in result.components),
        evidence=replace(
            result.evidence,
            coordinates=largest_coordinates(parts, rows.source),
            entries=largest_entries(parts, witness.names, rows.source) if entries else (),
        ),
        settings={**result.settings, "resolution": resolution},
    )


def mean_parts(witness: PrimalWitness, source: Source, rows: Iterable[Rows]) -> list[FloatArray]:
    """A_i o mean Phi_i and b o mean s: the addends of the mean of u."""
    structure: Structure = "diagonal" if isinstance(witness.operator, DiagonalOperator) else "full"
    mean = stein_moments(source, rows, witness.basis, structure, answer=witness.frame).finalise()
    parts = [matrix * moment for matrix, moment in zip(witness.A, mean.matrices, strict=True)]
    return [*parts, witness.b * mean.score]


def largest_coordinates(parts: list[FloatArray], source: Source) -> tuple[Contribution, ...]:
    """The coordinates with the largest shares in the mean of u."""
    sums = np.sum([part if part.ndim == 1 else part.sum(axis=1) for part in parts], axis=0)
    names = coordinate_names(source)
    return tuple(Contribution(names[i], share) for i, share in largest_shares(sums))


def largest_entries(
    parts: list[FloatArray], features: tuple[str, ...], source: Source
) -> tuple[Contribution, ...]:
    """The entries of the matrices with the largest shares in the mean of u."""
    entries, names = np.concatenate([part.ravel() for part in parts]), coordinate_names(source)
    return tuple(
        Contribution(entry_name(features, names, parts, i), share)
        for i, share in largest_shares(entries)
    )


def largest_shares(parts: FloatArray) -> list[tuple[int, float]]:
    """The largest parts, as shares of the sum of all absolute values."""
    sizes = np.abs(parts)
    order = np.argsort(-sizes, kind="stable")[:MOST_NAMED]
    total = sizes.sum()
    return [(int(i), float(parts[i] / total)) for i in order if sizes[i] > 0.0]


def entry_name(
    features: tuple[str, ...], coordinates: tuple[str, ...], parts: list[FloatArray], index: int
) -> str:
    """The name, such as ``x^2[l, m]``, of the entry at this position among all entries."""
    for feature, part in zip(features, parts, strict=True):
        if index < part.size:
            place = np.unravel_index(index, part.shape)
            return f"{feature}[{', '.join(coordinates[i] for i in place)}]"
        index -= part.size
    raise IndexError(index)
