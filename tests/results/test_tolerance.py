"""What a tolerance makes of the intervals of means and sds."""

import math

import numpy as np
import pytest

import polystein as ps
from polystein.results.effect_rows import EffectRow
from polystein.results.effects import EffectTable
from polystein.results.tolerance import quantile
from tests.results.rows import row


def verdict(*rows: EffectRow, tolerance: float = 0.1, complete: bool = True) -> str:
    return EffectTable(rows, len(rows), complete=complete).within(tolerance).verdict


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
    found = EffectTable((row("mean", 0.0, 0.001), row("sd", 0.02, 0.001, 0.9995)), 2).within(0.1)
    assert (found.verdict, found.reliability) == ("within", 0.9995)
    assert found.row is not None
    assert found.row.what == "sd"


def test_what_the_features_leave_unexplained_widens_intervals() -> None:
    """At R2 = 0.99 a mean may be off by 0.1 sd, and a log sd by the root of 0.005."""
    assert verdict(row("mean", 0.0, 1e-4, 0.991), tolerance=0.1) == "within"
    assert verdict(row("mean", 0.0, 1e-4, 0.99), tolerance=0.1) == "undecided"
    assert verdict(row("mean", 0.19, 1e-4, 0.99), tolerance=0.1) == "undecided"
    assert verdict(row("mean", 0.21, 1e-4, 0.99), tolerance=0.1) == "beyond"
    assert verdict(row("sd", 0.0, 1e-4, 0.99), tolerance=0.08) == "within"
    assert verdict(row("sd", 0.0, 1e-4, 0.99), tolerance=0.06) == "undecided"


def test_more_draws_do_not_help_where_features_explain_too_little() -> None:
    table = EffectTable((row("mean", 0.0, 1e-4, 0.99), row("sd", 0.0, 1e-4)), 2)
    assert table.within(0.05).unexplained
    assert not EffectTable((row("mean", 0.0, 0.5),), 1).within(0.05).unexplained
    assert not table.within(0.5).unexplained


@pytest.mark.parametrize("tolerance", [0, 1, 1.5, -0.1, math.nan, "a", None, True])
def test_what_is_no_tolerance_is_refused(tolerance: object) -> None:
    table = EffectTable((row("mean", 0.0, 0.01),), 1)
    with pytest.raises(ps.InputError, match="`tolerance` must be a number strictly between"):
        table.within(tolerance)  # type: ignore[arg-type]


def test_wrong_draws_need_an_r2_that_fits_the_tolerance() -> None:
    """Normal draws of a logistic law: the sd's R2 of 0.998 leaves 3 % of the sd open."""
    draws = np.random.default_rng(5).standard_normal((100_000, 1)) * math.pi / math.sqrt(3.0)
    table = ps.effects(draws, -np.tanh(0.5 * draws), iid=True)
    found = table.within(0.02)
    assert (found.verdict, found.unexplained) == ("undecided", True)
    assert table.within(0.1).verdict == "within"
