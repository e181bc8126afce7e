"""What is known about draws beyond draws and scores, validated as it comes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from polystein._lib.arrays import holds_real_numbers, is_array
from polystein.data.source import Facts
from polystein.errors import InputError
from polystein.types import Array


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
