"""What a test of a sampler found, and the errors that say it did not pass."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from polystein._lib.arguments import is_finite_number
from polystein.errors import FaultError, InputError, UndecidedError
from polystein.types import FloatArray

Outcome: TypeAlias = Literal["passed", "failed", "undecided"]

#: The false-alarm rate where neither the call nor the test's marker gives one.
FALSE_ALARM = 1e-3
#: What the marker of the running test says.
_marked: ContextVar[float] = ContextVar("false_alarm", default=FALSE_ALARM)
#: All tests of this process, for pytest's summary: identifier, rate, outcome and call.
record: list[dict[str, Any]] = []
#: Most effects that a message lists.
_SHOWN = 8


class Detect(NamedTuple):
    """What a test must notice, with a chance of 95 %.

    Attributes
    ----------
    mean : float
        A mean that is off by this many sds.
    sd : float
        An sd that is off by this part.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def sampler(seed, n):
    ...     return np.random.default_rng(seed).standard_normal((n, 1))
    >>> wanted = ps.testing.Detect(mean=0.05, sd=0.05)  # or the pair (0.05, 0.05)
    >>> found = ps.testing.assert_draws_from(sampler, lambda x: -x, detect=wanted)
    >>> found.noticed.mean <= 0.05
    True
    """

    mean: float = 0.1
    sd: float = 0.05


class FoundEffect(NamedTuple):
    """One feature that does not fit the target."""

    kind: str
    name: str
    size: float
    error: float
    pvalue: float

    def __str__(self) -> str:
        sign, size = "+" if self.size > 0.0 else "-", abs(self.size)
        texts = {
            "mean": f"the mean of `{self.name}` is off by {sign}{size:.3g} sd",
            "sd": f"the sd of `{self.name}` is off by {sign}{100.0 * size:.3g} %",
            "shape": f"the shape of `{self.name}` does not fit ({sign}{size:.3g})",
            "dependence": f"the dependence of `{self.name.replace(', ', '` and `')}` is off by "
            f"{sign}{size:.3g} (as a correlation)",
        }
        return f"{texts[self.kind]}, standard error {self.error:.2g}, p = {self.pvalue:.2g}"


@dataclass(frozen=True)
class SamplerTest:
    """The answer of a test of a sampler or kernel.

    Attributes
    ----------
    outcome : str
        ``"passed"``, ``"failed"`` or ``"undecided"``.
    false_alarm : float
        The rate at which a correct sampler fails, over all looks and features.
    pvalue : float
        The smallest p-value of all looks and features, each over its share of the level.
    draws : int
        Draws that were taken, pilots among them.
    needed : int
        Draws that `detect` takes; ``draws`` if the test passed.
    noticed : Detect
        The errors of means and sds that would have been noticed with a chance of 95 %, by the
        worst coordinate.
    effects : tuple of FoundEffect
        What is off, the surest first.
    seeds : tuple of int or None
        The seeds that the sampler was given, in their order.
    settings : str
        The call that runs the same test again, with your `sampler` (or `kernel`, with `draws`) and
        `target`.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def sampler(seed, n):
    ...     return np.random.default_rng(seed).standard_normal((n, 1))
    >>> found = ps.testing.assert_draws_from(sampler, lambda x: -x)
    >>> found.outcome, found.false_alarm
    ('passed', 0.001)
    >>> print(found.settings)  # doctest: +NORMALIZE_WHITESPACE
    ps.testing.assert_draws_from(sampler, target, n=100, false_alarm=0.001,
        detect=(0.1, 0.05), budget=100000, rng=0)
    """

    outcome: Outcome
    false_alarm: float
    pvalue: float
    draws: int
    needed: int
    noticed: Detect
    effects: tuple[FoundEffect, ...]
    seeds: tuple[int, ...] | None = field(repr=False)
    settings: str

    def __bool__(self) -> NoReturn:
        raise InputError("a test must not be taken as true or false; ask for its `outcome`")

    def __str__(self) -> str:
        words = {
            "passed": "No fault was found",
            "failed": "The draws are not from the target"
            if self.seeds is not None
            else "The transition does not leave the target invariant",
            "undecided": "No fault was found, and smaller ones than asked for may be there",
        }
        lines = [
            f"{words[self.outcome]} (p = {self.pvalue:.2g}, false-alarm rate "
            f"{self.false_alarm:g}, {self.draws:,} draws).",
            *(f"  {effect}" for effect in self.effects[:_SHOWN]),
            f"  A mean off by {self.noticed.mean:.2g} sd, or an sd off by "
            f"{100.0 * self.noticed.sd:.2g} %, would have been noticed in 95 of 100 runs."
            if math.isfinite(max(self.noticed))
            else "  The draws are too few to say what would have been noticed.",
        ]
        if self.outcome == "undecided":
            option = "budget" if self.seeds is not None else "draws"
            lines.append(f"  What was asked for takes about {self.needed:,} draws (`{option}`).")
        if self.seeds is not None:
            first, second, *_, last = self.seeds
            lines.append(
                f"  {len(self.seeds):,} seeds (`result.seeds`): {first}, {second}, ..., {last}."
            )
        return "\n".join([*lines, f"  To run it again: {self.settings}"])


def rate_of(value: object) -> float:
    """The false-alarm rate: the call's, else the marker's, else 1e-3."""
    if value is None:
        return _marked.get()
    if not is_finite_number(value) or not 0.0 < float(value) < 0.5:  # type: ignore[arg-type]
        raise InputError(f"`false_alarm` must be a number above 0 and below 0.5; got {value!r}")
    return float(value)  # type: ignore[arg-type]


@contextmanager
def marked(false_alarm: object) -> Iterator[None]:
    """Tests within have this rate, unless they say otherwise; for the marker of pytest."""
    token = _marked.set(rate_of(false_alarm))
    try:
        yield
    finally:
        _marked.reset(token)


def detected(value: object) -> Detect:
    """What must be noticed, from a pair (mean, sd)."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(f"`detect` must be a pair (mean, sd) of sizes; got {value!r}")
    if not all(is_finite_number(one) and one > 0.0 for one in value):
        raise InputError(f"`detect` must have two positive numbers, in sds; got {value!r}")
    return Detect(float(value[0]), float(value[1]))


def found_effects(
    features: Sequence[tuple[str, str]],
    sizes: FloatArray,
    errors: FloatArray,
    pvalues: FloatArray,
    rate: float,
) -> tuple[FoundEffect, ...]:
    """The features whose p-values, over their shares of the level, are below the rate."""
    return tuple(
        FoundEffect(
            features[place][0],
            features[place][1],
            float(sizes[place]),
            float(errors[place]),
            float(pvalues[place]),
        )
        for place in np.argsort(pvalues).tolist()
        if pvalues[place] <= rate
    )


def answered(result: SamplerTest) -> SamplerTest:
    """Keep a result for the summary; raise it as an error unless the test passed."""
    where = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    record.append(
        {
            "test": where,
            "false_alarm": result.false_alarm,
            "outcome": result.outcome,
            "draws": result.draws,
            "again": result.settings,
        }
    )
    if result.outcome == "failed":
        raise FaultError(str(result), result)
    if result.outcome == "undecided":
        raise UndecidedError(str(result), result)
    return result
