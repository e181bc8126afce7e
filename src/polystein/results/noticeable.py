"""What a test would have noticed with the draws that it was given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from polystein._lib.records import listed

#: The probability with which a fault of the size told is noticed.
PROBABILITY = 0.8
#: What may be off.
KINDS = ("mean", "sd", "correlation")


class Noticeable(NamedTuple):
    """The smallest fault of one parameter alone that a test notices with probability 0.8.

    Attributes
    ----------
    what : str
        ``"mean"``, ``"sd"`` or ``"correlation"``.
    size : float
        Of a mean in sds, of an sd relative to it, of a correlation as it is; infinite where no
        fault up to 0.5 is noticed with that probability.
    names : tuple of str
        The least visible parameter, or pair of parameters: in others smaller faults are noticed.
    """

    what: str
    size: float
    names: tuple[str, ...]


def noticeable_to_list(found: Sequence[Noticeable] | None) -> list[dict[str, Any]] | None:
    """Plain values for `to_dict`: a size of None is infinite."""
    if found is None:
        return None
    return [
        {**one._asdict(), "size": one.size if math.isfinite(one.size) else None} for one in found
    ]


def noticeable_from_list(values: Any) -> tuple[Noticeable, ...] | None:
    """What `noticeable_to_list` was given."""
    if values is None:
        return None
    return tuple(_one(value) for value in listed(values, "noticeable"))


def _one(value: Mapping[str, Any]) -> Noticeable:
    size = math.inf if value["size"] is None else float(value["size"])
    names = tuple(str(name) for name in listed(value["names"], "names"))
    if not size > 0.0 or value["what"] not in KINDS:
        raise ValueError(f"a {value['what']} of size {size} is nothing that could be noticed")
    return Noticeable(value["what"], size, names)
