"""What a difference between the scores of two targets looks like, parameter by parameter.

A prior or a Jacobian of one parameter gives a difference that is a function of this parameter
alone, and few forms of it are common. They are fitted by least squares and have to fit to rounding:
with two constants and dozens of draws none does so by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.special import expit

from polystein._lib.notes import first_of
from polystein.results.same_target import Pattern, TargetDifference
from polystein.types import FloatArray
from polystein.workflows.parameters import places_of
from polystein.workflows.reparametrised import (
    Compared,
    Reparametrisation,
    Scores,
    reparametrisation,
    stays_as_it_is,
)

#: Whole numbers and ratios are called so to this relative error, or to that of the rounding.
_WHOLE = 1e-6
#: Constants are called 1, as those of Jacobians are, to this error at least.
_CONSTANT = 1e-4
#: A form explains a difference if it leaves at most this part of its root mean square.
_EXPLAINED = 1e-2
#: Parameters whose dependence on others is looked at, which takes an evaluation for each.
_MOST_LOOKED_AT = 30
#: Parameters that are tried as location and scale of a normal prior of another one.
_MOST_HYPERPARAMETERS = 8
#: Shapes and centres below this are shown as 0.
_NOTHING = 1e-7
#: Below this part of the draws a difference is said to be rare.
_RARE = 0.5
#: What the second term of a form is, and what it is for: (form, function of the parameter).
_FORMS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "normal": lambda x: x,
    "logit": expit,
    "exp": np.exp,
    "exp 2": lambda x: np.exp(2.0 * x),
    "exp -": lambda x: np.exp(-x),
    "exp -2": lambda x: np.exp(-2.0 * x),
}
#: Terms in the log of a positive parameter, and priors that have them.
_PRIORS = {
    "exp": "its exponential, as in a gamma or exponential prior",
    "exp 2": "the square of its exponential, as in a half-normal prior",
    "exp -": "the inverse of its exponential, as in an inverse-gamma prior",
    "exp -2": "the inverse square of its exponential, as in an inverse-gamma prior of a variance",
}

_ALONE = (
    "the difference depends on this parameter alone, and is no common form: a prior of another "
    "family, a bound, or a Jacobian"
)

Finding = tuple[Pattern, str]


def named_differences(
    compared: Compared, touched: list[int], again: Scores | None, *, parametrisations: bool
) -> tuple[TargetDifference, ...]:
    """A row for each parameter that differs, the largest first.

    Without ``again`` the scores are known at the draws alone. Other parametrisations are tried
    hundreds of times, which pays if scores cost little.
    """
    found = _findings(compared, touched, again, parametrisations)
    spread = np.std(compared.rows, axis=0)
    rows = []
    for column, (pattern, text) in found.items():
        gap = compared.gap[:, column]
        size = float(spread[column] * np.sqrt(np.mean(gap**2)))
        share = float(np.mean(np.abs(gap) > compared.tolerance[:, column]))
        rare = f", at {max(share, 0.01):.0%} of the draws alone" if share < _RARE else ""
        rows.append(TargetDifference(compared.names[column], pattern, size, text + rare))
    return tuple(sorted(rows, key=lambda row: -row.size))


def _findings(
    compared: Compared, touched: list[int], again: Scores | None, parametrisations: bool
) -> dict[int, Finding]:
    """What is found for each parameter: the simplest explanation that holds to rounding."""
    whole = _ratio(compared, list(range(compared.rows.shape[1])))
    if whole is not None and len(touched) > 1:
        return dict.fromkeys(touched, _of_ratio(whole, whole=True))
    found: dict[int, Finding] = {}
    for column in touched:
        alone = _alone(compared, column)
        if alone is not None:
            found[column] = alone
    for column in touched:
        # Minus the score of a parameter leaves no constant free, and so comes before a prior.
        ratio = _ratio(compared, [column])
        if ratio is not None and (column not in found or abs(ratio + 1.0) < _WHOLE):
            found[column] = _of_ratio(ratio, whole=False)
    rest = [column for column in touched if column not in found]
    if not rest:
        return found
    if again is not None and parametrisations:
        renamed = reparametrisation(compared, touched, rest, again)
        if renamed is not None:
            return _of_parametrisation(renamed)
    for column, finding in _likelihood_factor(compared, rest).items():
        found[column] = finding
    rest = [column for column in rest if column not in found]
    if again is not None:
        gap = partial(_gap, again)
        for column in rest[:_MOST_LOOKED_AT]:
            here = compared.gap[:, column]
            if stays_as_it_is(gap, here, compared.rows, column, compared.tolerance):
                found[column] = "prior", _ALONE
    rest = [column for column in rest if column not in found]
    if rest:
        finding = _of_observations(compared, rest) or _unrecognised(compared, rest)
        found |= dict.fromkeys(rest, finding)
    return found


def _of_parametrisation(renamed: Reparametrisation) -> dict[int, Finding]:
    """Parameters that are functions of others, and priors that differ besides."""
    text, found = renamed.words, dict[int, Finding]()
    besides = [renamed.changed.names[column] for column in renamed.own if column in renamed.columns]
    if besides:
        text += ", but for its prior or Jacobian, which differs"
    for column in renamed.own:
        found[column] = _alone(renamed.changed, column) or ("prior", _ALONE)
    return found | dict.fromkeys(renamed.columns, ("parametrisation", text))


def _fits(compared: Compared, column: int, left: FloatArray) -> bool:
    """Whether what a form leaves over is rounding."""
    gap, allowed = compared.gap[:, column], compared.tolerance[:, column]
    small = np.sqrt(np.mean(left**2)) <= _EXPLAINED * np.sqrt(np.mean(gap**2))
    # Rounding of the largest scores may spoil the constants of a fit for all of them.
    return bool(small and (np.abs(left) <= allowed + allowed.max() + 1e-11 * np.abs(gap)).all())


def _fitted(design: list[FloatArray], values: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients of a least-squares fit and what it leaves over; None if numbers overflow."""
    columns = np.column_stack(design)
    scale = np.abs(columns).max(axis=0)
    if not np.isfinite(columns).all() or not (scale > 0.0).all():
        return None
    coefficients = np.linalg.lstsq(columns / scale, values, rcond=None)[0] / scale
    return coefficients, values - columns @ coefficients


def _ratio(compared: Compared, columns: list[int]) -> float | None:
    """The factor by which the scores of `b` are those of `a`, if there is one other than 1."""
    a, b = compared.a[:, columns], compared.b[:, columns]
    squares = float((a**2).sum())
    if squares == 0.0:
        return None
    ratio = float((a * b).sum()) / squares
    left = b - ratio * a
    if not all(_fits(compared, c, left[:, place]) for place, c in enumerate(columns)):
        return None
    return _neat(ratio)


def _neat(value: float) -> float:
    """A whole number, or one over it, if the value is that to rounding."""
    for short in (
        float(round(value)),
        1.0 / round(1.0 / value) if abs(value) < 1.0 and value else 0,
    ):
        if short not in (0.0, 1.0) and abs(value - short) <= _WHOLE * abs(short):
            return float(short)
    return value


def _of_ratio(ratio: float, *, whole: bool) -> Finding:
    what, is_or_are = ("all scores", "are") if whole else ("the score", "is")
    if ratio == -1.0:
        return "sign", f"{what} of b {is_or_are} minus what a has"
    return "factor", (
        f"{what} of b {is_or_are} {ratio:.9g} times what a has: a power of the density "
        "(tempering), or every term counted that often"
    )


def _alone(compared: Compared, column: int) -> Finding | None:
    """The finding if the difference is a common form of this parameter alone."""
    x, gap, family = compared.rows[:, column], compared.gap[:, column], compared.families[column]
    for name, sign, values in zip("ab", (1.0, -1.0), compared.jacobians, strict=True):
        # The difference is that of `b` less that of `a`.
        if values[:, column].any() and _fits(compared, column, gap - sign * values[:, column]):
            return "jacobian", f"the Jacobian of the transform of {name} is missing in {name}"
    ones = np.ones(len(x))
    constant = float(gap.mean())
    if _fits(compared, column, gap - constant):
        return _constant(constant, family, _error(gap - constant))
    best: tuple[float, str, float, float, float] | None = None
    for form, function in _FORMS.items():
        with np.errstate(all="ignore"):
            fit = _fitted([ones, function(x)], gap)
        if fit is None or not _fits(compared, column, fit[1]):
            continue
        left = float(np.sqrt(np.mean(fit[1] ** 2)))
        if best is None or left < 0.3 * best[0]:
            best = left, form, float(fit[0][0]), float(fit[0][1]), _error(fit[1])
    if best is None:
        return None
    _, form, level, slope, error = best
    if form == "normal":
        return _normal(level, slope)
    if form == "logit":
        return _logit(level, slope, family, error)
    more = "more" if slope > 0.0 else "less"
    text = f"b has {abs(slope):.6g} {more} of {_PRIORS[form]}"
    if abs(level) > _WHOLE * abs(slope) * float(np.abs(_FORMS[form](x)).max()):
        jacobian = ": the Jacobian of a log transform" if _is(abs(level), 1.0, error) else ""
        text += f", and a constant {level:+.6g}{jacobian}"
    return "prior scale", text


def _error(left: FloatArray) -> float:
    """How far constants of a fit may be off: in single precision what is left need not cancel."""
    return _CONSTANT + 4.0 * float(np.sqrt(np.mean(left**2)))


def _is(value: float, expected: float, error: float) -> bool:
    return abs(value - expected) <= error * max(abs(expected), 1.0)


def _shown(value: float) -> str:
    """The number with its sign; rounding of 0 is 0."""
    return "0" if abs(value) < _NOTHING else f"{value:+.6g}"


def _whose(value: float) -> str:
    return "b has it and a has not" if value > 0.0 else "a has it and b has not"


def _constant(value: float, family: str, error: float) -> Finding:
    if _is(abs(value), 1.0, error) and family in ("", "exp"):
        shape = "the shape of a gamma prior that is off by 1"
        shift = "" if family else ", or a shift by 1 of a normal prior with sd 1,"
        return "jacobian", (
            f"the difference is {round(value):+d}, the Jacobian of a log transform: "
            f"{_whose(value)}. On the log scale {shape}{shift} looks the same"
        )
    whole = ", as the normalising constants of that many observations"
    return "prior location", (
        f"the difference is {value:+.6g} everywhere: the location of a normal prior, divided by "
        "its variance, or on the log scale a power, as the shape of a gamma prior, or a term of "
        "the likelihood that is linear in it"
        + (whole if abs(round(value)) > 1 and _is(value, round(value), 1e-2 * error) else "")
    )


def _normal(level: float, slope: float) -> Finding:
    centre = -level / slope
    more = "less" if slope > 0.0 else "more"
    return "prior scale", (
        f"a normal term about {_shown(centre).lstrip('+')} has a precision "
        f"(1 / variance) that is {abs(slope):.6g} {more} in b: the scale of a normal prior, or an "
        "observation with a known sd"
    )


def _logit(level: float, slope: float, family: str, error: float) -> Finding:
    first, second = level, -slope - level
    whole = _is(abs(level), 1.0, error)
    if whole and _is(slope, -2.0 * level, error) and family in ("", "logit"):
        return "jacobian", (
            f"the difference is {level:+.0f} (1 - 2 p), the Jacobian of a logit transform: "
            f"{_whose(level)}"
        )
    if whole and _is(slope, -level, error) and family == "softplus":
        return "jacobian", (
            f"the difference is the Jacobian of a softplus transform: {_whose(level)}"
        )
    return "prior", (
        f"on the logit scale the Beta shapes of b are off by {_shown(first)} and {_shown(second)}, "
        "or it has that many more successes and failures"
    )


def _likelihood_factor(compared: Compared, columns: list[int]) -> dict[int, Finding]:
    """Parameters whose likelihood alone has a factor: the rest of the score is a common prior."""
    found: dict[int, float] = {}
    for column in columns:
        for design in _priors_of(compared, column):
            with np.errstate(all="ignore"):
                fit = _fitted([compared.a[:, column], *design], compared.b[:, column])
            # Without any likelihood in b there is no factor: its observations were left out.
            if fit is not None and abs(fit[0][0]) > _WHOLE and _fits(compared, column, fit[1]):
                found[column] = float(fit[0][0])
                break
    ratios = np.array(list(found.values()))
    if not len(ratios) or np.ptp(ratios) > 1e-3 * abs(ratios[0]) or abs(ratios[0] - 1.0) < 1e-3:
        return {}
    text = (
        f"the likelihood counts {_neat(float(np.median(ratios))):.6g} times as much in b as in a, "
        "and the prior does not: observations repeated or dropped in proportion, or a temperature"
    )
    return dict.fromkeys(found, ("factor", text))


def _priors_of(compared: Compared, column: int) -> Iterator[list[FloatArray]]:
    """Scores of common priors: of this parameter alone, and normal with other parameters."""
    x, ones = compared.rows[:, column], np.ones(len(compared.rows))
    for function in _FORMS.values():
        with np.errstate(all="ignore"):
            yield [ones, function(x)]
    single = [own[0] for own in places_of(compared.names).values() if len(own) == 1]
    others = [place for place in single if place != column][:_MOST_HYPERPARAMETERS]
    for scale in others:
        with np.errstate(all="ignore"):
            precision = np.exp(-2.0 * compared.rows[:, scale])
        for location in (None, *others):
            centre = 0.0 if location is None else compared.rows[:, location]
            if location != scale:
                yield [(x - centre) * precision]


def _gap(again: Scores, rows: FloatArray) -> FloatArray:
    """The scores of `b` less those of `a`, at any rows."""
    a, b = again(rows)
    return b - a


def _of_observations(compared: Compared, columns: list[int]) -> Finding | None:
    """The finding if the difference has the form of observations; None if it may be any other."""
    names = [compared.names[column] for column in columns]
    text = (
        f"a smooth difference that touches {first_of([f'`{name}`' for name in names], 6)}: an "
        "observation, or another term of the likelihood, that differs or is in one of them alone"
    )
    # All but a scale, perhaps: its own difference is a square.
    for some in (columns, *([one for one in columns if one != scale] for scale in columns)):
        direction = _direction(compared, some)
        if direction is not None:
            terms = [
                f"{value:.4g} `{compared.names[column]}`"
                for value, column in zip(direction, some, strict=True)
            ]
            words = " + ".join(terms[:6]).replace("+ -", "- ") + (" + ..." if terms[6:] else "")
            return "observations", f"{text}. It depends on {words}"
    for column, scale in zip(columns, columns[::-1], strict=True):
        if len(columns) == 2 and (count := _normal_ones(compared, column, scale)) is not None:
            more = "more" if count > 0.0 else "fewer"
            words = f"{abs(count):.6g} {more} in b, with the sd exp(`{compared.names[scale]}`)"
            return "observations", f"{text}. Normal observations: {words}"
    for coordinates in places_of(compared.names).values():
        # A link, a scale or a prior would touch all of them. A variable of all coordinates may be
        # several without names.
        inside = [column for column in coordinates if column in columns]
        if inside and len(inside) < len(coordinates) < len(compared.names):
            return "observations", text
    return None


def _direction(compared: Compared, columns: list[int]) -> FloatArray | None:
    """The direction of the differences if it is the same at all draws, as for one predictor."""
    if len(columns) < 2:
        return None
    gap = compared.gap[:, columns]
    scale = np.sqrt(np.mean(gap**2, axis=0))
    _, values, right = np.linalg.svd(gap / scale, full_matrices=False)
    noise = np.sqrt(np.mean(compared.tolerance[:, columns] ** 2, axis=0)) / scale
    if values[1] > 1e-6 * values[0] + np.sqrt(len(gap)) * float(noise.max()):
        return None
    direction = right[0] * scale
    found: FloatArray = direction / direction[np.argmax(np.abs(direction))]
    return found


def _normal_ones(compared: Compared, column: int, scale: int) -> float | None:
    """How many normal observations with this mean and the log of this sd `b` has more than `a`."""
    with np.errstate(all="ignore"):
        precision = np.exp(-2.0 * compared.rows[:, scale])
        design = [precision, precision * compared.rows[:, column]]
        fit = _fitted(design, compared.gap[:, column])
    if fit is None or not _fits(compared, column, fit[1]):
        return None
    return -_neat(float(fit[0][1]))


def _unrecognised(compared: Compared, columns: list[int]) -> Finding:
    """What is said of a difference that has no known form."""
    names = first_of([f"`{compared.names[column]}`" for column in columns], 6)
    return "unrecognised", (
        f"a smooth difference that touches {names}, of no known pattern: another likelihood or "
        "link, a function of several parameters, several observations, or several edits at once"
    )
