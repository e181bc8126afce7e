"""Pages stay below 500 KB, however many fits there are and however long names are."""

from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.report.many_page import MOST_TOLD, MOST_WARNINGS, many_page
from polystein.report.result_page import result_page
from polystein.results.effect_rows import EffectRow
from polystein.results.effects import EffectTable
from polystein.results.many import CheckedFit
from tests.results.rows import row

pytest.importorskip("jinja2")
LARGEST = 500_000


def rejected(names: list[str], warnings: tuple[str, ...] = ()) -> ps.GofResult:
    """A rejected result with a row for each name."""
    rows: tuple[EffectRow, ...] = tuple(
        row("mean", 0.5, 0.1)._replace(name=name, found=True, sentence=f"the mean of `{name}`")
        for name in names
    )
    return ps.GofResult(
        *(5.0, 1e-6, "greater", "check", len(names)),
        n_test=1000,
        warnings=warnings,
        effect_table=EffectTable(rows, len(rows)),
    )


def test_the_page_of_500_rejected_fits_tells_the_worst_in_full() -> None:
    one = rejected([f"x[{j}]" for j in range(50)], ("The chains are short.",))
    fits = tuple(CheckedFit(f"fit {number}", 1, 1000, one) for number in range(500))
    page = many_page(ps.CheckTable(fits))
    assert len(page.encode()) < LARGEST
    assert page.count("By itself:") == MOST_TOLD
    assert "480 more are rejected or inconclusive" in page
    assert page.count("fit 499") == 1  # in the table of all
    assert page.count("The chains are short.") == MOST_WARNINGS
    assert "... and 450 more" in page


@pytest.mark.parametrize("name", ["n" * 4_000, "long name " * 400])
def test_names_of_thousands_of_letters_are_cut(name: str, tmp_path: Path) -> None:
    page = result_page(rejected([f"{name}{j}" for j in range(100)]))
    assert len(page.encode()) < LARGEST
    assert name[:100] in page
    assert name[:200] not in page


def test_the_page_of_a_pass_of_many_parameters_is_small() -> None:
    draws = np.random.default_rng(0).standard_normal((2, 200, 30))
    names = [f"{'x' * 3_000}{j}" for j in range(30)]
    page = result_page(ps.check(ps.Sample(draws, -draws, names=names)))
    assert len(page.encode()) < LARGEST
