"""Differences between rows before and after, judged by flipping their signs.

P^k of a reversible kernel is reversible: under H0 (x_0, x_k) and (x_k, x_0) have the same law, so
that f(x_0) - f(x_k) is symmetric about 0 for any f, jointly for all f. Flipping the signs of whole
batches of rows gives an exact level for independent starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from polystein._lib.arrays import to_numpy
from polystein.data.selection import variable
from polystein.data.target import Target, user_code
from polystein.errors import InputError
from polystein.explain.own_names import own_parameters
from polystein.inference.signflips import STILL, random_signs, unit_columns
from polystein.refinement.kernels import State
from polystein.types import Array, FloatArray

#: Shares of the level of the families of functions; those that are missing leave theirs to others.
SHARES = {
    "log-density": 0.1,
    "location": 0.2,
    "spread": 0.15,
    "distance": 0.15,
    "tail": 0.05,
    "far": 0.1,
    "product": 0.1,
    "parameter": 0.1,
    "function": 0.05,
}
#: How each family is told of.
WORDS = {
    "log-density": "the log-density",
    "location": "the location of {}",
    "spread": "the spread of {}",
    "distance": "the distance of {} from its median",
    "tail": "the tails of {}",
    "far": "how many draws are far from all others",
    "product": "the dependence of {}",
    "parameter": "{}",
    "function": "{}",
}
#: Patterns of signs, the rows as they are among them.
PATTERNS = 2000
#: A tail begins at this quantile of the pilots' distances from their median.
_TAIL = 0.95
#: A row is far if its distance from the centre is this many times that of any pilot at first. Right
#: draws of which 10 of 1,000 should be far, and none is, differ in this more than in any moment.
_FAR = 1.5
#: Pairs of coordinates that are looked at: all of few coordinates, else this many for each.
_ALL_PAIRS, _PAIRS_FOR_EACH = 6, 2
#: Most numbers of the model's own parameters that are looked at.
_MOST_PARAMETERS = 200
#: Rounding of numbers in single precision, with some to spare.
_SINGLE = 1e-6
#: Columns whose flips are summed at once.
_AT_ONCE = 256

#: A function of (n, d) rows with a number for each.
RowFunction = Callable[[FloatArray], Array]


class Functions(NamedTuple):
    """The functions f that are compared, with constants that the pilots gave."""

    target: Target
    names: tuple[str, ...]
    centre: FloatArray
    scale: FloatArray
    reach: FloatArray
    farthest: float
    pairs: NDArray[np.intp]
    shown: Mapping[str, str]
    own: Mapping[str, RowFunction]

    def values(self, state: State) -> dict[str, dict[str, FloatArray]]:
        """The values at rows, by family and name."""
        z = (state.position - self.centre) / self.scale
        distance = np.abs(z)
        pairs = [f"{self.names[a]}, {self.names[b]}" for a, b in self.pairs]
        products = z[:, self.pairs[:, 0]] * z[:, self.pairs[:, 1]]
        found = {
            "log-density": {"": state.density},
            "location": dict(zip(self.names, z.T, strict=True)),
            "spread": dict(zip(self.names, (z**2).T, strict=True)),
            "distance": dict(zip(self.names, distance.T, strict=True)),
            "tail": dict(zip(self.names, (distance > self.reach).T.astype(float), strict=True)),
            "far": {"": (np.linalg.norm(z, axis=1) > self.farthest).astype(float)},
            "product": dict(zip(pairs, products.T, strict=True)),
            "parameter": parameters(self.target, self.shown, state.position),
            "function": own_values(self.own, state.position),
        }
        return {family: columns for family, columns in found.items() if columns}


def functions_by(
    target: Target,
    names: tuple[str, ...],
    before: FloatArray,
    after: FloatArray,
    shown: Mapping[str, str],
    own: Mapping[str, RowFunction],
) -> Functions:
    """Functions whose constants, and pairs of coordinates, come from pilots before and after.

    ``shown`` are the names of the model's own parameters, as `shown_parameters` gives them.
    """
    centre, scale = np.median(after, axis=0), after.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    reach = np.quantile(np.abs(after - centre) / scale, _TAIL, axis=0)
    farthest = _FAR * float(np.linalg.norm((before - centre) / scale, axis=1).max())
    d = after.shape[1]
    pairs = np.stack(np.triu_indices(d, 1), axis=1)
    if d > _ALL_PAIRS:
        moments = [
            ((rows - centre) / scale).T @ ((rows - centre) / scale) for rows in (before, after)
        ]
        change = np.abs(moments[0] - moments[1])[pairs[:, 0], pairs[:, 1]]
        pairs = pairs[np.sort(np.argsort(-change)[: _PAIRS_FOR_EACH * d])]
    return Functions(target, names, centre, scale, reach, farthest, pairs, shown, own)


def shown_parameters(target: Target, names: Sequence[str], rows: FloatArray) -> dict[str, str]:
    """The model's own parameters that are no coordinates themselves, with the names they go by.

    An unconstrained coordinate of Stan or NumPyro has the name of the constrained parameter. The
    values at rows therefore decide: a parameter that equals a coordinate of its own variable is
    left out, and another one of that variable is shown as ``tau (constrained)``.
    """
    shown = {}
    for label, values in own_parameters(target, rows).items():
        alike = [place for place, name in enumerate(names) if variable(name) == variable(label)]
        if not any(_same(rows[:, place], values) for place in alike):
            shown[label] = f"{label} (constrained)" if alike else label
    return dict(list(shown.items())[:_MOST_PARAMETERS])


def parameters(target: Target, shown: Mapping[str, str], rows: FloatArray) -> dict[str, FloatArray]:
    """The values of the parameters that are shown, each number by its name."""
    found = own_parameters(target, rows) if shown else {}
    return {name: found[label] for label, name in shown.items()}


def _same(coordinate: FloatArray, values: FloatArray) -> bool:
    """Whether two columns are the same, up to the rounding of single precision."""
    with np.errstate(all="ignore"):
        return bool(np.abs(values - coordinate).max() <= _SINGLE * np.abs(coordinate).max())


def own_values(functions: Mapping[str, RowFunction], rows: FloatArray) -> dict[str, FloatArray]:
    """What the user's functions give at rows."""
    found = {}
    for name, function in functions.items():
        with user_code(f"functions[{name!r}]", "It must give a finite number for each draw"):
            values = np.asarray(to_numpy(np.asarray(function(rows.copy()))))
        if values.shape != (len(rows),) or not np.isfinite(values).all():
            raise InputError(
                f"`functions[{name!r}]` must give a finite number for each of {len(rows)} draws; "
                f"got the shape {values.shape}"
                + ("" if values.shape != (len(rows),) else " with values that are not finite")
            )
        found[name] = values
    return found


class Judged(NamedTuple):
    """The p-value over all functions, and the function that stands out most."""

    pvalue: float
    statistic: float
    words: str
    looks: int


def judged_by_flips(
    before: Mapping[str, Mapping[str, FloatArray]],
    after: Mapping[str, Mapping[str, FloatArray]],
    batches: NDArray[np.intp],
    rng: np.random.Generator,
) -> Judged:
    """Flip the signs of batches of differences; `batches` are the first rows of each.

    Every function has the statistic |sum of differences| / root of the sum of their squares, and a
    pattern of signs is as extreme as the smallest of the tails, each over its share of the level.
    """
    columns, shares, words = [], [], []
    whole = sum(SHARES[family] for family in before)
    for family, own in before.items():
        for name, values in own.items():
            columns.append(values - after[family][name])
            shares.append(SHARES[family] / whole / len(own))
            words.append(WORDS[family].format(f"`{name}`".replace(", ", "` and `")))
    differences = np.stack(columns, axis=1)
    # A column that is infinite before or after says nothing, whichever of the two it is.
    differences = np.where(np.isfinite(differences).all(axis=0), differences, 0.0)
    unit = unit_columns(np.add.reduceat(differences, batches, axis=0))
    signs = random_signs(PATTERNS, len(batches), rng, unflipped_first=True)
    extreme, first = np.full(PATTERNS, np.inf), np.empty(len(words))
    for low in range(0, len(words), _AT_ONCE):
        part = slice(low, low + _AT_ONCE)
        tails = log_ndtr(-np.abs(signs @ unit[:, part])) - np.log(shares[part])
        first[part] = tails[0]
        np.minimum(extreme, tails.min(axis=1), out=extreme)
    pvalue = int(np.count_nonzero(extreme <= extreme[0] + STILL)) / PATTERNS
    leading = int(np.argmin(first))
    return Judged(pvalue, float(unit[:, leading].sum()), words[leading], len(words))
