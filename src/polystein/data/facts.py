"""What is known about draws beyond draws and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polystein._lib.arguments import boolean
from polystein._lib.arrays import holds_real_numbers, is_array
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array


@dataclass(frozen=True)
class Facts:
    """What is known about the draws beyond draws and scores; everything is optional."""

    #: Statistics that the sampler kept, each of shape (chain, draw): "diverging", ...
    sampler_statistics: Mapping[str, Array] = field(default_factory=dict)
    #: What the draws are meant to come from, as far as it can be evaluated; lost in pickling.
    target: Target | None = None
    #: Messages of warnings that were emitted when the draws came in.
    warnings: tuple[str, ...] = ()
    #: Whether the rows are known to be independent draws, as those of a variational fit are.
    independent: bool = False
    #: Whether the score of every row is an unbiased estimate from a minibatch of its own.
    minibatch: bool = False
    #: Pareto k-hat of the importance ratios p/q at draws from a known density q.
    pareto_k: float | None = None
    #: For each coordinate, its labels by the names of its axes, where they have names.
    labels: tuple[Mapping[str, Any], ...] | None = None

    @property
    def log_density(self) -> Callable[[Array], Array] | None:
        """The log-density at (n, d) draws, up to a constant, as it was given."""
        return None if self.target is None else self.target.density

    @property
    def transform(self) -> Callable[[Array], Mapping[str, Array]] | None:
        """From (n, d) unconstrained draws to the values of the model's own parameters."""
        return None if self.target is None else self.target.transform


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
#: What a mapping of facts may hold. The functions become a `Target`.
_FACTS = ("sampler_statistics", "log_density", "transform", "warnings", "minibatch")


def validated_facts(facts: Mapping[str, Any] | Facts | None, shape: tuple[int, ...]) -> Facts:
    """Facts about draws of this shape, or an error that names the one at fault."""
    if facts is None or isinstance(facts, Facts):
        return facts or Facts()
    known = list(_FACTS)
    if not isinstance(facts, Mapping) or not set(facts) <= set(known):
        got = sorted(map(str, facts)) if isinstance(facts, Mapping) else repr(facts)
        raise InputError(f"`facts` must be a mapping with keys among {known}; got {got}")
    words: object = facts.get("warnings", ())
    listed = isinstance(words, Sequence) and not isinstance(words, str)
    if not listed or not all(isinstance(word, str) for word in facts.get("warnings", ())):
        raise InputError(f"`facts['warnings']` must be a sequence of strings; got {words!r}")
    statistics = facts.get("sampler_statistics", {})
    if not isinstance(statistics, Mapping):
        raise InputError(
            "`facts['sampler_statistics']` must be a mapping from names to arrays; got "
            f"{statistics!r}"
        )
    for name, array in statistics.items():
        _require_statistic(name, array, shape[:-1])
    functions = {name: facts.get(name) for name in ("log_density", "transform")}
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise InputError(
                f"`facts[{name!r}]` must be a function of (n, d) draws; got {function!r}"
            )
    density, transform = functions.values()
    target = None
    if density is not None or transform is not None:
        target = Target(shape[-1], density, transform=transform)
    minibatch = boolean(facts.get("minibatch", False), "facts['minibatch']")
    return Facts(statistics, target, tuple(facts.get("warnings", ())), minibatch=minibatch)


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
    """The statistics that we know, by our names, of shape (chain, draw)."""
    known = {}
    for name, spellings in SPELLINGS.items():
        given = next((found[one] for one in spellings if one in found), None)
        if given is not None:
            known[name] = given
    return known
