"""Draws, scores and files as source: healthy ones, hostile ones, and what is neither."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import DAMAGES
from tests.fuzz.makers import EQUAL, LAWS, ODD
from tests.fuzz.options import JUNK, VALUES
from tests.fuzz.scores import faulty

Sources = st.SearchStrategy[tuple[str, ...]]


class _Spelt(str):
    """A word that is written without quotes."""

    def __repr__(self) -> str:
        return str(self)


_HEALTHY_SHAPES = ((40, 2), (100, 1), (150, 3), (2, 40, 2), (4, 50, 1), (1, 120, 2))
_SHAPES = (
    *_HEALTHY_SHAPES,
    *((0, 2), (1, 1), (2, 1), (3, 2), (5, 2), (19, 3), (20, 1), (20, 0), (40,), (), (2, 3, 4, 5)),
    *((5, 20), (25, 30), (2, 2, 2), (30, 2, 2), (0, 0, 0), (1, 1, 1), (3, 30, 2), (40, 20, 1)),
)
_SCALES = (1e-320, 1e-310, 1e-160, 1e-30, 1e-8, 0.0, 1e8, 1e30, 1e100, 1e153, 1e200, 1e307)
_SPOILT = tuple(map(_Spelt, ("nan", "inf", "-inf", "1e308", "1e160", "5e-324", "-0.0", "1e-300")))
_EQUAL, _ODD, _LAWS = tuple(EQUAL), tuple(ODD), tuple(LAWS)


def source(maker: str, *arguments: Any, **options: Any) -> str:
    """The source of a call of a maker; options that are None are left out."""
    named = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    return f"{maker}({', '.join([*map(str, arguments), *named])})"


@functools.cache
def _perhaps(values: tuple[Any, ...], share: int = 2) -> st.SearchStrategy[Any]:
    """None, or one of these values in about one of `share` cases."""
    return st.one_of(*[st.none()] * (share - 1), st.sampled_from(values))


@st.composite
def _healthy_of(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[str, str]:
    law = draw(_perhaps(("walk", "repeated", "cauchy"), 4))
    numbers = {
        "seed": draw(st.integers(0, 20)),
        "law": law,
        "scale": draw(_perhaps((0.01, 1.2, 1e6), 3)),
        "shift": draw(_perhaps((0.5, -1e3), 4)),
        "dtype": draw(_perhaps(("f4", "f2", "i4"), 8)) if law != "cauchy" else None,
    }
    draws = source("rows", shape, **numbers, container=draw(_perhaps(_EQUAL, 3)))
    scores = source("rows", shape, **numbers, factor=-1.0, container=draw(_perhaps(_EQUAL, 3)))
    return draws, draw(st.sampled_from((scores, scores, "minus", "modifies")))


healthy = st.sampled_from(_HEALTHY_SHAPES).flatmap(_healthy_of)


@st.composite
def _hostile_rows(draw: st.DrawFn, shape: tuple[int, ...], seed: int) -> str:
    laws = _LAWS if len(shape) > 1 else ("normal", "zeros", "ones")
    return source(
        "rows",
        shape,
        seed=seed,
        law=draw(_perhaps(laws)),
        scale=draw(_perhaps(_SCALES)),
        shift=draw(_perhaps((1.0, 1e16, -1e300, 1e-300), 6)),
        spoilt=draw(_perhaps(_SPOILT, 6)),
        dtype=draw(_perhaps(("f4", "f2", "i8", "u1", "g"), 12)),
        container=draw(_perhaps(_EQUAL + _ODD, 6)),
    )


@st.composite
def hostile(draw: st.DrawFn) -> tuple[str, ...]:
    """Draws and scores of any shape and size, of which the scores may be missing or a function."""
    # One fault at a time, mostly: the first that is found hides the others.
    shape = draw(st.sampled_from((*_HEALTHY_SHAPES * 6, *_SHAPES)))
    seed = draw(st.integers(0, 20))
    draws = draw(_hostile_rows(shape, seed))
    kind = draw(st.sampled_from(("alike", "apart") * 5 + ("function",) * 3 + ("junk", "none")))
    if kind == "alike":
        return draws, f"{draws[:-1]}, factor=-1.0)"
    if kind == "apart":
        other = draw(st.sampled_from((*[shape] * 100, *_SHAPES)))
        return draws, draw(_hostile_rows(other, seed + 1))
    if kind == "function":
        return draws, f"faulty[{draw(st.sampled_from(list(faulty)))!r}]"
    return (draws, draw(st.sampled_from(JUNK))) if kind == "junk" else (draws,)


_NAMES = VALUES["names"].strategy()


@st.composite
def _samples(draw: st.DrawFn) -> tuple[str]:
    """A `Sample` with names and weights, or another source."""
    shape = draw(st.sampled_from(_HEALTHY_SHAPES))
    draws, scores = draw(_healthy_of(shape))
    kind = draw(st.sampled_from(("sample", "sample", "store", "blocks")))
    if kind == "store":
        return (f"ps.from_store(np.asarray({draws}), {scores})",)
    if kind == "blocks" and len(shape) == 2 and scores.startswith("rows"):
        return (f"ps.from_store(blocks(*[(np.asarray({draws}), np.asarray({scores}))] * 2))",)
    fitting = _Spelt(list("abc")[: shape[-1]])
    names = draw(st.sampled_from((None, fitting, fitting, _Spelt(draw(_NAMES)))))
    weights = draw(_perhaps((1.0, 100.0, 1e307)))
    log_weights = None if weights is None else source("rows", shape[:-1], scale=weights)
    spelt = None if log_weights is None else _Spelt(log_weights)
    return (source("ps.Sample", draws, scores, names=names, log_weights=spelt),)


_JUNK_PAIR = st.tuples(st.sampled_from(JUNK), st.sampled_from(JUNK))
draws_and_scores: Sources = st.sampled_from(
    [healthy] * 8 + [hostile()] * 6 + [_samples()] * 3 + [_JUNK_PAIR]
).flatmap(lambda kind: kind)
draws_alone: Sources = draws_and_scores.map(lambda pair: pair[:1])

_BLOCKS = ("rows((40, 2))", "rows((40, 3))", "rows((0, 2))", "rows((40,))", "1", "None", "[]")
_block = st.sampled_from(_BLOCKS)
stores: Sources = st.one_of(
    st.builds(lambda one, two: (f"blocks(({one}, {two}), ({one}, {two}))",), _block, _block),
    st.builds(lambda one, two: (f"blocks({one}, {two})", "minus"), _block, _block),
    hostile(),
    healthy,
)


_FILE_NAMES = tuple(
    map(
        _Spelt,
        (
            "['a', 'b', 'c']",
            "['a', 'a', 'a']",
            "['', ' ', '\\x1b[31m']",
            "['n' * 5000, 'b', 'c']",
            "['\"', ',', ';']",
            "['a.1', 'a.2', 'b']",
            "['1', '2', '3']",
            "['__index_level_0__', 'b', 'c']",
            "['µ', '\\u202e', '\\n']",
        ),
    )
)


@st.composite
def one_file(draw: st.DrawFn, kinds: tuple[str, ...]) -> str:
    """A file of one of these kinds, damaged or not, perhaps under the name of another kind."""
    shape = draw(st.sampled_from((*_HEALTHY_SHAPES, *_HEALTHY_SHAPES, *_SHAPES)))
    numbers = source(
        "rows",
        shape,
        seed=draw(st.integers(0, 5)),
        scale=draw(_perhaps(_SCALES, 8)),
        spoilt=draw(_perhaps(_SPOILT, 8)),
        dtype=draw(_perhaps(("f4", "i8", "u1"), 8)),
        container=draw(_perhaps(("text", "objects", "complex", "dates", "booleans", "record"), 12)),
    )
    names = draw(_perhaps(_FILE_NAMES, 3))
    damage = draw(_perhaps(tuple(DAMAGES), 2))
    return source(
        "file",
        repr(draw(st.sampled_from(kinds))),
        numbers,
        names=names,
        suffix=draw(_perhaps((".npz", ".npy", ".csv", ".parquet", ".nc", ".h5", ".pkl", ""), 8)),
        damage=damage,
        at=draw(_perhaps((0.01, 0.1, 0.3, 0.9, 0.99), 2)) if damage else None,
        seed=draw(_perhaps(tuple(range(20)), 2)) if damage else None,
    )


_NO_FILES = (("1",), ("None",), ("''",), ("place('.')",), ("'\\x00'",), ("b'a.npz'",))
_NO_SCORES = ("minus", "None", "1", "rows((40, 2))", "'a/b'")


def files(*kinds: str) -> Sources:
    """A file, with scores of any sort or in a second file; or no file at all."""
    one = one_file(kinds)
    return st.one_of(
        one.map(lambda file: (file,)),
        st.tuples(one, st.sampled_from(_NO_SCORES)),
        st.tuples(one, one),
        st.sampled_from(_NO_FILES),
    )
