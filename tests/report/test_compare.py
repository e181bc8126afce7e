"""A comparison of samplers on a screen, in a notebook, on a page and as a plot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.report.compare import number, render_samplers, samplers_headline
from polystein.results.sampler_comparison import rank_words
from tests.report.drawn import assert_legible, labels, notes

RNG = np.random.default_rng(0)


def comparison(count: int = 3, **options: object) -> ps.SamplerComparison:
    scales = [1.0, 1.0, 1.5, *[2.0] * count][:count]
    draws = [scale * RNG.standard_normal((4, 200, 2)) for scale in scales]
    sets = {f"set {place}": (x, -x) for place, x in enumerate(draws)}
    return ps.compare(sets, **options)  # type: ignore[arg-type]


FOUND = comparison(cost={"set 0": 3.0})


def test_the_screen_holds_it() -> None:
    text = str(FOUND)
    assert max(map(len, text.splitlines())) <= 88
    assert " ".join(text.split()).startswith(samplers_headline(FOUND))
    assert "but the draws do not tell it from" in text
    assert "1 is clearly farther" in text
    assert "ess/cost" in text
    assert "the sd of" in text
    many = comparison(9)
    many = replace(many, sets=(*many.sets, *many.sets))
    long = str(many)
    assert len(long.splitlines()) <= 24
    assert "more, in `sets`" in long
    assert "more, in here" in render_samplers(many, rest_in="here")


def test_the_headline_of_a_clear_winner() -> None:
    first, second = (replace_rank(one, rank) for one, rank in zip(FOUND, (1, 2), strict=False))
    clear = replace(FOUND, sets=(first, second))
    assert samplers_headline(clear) == (
        f"`{first.name}` is clearly nearest to the target (level 0.05)."
    )


def replace_rank(one: object, rank: int) -> object:
    return one._replace(rank=(rank, rank))  # type: ignore[attr-defined]


def test_what_is_not_known_is_a_question_mark() -> None:
    unknown = FOUND.sets[0]._replace(means=None, sds=None, mcse=None, ess=None, ess_per_cost=None)
    found = replace(FOUND, sets=(unknown, *FOUND.sets[1:]), warnings=("Something is odd.",))
    assert "      ?" in str(found)
    assert "Warning: Something is odd." in str(found)
    assert "Something is odd." in found._repr_html_()
    axes = ps.plot_compare(found, measure="means")
    assert any(text.get_text() == "not known" for text in axes.texts)


@pytest.mark.parametrize("dimension", [2, 20, 200])
def test_every_set_has_its_interval_and_rank(dimension: int) -> None:
    rng = np.random.default_rng(0)
    names = ("an_$odd$_name", "right")
    draws = {name: rng.standard_normal((2, 120, dimension)) for name in names}
    draws["an_$odd$_name"] *= 3.0
    found = ps.compare({name: (x, -x) for name, x in draws.items()})
    for measure in ("discrepancy", "means", "sds"):
        axes = ps.plot_compare(found, measure=measure)
        assert labels(axes) == [one.name for one in found.sets]
        distances = [one.distance(measure) for one in found.sets]
        assert notes(axes) == [
            "not known" if distance is None else f"rank {rank_words(one.rank)}"
            for one, distance in zip(found.sets, distances, strict=True)
        ]
        known = [distance for distance in distances if distance is not None]
        # An interval and a point for each, and the line at 0.
        drawn = [list(line.get_xdata()) for line in axes.lines]
        assert drawn[:-1] == [
            numbers for one in known for numbers in ([one.lower, one.upper], [one.value])
        ]
        assert drawn[-1] == [0.0, 0.0]
        assert_legible(axes)


def test_names_are_escaped() -> None:
    odd = FOUND.sets[0]._replace(name="<b>\x1b[31m")
    found = replace(FOUND, sets=(odd, *FOUND.sets[1:]))
    assert "\x1b" not in str(found)
    assert "<b>" not in found._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "?"), (0.0, "0"), (0.1234, "0.12"), (123.4, "123.4"), (123456.0, "1.2e+05")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_the_page_has_every_set(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert FOUND.to_html(file) == file
    page = file.read_text("utf-8")
    assert all(f"set {place}" in page for place in range(3))
    assert "Differences" in page
    (tmp_path / "other.html").write_text("mine")
    with pytest.raises(ps.InputError, match="`path`"):
        FOUND.to_html(tmp_path / "other.html")


def test_the_plot_has_a_row_for_each_set() -> None:
    axes = FOUND.plot()
    assert labels(axes) == [one.name for one in FOUND]
    assert labels(ps.plot_compare(FOUND, most=1))[-1] == "and 2 more"
    with pytest.raises(ps.InputError, match="`measure` must be"):
        ps.plot_compare(FOUND, measure="speed")  # type: ignore[arg-type]
    with pytest.raises(ps.InputError, match="`comparison` must be what `compare` returned"):
        ps.plot_compare(3)  # type: ignore[arg-type]
