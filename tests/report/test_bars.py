"""Plots of evidence and of weights, and the plot that fits a result: what is drawn."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import polystein as ps
from polystein.report.canvas import AGAINST, NOT_AGAINST
from polystein.results.evidence import Arm, Evidence, Part
from tests.report.drawn import assert_legible, effects_of, labels, notes
from tests.report.results import bootstrap_result, check_result, inconclusive_result, z_result


def widths(axes: Any) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


def with_parts(count: int) -> ps.GofResult:
    """A result with many parts, of which the last has the smallest p-value."""
    parts = tuple(
        Part(f"part_${place}$", "spread", (), (), 0.9 ** (place + 1), 1.0 / count)
        for place in range(count)
    )
    return replace(check_result(), evidence=Evidence((Arm("all", "all rows", 0.01, parts),)))


def test_parts_are_drawn_with_what_each_needs() -> None:
    axes = ps.plot_evidence(check_result())
    assert labels(axes) == [
        "all together",
        "spread (x: max)",
        "everything at once (trained stack)",
        "location (score: sum)",
    ]
    assert notes(axes) == ["0.01", "0.001", "0.04", "0.5"]
    assert widths(axes) == pytest.approx([2.0, 3.0, 1.39794, 0.30103])
    # The level over the shares 1, 0.4, 0.2 and 0.4.
    marks = [line.get_xdata()[0] for line in axes.lines]
    assert marks == pytest.approx([1.30103, 1.69897, 2.0, 1.69897])
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert axes.get_title(loc="left") == "Rejected (check, dimension 4)"
    assert_legible(axes)


@pytest.mark.parametrize(("parts", "shown"), [(2, 2), (20, 12), (200, 12)])
def test_the_strongest_parts_are_drawn_and_the_others_counted(parts: int, shown: int) -> None:
    axes = ps.plot_evidence(with_parts(parts))
    assert labels(axes)[1] == f"spread (part_${parts - 1}$)"
    assert labels(axes)[shown + 1 :] == ([f"and {parts - shown} more"] if parts > shown else [])
    assert len(widths(axes)) == shown + 1
    assert_legible(axes)


def test_tiny_pvalues_end_at_the_edge() -> None:
    axes = ps.plot_evidence(replace(check_result(), pvalue=0.0))
    assert widths(axes)[0] == axes.get_xlim()[1] == 6.0
    assert "or less" in labels(axes, "x")[-1]
    assert notes(axes)[0] == "< 0.0001"
    assert_legible(axes)


def test_any_result_has_evidence() -> None:
    axes = ps.plot_evidence(bootstrap_result())
    assert labels(axes) == ["all together"]
    assert notes(axes) == ["0.4"]
    assert ps.plot_evidence(inconclusive_result()).get_title(loc="left").startswith("Inconclusive")
    assert_legible(axes)


def test_features_have_their_z() -> None:
    tail = float(norm.sf(2.5))
    axes = ps.plot_evidence(z_result(pvalue=2.0 * tail))
    assert labels(axes) == [
        "all together",
        "location (score)",
        "spread, correlation (x)",
        "skewness (x^2)",
    ]
    assert widths(axes) == [2.5, 1.25, 1.25, 1.25]
    assert [round(line.get_xdata()[0], 2) for line in axes.lines] == [0.0, -1.96, 1.96]
    one_sided = ps.plot_evidence(z_result(pvalue=tail, alternative="greater"))
    assert [round(line.get_xdata()[0], 2) for line in one_sided.lines] == [0.0, 1.64]
    assert_legible(axes)


@pytest.mark.parametrize(("pvalue", "colour"), [(0.01, AGAINST), (0.5, NOT_AGAINST)])
def test_the_colour_is_that_of_the_verdict(pvalue: float, colour: str) -> None:
    for result in (z_result(pvalue=pvalue), replace(bootstrap_result(), pvalue=pvalue)):
        bar = ps.plot_evidence(result).patches[0]
        assert bar.get_facecolor() == pytest.approx([*_parts(colour), 1.0])


def _parts(colour: str) -> list[float]:
    return [int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)]


def test_the_level_is_checked() -> None:
    with pytest.raises(ps.InputError, match="`alpha` must be"):
        ps.plot_evidence(check_result(), alpha=1.5)


def test_weights_are_drawn_the_largest_first() -> None:
    result = z_result(weights={"x": 0.6, "x^2": -0.8, "score": 0.0})
    axes = ps.plot_weights(result)
    assert labels(axes) == ["skewness (x^2)", "spread, correlation (x)", "location (score)"]
    assert widths(axes) == [-0.8, 0.6, 0.0]
    assert notes(axes) == ["−0.800", "0.600", "0.000"]
    assert_legible(axes)


@pytest.mark.parametrize(("count", "shown"), [(2, 2), (20, 20), (200, 20)])
def test_many_weights_are_counted(count: int, shown: int) -> None:
    weights = {f"x^{place}": 1.0 / (place + 1) for place in range(count)}
    axes = ps.plot_weights(z_result(shares=dict.fromkeys(weights, 0.1), weights=weights))
    assert len(widths(axes)) == shown
    assert labels(axes)[shown:] == ([f"and {count - shown} more"] if count > shown else [])
    assert_legible(axes)


def test_a_result_without_weights_is_refused() -> None:
    with pytest.raises(ps.InputError, match=r"`lambda_psd_test`; got one of 'psd-bootstrap'"):
        ps.plot_weights(bootstrap_result())


@pytest.mark.parametrize("plot", [ps.plot_evidence, ps.plot_weights])
@pytest.mark.parametrize("wrong", [None, 0.5, "result", {}])
def test_what_is_no_result_is_refused(plot: Any, wrong: Any) -> None:
    with pytest.raises(ps.InputError, match="`result` must be a GofResult"):
        plot(wrong)


def test_the_plot_that_fits() -> None:
    found = replace(check_result(), effect_table=effects_of(2))
    assert labels(found.plot())[0] == "tau_log__[0]  mean"
    passed = replace(found, pvalue=0.5)
    assert labels(passed.plot())[0] == "all together"
    assert labels(check_result().plot())[0] == "all together"
    assert "weight λ" in z_result().plot().get_xlabel()


def test_effects_that_cannot_be_computed_leave_the_evidence() -> None:
    def fails() -> ps.EffectTable:
        raise ps.DegenerateError("no effects")

    result = check_result()
    result.compute_effects_by(fails)
    assert labels(result.plot())[0] == "all together"


def test_students_law_and_several_splits_have_no_line_of_the_normal_law() -> None:
    draws = np.random.default_rng(1).standard_normal((4, 200, 2))
    chains = ps.psd_test(
        draws, -draws, order=1, split=ps.BlockSplit(), variance=ps.BatchMeans(), rng=0
    )
    rows = draws.reshape(-1, 2)
    for result in (chains, ps.psd_test(rows, -rows, order=1, repeats=5, rng=0)):
        assert "dashed" not in ps.plot_evidence(result).get_xlabel()
    assert "dashed" in ps.plot_evidence(ps.psd_test(rows, -rows, order=1, rng=0)).get_xlabel()
