"""One row for each parameter: where it is, how well that is known, and whether it is off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from polystein._lib.imports import imported
from polystein.errors import InputError


class SummaryRow(NamedTuple):
    """A parameter of the draws, under the names that ArviZ has for its numbers.

    Attributes
    ----------
    name : str
        The parameter.
    mean, mcse_mean, sd, mcse_sd : float
        Mean and sd of the draws, each with its Monte Carlo standard error.
    ess_bulk, ess_tail, r_hat : float
        Rank-normalised, as ArviZ has them. NaN for independent rows, for which they say nothing.
    off : tuple of str
        Which of its properties are off, as in ``("mean", "sd")``; see `effects`.
    """

    name: str
    mean: float
    mcse_mean: float
    sd: float
    mcse_sd: float
    ess_bulk: float
    ess_tail: float
    r_hat: float
    off: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class SummaryTable:
    """Every parameter with its numbers, in the order of the draws; `print` shows them.

    Attributes
    ----------
    rows : tuple of SummaryRow
        Parameters on the model's own scale come first, where they are known, and their
        unconstrained coordinates last.
    """

    rows: tuple[SummaryRow, ...]

    def __getitem__(self, name: str) -> SummaryRow:
        """The row of a parameter, ``table["tau"]``."""
        for row in self.rows:
            if row.name == name:
                return row
        known = ", ".join(repr(row.name) for row in self.rows[:6])
        raise InputError(f"the key must be the name of a parameter, {known}, ...; got {name!r}")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SummaryRow]:
        return iter(self.rows)

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame with the names as its index, as `az.summary` gives."""
        pandas = imported("pandas", None, "`to_dataframe`")
        frame = pandas.DataFrame([row._asdict() for row in self.rows])
        return frame.set_index("name")

    def __repr__(self) -> str:
        off = sum(bool(row.off) for row in self.rows)
        return f"SummaryTable({len(self)} parameters, {off} off)"

    def __str__(self) -> str:
        from polystein.report.summary import summary_text

        return summary_text(self)

    def _repr_html_(self) -> str:
        from polystein.report.html import summary_fragment

        return summary_fragment(self)
