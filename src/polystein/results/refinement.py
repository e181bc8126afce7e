"""What short runs from the draws say: a verdict, effects, and better draws."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from polystein._lib.arguments import is_finite_number
from polystein._lib.records import listed, require_types, restore, stored
from polystein.data.facts import Facts
from polystein.data.sample import Sample
from polystein.data.target import Target, scores_by_differences
from polystein.errors import InputError
from polystein.results.coded import coded, coded_from
from polystein.results.effects import EffectTable
from polystein.results.result import DEFAULT_LEVEL, require_verdict
from polystein.results.schemas import schema_of
from polystein.types import FloatArray, ToleranceVerdict, Verdict

SCHEMA_VERSION = 2
#: Before version 2 reasons have no codes.
_READABLE = (1, 2)


@dataclass(frozen=True, eq=False)
class MovedRows:
    """The rows after the runs, with their scores if gradients are known."""

    position: FloatArray
    score: FloatArray | None
    names: tuple[str, ...] | None
    target: Target | None


@dataclass(frozen=True, repr=False)
class Refinement:
    """Verdict of short runs that leave the target invariant, started from the draws.

    Attributes
    ----------
    pvalue : float
        Of the largest difference between before and after, by sign flips. It is exact for
        independent draws, and holds for long chains.
    statistic : float
        The sum of the differences that stand out most, over the root of their sum of squares. Its
        absolute value where the runs have not settled.
    leading : str
        What stands out most.
    effects : EffectTable
        Mean and sd of every coordinate, and of the model's own parameters. Rows have a size and a
        sign where the runs have settled.
    settled : bool
        Whether the runs have forgotten where they were.
    still_moving : tuple of str
        The coordinates that have not, the slowest first.
    tolerance : str or None
        Whether every mean and sd is ``"within"`` the tolerance, one is ``"beyond"`` it, or that is
        ``"undecided"``; None if none was given.
    tolerance_reason : str
        What that rests on.
    kernel : str
        ``"HMC"``, or ``"Metropolis"`` where there are no gradients.
    acceptance : float
        Mean chance of acceptance of the main kind of steps.
    gradients : int
        How many rows the log-density, with its gradient, was evaluated at, pilots included.
    transitions : int
        How many transitions the starts made.
    starts, pilots, groups : int
        Numbers of rows that were compared, of rows that everything was tuned by, and of separate
        groups that were found.
    reasons : tuple of str
        Why a p-value above the level leaves the question open. Each has a ``code`` and a
        ``parameter`` beside its ``text``.
    settings : mapping
        Every option that led to the result.
    warnings : tuple of str
        Messages of warnings that were emitted when the draws came in.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((2000, 2)) * [1.0, 0.7]
    >>> def log_density(x):  # the target is N(0, I)
    ...     return -0.5 * np.sum(x**2, axis=1)
    >>> refined = ps.refine(draws, log_density=log_density, scores=lambda x: -x)
    >>> refined.verdict, refined.settled
    ('rejected', True)
    >>> better = refined.draws  # a Sample
    >>> print(np.asarray(better.draws).std(axis=0).round(1))
    [1. 1.]
    """

    pvalue: float
    statistic: float
    leading: str
    effects: EffectTable
    settled: bool
    still_moving: tuple[str, ...]
    tolerance: ToleranceVerdict | None
    tolerance_reason: str
    kernel: str
    acceptance: float
    gradients: int
    transitions: int
    starts: int
    pilots: int
    groups: int
    dimension: int
    reasons: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    moved: MovedRows | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse a p-value that is none."""
        if not (is_finite_number(self.pvalue) and 0.0 <= self.pvalue <= 1.0):
            raise InputError(f"`pvalue` must be between 0 and 1; got {self.pvalue!r}")
        object.__setattr__(self, "reasons", coded(self.reasons))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Before there were codes, reasons were plain strings.
        restore(self, {**state, "reasons": coded(state.get("reasons", ()))})

    @property
    def verdict(self) -> Verdict:
        """The verdict at the level 0.05: "rejected", "not rejected" or "inconclusive"."""
        return self.verdict_at(DEFAULT_LEVEL)

    def verdict_at(self, alpha: float) -> Verdict:
        """The verdict at a level; it is inconclusive if there are `reasons` and no rejection."""
        if not (is_finite_number(alpha) and 0.0 < alpha < 1.0):
            raise InputError(f"`alpha` must be a level strictly between 0 and 1; got {alpha!r}")
        if self.pvalue <= alpha:
            return "rejected"
        return "inconclusive" if self.reasons else "not rejected"

    @property
    def draws(self) -> Sample:
        """The starts after the runs, with scores and the target: better draws than before.

        Without gradients the scores are differences of the log-density, computed when the draws
        are asked for.
        """
        moved = self.moved
        if moved is None:
            raise InputError(
                "`draws` must be taken before a refinement is stored as a dictionary; this one was "
                "read from one. Run `refine` again."
            )
        score = moved.score
        if score is None:
            if moved.target is None:
                raise InputError(
                    "`draws` must be asked for before a refinement without gradients is pickled, "
                    "which loses the target that their scores come from"
                )
            score = scores_by_differences(moved.target, moved.position)
        return Sample(moved.position, score, names=moved.names, facts=Facts(target=moved.target))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON, without the draws."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "moved"}
        for name in ("still_moving", "warnings"):
            values[name] = list(values[name])
        values["reasons"] = [one.to_dict() for one in coded(self.reasons)]
        return {
            "schema_version": SCHEMA_VERSION,
            "method": "refine",
            "verdict": self.verdict,
            **values,
            "effects": self.effects.to_dict(),
            "settings": dict(self.settings),
        }

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON schema of what `to_dict` gives, and `--json` prints."""
        return schema_of("refinement")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Refinement:
        """The refinement that `to_dict` was called on, without its draws."""
        with stored(values) as content:
            if (version := content["schema_version"]) not in _READABLE:
                raise InputError(
                    f"`values` must come from `to_dict` with schema_version {_READABLE[0]} to "
                    f"{SCHEMA_VERSION}; got schema_version {version!r}"
                )
            known = {one.name: content[one.name] for one in fields(cls) if one.name != "moved"}
            for name in ("still_moving", "warnings"):
                known[name] = listed(known[name], name)
            known["reasons"] = coded_from(content["reasons"])
            known["effects"] = EffectTable.from_dict(content["effects"])
            made = cls(**known)
            require_types(made)
            require_verdict(made.verdict_at, made.pvalue, content)
        return made

    def to_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a self-contained HTML page, which needs Jinja2 (extra ``html``); return its path.

        An earlier page is replaced, another file only with ``overwrite=True``.
        """
        from polystein._lib.files import writing
        from polystein.report.page import write_document
        from polystein.report.refinement_page import refinement_page

        with writing("path", path):
            write_document(refinement_page(self), path, overwrite=overwrite)
        return Path(path)

    def __repr__(self) -> str:
        settled = "settled" if self.settled else "still moving"
        return f"Refinement({self.verdict}, p = {self.pvalue:.3g}, {settled})"

    def __str__(self) -> str:
        from polystein.report.refinement import render_refinement

        return render_refinement(self)

    def _repr_html_(self) -> str:
        from polystein.report.html import refinement_fragment

        return refinement_fragment(self)
