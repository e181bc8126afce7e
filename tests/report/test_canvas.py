"""What all plots share: no state of pyplot, errors, and names as they are."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

import polystein as ps
from polystein.report.canvas import new_figure, shortened, signed
from tests.report.drawn import effects_of, labels
from tests.report.results import check_result, z_result

DRAWS = np.random.default_rng(0).standard_normal((2, 60, 2))
COMPARED = ps.compare({"one": (DRAWS, -DRAWS), "other": (1.5 * DRAWS, -1.5 * DRAWS)})
PLOTS: dict[str, Callable[..., Any]] = {
    "effects": lambda **options: ps.plot_effects(effects_of(2), **options),
    "evidence": lambda **options: ps.plot_evidence(check_result(), **options),
    "features": lambda **options: ps.plot_evidence(z_result(), **options),
    "weights": lambda **options: ps.plot_weights(z_result(), **options),
    "moments": lambda **options: ps.plot_moments(DRAWS, -DRAWS, **options),
    "chains": lambda **options: ps.plot_chains(DRAWS, -DRAWS, **options),
    "compare": lambda **options: ps.plot_compare(COMPARED, **options),
    "fitting": lambda **options: check_result().plot(**options),
}


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_axes_are_those_given_or_those_of_a_new_figure(plot: Callable[..., Any]) -> None:
    given = Figure().subplots()
    assert plot(ax=given) is given
    made = plot()
    assert made is not given
    assert isinstance(made.figure, Figure)


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_pyplot_is_left_alone(plot: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # An import of pyplot fails.
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    plot()


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
@pytest.mark.parametrize("ax", ["axes", Figure(), [1]])
def test_what_is_no_axes_is_refused(plot: Callable[..., Any], ax: object) -> None:
    with pytest.raises(ps.InputError, match="`ax` must be Matplotlib's Axes"):
        plot(ax=ax)


@pytest.mark.parametrize("name", [name for name in PLOTS if name != "fitting"])
@pytest.mark.parametrize("most", [0, -1, 1.5, True, "all", 10**6])
def test_most_is_a_number_of_rows(name: str, most: object) -> None:
    with pytest.raises(ps.InputError, match="`most` must be"):
        PLOTS[name](most=most)


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_without_matplotlib_the_extra_is_named(
    plot: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ps.MissingExtraError, match=r"pip install 'polystein\[cli\]'"):
        plot()


def test_names_are_no_formulas_even_with_tex() -> None:
    with rc_context({"text.usetex": True}):
        axes = ps.plot_effects(effects_of(2))
    texts = [text for text in axes.get_yticklabels() if "$" in text.get_text()]
    assert labels(axes)[2] == "a_$b$1  mean"
    assert len(texts) == 2
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts)


def test_dollar_signs_take_up_room() -> None:
    def width(name: str) -> float:
        axes = ps.plot_moments(ps.Sample(DRAWS, -DRAWS, names=[name, "other"]))
        axes.figure.canvas.draw()
        return float(axes.get_yticklabels()[0].get_window_extent().width)

    assert width("a$b$c") == pytest.approx(width("a$b$$c") - width("a$") + width("a"), abs=2.0)
    assert width("a$b$c") > 1.2 * width("abc")


@pytest.mark.parametrize(
    ("name", "short"),
    [("abc", "abc"), ("theta[123456789]", "the…789]"), ("12345678", "12345678")],
)
def test_long_names_lose_their_middle(name: str, short: str) -> None:
    assert shortened(name, 8) == short


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123, "+0.12"), (-2.0, "−2.00"), (12345.0, "+1.23e+04"), (-0.001, "−0.001"), (0.0, "+0.00")],
)
def test_numbers_have_a_sign(value: float, text: str) -> None:
    assert signed(value) == text


def test_a_figure_has_the_size_asked_for() -> None:
    assert new_figure(3.0, 2.0).get_size_inches().tolist() == [3.0, 2.0]
