"""What a test says: statistic, p-value, and how they came about."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, stdtr

from polystein.errors import PolysteinWarning
from polystein.protocols import Alternative

SCHEMA_VERSION = 1


class Component(NamedTuple):
    """One feature or witness: its own z on the test rows, and its weight lambda."""

    name: str
    z: float
    weight: float


class Explanation(NamedTuple):
    """One row of `GofResult.explain`: a component and its part in the statistic."""

    name: str
    weight: float
    z: float
    share: float


@dataclass(frozen=True)
class GofResult:
    """Verdict of a goodness-of-fit test of H0: the draws come from the target.

    Attributes
    ----------
    statistic : float
        The z-statistic; for bootstrap tests n times the squared discrepancy.
    pvalue : float
        Under H0, the probability of a statistic at least this far out.
    alternative : str
        ``"two-sided"`` or ``"greater"``.
    method : str
        Name of the test.
    weights : mapping or None
        lambda for each named feature; None where the test has none.
    components : tuple of Component
        Each feature's name, its own z on the test rows, and its weight.
    ess : float
        Effective number of test rows.
    n_train, n_gap, n_test : int
        Rows that trained, that were dropped between, and that tested.
    settings : mapping
        Every option that led to the result.
    warnings : tuple of str
        Messages of the warnings that were emitted.
    """

    statistic: float
    pvalue: float
    alternative: Alternative
    method: str
    weights: Mapping[str, float] | None = None
    components: tuple[Component, ...] = ()
    ess: float = math.nan
    n_train: int = 0
    n_gap: int = 0
    n_test: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def explain(self) -> list[Explanation]:
        """Components in the order of their part in the statistic, largest first.

        A component's share is weight times mean over the sum of those products
        in absolute value; shares of opposite sign worked against each other.
        """
        shares = self.settings.get("shares", {})
        rows = [
            Explanation(part.name, part.weight, part.z, shares.get(part.name, math.nan))
            for part in self.components
        ]
        return sorted(rows, key=lambda row: -abs(row.share))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON: None stands for NaN and infinity."""
        values = asdict(self)
        values["components"] = [part._asdict() for part in self.components]
        plain: dict[str, Any] = _plain({"schema_version": SCHEMA_VERSION, **values})
        return plain

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page."""
        from polystein.report.html import write_page

        write_page(self, path)

    def __str__(self) -> str:
        from polystein.report.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from polystein.report.html import fragment

        return fragment(self)


def _plain(value: Any) -> Any:
    """Lists, dicts, str, int, finite float, bool and None: what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Notes:
    """Warnings gathered while a test runs, emitted once at its end."""

    def __init__(self) -> None:
        self._items: list[PolysteinWarning] = []

    def add(self, warning: PolysteinWarning) -> None:
        """Keep a warning for later, but only once what several splits may say."""
        first = str(warning).split()[:4]
        if not any(str(item).split()[:4] == first for item in self._items):
            self._items.append(warning)

    @property
    def messages(self) -> tuple[str, ...]:
        """The texts, in the order in which they came."""
        return tuple(str(item) for item in self._items)

    def emit(self) -> None:
        """Emit everything, pointing at the line outside of the package that called it."""
        frame, level = sys._getframe(), 1
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("polystein."):
            frame, level = frame.f_back, level + 1
        for item in self._items:
            warnings.warn(item, stacklevel=level)


def tail_probability(statistic: float, df: float, alternative: Alternative) -> float:
    """P-value of a z- or (for finite df) a t-statistic."""
    upper = -abs(statistic) if alternative == "two-sided" else -statistic
    tail = float(ndtr(upper)) if math.isinf(df) else float(stdtr(df, upper))
    return min(1.0, 2.0 * tail) if alternative == "two-sided" else tail
