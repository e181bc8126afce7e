"""Chains to check, and what a result says of its arms."""

from typing import Any

import numpy as np

import polystein as ps
from tests.conftest import Array
from tests.statistical.samplers import autoregressive


def chains(count: int = 4, rows: int = 1000, dimension: int = 3, memory: float = 0.5) -> Array:
    return autoregressive(np.random.default_rng(0), count, rows, dimension, memory)


def normal_score(draws: Any) -> Any:
    return -draws


FLIPS, TRAINED, AGREEMENT = "sign flips", "trained witnesses", "agreement of chains"
NET = "kernel net"


OF_FLIPS = [
    *(
        f"{family}: {kind}"
        for family in ("score", "x", "G1-4", "magnitude pairs")
        for kind in ("sum", "max")
    ),
    *(f"{family}: max" for family in ("tails", "waves", "x pairs", "G2 pairs")),
    "trace: sum",
    "Hotelling: sum",
    "trace of square: sum",
]


OF_TRAINED = ["trained score", "sparse stack", "trained x", "trained stack"]


def arm_pvalue(result: ps.GofResult, name: str) -> float:
    arm = result.evidence.arm(name)
    assert arm is not None
    return arm.pvalue


def arm_names(result: ps.GofResult) -> list[str]:
    return [arm.name for arm in result.evidence.arms]
