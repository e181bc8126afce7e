"""What no errors can be estimated from, and says so."""

from __future__ import annotations

import numpy as np

from polystein._lib.numerics import ROUNDING
from polystein.data.source import Source
from polystein.errors import DegenerateError
from polystein.types import FloatArray


class ConstantValuesError(DegenerateError):
    """A function of the user's has one value on all draws; ``number`` says which function."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the values of function {number} are constant")
        self.number = number


def require_varying_scores(products: FloatArray) -> None:
    """Raise an error if a coordinate of the scores is constant: no density has such a score."""
    d = (len(products) - 1) // 2
    mean, square = products[0, 1 : 1 + d], np.diagonal(products)[1 : 1 + d]
    constant = square - mean**2 <= ROUNDING * square
    if constant.any():
        raise DegenerateError(
            "`scores` must vary in every coordinate; coordinate "
            f"{int(np.argmax(constant))} is constant ({int(constant.sum())} of {d} are)"
        )


def require_full_scores(source: Source) -> None:
    """Raise an error if scores are those of minibatches: regressions on noise are too flat."""
    if source.facts.minibatch:
        raise DegenerateError(
            "sizes of effects and corrected expectations need scores of all data; these are of "
            "minibatches, whose noise makes every correction too small"
        )
