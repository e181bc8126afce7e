"""The appendix: its grid, and what is committed of it."""

from pathlib import Path

import pytest

from polystein.experiments.engine.cells import Row, number
from polystein.experiments.engine.store import read_csv
from polystein.experiments.paper import appendix

FOLDER = Path(__file__).parents[3] / "docs" / "reproduction"


def test_the_grid_is_the_papers() -> None:
    assert [cell["d"] for cell in appendix.cells(1)] == [16] * 4


def committed(sampler: str, method: str) -> dict[int, Row]:
    rows = read_csv(FOLDER / "appendix.csv")
    chosen = [row for row in rows if (row["sampler"], row["method"]) == (sampler, method)]
    return {int(number(row, "order")): row for row in chosen}


@pytest.mark.parametrize(
    ("sampler", "order", "least"),
    [("laplace", 8, 0.95), ("laplace", 6, 0.95), ("perturbed", 8, 0.90), ("student_t", 4, 0.98)],
)
def test_lambda_psd_as_printed_keeps_its_power_at_high_orders(
    sampler: str, order: int, least: float
) -> None:
    """In the committed table: pruning is what keeps it."""
    row = committed(sampler, "lambda_psd")[order]
    assert number(row, "replicates") >= 200
    assert number(row, "rejection_rate") >= least


@pytest.mark.parametrize(("sampler", "first"), [("perturbed", 1), ("student_t", 1), ("laplace", 3)])
@pytest.mark.parametrize("method", ["lambda_psd", "lambda_psd_published"])
def test_the_committed_power_is_flat_in_the_order(sampler: str, first: int, method: str) -> None:
    rates = [
        number(row, "rejection_rate")
        for order, row in committed(sampler, method).items()
        if order >= first
    ]
    assert max(rates) - min(rates) <= 0.05


def test_the_table_has_a_line_for_each_sampler_and_method() -> None:
    text = appendix.power_table(read_csv(FOLDER / "appendix.csv"))
    assert len(text.splitlines()) == 4 + 4 * 3
    assert "| laplace | λ-PSD, as printed | 0.075 | 0.050 | 0.070 | 0.995 |" in text
