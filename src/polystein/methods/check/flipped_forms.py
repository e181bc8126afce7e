"""Quadratic forms of batch sums under the sign flips of `check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from polystein.inference.memory import Joining
from polystein.inference.quadratic_forms import form_tail
from polystein.inference.signflips import Law
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import FEWEST_INDEPENDENT_A_COORDINATE, LEAST_DEFLATION
from polystein.methods.check.invariant import Form
from polystein.results.evidence import Part
from polystein.types import FloatArray

#: A direction is named by no more coordinates than this, ...
MOST_NAMED = 3
#: ... and by none whose loading is smaller than this, relative to the largest.
LEAST_LOADING = 0.3
#: A direction that chance explains with more than this probability does not stand out.
MOST_CHANCE = 0.05


class FlippedForm:
    """A quadratic form, for the draws and for every flip so far."""

    def __init__(self, form: Form, sums: BatchSums) -> None:
        self.form, self._found = form, list[FloatArray]()
        chains = len(sums.joinings) > 1
        memory = form.products.memory(sums.joinings)
        self._joining: Joining = sums.joinings[memory.level]
        self._deflation = memory.deflation
        #: Whether the form remembers too long to be judged.
        self.slow = memory.deflation < LEAST_DEFLATION
        self._kept = form.products.kept(self._joining, self._joining.chains if chains else None)
        self._law = self._kept.cumulants
        few = sums.effective_count(self._joining) < form.fewest_batches
        #: How many independent rows the rows are worth, and whether these are too few.
        self.worth = memory.independent(float(sums.sizes.sum()))
        self.short = chains and self.worth < FEWEST_INDEPENDENT_A_COORDINATE * form.coordinates
        #: Whether it is judged: it varies, on enough batches that are long enough.
        self.moves = not (self.slow or few or self.short) and self._law.variance > 0.0
        #: Flips cost no more than those of this many features.
        self.features = self._joining.count

    @property
    def words(self) -> str:
        """What the form looks at."""
        return self.form.words.replace(", ", " along ")

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        if not self.moves:
            return
        values = self._kept.flipped(self._joining.of_first(signs))
        if not self._found:
            # The draws' own sums are more alike than flipped ones, by what is remembered.
            values[0] *= self._deflation
        self._found.append(values)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the level of its one statistic."""
        return (self.form.share,)

    @property
    def is_flipped(self) -> bool:
        """Whether any patterns of signs were tried."""
        return bool(self._found)

    @property
    def statistics(self) -> list[tuple[FloatArray, Law]]:
        """Values for the draws and for every flip, with their law."""
        return [(np.concatenate(self._found), partial(form_tail, law=self._law))]

    def parts(self, names: Sequence[str]) -> Iterator[Part]:
        """The statistic with a p-value of its own, and the direction that stands out."""
        form, tail = self.form, float(form_tail(self._found[0][:1], self._law)[0])
        where: tuple[str, ...] = ()
        words = ""
        if tail <= MOST_CHANCE:
            direction = form.direction()
            where = tuple(names[place] for place in named_places(direction))
            words = direction_words(direction, names)
        yield Part(f"{form.name}: sum", form.words, form.orders, where, tail, form.share, words)


def named_places(direction: FloatArray) -> list[int]:
    """The coordinates that a direction is named by, that of the largest loading first."""
    sizes = np.abs(direction)
    first, *others = np.argsort(-sizes, kind="stable")[:MOST_NAMED].tolist()
    return [first, *(one for one in others if sizes[one] >= LEAST_LOADING * sizes[first] > 0.0)]


def direction_words(direction: FloatArray, names: Sequence[str]) -> str:
    """A direction by its largest loadings, in standard deviations of the coordinates.

    Examples
    --------
    >>> direction_words(np.array([0.1, -2.0, 1.6]), ["mu", "tau", "theta[3]"])
    'mainly `tau` - 0.8 `theta[3]`'
    >>> direction_words(np.array([0.0, 3.0, 0.0]), ["mu", "tau", "theta[3]"])
    'mainly `tau`'
    >>> direction_words(np.ones(50), [f"x[{j}]" for j in range(50)])
    '`x[0]` + `x[1]` + `x[2]` and 47 more alike'
    """
    first, *others = places = named_places(direction)
    loadings = direction / (direction[first] or 1.0)
    text = f"`{names[first]}`"
    for place in others:
        size = abs(float(loadings[place]))
        factor = "" if size > 0.95 else f"{size:.1f} "
        text += f" {'-' if loadings[place] < 0 else '+'} {factor}`{names[place]}`"
    # Beside many loadings of their size, the largest are not the main ones.
    if 2.0 * np.sum(loadings[places] ** 2) >= np.sum(loadings**2):
        return f"mainly {text}"
    more = np.count_nonzero(np.abs(loadings) >= LEAST_LOADING) - len(places)
    return f"{text} and {more} more alike" if more > 0 else f"{text} and many small ones"
