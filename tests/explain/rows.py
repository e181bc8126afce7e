"""Rows of a skewed target, wrong by a little, and a literal fit of them."""

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.explain.designs import Seen

Array = NDArray[np.float64]


def skewed(n: int = 300, d: int = 3, seed: int = 3) -> tuple[Array, Array]:
    """Draws and scores of log Gamma(5), one coordinate too wide."""
    draws = np.log(np.random.default_rng(seed).standard_gamma(5.0, (n, d)))
    draws[:, 0] *= 1.2
    return draws, 5.0 - np.exp(draws)


def sample(n: int = 300, d: int = 3, seed: int = 3, **options: object) -> ps.Sample:
    draws, scores = skewed(n, d, seed)
    return ps.Sample(draws, scores, **options)  # type: ignore[arg-type]


def frame_of(draws: Array) -> Frame:
    return Frame(draws.mean(axis=0), draws.std(axis=0))


def seen_of(draws: Array, scores: Array) -> Seen:
    frame = frame_of(draws)
    return Seen(*frame.apply(draws, scores), draws)
