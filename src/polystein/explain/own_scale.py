"""Sentences on means and sds of the model's own parameters, where their coordinates are off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from polystein.data.selection import variable
from polystein.errors import PolysteinError
from polystein.explain.estimates import FirstLook, Rows
from polystein.explain.expectations import expectations_of
from polystein.explain.own_names import own_words
from polystein.explain.requests import asked
from polystein.explain.sentences import own_scale_sentence
from polystein.results.effect_rows import EffectRow

#: Rows times squared dimension that the expectations of own parameters may take: a second or two.
_MOST = 4e7


def with_own_scale(
    given: Rows, look: FirstLook, rows: Sequence[EffectRow], names: Mapping[str, str]
) -> tuple[EffectRow, ...]:
    """The rows; the sentences of means and sds that are off begin with the parameter itself.

    Its expectation is estimated on its own scale. Where it is not known well enough to be called
    off, the sentence stays that of the coordinate: what is off on one scale need not be on the
    other, or be off the other way.
    """
    off = [row for row in rows if row.name in names and row.what in ("mean", "sd")]
    off = [row for row in off if row.found and row.directed]
    source = given.source
    if not off or source.layout.total * source.layout.dimension**2 > _MOST:
        return tuple(rows)
    variables = list(dict.fromkeys(variable(names[row.name]) for row in off))
    try:
        found = list(expectations_of(given, look, asked(source, variables, None)))
    except PolysteinError:  # a parameter that is constant, or whose square is no number
        return tuple(rows)
    known = {(one.name, one.what): one for one in found}
    words = own_words(names)
    told = []
    for row in rows:
        one = known.get((names.get(row.name, ""), row.what)) if row in off else None
        if one is None or math.isnan(one.corrected) or not (one.lower > 0.0 or one.upper < 0.0):
            told.append(row)
            continue
        coordinate = "unconstrained" if one.name == row.name else f"`{row.name}`"
        subject = f"the {row.what} of {words[row.name]} is "
        sentence = own_scale_sentence(one, f"{coordinate}: {row.sentence.removeprefix(subject)}")
        told.append(row._replace(sentence=sentence))
    return tuple(told)
