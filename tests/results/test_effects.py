"""Tables of effects, and what a tolerance makes of them."""

import math

import pytest

import polystein as ps
from polystein.results.effects import (
    EffectRow,
    EffectTable,
    ExpectationRow,
    ExpectationTable,
    judged,
    quantile,
)


def row(what: str, estimate: float, error: float, reliability: float = 1.0) -> EffectRow:
    size = math.exp(estimate) if what == "sd" else estimate
    return EffectRow(
        "a", what, size, size - error, size + error, 1.0, False, reliability, f"the {what} of `a`",
        estimate, error, math.inf,
    )  # fmt: skip


def verdict(*rows: EffectRow, tolerance: float = 0.1, complete: bool = True) -> str:
    return judged(EffectTable(rows, len(rows), complete=complete), tolerance).verdict


def test_all_inside_is_within_and_one_outside_is_beyond() -> None:
    good = row("mean", 0.01, 0.01)
    assert verdict(good, row("sd", -0.05, 0.01)) == "within"
    assert verdict(good, row("sd", -0.15, 0.01)) == "beyond"
    assert verdict(good, row("sd", -0.1, 0.01)) == "undecided"
    assert verdict(good, row("mean", 0.05, 0.04)) == "undecided"


def test_intervals_are_simultaneous() -> None:
    """A row at two and a bit standard errors from the border, alone and among twenty."""
    one = row("mean", 0.1 - 2.1 * 0.01, 0.01)
    assert verdict(one) == "within"
    assert verdict(*[one] * 20) == "undecided"
    assert quantile(0.05, math.inf) == pytest.approx(1.96, abs=1e-3)
    assert quantile(0.05, 5.0) == pytest.approx(2.571, abs=1e-3)


def test_the_border_of_an_sd_is_a_ratio() -> None:
    assert verdict(row("sd", math.log(0.91), 1e-4)) == "within"
    assert verdict(row("sd", math.log(0.89), 1e-4)) == "beyond"
    assert verdict(row("sd", math.log(1.09), 1e-4)) == "within"
    assert verdict(row("sd", math.log(1.11), 1e-4)) == "beyond"


def test_unreliable_rows_decide_nothing() -> None:
    good = row("mean", 0.0, 0.001)
    assert verdict(good, row("sd", 0.0, 0.001, reliability=0.98)) == "undecided"
    assert verdict(good, row("sd", 0.5, 0.001, reliability=0.98)) == "undecided"
    assert verdict(row("sd", 0.5, 0.001), row("mean", 0.0, 0.001, reliability=0.5)) == "beyond"


def test_shapes_and_pairs_do_not_count_and_missing_rows_do() -> None:
    assert verdict(row("mean", 0.0, 0.001), row("skew", 3.0, 0.1)) == "within"
    assert verdict(row("mean", 0.0, 0.001), complete=False) == "undecided"
    assert verdict(row("skew", 0.0, 0.001)) == "undecided"


def test_what_a_tolerance_rests_on() -> None:
    found = judged(EffectTable((row("mean", 0.0, 0.01), row("sd", 0.02, 0.01, 0.995)), 2), 0.1)
    assert (found.verdict, found.reliability) == ("within", 0.995)
    assert found.row is not None
    assert found.row.what == "sd"


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
    import polystein.results.effects as module

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", missing)
    values = (0.0,) * 10
    table = ExpectationTable((ExpectationRow("a", "mean", *values),))
    with pytest.raises(ps.MissingExtraError, match="pandas"):
        table.to_dataframe()
