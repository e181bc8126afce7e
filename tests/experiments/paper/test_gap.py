"""The optimality gap: what is computed, what is shown, and what is committed."""

import csv
from contextlib import nullcontext
from pathlib import Path

import pytest

from polystein.experiments.engine.cells import Replicate, Row, number
from polystein.experiments.engine.store import write_text
from polystein.experiments.paper import gap, reproduce
from polystein.experiments.paper.reproduction import Options
from polystein.theory import GaussianPair

COMMITTED = Path(__file__).parents[3] / "docs" / "reproduction"


def committed() -> list[Row]:
    with (COMMITTED / "gap.csv").open(encoding="utf-8", newline="") as stream:
        return [
            {name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)
        ]


def test_a_task_gives_the_three_ratios_of_every_order() -> None:
    cell = next(cell for cell in gap.cells() if cell["d"] == 1)
    rows = gap.task(Replicate(cell, 0, seed=0))
    assert [row["order"] for row in rows] == list(gap.ORDERS)
    # Order 0: one feature a coordinate, -x_j with the mean -delta and the variance sigma^2.
    expected = cell["delta"] ** 2 / cell["variance"]
    for column in ("psd", "lambda_psd", "o_psd"):
        assert number(rows[0], column) == pytest.approx(expected, rel=1e-14)


def test_the_committed_table_is_what_the_theory_gives() -> None:
    table = committed()
    assert len(table) == len(gap.cells()) * len(gap.ORDERS)
    for row in table:
        assert number(row, "psd") <= number(row, "lambda_psd") * (1 + 1e-12)
        assert number(row, "lambda_psd") <= number(row, "o_psd") * (1 + 1e-12)
        assert number(row, "o_psd") <= number(row, "chi_square_bound") * (1 + 1e-12)
        order = int(number(row, "order"))
        if order <= 2:
            pair = GaussianPair(
                int(number(row, "d")), number(row, "delta"), number(row, "variance")
            )
            assert number(row, "psd") == pytest.approx(pair.snr_squared_z(order), rel=1e-12)
            assert number(row, "lambda_psd") == pytest.approx(
                pair.lambda_snr_squared(order), rel=1e-12
            )
            assert number(row, "o_psd") == pytest.approx(pair.o_psd(order), rel=1e-12)


def test_the_page_has_the_committed_table_and_names_the_worst_case() -> None:
    rows = committed()
    page = (COMMITTED / "verdict.md").read_text("utf-8")
    assert gap.table(rows) in page
    worst = min(rows, key=lambda row: number(row, "lambda_psd_share"))
    assert f"share of λ-PSD here is {number(worst, 'lambda_psd_share'):.3f}" in page


def test_the_page_of_the_paper_says_what_the_table_says() -> None:
    """The paragraph on the optimality gap in docs/paper.md."""
    small = [row for row in committed() if (row["delta"], row["variance"]) == (0.1, 1.2)]
    shares = {d: [row for row in small if row["d"] == d and row["order"]] for d in (2, 64)}
    assert min(number(row, "lambda_psd_share") for row in shares[2]) >= 0.99
    for row in shares[64]:
        assert number(row, "lambda_psd_share") == pytest.approx(0.7, abs=0.03)
    at_order_4 = [number(row, "psd_share") for row in small if row["order"] == 4]
    assert (round(min(at_order_4), 2), round(max(at_order_4), 2)) == (0.09, 0.22)
    key = {"delta": 0.5, "variance": 0.7, "d": 2, "order": 4}
    (row,) = [row for row in committed() if key.items() <= row.items()]
    assert round(number(row, "lambda_psd_share"), 2) == 0.33


@pytest.mark.usefixtures("empty_pictures")
def test_a_section_has_figure_table_and_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**row, "replicate": 0} for row in reversed(committed())]
    for row in rows:
        del row["psd_share"], row["lambda_psd_share"]
    monkeypatch.setattr(Options, "run", lambda *_: rows)
    monkeypatch.setattr(Options, "note", _pretend)
    section = reproduce.reproduce("gap", Options(tmp_path, 0, lambda _: nullcontext()))
    assert "λ-PSD levels off](gap.png)" in section
    assert "| N(0.5·1, 0.7 I) | 2 | 0.334 / 0.516 |" in section
    assert "the least share of λ-PSD here is 0.120, at δ = 0.3, σ² = 1.7, d = 64" in section
    assert (tmp_path / "gap.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "gap.csv").open(encoding="utf-8", newline="") as stream:
        written = list(csv.DictReader(stream))
    assert "replicate" not in written[0]
    assert [float(row["psd_share"]) for row in written] == [row["psd_share"] for row in committed()]


def _pretend(options: Options, study: str) -> None:
    """As committed."""
    write_text(options.out / f"{study}.json", (COMMITTED / f"{study}.json").read_text("utf-8"))
