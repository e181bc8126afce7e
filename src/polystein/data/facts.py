"""What is known about draws beyond draws and scores, validated as it comes in.

Samplers report divergences, depths of trees and energies, each under names of its own. Scores
cannot see a region that no draw entered; a divergence is a sign of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein.data.source import Facts
from polystein.errors import InputError
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


def validated_facts(facts: Mapping[str, Any] | Facts | None, shape: tuple[int, ...]) -> Facts:
    """Facts about draws of this shape, or an error that names the one at fault."""
    if facts is None or isinstance(facts, Facts):
        return facts or Facts()
    known = [field.name for field in fields(Facts)]
    if not isinstance(facts, Mapping) or not set(facts) <= set(known):
        got = sorted(map(str, facts)) if isinstance(facts, Mapping) else repr(facts)
        raise InputError(f"`facts` must be a mapping with keys among {known}; got {got}")
    made = Facts(**facts)
    words: object = made.warnings
    listed = isinstance(words, Sequence) and not isinstance(words, str)
    if not listed or not all(isinstance(word, str) for word in made.warnings):
        raise InputError(f"`facts['warnings']` must be a sequence of strings; got {words!r}")
    if not isinstance(made.sampler_statistics, Mapping):
        raise InputError(
            "`facts['sampler_statistics']` must be a mapping from names to arrays; got "
            f"{made.sampler_statistics!r}"
        )
    for name, array in made.sampler_statistics.items():
        _require_statistic(name, array, shape[:-1])
    for name in ("log_density", "transform"):
        function = getattr(made, name)
        if function is not None and not callable(function):
            raise InputError(
                f"`facts[{name!r}]` must be a function of (n, d) draws; got {function!r}"
            )
    return replace(made, warnings=tuple(made.warnings))


def _require_statistic(name: str, value: Array, rows: tuple[int, ...]) -> None:
    """A statistic is a number or a boolean for each draw; that of one chain may be (1, draw)."""
    array = value if is_array(value) else np.asarray(value)
    numbers = holds_real_numbers(array) or "bool" in str(array.dtype)
    found = tuple(int(size) for size in array.shape)
    if not numbers or found not in (rows, (1, *rows)[-2:]):
        raise InputError(
            f"`facts['sampler_statistics'][{name!r}]` must be an array of numbers or booleans of "
            f"shape {rows}, one for each draw; got dtype {array.dtype} of shape {found}"
        )


def known_statistics(found: Mapping[str, Array]) -> dict[str, Array]:
    """The statistics that polystein uses, by its own names, of shape (chain, draw)."""
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
