"""Tables of effects, and what a tolerance makes of them."""

import math
import sys

import pytest

import polystein as ps
from polystein.results.effect_rows import EffectRow, ExpectationRow
from polystein.results.effects import EffectTable, ExpectationTable
from tests.results.rows import row


def test_infinite_bounds_survive_storage() -> None:
    unknown = EffectRow(
        "a", "mean", 0.0, -math.inf, math.inf, 1.0, False, 0.0, "?", 0.0, math.inf, 3.0
    )
    table = EffectTable((unknown,), 4, "a hint")
    stored = table.to_dict()
    assert stored["rows"][0]["upper"] is None
    assert EffectTable.from_dict(stored) == table
    assert unknown.statistic == 0.0


def test_rows_are_found_by_name_and_property() -> None:
    table = EffectTable((row("mean", 0.1, 0.1), row("sd", 0.1, 0.1)), 2)
    assert table["a", "sd"].what == "sd"
    with pytest.raises(ps.InputError, match="got \\('b', 'sd'\\)"):
        table["b", "sd"]


def test_data_frames_need_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    values = (0.0,) * 10
    table = ExpectationTable((ExpectationRow("a", "mean", *values),))
    with pytest.raises(
        ps.MissingExtraError, match="`to_dataframe` needs pandas: pip install pandas"
    ):
        table.to_dataframe()
