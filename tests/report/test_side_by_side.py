"""The plot of several results: what is drawn, not how it looks."""

import sys
from pathlib import Path

import pytest

from polystein.errors import InputError, MissingExtraError
from polystein.report.canvas import new_figure, save
from polystein.report.side_by_side import plot_results
from tests.report.results import bootstrap_result, check_result, inconclusive_result, z_result


def test_every_result_is_named_and_judged() -> None:
    results = {"good": z_result(pvalue=0.5, statistic=-0.7), "bad": z_result(pvalue=1e-6)}
    left, right = plot_results(results).axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["good", "bad"]
    notes = [text.get_text() for text in left.texts]
    assert notes == ["no evidence against it, p = 0.5", "evidence against it, p < 0.0001"]
    assert [bar.get_width() for bar in left.patches] == [0.7, 2.5]
    assert [text.get_text() for text in right.texts] == ["nothing seen"]


def test_an_inconclusive_result_is_called_so() -> None:
    left, right = plot_results({"stuck": inconclusive_result()}).axes
    assert [text.get_text() for text in left.texts] == ["inconclusive, p = 0.42"]
    assert [text.get_text() for text in right.texts] == ["nothing seen"]


def test_shares_are_stacked_from_the_score_up() -> None:
    _, right = plot_results({"bad": z_result()}).axes
    spans = [(bar.get_x(), bar.get_width()) for bar in right.patches]
    # Exact in binary.
    assert spans == [(0.0, 0.625), (0.625, 0.25), (0.875, 0.125)]
    legend = right.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "score: location",
        "x: spread, correlation",
        "x^2: skewness",
    ]


def test_parts_are_drawn_by_what_they_look_at() -> None:
    _, right = plot_results({"several parts": check_result()}).axes
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels == ["location", "spread", "everything at once"]
    assert right.get_xlabel() == "share of the evidence, in absolute value"
    widths = [bar.get_width() for bar in right.patches]
    assert widths[0] == 0.0
    assert sum(widths) == pytest.approx(1.0)


def test_no_two_features_look_alike() -> None:
    count = 12
    _, right = plot_results(
        {"many": z_result(shares={f"x^{i}": 1.0 / count for i in range(count)})}
    ).axes
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in right.patches}
    assert len(looks) == count


def test_features_of_what_is_not_rejected_are_no_part_of_the_legend() -> None:
    results = {"good": z_result(pvalue=0.5, shares={"x^4": 1.0}), "bad": z_result()}
    _, right = plot_results(results).axes
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels == ["score: location", "x: spread, correlation", "x^2: skewness"]


@pytest.mark.parametrize(
    ("alternative", "size", "critical"), [("two-sided", 2.5, "1.96"), ("greater", -2.5, "1.64")]
)
def test_critical_value_and_sign_follow_the_alternative(
    alternative: str, size: float, critical: str
) -> None:
    result = z_result(statistic=-2.5, alternative=alternative, pvalue=0.5)
    left = plot_results({"one": result}).axes[0]
    assert left.patches[0].get_width() == size
    assert critical in left.get_xlabel()
    assert left.get_xlim()[0] <= min(size, 0.0)


def test_results_without_z_are_refused() -> None:
    with pytest.raises(InputError, match=r"must be z-tests.*psd-bootstrap"):
        plot_results({"bootstrap": bootstrap_result()})
    with pytest.raises(InputError, match="at least one"):
        plot_results({})


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_name_sets_the_format(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = tmp_path / f"plot.{suffix}"
    save(plot_results({"one": z_result()}), path)
    assert path.read_bytes().startswith(start)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'polystein\[cli\]'"):
        new_figure(1.0, 1.0)
