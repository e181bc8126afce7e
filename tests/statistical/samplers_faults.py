"""Faults planted in correct chains of N(0, I): what they do is known, and where.

Chains have the shape (..., chain, draw, d). Each function returns a copy.
"""

import numpy as np

from tests.statistical.samplers import Array


def late_start(chains: Array, rows: int, distance: float, coordinates: slice) -> Array:
    """The first rows of every chain lie `distance` standard deviations off."""
    result = chains.copy()
    result[..., :rows, coordinates] += distance
    return result


def far_start(chains: Array, memory: float, distance: float, coordinates: slice) -> Array:
    """AR(memory) chains as they are when started `distance` further out."""
    decay = distance * memory ** np.arange(chains.shape[-2])
    result = chains.copy()
    result[..., coordinates] += decay[:, None]
    return result


def shifted_chain(chains: Array, chain: int, distance: float, coordinates: slice) -> Array:
    """One chain lies `distance` standard deviations off from its first row to its last."""
    result = chains.copy()
    result[..., chain, :, coordinates] += distance
    return result


def frozen_chain(chains: Array, chain: int) -> Array:
    """One chain never leaves its first row."""
    result = chains.copy()
    result[..., chain, :, :] = result[..., chain, :1, :]
    return result
