"""The result of a test: statistic, p-value, verdict, and how they came about."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from polystein._lib.arguments import integer, is_finite_number, one_of
from polystein._lib.records import listed, require_types, restore, stored
from polystein.errors import InputError
from polystein.results.coded import coded, coded_from
from polystein.results.diagnostics import Diagnostics
from polystein.results.effects import EffectTable, WithEffects
from polystein.results.evidence import Component, Evidence, Explanation, evidence_shares
from polystein.results.noticeable import Noticeable, noticeable_from_list, noticeable_to_list
from polystein.results.schemas import schema_of
from polystein.results.summary import SummaryTable
from polystein.types import Alternative, ToleranceVerdict, Verdict

SCHEMA_VERSION = 4
#: Version 2 has neither reasons, diagnostics nor effects; early results of version 3 do not say
#: why a tolerance is undecided; before version 4 reasons have no codes.
_READABLE = (2, 3, 4)
_LATER = {
    "reasons": (),
    "diagnostics": None,
    "tolerance": None,
    "tolerance_reason": "",
    "effects": None,
    "noticeable": None,
    "n_chains": 0,
    "n_draws": 0,
}
#: The level of a verdict if no other level is given.
DEFAULT_LEVEL = 0.05


@dataclass(frozen=True, repr=False)
class GofResult(WithEffects):
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
    dimension : int
        Number d of coordinates.
    weights : mapping or None
        lambda for each named feature; None if the test has no weights.
    components : tuple of Component
        For z-tests, each feature: its name, what it looks at, its own z on the test rows,
        its weight, and its share in the statistic.
    evidence : Evidence
        The parts of a test that has several, and quantities that were estimated.
    ess : float
        Effective number of test rows; of `check` on chains, the least of draws and scores.
    n_train, n_gap, n_test : int
        Numbers of training rows, of rows dropped between, and of test rows.
    n_chains, n_draws : int
        Of `check` on chains, their number and the draws of the longest; 0 otherwise.
    statistic_name : str
        What the statistic is called in reports.
    settings : mapping
        Every option that led to the result, and nothing else.
    warnings : tuple of str
        Messages of the warnings that were emitted.
    reasons : tuple of str
        Why a p-value above the level leaves the question open, and what to do about it; only
        `check` gives any. Each has a ``code`` and a ``parameter`` beside its ``text``.
    diagnostics : Diagnostics or None
        Of `check`: R-hat and ESS of draws and scores of chains, Pareto k-hat of a variational fit.
    tolerance : str or None
        Whether every mean and sd is ``"within"`` the tolerance that `check` was given, one is
        ``"beyond"`` it, or that is ``"undecided"``; None if it was given none.
    tolerance_reason : str
        What the verdict on the tolerance rests on: of "within" how far that goes, of "beyond" which
        parameter, of "undecided" how many are settled, which are open and why. Empty without a
        tolerance.
    effects : EffectTable
        Of `check`: which property of which parameter is off, by how much. Computed when it is
        asked for; ``effect_table`` is None before that.
    noticeable : tuple of Noticeable
        Of `check`: the sizes of faults that it would have noticed with these draws. Computed when
        it is asked for; ``noticeable_faults`` is None before that.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(1000, 2))
    >>> result = ps.psd_test(draws, lambda x: -x, order=1, rng=1)
    >>> result.verdict, result.rejected(alpha=0.001)
    ('rejected', True)
    >>> ps.GofResult.from_dict(result.to_dict()) == result
    True
    """

    statistic: float
    pvalue: float
    alternative: Alternative
    method: str
    dimension: int
    weights: Mapping[str, float] | None = None
    components: tuple[Component, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    ess: float = math.nan
    n_train: int = 0
    n_gap: int = 0
    n_test: int = 0
    n_chains: int = 0
    n_draws: int = 0
    statistic_name: str = "z"
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    diagnostics: Diagnostics | None = None
    tolerance: ToleranceVerdict | None = None
    tolerance_reason: str = ""
    effect_table: EffectTable | None = field(default=None, compare=False)
    noticeable_faults: tuple[Noticeable, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse what no test gives; a p-value of NaN must never pass for "not rejected"."""
        if not (is_finite_number(self.statistic) or isinstance(self.statistic, float)):
            raise InputError(f"`statistic` must be a real number; got {self.statistic!r}")
        if not (is_finite_number(self.pvalue) and 0.0 <= self.pvalue <= 1.0):
            raise InputError(f"`pvalue` must be between 0 and 1; got {self.pvalue!r}")
        one_of(self.alternative, Alternative, "alternative")
        if not isinstance(self.method, str):
            raise InputError(f"`method` must be a string; got {self.method!r}")
        integer(self.dimension, "dimension", least=1)
        object.__setattr__(self, "reasons", coded(self.reasons))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Before there were codes, reasons were plain strings.
        restore(self, {**state, "reasons": coded(state.get("reasons", ()))})

    def rejected(self, alpha: float = DEFAULT_LEVEL) -> bool:
        """Whether H0 is rejected at the level: the p-value is at most `alpha`."""
        if not (is_finite_number(alpha) and 0.0 < alpha < 1.0):
            raise InputError(f"`alpha` must be a level strictly between 0 and 1; got {alpha!r}")
        return self.pvalue <= alpha

    @property
    def verdict(self) -> Verdict:
        """The verdict at the level 0.05: "rejected", "not rejected" or "inconclusive"."""
        return self.verdict_at(DEFAULT_LEVEL)

    def verdict_at(self, alpha: float) -> Verdict:
        """The verdict at a level.

        It is "rejected" if the p-value is at most `alpha`. Otherwise it is "inconclusive"
        if there are `reasons` not to trust a large p-value, and "not rejected" if there are
        none.
        """
        if self.rejected(alpha):
            return "rejected"
        return "inconclusive" if self.reasons else "not rejected"

    @property
    def has_own_statistic(self) -> bool:
        """Whether the statistic says more than the p-value; that of `check` is its quantile."""
        return self.method != "check"

    def explain(self) -> Explanations:
        """Features or parts in the order of their share in the verdict, largest first.

        `print` shows them with the rows that were used, and what did not judge.
        """
        parts = self.evidence.parts
        rows = [
            Explanation(one.name, one.words, one.z, one.weight, None, one.share)
            for one in self.components
        ]
        rows += [
            Explanation(part.name, part.words, part.z, None, part.level_share, share, part.pvalue)
            for part, share in zip(parts, evidence_shares(parts), strict=True)
        ]
        return Explanations(sorted(rows, key=lambda row: -abs(row.share)), self)

    def summary(self) -> SummaryTable:
        """Mean, sd, R-hat and ESS of every parameter, and whether it is off; `print` shows them.

        For results of `check` that still have their draws. Effects are computed for this.
        """
        compute = self.__dict__.get("_compute_summary")
        if compute is None:
            raise InputError(
                "`summary` needs the draws, which only a result of `check` has that was neither "
                "stored nor pickled. Call `check` on the draws again"
            )
        found: SummaryTable = compute(self)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON: None stands for NaN and infinity.

        In ``diagnostics``, which have both, infinity is ``"inf"``.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values["components"] = [part._asdict() for part in self.components]
        values["evidence"] = self.evidence.to_dict()
        values["reasons"] = [one.to_dict() for one in coded(self.reasons)]
        values["diagnostics"] = None if self.diagnostics is None else self.diagnostics.to_dict()
        table = values.pop("effect_table")
        values["effects"] = None if table is None else table.to_dict()
        values["noticeable"] = noticeable_to_list(values.pop("noticeable_faults"))
        values["verdict"] = self.verdict
        plain: dict[str, Any] = _plain({"schema_version": SCHEMA_VERSION, **values})
        return plain

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON schema of what `to_dict` gives, and `--json` prints."""
        return schema_of("result")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GofResult:
        """The result that `to_dict` was called on; unknown keys are ignored."""
        with stored(values) as content:
            made = cls._from_stored(content)
            require_types(made)
            require_verdict(made.verdict_at, made.pvalue, content)
        return made

    @classmethod
    def _from_stored(cls, values: Mapping[str, Any]) -> GofResult:
        version = values.get("schema_version")
        if version not in _READABLE:
            raise InputError(
                f"`values` must come from `to_dict` with schema_version {_READABLE[0]} to "
                f"{SCHEMA_VERSION}; got schema_version {version!r}. Run the test again with this "
                "version."
            )
        values = {**_LATER, **values}
        computed = ("effect_table", "noticeable_faults")
        known = {one.name: values[one.name] for one in fields(cls) if one.name not in computed}
        known["noticeable_faults"] = noticeable_from_list(values["noticeable"])
        table = values["effects"]
        known["effect_table"] = None if table is None else EffectTable.from_dict(table)
        components = listed(values["components"], "components")
        known["components"] = tuple(Component(**one) for one in components)
        known["evidence"] = Evidence.from_dict(values["evidence"])
        known["warnings"] = listed(values["warnings"], "warnings")
        known["reasons"] = coded_from(values["reasons"])
        for name in ("statistic", "ess"):
            known[name] = math.nan if values[name] is None else float(values[name])
        if values["tolerance"] is not None and not is_finite_number(
            values["settings"]["tolerance"]
        ):
            raise TypeError("the tolerance among the settings is no number")
        if values["diagnostics"] is not None:
            known["diagnostics"] = Diagnostics.from_dict(values["diagnostics"])
        return cls(**known)

    def to_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a self-contained HTML page, which needs Jinja2 (extra ``html``); return its path.

        An earlier page is replaced, another file only with ``overwrite=True``.
        """
        from polystein._lib.files import writing
        from polystein.report.result_page import write_page

        with writing("path", path):
            write_page(self, path, overwrite=overwrite)
        return Path(path)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the plot that fits the result, on new axes unless some are given.

        Weights for lambda-PSD (`plot_weights`), effects for a `check` that is rejected
        (`plot_effects`), and otherwise the evidence (`plot_evidence`). Takes and returns
        Matplotlib's Axes.

        Examples
        --------
        >>> import numpy as np
        >>> import polystein as ps
        >>> draws = np.random.default_rng(0).normal(0.2, 1.0, size=(1000, 2))
        >>> ax = ps.psd_test(draws, lambda x: -x, order=1, rng=1).plot()
        >>> ax.get_title(loc="left")
        'Rejected (PSD z-test, order 1, dimension 2)'
        """
        from polystein.report.bars import fitting_plot

        return fitting_plot(self, ax)

    def __repr__(self) -> str:
        statistic = f", {self.statistic_name} = {self.statistic:.4g}"
        own = statistic if self.has_own_statistic else ""
        # A p-value of 1 is no sign of a fault, and no number.
        number = "> 0.99" if self.pvalue >= 0.995 else f"= {self.pvalue:.3g}"
        return f"GofResult({self.method}: {self.verdict}, p {number}{own})"

    def __str__(self) -> str:
        from polystein.report.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from polystein.report.html import fragment

        return fragment(self)


class Explanations(list[Explanation]):
    """What `GofResult.explain` gives: a list of rows that `print` shows as a table."""

    def __init__(self, rows: Iterable[Explanation], result: GofResult) -> None:
        super().__init__(rows)
        self.result = result

    def __repr__(self) -> str:
        first = f", first {self[0].words}" if self else ""
        return f"Explanations({len(self)} rows{first})"

    def __str__(self) -> str:
        from polystein.report.explanation import explanation_text

        return explanation_text(self.result)

    def _repr_html_(self) -> str:
        from polystein.report.html import preformatted

        return preformatted(str(self))


def require_verdict(
    verdict_at: Callable[[float], Verdict], pvalue: float, values: Mapping[str, Any]
) -> None:
    """Refuse a stored verdict that the p-value and the reasons do not give.

    The command line stores the verdict at the level ``alpha``, which it stores, too.
    """
    alpha: Any = values.get("alpha")
    level = alpha if is_finite_number(alpha) and 0.0 < alpha < 1.0 else DEFAULT_LEVEL
    usual = verdict_at(DEFAULT_LEVEL)
    if (found := values.get("verdict", usual)) not in (usual, verdict_at(level)):
        raise InputError(
            f"`values` must be what `to_dict` gave; got the verdict {found!r}, but a p-value "
            f"of {pvalue:g} means {verdict_at(level)!r} at the level {level:g}"
        )


def _plain(value: Any) -> Any:
    """The value in types that JSON has: dict, list, str, int, finite float, bool and None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
