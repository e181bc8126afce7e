"""Names for types that many rooms share, and the closed choices of options. No code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: An array of any library (NumPy, PyTorch, JAX, ...), or what NumPy makes an array of.
Array: TypeAlias = Any
#: What the mathematics works on: NumPy in double precision.
FloatArray: TypeAlias = NDArray[np.float64]
#: From (n, d) draws to the score at each of them.
ScoreFunction: TypeAlias = Callable[[Array], Array]
RNG: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
Progress: TypeAlias = Callable[[int, int], None]

#: How p-values of many tests allow for each other.
Adjustment: TypeAlias = Literal["holm", "benjamini-hochberg"]
Alternative: TypeAlias = Literal["two-sided", "greater"]
BasisName: TypeAlias = Literal["monomial", "hermite", "bounded-hermite"]
Estimator: TypeAlias = Literal["u", "v"]
Resolution: TypeAlias = Literal["order", "coordinate", "hierarchical", "entry"]
Role: TypeAlias = Literal["witness", "weights", "gap", "test"]
#: Whether draws are centred and scaled by training rows, or whitened as well.
Standardise: TypeAlias = bool | Literal["whiten"]
Structure: TypeAlias = Literal["full", "diagonal"]
Verdict: TypeAlias = Literal["rejected", "not rejected", "inconclusive"]
ToleranceVerdict: TypeAlias = Literal["within", "beyond", "undecided"]
#: Over how many rows the multipliers of a wild bootstrap stay dependent; "auto" estimates it.
MultiplierLength: TypeAlias = float | Literal["auto"] | None
