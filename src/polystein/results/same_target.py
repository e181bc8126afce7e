"""Whether two targets are the same up to a constant, and what differs if they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

from polystein._lib.imports import imported
from polystein._lib.records import listed, require_types, stored
from polystein.errors import InputError
from polystein.results.schemas import schema_of

SCHEMA_VERSION = 1
#: What a difference looks like.
Pattern: TypeAlias = Literal[
    "sign",
    "factor",
    "jacobian",
    "prior location",
    "prior scale",
    "prior",
    "observations",
    "unrecognised",
    "parametrisation",
    "support",
    "noise",
    "log-density",
]
#: How exactly the scores could be compared.
Precision: TypeAlias = Literal["double", "single", "differences"]


class TargetDifference(NamedTuple):
    """One parameter in which two targets differ.

    Attributes
    ----------
    parameter : str
        The coordinate, by its name in `a` or, if the draws are those of `b`, in `b`. Empty if a
        difference was found from log-densities alone.
    pattern : str
        ``"sign"``, ``"factor"``, ``"jacobian"``, ``"prior location"``, ``"prior scale"``,
        ``"prior"`` (of another form), ``"observations"``, ``"unrecognised"`` (it differs, in no
        known way), ``"parametrisation"``, ``"support"``, ``"noise"`` or ``"log-density"``.
    size : float
        Root mean square of the difference of the scores, in units of 1 / sd of the parameter. For
        log-densities it is the sd of their difference, and for the support the share of the draws
        that are outside.
    text : str
        What the difference is, in words.
    """

    parameter: str
    pattern: Pattern
    size: float
    text: str


@dataclass(frozen=True, repr=False)
class TargetComparison:
    """Whether two targets are the same up to a constant; `print` shows what differs.

    It is neither true nor false: ``if ps.same_target(a, b)`` would hold for every comparison, as
    for any other result, and is therefore an error. Ask for ``same``.

    Attributes
    ----------
    same : bool
        Whether no difference is beyond rounding, at the draws that were looked at.
    differences : tuple of TargetDifference
        One row for each parameter that differs, the largest first.
    constant : float or None
        The log-density of `b` less that of `a`. None if one is not known, or if it is not constant.
    precision : str
        What the scores were compared to: ``"double"`` or ``"single"`` precision, or
        ``"differences"`` of a log-density where there are no gradients.
    rounding : float
        The largest difference that counts as rounding: relative to the terms of the scores, or in
        units of 1 / sd if that is less.
    mapping : tuple of str
        How coordinates of one target were mapped to the other, where it is not one to one.
    draws : int
        How many draws were compared.
    dimension : int
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((100, 2))
    >>> found = ps.same_target(lambda x: -x, lambda x: x, draws=draws)
    >>> found.same
    False
    >>> [(row.parameter, row.pattern) for row in found]
    [('x[0]', 'sign'), ('x[1]', 'sign')]
    """

    same: bool
    differences: tuple[TargetDifference, ...]
    constant: float | None
    precision: Precision
    rounding: float
    mapping: tuple[str, ...]
    draws: int
    dimension: int

    def __bool__(self) -> NoReturn:
        raise InputError(
            "a comparison of targets must not be taken as true or false; ask for its `same`"
        )

    def __iter__(self) -> Iterator[TargetDifference]:
        return iter(self.differences)

    def to_dataframe(self) -> Any:
        """The differences as a pandas DataFrame."""
        pandas = imported("pandas", None, "`to_dataframe`")
        rows = [row._asdict() for row in self.differences]
        return pandas.DataFrame(rows, columns=list(TargetDifference._fields))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "method": "same_target",
            "same": self.same,
            "differences": [row._asdict() for row in self.differences],
            "constant": self.constant,
            "precision": self.precision,
            "rounding": self.rounding,
            "mapping": list(self.mapping),
            "draws": self.draws,
            "dimension": self.dimension,
        }

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON schema of what `to_dict` gives."""
        return schema_of("comparison")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TargetComparison:
        """The comparison that `to_dict` was called on."""
        with stored(values) as content:
            if (version := content["schema_version"]) != SCHEMA_VERSION:
                raise InputError(
                    f"`values` must come from `to_dict` with schema_version {SCHEMA_VERSION}; got "
                    f"{version!r}"
                )
            rows = listed(content["differences"], "differences")
            made = cls(
                content["same"],
                tuple(TargetDifference(**row) for row in rows),
                content["constant"],
                content["precision"],
                content["rounding"],
                listed(content["mapping"], "mapping"),
                content["draws"],
                content["dimension"],
            )
            require_types(made)
            if made.same == bool(rows):
                raise TypeError("`same` must be the opposite of having differences")
        return made

    def __repr__(self) -> str:
        what = "same" if self.same else ", ".join(dict.fromkeys(one.pattern for one in self))
        return f"TargetComparison({what}; {self.draws} draws, d={self.dimension})"

    def __str__(self) -> str:
        from polystein.report.same_target import render_comparison

        return render_comparison(self)

    def _repr_html_(self) -> str:
        from polystein.report.html import comparison_fragment

        return comparison_fragment(self)
