"""What a verdict rests on: features, parts and arms of a test, and what was estimated for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polystein._lib.numerics import TINY
from polystein._lib.records import listed
from polystein.inference.pvalues import upper_normal


class Component(NamedTuple):
    """One feature of a z-test.

    ``z`` is its own statistic on the test rows, ``weight`` its lambda and ``share`` its part
    in the mean of u: weight times mean over the sum of those products in absolute value.
    Features of opposite sign worked against each other.
    """

    name: str
    words: str
    z: float
    weight: float
    share: float


class Part(NamedTuple):
    """One statistic or trained witness among several that share the level of a test.

    ``words`` say what it looks at; ``orders`` and ``coordinates`` are those that stand out,
    with no coordinates if it looks at all of them together. ``direction`` has the coordinates
    with their loadings in words, if the part looks along a direction and one stands out.
    """

    name: str
    words: str
    orders: tuple[str, ...]
    coordinates: tuple[str, ...]
    pvalue: float
    level_share: float
    direction: str = ""

    @property
    def z(self) -> float:
        """The standard normal quantile of 1 - pvalue."""
        return float(upper_normal(self.pvalue))

    @property
    def adjusted(self) -> float:
        """The p-value that the part would have on its share of the level alone."""
        return min(1.0, self.pvalue / self.level_share)


class Arm(NamedTuple):
    """One of the tests that share the level: its p-value, its parts, and the rows it judged.

    ``pvalue`` allows for the arm's share of the level already.
    """

    name: str
    rows: str
    pvalue: float
    parts: tuple[Part, ...]

    @property
    def leading(self) -> Part:
        """The part with the smallest adjusted p-value."""
        return min(self.parts, key=lambda part: part.adjusted)

    def with_level_share(self, share: float) -> Arm:
        """The arm with this share of the level (Bonferroni); its p-value stays at most 1."""
        parts = tuple(part._replace(level_share=part.level_share * share) for part in self.parts)
        return self._replace(pvalue=min(1.0, self.pvalue / share), parts=parts)


class Abstention(NamedTuple):
    """An arm that did not judge, and why."""

    name: str
    reason: str


class Contribution(NamedTuple):
    """A coordinate's, or an entry's, share in the mean of u."""

    name: str
    share: float


class Explanation(NamedTuple):
    """One row of `GofResult.explain`: a feature or a part, and its share in the verdict.

    ``weight`` is lambda, None for a part; ``level_share`` and ``pvalue`` are None for a feature.
    """

    name: str
    words: str
    z: float
    weight: float | None
    level_share: float | None
    share: float
    pvalue: float | None = None


@dataclass(frozen=True)
class Evidence:
    """What a test found on the way to its verdict.

    Attributes
    ----------
    arms : tuple of Arm
        The tests that share the level, the one with the smallest p-value first.
    coordinates, entries : tuple of Contribution
        The coordinates and entries of the matrices with the largest shares in the mean of u,
        for weights finer than one for each order.
    split_pvalues : tuple of float
        The p-value of each random split, if there were several.
    estimates : mapping
        Quantities that were estimated from the draws: trained locations, the length of the
        multipliers' autocorrelation, the effective number of importance weights.
    abstained : tuple of Abstention
        The arms that did not judge these draws, each with its reason.
    """

    arms: tuple[Arm, ...] = ()
    coordinates: tuple[Contribution, ...] = ()
    entries: tuple[Contribution, ...] = ()
    split_pvalues: tuple[float, ...] = ()
    estimates: Mapping[str, Any] = field(default_factory=dict)
    abstained: tuple[Abstention, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of all arms."""
        return tuple(part for arm in self.arms for part in arm.parts)

    def arm(self, name: str) -> Arm | None:
        """The arm of this name; None if the test has no such arm or it abstained."""
        return next((arm for arm in self.arms if arm.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """The evidence as nested dictionaries and lists."""
        return {
            "arms": [
                {**arm._asdict(), "parts": [part._asdict() for part in arm.parts]}
                for arm in self.arms
            ],
            "coordinates": [one._asdict() for one in self.coordinates],
            "entries": [one._asdict() for one in self.entries],
            "split_pvalues": list(self.split_pvalues),
            "estimates": dict(self.estimates),
            "abstained": [one._asdict() for one in self.abstained],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Evidence:
        """The evidence that `to_dict` was called on."""
        return cls(
            arms=tuple(_arm(arm) for arm in listed(values["arms"], "arms")),
            coordinates=_contributions(values, "coordinates"),
            entries=_contributions(values, "entries"),
            split_pvalues=listed(values["split_pvalues"], "split_pvalues"),
            estimates=dict(values["estimates"]),
            abstained=tuple(
                Abstention(**one) for one in listed(values.get("abstained", ()), "abstained")
            ),
        )


def _contributions(values: Mapping[str, Any], name: str) -> tuple[Contribution, ...]:
    return tuple(Contribution(**one) for one in listed(values[name], name))


def _arm(values: Mapping[str, Any]) -> Arm:
    parts = tuple(
        Part(**{**part, **{name: listed(part[name], name) for name in ("orders", "coordinates")}})
        for part in listed(values["parts"], "parts")
    )
    if not parts:
        raise ValueError(f"the arm {values['name']!r} has no parts")
    if not all(part.level_share > 0.0 for part in parts):
        raise ValueError(f"a part of the arm {values['name']!r} has no share of the level")
    return Arm(**{**values, "parts": parts})


def evidence_shares(parts: Sequence[Part]) -> list[float]:
    """Each part's share in the evidence, the sum of -log of the adjusted p-values."""
    evidence = [-math.log(max(part.adjusted, TINY)) for part in parts]
    total = max(sum(evidence), TINY)
    return [value / total for value in evidence]
