"""Which coordinates and rows of draws are kept: by name or pattern, by stride, by position."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polystein._lib.arguments import integer
from polystein._lib.arrays import to_numpy
from polystein._lib.notes import first_of, shown_name
from polystein.data.facts import Facts
from polystein.data.source import coordinate_names
from polystein.errors import InputError
from polystein.types import Array

#: PyMC's name of an unconstrained value: the variable, the transform, two underscores.
_TRANSFORM = re.compile(r"_[a-z]+(?:-[a-z]+)*__$")
#: A coordinate's name is that of its variable with indices in brackets.
_INDICES = re.compile(r"\[[^\[\]]*\]$")


@dataclass(frozen=True)
class Selection:
    """What to keep of the draws.

    ``var_names`` are names of variables (``"theta"``), of single coordinates (``"theta[0]"``)
    or patterns in which ``*`` and ``?`` stand for other characters. A ``~`` before a name leaves
    it out. ``coords`` are labels, one or a list, by the names of axes: of variables that have such
    an axis, coordinates with other labels are left out. The first ``drop_first`` draws of every
    chain are left out, and every ``thin``-th of the others is kept.
    """

    var_names: str | Sequence[str] | None = None
    thin: int = 1
    drop_first: int = 0
    coords: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        integer(self.thin, "thin", least=1)
        integer(self.drop_first, "drop_first", least=0)
        names = self.var_names
        try:
            listed = names is None or (all(isinstance(name, str) for name in names) and len(names))
        except TypeError:  # not iterable, an array without axes, or a generator
            listed = False
        if not listed:
            raise InputError(f"`var_names` must be a name or a list of names; got {names!r}")
        if self.coords is not None and not isinstance(self.coords, Mapping):
            raise InputError(
                "`coords` must be a mapping from names of axes to labels, as in "
                f"{{'school': ['A', 'B']}}; got {self.coords!r}"
            )

    @property
    def stride(self) -> slice:
        """The draws of each chain that are kept."""
        return slice(self.drop_first, None, self.thin)

    def rows(self, array: Array) -> Array:
        """The kept draws of an array of shape (chain, draw, ...)."""
        if array.shape[1] <= self.drop_first:
            raise InputError(
                f"`drop_first` must leave draws; got {self.drop_first} of {array.shape[1]}"
            )
        return array[:, self.stride]

    def draws(self, array: Array) -> Array:
        """The kept draws of an array of shape (n, d) or (chain, draw, d), in its own shape."""
        return self.rows(array) if array.ndim == 3 else self.rows(array[None])[0]

    @property
    def keeps_coordinates(self) -> bool:
        """Whether all coordinates are kept."""
        return self.var_names is None and not self.coords

    def columns(
        self, names: Sequence[str], labels: Sequence[Mapping[str, Any]] | None = None
    ) -> list[int]:
        """The places of the kept coordinates, in the order in which they are.

        ``labels`` are those of each coordinate by the names of axes, where these are known.
        """
        places = self._named(names)
        for axis, wanted in (self.coords or {}).items():
            chosen = _chosen_labels(axis, wanted, labels)
            assert labels is not None
            places = [place for place in places if labels[place].get(axis, chosen[0]) in chosen]
        if not places:
            raise InputError(f"`coords` must leave a coordinate; got {self.coords!r}")
        return places

    def _named(self, names: Sequence[str]) -> list[int]:
        """The places of the coordinates that ``var_names`` keep."""
        if self.var_names is None:
            return list(range(len(names)))
        wanted = [self.var_names] if isinstance(self.var_names, str) else list(self.var_names)
        kept = _matching([one for one in wanted if not one.startswith("~")], names)
        left_out = _matching([one[1:] for one in wanted if one.startswith("~")], names)
        only_exclusions = all(one.startswith("~") for one in wanted)
        places = set(range(len(names))) if only_exclusions else kept
        found = sorted(places - left_out)
        if not found:
            raise InputError(f"`var_names` must leave a coordinate; got {self.var_names!r}")
        return found


def _chosen_labels(axis: str, wanted: Any, labels: Sequence[Mapping[str, Any]] | None) -> list[Any]:
    """The labels that are asked for along an axis, each of which some coordinate must have."""
    known: dict[str, list[Any]] = {}
    for own in labels or ():
        for name, label in own.items():
            if label not in known.setdefault(name, []):
                known[name].append(label)
    if axis not in known:
        there = f"there are {first_of(list(known), 12)}" if known else "these draws have none"
        raise InputError(
            f"`coords` must name axes of the variables; got {axis!r}, but {there}. Coordinates are "
            "chosen by `var_names`, too, as in 'theta[0]'."
        )
    plain = wanted.tolist() if hasattr(wanted, "tolist") else wanted
    chosen = list(plain) if isinstance(plain, list | tuple | range | set) else [plain]
    missing = [label for label in chosen if label not in known[axis]]
    if missing or not chosen:
        raise InputError(
            f"`coords` must hold labels of the axis {axis!r}, one or a list; got "
            f"{(missing or [wanted])[0]!r}, but there are "
            f"{first_of(list(map(repr, known[axis])), 12)}"
        )
    return chosen


def selected_parts(sample: Any, selection: Selection) -> dict[str, Any]:
    """What a `Sample` of the kept coordinates and rows is made of."""
    names, facts = coordinate_names(sample), sample.facts
    if selection.var_names is not None:
        _refuse_computed(sample, selection.var_names, names)
    columns = selection.columns(names, facts.labels)
    shortest = min(sample.layout.lengths)
    if shortest <= selection.drop_first:
        raise InputError(f"`drop_first` must leave draws; got {selection.drop_first} of {shortest}")
    rows = (slice(None),) * (len(sample.draws.shape) - 2) + (selection.stride,)
    if len(columns) < len(names):
        facts = facts_of_columns(facts, columns)
    statistics = {
        name: np.atleast_2d(to_numpy(values))[:, selection.stride]
        for name, values in facts.sampler_statistics.items()
    }
    weights = sample.log_weights
    return {
        "draws": sample.draws[(*rows, ...)][..., columns],
        "scores": sample.scores[(*rows, ...)][..., columns],
        "names": None if sample.names is None else [names[place] for place in columns],
        "log_weights": None if weights is None else weights[rows] + sample.log_scale,
        "facts": replace(facts, sampler_statistics=statistics),
    }


def _refuse_computed(sample: Any, wanted: str | Sequence[str], names: Sequence[str]) -> None:
    """Say of numbers that the model computes from its parameters why they cannot be chosen."""
    target = sample.facts.target
    known = {spelling for name in names for spelling in spellings(name)}
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    others = [name for name in asked if name not in known and not name.startswith("~")]
    if target is None or target.transform is None or not others:
        return
    computed = set(target.transform(to_numpy(sample.draws).reshape(-1, len(names))[:1].copy()))
    for name in others:
        if variable(name) in computed:
            raise InputError(
                f"`var_names` must name parameters that were sampled; got {name!r}, which the "
                "model computes from them and which has no score of its own. "
                f"`ps.expectations(sample, [{variable(name)!r}])` says how far its mean and sd "
                "are off."
            )


def facts_of_columns(facts: Facts, columns: Sequence[int]) -> Facts:
    """What is still known where only these coordinates are kept: the target needs all of them."""
    labels = facts.labels
    kept = None if labels is None else tuple(labels[column] for column in columns)
    return replace(facts, target=None, labels=kept)


def variable(name: str) -> str:
    """The variable that a coordinate belongs to: ``theta`` for ``theta[0]``."""
    return _INDICES.sub("", name)


def parameter(name: str) -> str:
    """The model's variable that a coordinate belongs to: ``tau`` for PyMC's ``tau_log__[0]``."""
    return _TRANSFORM.sub("", variable(name))


def spellings(name: str) -> set[str]:
    """What a coordinate may be called: in full, by its variable, without PyMC's transform."""
    base, short = variable(name), parameter(name)
    return {name, base, short, short + name[len(base) :]}


def _matching(wanted: Sequence[str], names: Sequence[str]) -> set[int]:
    """The places of the coordinates that the patterns match; each must match at least one."""
    found: set[int] = set()
    for one in wanted:
        # `*` and `?` stand for other characters; brackets stand for themselves.
        escaped = re.escape(shown_name(one)).replace(r"\*", ".*").replace(r"\?", ".")
        pattern = re.compile(escaped)
        places = {
            place
            for place, name in enumerate(names)
            if any(pattern.fullmatch(spelling) for spelling in spellings(name))
        }
        if not places:
            known = list(dict.fromkeys(variable(name) for name in names))
            close = difflib.get_close_matches(one, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise InputError(
                f"`var_names` must name coordinates; got {one!r}, but there are "
                f"{first_of(known, 12)}.{hint}"
            )
        found |= places
    return found
