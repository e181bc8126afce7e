"""The figures: what is drawn, and what the legends say."""

from pathlib import Path

from polystein.experiments.engine.cells import Row
from polystein.experiments.paper import figures, runtime
from polystein.experiments.paper.methods import ALL_METHODS


def test_figure_1_says_where_order_0_is() -> None:
    summary: list[Row] = [
        {
            "sampler": sampler, "n": 1000, "d": 2, "method": method.name, "order": method.order,
            "rejection_rate": 0.5, "rejection_se": 0.1,
        }
        for sampler in figures.SAMPLERS
        for method in ALL_METHODS
    ]  # fmt: skip
    figure = figures.figure1(summary)
    assert all(axes.get_title().endswith("\nn = 1000") for axes in figure.axes)
    (legend,) = figure.legends
    assert "λ-PSD (Q=0), which is PSD (Q=0), is in figure 2" in legend.get_title().get_text()
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {
        one.label
        for one in ALL_METHODS
        if one.name not in ("psd", "lambda_psd_published") and one.order != 0
    }


def test_runtime_figures(tmp_path: Path) -> None:
    summary: list[Row] = [
        {
            "sweep": sweep, "n": 100 * k, "d": 16 * k, "order": order, "weights": rule,
            "median_seconds": 0.01 * k, "published_median_seconds": 0.1 * k,
        }
        for sweep in ("vary_n", "vary_d")
        for k in (1, 2)
        for order in (0, 1)
        for rule in ("CrossEntropy", "ClosedForm")
    ]  # fmt: skip
    for sweep, label in (("vary_n", "n"), ("vary_d", "d")):
        figure = runtime.runtime_figure(summary, sweep)
        assert [axes.get_xlabel() for axes in figure.axes] == [label] * 3
        fixed = "; d = 16" if label == "n" else "; n = 1000"
        assert all(axes.get_title().endswith(fixed) for axes in figure.axes)
        assert all(len(axes.lines) == 2 for axes in figure.axes)
