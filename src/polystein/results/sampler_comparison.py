"""Samplers or settings of one target, on one scale."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from polystein._lib.imports import imported
from polystein._lib.records import listed, require_types, stored
from polystein.errors import InputError
from polystein.results.effect_rows import RELIABLE
from polystein.results.effects import EffectTable
from polystein.results.schemas import schema_of
from polystein.types import Structure

SCHEMA_VERSION = 1
#: What sets of draws are compared by.
Measure: TypeAlias = Literal["discrepancy", "means", "sds"]
MEASURES: tuple[Measure, ...] = Measure.__args__  # type: ignore[attr-defined]


class Distance(NamedTuple):
    """How far a sampler's law is from the target in one measure, with an interval of level 0.95.

    Attributes
    ----------
    value, lower, upper : float
        The distance, at least 0, and its interval.
    square, error, df : float
        The unbiased estimate of its square, which may be negative, with its standard error and
        degrees of freedom. Intervals and differences come from these.
    """

    value: float
    lower: float
    upper: float
    square: float
    error: float
    df: float


class ComparedSet(NamedTuple):
    """One set of draws beside the others.

    Attributes
    ----------
    name : str
        The name of the set.
    chains, draws : int
        Number of chains, and draws of the longest.
    discrepancy : Distance
        The polynomial Stein discrepancy, in coordinates that all sets share.
    means, sds : Distance or None
        Root mean square over the parameters of the sampler's error: of means in standard deviations
        of the target, of sds as the logarithm of their ratio to the target's. None if the scores
        explain a parameter too little for its error to be told.
    mcse : float or None
        Root mean square of the Monte Carlo standard errors of the means, in the same unit. More
        draws lower it, and nothing above.
    ess : float or None
        How many independent draws of the target have this Monte Carlo error.
    cost, ess_per_cost : float or None
        The cost that was given for the set, and the effective draws for each unit of it.
    reliability : float
        The lowest R^2 of the functions behind ``means`` and ``sds``. Below 0.99 these may be off by
        more than their intervals say.
    rank : tuple of int
        The best and the worst rank that the draws allow, from 1.
    effects : EffectTable
        What is wrong with this set alone.
    """

    name: str
    chains: int
    draws: int
    discrepancy: Distance
    means: Distance | None
    sds: Distance | None
    mcse: float | None
    ess: float | None
    cost: float | None
    ess_per_cost: float | None
    reliability: float
    rank: tuple[int, int]
    effects: EffectTable

    @property
    def largest_effect(self) -> str:
        """The first effect that was found, in words; empty if none was."""
        return self.effects.found[0].sentence if self.effects.found else ""

    @property
    def reliable(self) -> bool:
        """Whether the reliability is at least 0.99."""
        return self.reliability >= RELIABLE

    def distance(self, measure: str) -> Distance | None:
        """The distance in a measure, ``"discrepancy"``, ``"means"`` or ``"sds"``."""
        return {"discrepancy": self.discrepancy, "means": self.means, "sds": self.sds}[measure]


class SetDifference(NamedTuple):
    """By how much one set is farther from the target than another, in one measure.

    Attributes
    ----------
    first, second : str
        The names of the two sets.
    measure : str
        ``"discrepancy"``, ``"means"`` or ``"sds"``.
    value, lower, upper : float
        The distance of the first less that of the second, with an interval of level 0.95 for this
        pair alone.
    pvalue : float
        For equal distances, after Holm's correction for all pairs of this measure.
    """

    first: str
    second: str
    measure: Measure
    value: float
    lower: float
    upper: float
    pvalue: float


@dataclass(frozen=True, repr=False)
class SamplerComparison:
    """What `compare` found, the set nearest to the target first; `print` shows it.

    Attributes
    ----------
    sets : tuple of ComparedSet
        By their discrepancy, the smallest first.
    differences : tuple of SetDifference
        For every pair of sets and every measure.
    order : int
        Order of the discrepancy, the paper's Q.
    structure : str
        ``"full"``, or ``"diagonal"`` in many dimensions.
    alpha : float
        The level of the ranks.
    dimension : int
        Number of coordinates.
    warnings : tuple of str
        What the numbers do not say by themselves.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> right, wide = np.random.default_rng(0).standard_normal((2, 4, 500, 2))
    >>> sets = {"right": (right, -right), "wide": (1.3 * wide, -1.3 * wide)}
    >>> comparison = ps.compare(sets)  # the target is N(0, I)
    >>> [one.name for one in comparison], comparison["wide"].rank
    (['right', 'wide'], (2, 2))
    >>> round(comparison["wide"].sds.value, 1)  # sds are 30 % too large
    0.3
    >>> comparison.difference("wide", "right").pvalue < 0.001
    True
    """

    sets: tuple[ComparedSet, ...]
    differences: tuple[SetDifference, ...]
    order: int
    structure: Structure
    alpha: float
    dimension: int
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ComparedSet:
        """The set of a name, ``comparison["nuts"]``."""
        for one in self.sets:
            if one.name == name:
                return one
        known = ", ".join(repr(one.name) for one in self.sets[:6])
        raise InputError(f"the key must be the name of a set, {known}, ...; got {name!r}")

    def __len__(self) -> int:
        return len(self.sets)

    def __iter__(self) -> Iterator[ComparedSet]:
        return iter(self.sets)

    def difference(
        self, first: str, second: str, measure: Measure = "discrepancy"
    ) -> SetDifference:
        """By how much the first set is farther from the target than the second."""
        if all(isinstance(one, str) for one in (first, second, measure)):
            for one in self.differences:
                if (one.first, one.second, one.measure) == (first, second, measure):
                    return one
                if (one.second, one.first, one.measure) == (first, second, measure):
                    ends = (-one.value, -one.upper, -one.lower)
                    return SetDifference(first, second, measure, *ends, one.pvalue)
        names = ", ".join(repr(one.name) for one in self.sets[:6])
        raise InputError(
            f"`first` and `second` must be two of {names}, and `measure` one of "
            f"{', '.join(map(repr, MEASURES))} that both sets have; got {first!r}, {second!r} and "
            f"{measure!r}"
        )

    def to_dataframe(self) -> Any:
        """One row for each set, as a pandas DataFrame."""
        pandas = imported("pandas", None, "`to_dataframe`")
        return pandas.DataFrame([_flat(one) for one in self.sets])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "method": "compare",
            "sets": [_plain_set(one) for one in self.sets],
            "differences": [one._asdict() for one in self.differences],
            "order": self.order,
            "structure": self.structure,
            "alpha": self.alpha,
            "dimension": self.dimension,
            "warnings": list(self.warnings),
        }

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON schema of what `to_dict` gives."""
        return schema_of("samplers")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SamplerComparison:
        """The comparison that `to_dict` was called on."""
        with stored(values) as content:
            if (version := content["schema_version"]) != SCHEMA_VERSION:
                raise InputError(
                    f"`values` must come from `to_dict` with schema_version {SCHEMA_VERSION}; got "
                    f"{version!r}"
                )
            made = cls(
                tuple(_stored_set(one) for one in listed(content["sets"], "sets")),
                tuple(
                    SetDifference(**one) for one in listed(content["differences"], "differences")
                ),
                content["order"],
                content["structure"],
                content["alpha"],
                content["dimension"],
                listed(content["warnings"], "warnings"),
            )
            require_types(made)
            names = [one.name for one in made.sets]
            if len(names) < 2 or len(set(names)) < len(names):
                raise TypeError("there must be at least two sets, each with a name of its own")
        return made

    def to_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a self-contained HTML page, which needs Jinja2 (extra ``html``); return its path.

        An earlier page is replaced, another file only with ``overwrite=True``.
        """
        from polystein._lib.files import writing
        from polystein.report.compare_page import compare_page
        from polystein.report.page import write_document

        with writing("path", path):
            write_document(compare_page(self), path, overwrite=overwrite)
        return Path(path)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the sets side by side: `polystein.plot_compare`."""
        from polystein.report.compare_plot import plot_compare

        return plot_compare(self, ax=ax)

    def __repr__(self) -> str:
        ranks = ", ".join(f"{one.name} {rank_words(one.rank)}" for one in self.sets[:4])
        more = ", ..." if len(self) > 4 else ""
        return f"SamplerComparison({len(self)} sets, d={self.dimension}; ranks: {ranks}{more})"

    def __str__(self) -> str:
        from polystein.report.compare import render_samplers

        return render_samplers(self)

    def _repr_html_(self) -> str:
        from polystein.report.compare import samplers_fragment

        return samplers_fragment(self)


def rank_words(rank: tuple[int, int]) -> str:
    """As in "1", or "2-4" where the draws do not tell."""
    best, worst = rank
    return str(best) if best == worst else f"{best}-{worst}"


def distance_of(square: float, error: float, reach: float, df: float) -> Distance:
    """The distance from the estimate of its square; ``reach`` is the t quantile of its interval."""
    value, lower, upper = (
        math.sqrt(max(0.0, square + sign * reach * error)) for sign in (0.0, -1.0, 1.0)
    )
    return Distance(value, lower, upper, square, error, df)


def _plain_set(one: ComparedSet) -> dict[str, Any]:
    distances: dict[str, Any] = {
        name: None if (found := one.distance(name)) is None else found._asdict()
        for name in MEASURES
    }
    rest: dict[str, Any] = {"rank": list(one.rank), "effects": one.effects.to_dict()}
    return {**one._asdict(), **distances, **rest}


def _stored_set(values: Mapping[str, Any]) -> ComparedSet:
    distances: dict[str, Any] = {
        name: None if values[name] is None else Distance(**values[name]) for name in MEASURES
    }
    rank = listed(values["rank"], "rank")
    if len(rank) != 2:
        raise TypeError("a rank must be the best and the worst that the draws allow")
    effects = EffectTable.from_dict(values["effects"])
    return ComparedSet(**{**values, **distances, "rank": rank, "effects": effects})


def _flat(one: ComparedSet) -> dict[str, Any]:
    """Numbers of a set without those behind its intervals."""
    row: dict[str, Any] = {"name": one.name, "rank": rank_words(one.rank)}
    for name in MEASURES:
        found = one.distance(name)
        ends = (math.nan,) * 3 if found is None else found[:3]
        row |= dict(zip((name, f"{name}_lower", f"{name}_upper"), ends, strict=True))
    kept = ("mcse", "ess", "cost", "ess_per_cost", "reliability", "chains", "draws")
    values = one._asdict()
    return row | {key: values[key] for key in kept} | {"largest_effect": one.largest_effect}
