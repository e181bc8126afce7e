"""The verdicts on many fits: p-values that allow for each other, in one table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from polystein._lib.arguments import is_finite_number, is_integer, one_of
from polystein._lib.imports import imported
from polystein._lib.notes import first_of
from polystein._lib.records import listed, stored
from polystein.errors import InputError
from polystein.inference.pvalues import benjamini_hochberg, holm
from polystein.results.coded import CodedText, coded
from polystein.results.result import GofResult
from polystein.results.schemas import schema_of
from polystein.types import Adjustment

MANY_SCHEMA_VERSION = 2
#: Before version 2 reasons have no codes.
_READABLE = (1, 2)
#: The verdict on a fit, or that it could not be checked.
FitVerdict: TypeAlias = Literal["error", "rejected", "inconclusive", "not rejected"]
#: The worst first.
WORST_FIRST: tuple[FitVerdict, ...] = ("error", "rejected", "inconclusive", "not rejected")
_ADJUST = {"holm": holm, "benjamini-hochberg": benjamini_hochberg}


class CheckedFit(NamedTuple):
    """What `check` said about one fit, before others are allowed for.

    ``draws`` is the length of the longest chain. A fit that could not be checked has an ``error``,
    no result, and zeros. ``coarse`` says whether no sign flip was as far out as the draws: their
    p-value is then the smallest that so many flips can give.
    """

    name: str
    chains: int = 0
    draws: int = 0
    result: GofResult | None = None
    coarse: bool = False
    error: str = ""


class CheckRow(NamedTuple):
    """The verdict on one of many fits.

    Attributes
    ----------
    name : str
        The name of the fit.
    verdict : str
        ``"rejected"`` if the adjusted p-value is at most the level. Else ``"inconclusive"`` if
        there are ``reasons``, and ``"not rejected"`` if there are none. ``"error"`` if the fit
        could not be checked.
    pvalue, adjusted : float or None
        The p-value of `check`, and what becomes of it if all fits are allowed for. None if the fit
        could not be checked.
    chains, draws, dimension : int
        Number of chains, of draws of the longest chain, and of coordinates.
    reasons : tuple of str
        Why an adjusted p-value above the level leaves the question open.
    error : str
        Why the fit could not be checked. Else empty.
    result : GofResult or None
        All that `check` found, for this fit by itself.
    """

    name: str
    verdict: FitVerdict
    pvalue: float | None
    adjusted: float | None
    chains: int
    draws: int
    dimension: int
    reasons: tuple[str, ...]
    error: str
    result: GofResult | None


@dataclass(frozen=True, repr=False)
class CheckTable:
    """The verdicts of `check_many`, a row for each fit; `print` shows them, the worst first.

    Attributes
    ----------
    fits : tuple of CheckedFit
        What `check` said about each fit, in the order in which they were given.
    adjust : str
        How p-values allow for each other: ``"holm"`` or ``"benjamini-hochberg"``.
    alpha : float
        The level of the verdicts.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((2, 4, 500, 2))
    >>> right, wide = (draws[0], -draws[0]), (1.3 * draws[1], -1.3 * draws[1])
    >>> table = ps.check_many({"right": right, "wide": wide})  # the target is N(0, I)
    >>> table
    CheckTable(2 fits: 1 rejected, 1 not rejected)
    >>> [row.name for row in table if row.verdict == "rejected"]
    ['wide']
    >>> print(table["wide"].result.effects.rows[0].sentence)
    the sd of `x[1]` is 30 % too large (26 to 34 %)
    """

    fits: tuple[CheckedFit, ...]
    adjust: Adjustment = "holm"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        """Refuse what no table has."""
        one_of(self.adjust, Adjustment, "adjust")
        if not (is_finite_number(self.alpha) and 0.0 < self.alpha < 1.0):
            raise InputError(
                f"`alpha` must be a level strictly between 0 and 1; got {self.alpha!r}"
            )
        found = isinstance(self.fits, tuple) and self.fits
        if not found or not all(isinstance(one, CheckedFit) for one in self.fits):
            raise InputError(
                "`fits` must be a tuple of at least one checked fit, which `check_many` makes; "
                f"got {self.fits!r}"
            )
        checked_names([one.name for one in self.fits])

    def __getstate__(self) -> dict[str, Any]:
        # Rows are made again: those of an earlier version have reasons without codes.
        return {key: value for key, value in self.__dict__.items() if key != "rows"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update({key: value for key, value in state.items() if key != "rows"})

    @cached_property
    def rows(self) -> tuple[CheckRow, ...]:
        """The verdicts, in the order in which the fits were given."""
        pvalues = [one.result.pvalue for one in self.fits if one.result is not None]
        adjusted = iter(_ADJUST[self.adjust](pvalues).tolist())
        return tuple(
            self._row(one, None if one.result is None else next(adjusted)) for one in self.fits
        )

    def _row(self, fit: CheckedFit, adjusted: float | None) -> CheckRow:
        result, size = fit.result, (fit.chains, fit.draws)
        if result is None or adjusted is None:
            return CheckRow(fit.name, "error", None, None, *size, 0, (), fit.error, None)
        reasons = result.reasons
        # Such a p-value says no more than "one in so many flips", which many fits may need.
        if fit.coarse and adjusted > self.alpha:
            checked = sum(one.result is not None for one in self.fits)
            remedy = (
                f"to allow for {checked} fits. Take more draws, or check fewer fits together."
                if checked > 1
                else f"for the level {self.alpha:g}. Take more draws."
            )
            far = "No sign flip was as far out as the draws, but flips are too few"
            reasons = (CodedText(f"{far} {remedy}", "few-flips"), *reasons)
        verdict: FitVerdict = "inconclusive" if reasons else "not rejected"
        if adjusted <= self.alpha:
            verdict, reasons = "rejected", ()
        return CheckRow(
            fit.name, verdict, result.pvalue, adjusted, *size, result.dimension, reasons, "", result
        )

    @property
    def worst_first(self) -> tuple[CheckRow, ...]:
        """The rows: errors, rejected ones by their p-values, inconclusive ones, the others."""
        return tuple(
            sorted(self.rows, key=lambda row: (WORST_FIRST.index(row.verdict), row.pvalue or 0.0))
        )

    @property
    def verdict(self) -> FitVerdict:
        """The worst verdict of all: "error", "rejected", "inconclusive" or "not rejected"."""
        return min((row.verdict for row in self.rows), key=WORST_FIRST.index)

    def count(self, verdict: str) -> int:
        """How many fits have this verdict."""
        one_of(verdict, FitVerdict, "verdict")
        return sum(row.verdict == verdict for row in self.rows)

    def __getitem__(self, name: str) -> CheckRow:
        """The row of a fit, ``table["nuts"]``."""
        for row in self.rows:
            if row.name == name:
                return row
        known = ", ".join(repr(one.name) for one in self.fits[:6])
        raise InputError(f"the key must be the name of a fit, {known}, ...; got {name!r}")

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[CheckRow]:
        return iter(self.rows)

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame, without the results."""
        pandas = imported("pandas", None, "`to_dataframe`")
        rows = [row._asdict() for row in self.rows]
        return pandas.DataFrame([{k: v for k, v in row.items() if k != "result"} for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON, with the result of every fit."""
        fits = [
            {
                **row._asdict(),
                "reasons": [one.to_dict() for one in coded(row.reasons)],
                "coarse": fit.coarse,
                "result": None if row.result is None else row.result.to_dict(),
            }
            for fit, row in zip(self.fits, self.rows, strict=True)
        ]
        return {
            "schema_version": MANY_SCHEMA_VERSION,
            "adjust": self.adjust,
            "alpha": self.alpha,
            "verdict": self.verdict,
            "fits": fits,
        }

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON schema of what `to_dict` gives, and `--json` prints."""
        return schema_of("checks")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CheckTable:
        """The table that `to_dict` was called on; unknown keys are ignored."""
        with stored(values) as content:
            if (version := content.get("schema_version")) not in _READABLE:
                raise InputError(
                    f"`values` must come from `to_dict` with schema_version {_READABLE[0]} to "
                    f"{MANY_SCHEMA_VERSION}; got schema_version {version!r}. Run `check_many` "
                    "again with this version."
                )
            fits = listed(content["fits"], "fits")
            # Names are keys: they come back as they were given, and are escaped where shown.
            named = [
                {**fit, "name": given["name"]}
                for fit, given in zip(fits, values["fits"], strict=True)
            ]
            made = cls(tuple(map(_stored_fit, named)), content["adjust"], content["alpha"])
            for row, given in zip(made.rows, fits, strict=True):
                for name in ("verdict", "pvalue", "adjusted"):
                    if given[name] != getattr(row, name):
                        raise InputError(
                            f"`values` must be what `to_dict` gave; got {given[name]!r} for "
                            f"{name} of {row.name!r}, which is {getattr(row, name)!r}"
                        )
        return made

    def to_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a self-contained HTML page, which needs Jinja2 (extra ``html``); return its path.

        An earlier page is replaced, another file only with ``overwrite=True``.
        """
        from polystein._lib.files import writing
        from polystein.report.many_page import many_page
        from polystein.report.page import write_document

        with writing("path", path):
            write_document(many_page(self), path, overwrite=overwrite)
        return Path(path)

    def __repr__(self) -> str:
        counts = [f"{self.count(one)} {one}" for one in WORST_FIRST if self.count(one)]
        return f"CheckTable({count_of_fits(len(self))}: {', '.join(counts)})"

    def __str__(self) -> str:
        from polystein.report.many import render_many

        return render_many(self)

    def _repr_html_(self) -> str:
        from polystein.report.many import many_fragment

        return many_fragment(self)


def count_of_fits(count: int) -> str:
    """As in "1 fit" or "3 fits"."""
    return f"{count} fit{'s' * (count != 1)}"


def checked_mapping(given: object, argument: str, least: int) -> list[str]:
    """The names of a mapping of at least so many fits, or an error that shows no arrays."""
    number = ("one fit", "two sets")[least - 1]
    what = f"`{argument}` must be a mapping from names to at least {number}"
    if not isinstance(given, Mapping):
        example = "{'nuts': ..., 'advi': ...}"
        raise InputError(f"{what}, as {example}; got a {type(given).__name__}")
    if len(given) < least:
        raise InputError(f"{what}; got {first_of([repr(name) for name in given], 4) or 'none'}")
    return checked_names(list(given), argument)


def checked_names(names: Sequence[object], argument: str = "fits") -> list[str]:
    """The names of fits as they are, or an error if one is no name or stands there twice."""
    found: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(
                f"`{argument}` must have strings as names, none of them empty; got {name!r}"
            )
        found.append(str.__str__(name))  # an enum of strings shows another text by `str`
    if twice := [name for name, count in Counter(found).items() if count > 1]:
        raise InputError(
            f"`{argument}` must have a name of its own for each fit; got {twice[0]!r} twice"
        )
    return found


def stored_size(values: Mapping[str, Any], name: str, *, least: int) -> tuple[int, int]:
    """How many chains and draws were stored for a fit, or an error."""
    for size in ("chains", "draws"):
        if not is_integer(values[size], least=least):
            raise TypeError(f"the {size} of {name!r} are no number of at least {least}")
    return values["chains"], values["draws"]


def _stored_fit(values: Mapping[str, Any]) -> CheckedFit:
    """A fit that was stored."""
    name, coarse, error = values["name"], values["coarse"], values["error"]
    if type(coarse) is not bool or not isinstance(error, str):
        raise TypeError(f"the fit {name!r} is not what it should be")
    if (values["result"] is None) != bool(error):
        raise TypeError(f"the fit {name!r} must have either a result or an error")
    if error:
        return CheckedFit(name, *stored_size(values, name, least=0), None, coarse, error)
    result = GofResult.from_dict(values["result"])
    return CheckedFit(name, *stored_size(values, name, least=1), result, coarse)
