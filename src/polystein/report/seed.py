"""How `rng` stands in a call that is printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polystein._lib.arguments import is_integer

#: What to say of an `rng` that no line of code can write.
_SAYS = {
    "Generator": "rng: the Generator of the first run, in the state that it had then",
    "SeedSequence": "rng: the SeedSequence of the first run",
}


def rng_in_call(settings: Mapping[str, Any]) -> tuple[str, str]:
    """`rng` as an argument, and what to say of it; results of earlier versions do not know it."""
    if "rng" not in settings:
        return "", "and the rng of the first run"
    value = settings["rng"]
    if value is None:
        return "rng=None", "rng=None takes new random numbers: the p-value may differ"
    if is_integer(value, least=0):
        return f"rng={value}", ""
    # What is read back from a file may be anything.
    return "rng=rng", _SAYS.get(str(value), "rng: that of the first run")
