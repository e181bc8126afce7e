"""`check` in more dimensions than rows: products with rows in place of matrices, no pairs."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.source import Layout
from polystein.methods.check import statistics, sums, witnesses
from polystein.methods.check.batches import cut
from polystein.methods.check.statistics import FINE, PAIRS
from tests.sources import MinimalSource


def draws(n: int, d: int, scale: float = 1.0) -> np.ndarray:
    return scale * np.random.default_rng(4).standard_normal((n, d))


def checked(*arguments: Any, **options: Any) -> ps.GofResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        return ps.check(*arguments, rng=1, **options)


@pytest.mark.parametrize("options", [{}, {"iid": True}], ids=["chain", "rows"])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_with_rows_give_the_arms_of_matrices(
    options: dict[str, Any], weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = draws(200, 12, 1.1)
    log_weights = np.random.default_rng(5).normal(0.0, 0.3, 200) if weighted else None
    sample = ps.Sample(x, -x, log_weights=log_weights)
    by_matrices = checked(sample, **options).to_dict()
    monkeypatch.setattr(witnesses, "dual_is_cheaper", lambda *_: True)
    by_rows = checked(sample, **options).to_dict()
    for first, second in zip(by_matrices["evidence"]["arms"], by_rows["evidence"]["arms"],
                             strict=True):  # fmt: skip
        assert first["name"] == second["name"]
        assert first["pvalue"] == pytest.approx(second["pvalue"], rel=1e-8)


def test_a_lazy_source_gives_the_answer_of_memory() -> None:
    x = draws(150, 300)
    found = checked(MinimalSource([(x, -x)], time_ordered=False))
    assert found.statistic == pytest.approx(checked(x, -x).statistic, abs=1e-9)


def test_many_dimensions_leave_pairs_out_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x = draws(300, 6)
    monkeypatch.setattr(sums, "MOST_PAIRED_DIMENSIONS", 5)
    found = checked(x, -x)
    assert PAIRS in [one.name for one in found.evidence.abstained]
    named = [part.name for arm in found.evidence.arms for part in arm.parts]
    assert not any("pairs" in name for name in named)
    # The trained witnesses still look at pairs: nothing is left open.
    assert found.verdict == "not rejected"
    assert "sign flips of pairs of coordinates" in str(found)


def test_very_many_dimensions_leave_waves_out_and_say_so() -> None:
    found = checked(draws(120, 1001), lambda x: -x, iid=True)
    assert FINE in [one.name for one in found.evidence.abstained]
    assert not any(part.name == "waves: max" for part in found.evidence.parts)
    assert found.verdict == "not rejected"


def test_a_fault_in_high_dimension_is_found() -> None:
    assert checked(draws(400, 1000, 1.2), lambda x: -x).verdict == "rejected"
    assert checked(draws(400, 1000), lambda x: -x).pvalue > 0.05


def test_all_pairs_that_are_looked_at_are_summed_in_one_pass() -> None:
    """So that no row is read once more for them."""
    most = sums.MOST_PAIRED_DIMENSIONS
    layout = Layout((10_000,), most, time_ordered=True)
    source: Any = SimpleNamespace(layout=layout, weighted=False)
    batches = cut(layout, chains=True)
    frame = Frame(np.zeros(most), np.ones(most))
    taken = sums.BatchSums(
        source,
        frame,
        statistics.BASIS,
        batches,
        tuple(statistics.PAIR_ORDERS.values()),
        statistics.TAILS,
        frame,
    )
    assert taken.keeps_pairs
