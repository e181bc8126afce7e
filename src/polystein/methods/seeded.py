"""The seed among the settings of a result."""

from __future__ import annotations

from dataclasses import replace

from polystein._lib.random import seed_setting
from polystein.results.result import GofResult
from polystein.types import RNG


def with_seed(result: GofResult, rng: RNG) -> GofResult:
    """The result with ``rng`` among its settings, so that it can be had again."""
    return replace(result, settings={**result.settings, "rng": seed_setting(rng)})
