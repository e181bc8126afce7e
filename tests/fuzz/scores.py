"""Score functions that do something that they should not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.makers import minus, stops


def modifies(x: Any) -> Any:
    """Overwrites what it is given, and returns it."""
    x *= -1.0
    return x


def _spoilt(value: float) -> Callable[[Any], Any]:
    def score(x: Any) -> Any:
        answer = -np.array(x, dtype=float)
        answer[-1, 0] = value
        return answer

    return score


#: Functions by name; a call names one as `faulty["wrong shape"]`.
faulty: dict[str, Callable[..., Any]] = {
    "raises": stops,
    "wrong shape": lambda x: np.zeros((len(x) + 1, 1)),
    "one row": lambda x: -np.asarray(x)[0],
    "a number": lambda x: 1.0,
    "nothing": lambda x: None,
    "text": lambda x: "score",
    "list": lambda x: (-np.asarray(x)).tolist(),
    "NaN": _spoilt(np.nan),
    "infinity": _spoilt(np.inf),
    "huge": _spoilt(1e300),
    "tiny": lambda x: np.asarray(x) * 1e-300,
    "zero": lambda x: np.zeros(x.shape),
    "single precision": lambda x: -np.asarray(x, dtype=np.float32),
    "complex": lambda x: -np.asarray(x) * 1j,
    "objects": lambda x: np.asarray(x).astype(object),
    "masked": lambda x: np.ma.masked_array(x, mask=np.ones(x.shape, bool)),
    "transposed": lambda x: -np.asarray(x).T,
    "itself": lambda x: x,
    "a function": lambda x: minus,
    "no argument": lambda: 1.0,
    "two arguments": lambda x, y: x,
    "read-only": lambda x: np.broadcast_to(-1.0, x.shape),
}
