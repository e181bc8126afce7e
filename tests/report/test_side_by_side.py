"""The picture of several samplers: what is drawn, not how it looks."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.errors import MissingExtraError
from polystein.report.canvas import AGAINST, BLACK, GREY, NOT_AGAINST, new_figure, save
from polystein.report.side_by_side import plot_draws
from tests.report.drawn import effect
from tests.report.results import check_result, inconclusive_result, z_result

RESULTS = {
    "good $x$": z_result(pvalue=0.5, statistic=-0.7),
    "bad": replace(check_result(), pvalue=1e-6),
    "stuck": inconclusive_result(),
}


def drawn(count: int = 1000):
    rng = np.random.default_rng(0)
    draws = {
        name: spread * rng.standard_normal((count, 2))
        for name, spread in zip(RESULTS, (1.0, 1.3, 1.0), strict=True)
    }
    target = rng.standard_normal((4000, 2))
    return draws, plot_draws(draws, RESULTS, target, ("a", "b$"))


def test_every_sampler_is_named_and_judged() -> None:
    _, figure = drawn()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [
        "good $x$\nnot rejected, p = 0.5",
        "bad\nrejected, p < 0.0001",
        "stuck\ninconclusive, p = 0.42",
    ]
    assert [axes.title.get_color() for axes in figure.axes] == [NOT_AGAINST, AGAINST, GREY]
    assert figure.axes[0].get_ylabel() == "b$"
    below = [axes.get_xlabel().split("\n", 2)[2].strip() for axes in figure.axes]
    assert below[0] == below[2] == "no sign of a fault"
    assert below[1] != below[0]
    assert "`" not in "".join(below)
    figure.draw_without_rendering()


def test_ellipses_lie_two_sds_from_the_mean() -> None:
    draws, figure = drawn()
    for axes, rows in zip(figure.axes, draws.values(), strict=True):
        points, own, target = axes.lines
        assert 200 <= len(points.get_xdata()) <= 500
        centred = np.stack(own.get_data(), axis=1) - rows.mean(axis=0)
        squares = np.einsum("ni,ij,nj->n", centred, np.linalg.inv(np.cov(rows.T)), centred)
        np.testing.assert_allclose(squares, 4.0)
        assert target.get_linestyle() == "--"


def test_captions_are_about_the_axes_or_say_that_they_are_not() -> None:
    subjects = (
        "the sd of `c`",
        "the correlation of `a` and `c`",
        "the correlation of `a` and `b$`",
    )
    rows = tuple(
        effect(subject[-2:-1], "sd", 1.4, sentence=f"{subject} is 0.20 (0.10 to 0.30)")
        for subject in subjects
    )
    draws = {"bad": np.random.default_rng(0).standard_normal((100, 2))}
    captions = []
    for shown in (rows, rows[:2]):
        table = ps.EffectTable(shown, len(shown))
        results = {"bad": replace(check_result(), pvalue=1e-6, effect_table=table)}
        figure = plot_draws(draws, results, draws["bad"], ("a", "b$"))
        captions.append(" ".join(figure.axes[0].get_xlabel().split()).removeprefix("a "))
    assert captions == [
        "the correlation of a and b$ is 0.20",
        "the sd of c is 0.20; not on these axes",
    ]


def test_the_line_of_the_draws_has_no_sampler_s_colour_in_the_legend() -> None:
    (legend,) = drawn()[1].legends
    assert [line.get_color() for line in legend.get_lines()] == [GREY, BLACK]


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_the_name_sets_the_format(tmp_path: Path, suffix: str, start: bytes) -> None:
    save(drawn(50)[1], tmp_path / f"plot{suffix}")
    assert (tmp_path / f"plot{suffix}").read_bytes().startswith(start)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'polystein\[cli\]'"):
        new_figure(1.0, 1.0)
