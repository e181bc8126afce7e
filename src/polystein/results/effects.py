"""Tables of what is wrong and by how much, and of corrected expectations."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.special import ndtri, stdtrit

from polystein.errors import InputError, MissingExtraError
from polystein.types import ToleranceVerdict

#: From this reliability (R^2 out of fold) on, intervals cover as they say.
RELIABLE = 0.99
#: Level at which an effect counts as found, and of simultaneous intervals.
LEVEL = 0.05


class EffectRow(NamedTuple):
    """One property of the sampler's law, beside that of the target.

    Attributes
    ----------
    name : str
        The parameter, or two of them joined by ", ".
    what : str
        ``"mean"``, ``"sd"``, ``"skew"``, ``"tail"``, ``"correlation"``, ``"direction mean"`` or
        ``"direction sd"``.
    size : float
        How far the draws are off. For a mean in standard deviations of the target, for an sd the
        ratio of that of the draws to that of the target, else a difference: of the third or fourth
        standardised moment, or of correlations.
    lower, upper : float
        The interval of level 0.95 for the size, of this row alone.
    pvalue : float
        P-value after Holm's correction for everything that was looked at.
    found : bool
        Whether it is at most 0.05.
    reliability : float
        R^2, out of fold, of the function behind the row on Stein features, and lower where the
        draws are far off. Below 0.99 the interval may be off by more than it says.
    sentence : str
        The same in words.
    estimate, error, df : float
        What the interval comes from: the difference on the scale of the interval (logarithm of the
        ratio for sds, Fisher's z for correlations), its standard error and the degrees of freedom.
    direction : tuple of float
        Of a direction, the coefficient of every coordinate, each in units of its own sd. It was
        chosen on the first rows of every chain and judged on the last ones.
    """

    name: str
    what: str
    size: float
    lower: float
    upper: float
    pvalue: float
    found: bool
    reliability: float
    sentence: str
    estimate: float
    error: float
    df: float
    direction: tuple[float, ...] = ()

    @property
    def reliable(self) -> bool:
        """Whether the interval covers as it says."""
        return self.reliability >= RELIABLE

    @property
    def statistic(self) -> float:
        """The estimate over its standard error."""
        return self.estimate / self.error if self.error > 0.0 else 0.0


class ExpectationRow(NamedTuple):
    """An expectation under the target: averaged over the draws, and corrected.

    Attributes
    ----------
    name, what : str
        The parameter or function, and which property of it.
    plain, mcse : float
        Its value in the draws, and that value's Monte Carlo standard error.
    corrected, error : float
        The value corrected by Stein features, and its standard error.
    bias, lower, upper : float
        Plain minus corrected value, the sampler's error, with its interval of level 0.95. The
        bounds are infinite where no features are of use.
    reliability : float
        R^2, out of fold, of the function on the features, and lower where the draws are far off.
        Below 0.99 the corrected value may be off by more than its error says, if the draws are
        wrong.
    reduction : float
        By what factor the correction lowers the variance.
    ess : float
        How many independent draws would give the corrected value's error by plain averages.
    """

    name: str
    what: str
    plain: float
    mcse: float
    corrected: float
    error: float
    bias: float
    lower: float
    upper: float
    reliability: float
    reduction: float
    ess: float

    @property
    def reliable(self) -> bool:
        """Whether the corrected value is to be trusted if the draws are wrong."""
        return self.reliability >= RELIABLE


@dataclass(frozen=True)
class ExpectationTable:
    """Expectations of the target, one row each; `print` shows them.

    Attributes
    ----------
    rows : tuple of ExpectationRow
        In the order in which they were asked for.
    """

    rows: tuple[ExpectationRow, ...]

    def __getitem__(self, key: tuple[str, str]) -> ExpectationRow:
        """The row of a name and a property, ``table["tau", "sd"]``."""
        return self.rows[_place_of(self.rows, key)]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ExpectationRow]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: None stands for NaN and infinity."""
        return {"rows": [_finite(row._asdict()) for row in self.rows]}

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame."""
        return _dataframe(self.rows)

    def __str__(self) -> str:
        from polystein.report.effects import expectation_table

        return expectation_table(self)


@dataclass(frozen=True)
class EffectTable:
    """What is wrong with the draws, the most important first; `print` shows it.

    Attributes
    ----------
    rows : tuple of EffectRow
        What was found, and below that what was looked at and not found.
    looks : int
        How many properties the p-values allow for, also those that a quick look left out.
    hint : str
        What to do next; empty where nothing was found.
    complete : bool
        Whether the mean and the sd of every coordinate are among the rows.
    """

    rows: tuple[EffectRow, ...]
    looks: int
    hint: str = ""
    complete: bool = True

    def __getitem__(self, key: tuple[str, str]) -> EffectRow:
        """The row of a name and a property, ``table["tau", "sd"]``."""
        return self.rows[_place_of(self.rows, key)]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[EffectRow]:
        return iter(self.rows)

    @property
    def found(self) -> tuple[EffectRow, ...]:
        """The rows that are found at the level 0.05, all together."""
        return tuple(row for row in self.rows if row.found)

    def within(self, tolerance: float) -> Tolerance:
        """Whether every mean and every sd is within the tolerance.

        Means are to be within so many standard deviations of the target, ratios of sds between
        1 - tolerance and 1 + tolerance.
        """
        return judged(self, tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: None stands for NaN and infinity."""
        return {
            "rows": [_finite(row._asdict()) for row in self.rows],
            "looks": self.looks,
            "hint": self.hint,
            "complete": self.complete,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EffectTable:
        """The table that `to_dict` was called on."""
        rows = tuple(EffectRow(**_unbounded(row)) for row in values["rows"])
        return cls(rows, values["looks"], values["hint"], values["complete"])

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame."""
        return _dataframe(self.rows)

    def __str__(self) -> str:
        from polystein.report.effects import effect_table

        return effect_table(self)


class WithEffects:
    """What a result has beside its verdict: effects, computed when they are asked for.

    A result that was read from a file, or unpickled, has those that were computed before.
    """

    #: The table, once it is computed.
    effect_table: EffectTable | None

    @property
    def effects(self) -> EffectTable:
        """Which property of which parameter is off, and by how much; see `polystein.effects`."""
        if self.effect_table is None:
            compute = self.__dict__.get("_compute_effects")
            if compute is None:
                raise InputError(
                    "`effects` must have been computed before a result is stored, and need a test "
                    "that computes them, `check`. Call `polystein.effects` on the draws"
                )
            object.__setattr__(self, "effect_table", compute())
            self.__dict__.pop("_compute_effects")
        assert self.effect_table is not None
        return self.effect_table

    @property
    def can_tell_effects(self) -> bool:
        """Whether `effects` are there, or can be computed."""
        return self.effect_table is not None or "_compute_effects" in self.__dict__

    def compute_effects_by(self, compute: Callable[[], EffectTable]) -> None:
        """Say how the effects are computed when they are asked for."""
        object.__setattr__(self, "_compute_effects", compute)

    def __getstate__(self) -> dict[str, Any]:
        # What computes the effects holds the draws, which no stored result should.
        return {key: value for key, value in self.__dict__.items() if key != "_compute_effects"}


class Tolerance(NamedTuple):
    """Whether the draws are good enough, and what that rests on.

    ``reliability`` is the lowest of the rows that decide, ``row`` the one that is farthest out.
    """

    verdict: ToleranceVerdict
    bound: float
    reliability: float
    row: EffectRow | None


def judged(table: EffectTable, tolerance: float) -> Tolerance:
    """Compare simultaneous intervals (Bonferroni) of all means and sds with the tolerance.

    "within" if all lie inside, "beyond" if one lies outside, "undecided" else. Intervals with a
    reliability below 0.99 decide nothing.
    """
    rows = [row for row in table.rows if row.what in ("mean", "sd")]
    if not rows:
        return Tolerance("undecided", tolerance, 0.0, None)
    level = LEVEL / len(rows)
    farthest = max(rows, key=lambda row: _distance(row, tolerance))
    beyond = [row for row in rows if row.reliable and _outside(row, tolerance, level)]
    if beyond:
        row = max(beyond, key=lambda row: _distance(row, tolerance))
        return Tolerance("beyond", tolerance, row.reliability, row)
    lowest = min(row.reliability for row in rows)
    inside = all(row.reliable and _inside(row, tolerance, level) for row in rows)
    verdict: ToleranceVerdict = "within" if inside and table.complete else "undecided"
    return Tolerance(verdict, tolerance, lowest, farthest)


def quantile(level: float, df: float) -> float:
    """The two-sided critical value of a t distribution; of the normal one for infinite df."""
    upper = 1.0 - 0.5 * level
    return float(ndtri(upper) if math.isinf(df) else stdtrit(df, upper))


def _bounds(row: EffectRow, tolerance: float) -> tuple[float, float]:
    """The tolerance on the scale of the interval."""
    if row.what == "mean":
        return -tolerance, tolerance
    return math.log1p(-tolerance), math.log1p(tolerance)


def _interval(row: EffectRow, level: float) -> tuple[float, float]:
    reach = quantile(level, row.df) * row.error
    return row.estimate - reach, row.estimate + reach


def _inside(row: EffectRow, tolerance: float, level: float) -> bool:
    (low, high), (least, most) = _interval(row, level), _bounds(row, tolerance)
    return least <= low and high <= most


def _outside(row: EffectRow, tolerance: float, level: float) -> bool:
    (low, high), (least, most) = _interval(row, level), _bounds(row, tolerance)
    return high < least or low > most


def _distance(row: EffectRow, tolerance: float) -> float:
    """How far out the estimate is, in units of the bound on its side."""
    least, most = _bounds(row, tolerance)
    return row.estimate / (most if row.estimate >= 0.0 else least)


def _place_of(rows: Sequence[Any], key: tuple[str, str]) -> int:
    for place, row in enumerate(rows):
        if (row.name, row.what) == tuple(key):
            return place
    known = ", ".join(f"({row.name!r}, {row.what!r})" for row in rows[:6])
    raise InputError(f"the key must be the name and property of a row, {known}, ...; got {key!r}")


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def _unbounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """None as what it stood for: the bounds of an interval without bounds."""
    missing = {"lower": -math.inf, "upper": math.inf, "error": math.inf, "df": math.inf}
    found = {key: missing.get(key) if value is None else value for key, value in values.items()}
    return {**found, "direction": tuple(values.get("direction", ()))}


def _dataframe(rows: Sequence[Any]) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtraError("`to_dataframe` needs pandas: pip install pandas") from error
    return pandas.DataFrame([row._asdict() for row in rows])
