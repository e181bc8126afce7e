"""Effects as a user sees them."""

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.explain import effects as module
from polystein.explain import screening


def white(n: int = 1000, d: int = 4, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def table_of(draws: np.ndarray, **options: object) -> ps.EffectTable:
    sample = ps.Sample(draws, -draws, names=[f"theta[{j}]" for j in range(draws.shape[1])])
    return ps.effects(sample, iid=True, **options)  # type: ignore[arg-type]


def test_each_kind_of_fault_is_named_first() -> None:
    faults = {}
    for kind in ("mean", "sd", "skew", "correlation"):
        draws = white()
        if kind == "mean":
            draws[:, 2] -= 0.3
        elif kind == "sd":
            draws[:, 2] *= 1.3
        elif kind == "skew":
            draws[:, 2] = (np.random.default_rng(2).standard_gamma(4.0, 1000) - 4.0) / 2.0
        else:
            draws[:, 3] = 0.3 * draws[:, 2] + np.sqrt(0.91) * draws[:, 3]
        faults[kind] = table_of(draws).rows[0]
    assert {kind: row.what for kind, row in faults.items()} == {kind: kind for kind in faults}
    assert faults["mean"].sentence.startswith("the mean of `theta[2]` is 0.3")
    assert "too low" in faults["mean"].sentence
    assert faults["sd"].size == pytest.approx(1.3, abs=0.08)
    assert faults["correlation"].name == "theta[2], theta[3]"
    assert faults["correlation"].size == pytest.approx(0.3, abs=0.1)
    assert faults["skew"].sentence.startswith("the skewness of `theta[2]` is")
    assert all(row.found and row.reliable for row in faults.values())


def test_right_draws_and_everything_that_was_looked_at() -> None:
    table = table_of(white())
    assert table.found == ()
    assert table.hint == ""
    assert len(table) == table.looks == 16 + 6 + 2
    assert all(row.lower <= row.size <= row.upper for row in table)
    single = [abs(row.statistic) for row in table if not row.direction]
    assert single == sorted(single, reverse=True)


def test_the_p_values_are_those_of_weighted_holm() -> None:
    draws = white(300, 2)
    draws[:, 0] *= 1.15
    table = table_of(draws)
    assert sum(module.SHARES.values()) + module.DIRECTION_SHARE == pytest.approx(1.0)
    smallest = min(row.pvalue for row in table)
    assert table.rows[0].pvalue == smallest
    assert all((row.pvalue <= 0.05) == row.found for row in table)


def test_one_dimension_has_no_pairs() -> None:
    table = table_of(1.3 * white(1000, 1))
    assert table.looks == 4
    assert table.rows[0].what == "sd"


def test_scores_that_explain_nothing_find_nothing() -> None:
    rng = np.random.default_rng(0)
    table = ps.effects(rng.standard_normal((500, 2)), rng.standard_normal((500, 2)), iid=True)
    assert table.found == ()
    assert not any(row.reliable for row in table)
    unknown = [row for row in table if row.error == np.inf]
    assert any(row.what == "correlation" for row in unknown)
    assert all(np.isnan(row.size) and row.reliability < 0.9 for row in unknown)
    assert all("cannot be judged" in row.sentence for row in unknown)
    assert ps.EffectTable.from_dict(table.to_dict()).to_dict() == table.to_dict()


def test_of_many_coordinates_means_are_told_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SPREAD_MULTIPLICATIONS", 1.0)
    monkeypatch.setattr(screening, "MOST_COORDINATES", 2)
    draws = white(1000, 6)
    draws[:, 1] *= 1.4
    draws[:, 4] += 0.3
    table = table_of(draws)
    assert not table.complete
    assert {row.name for row in table if row.what == "sd"} == {"theta[1]", "theta[4]"}
    assert sum(row.what == "mean" for row in table) == 6
    assert table["theta[1]", "sd"].found
    assert table["theta[4]", "mean"].found
    every = module.effects_of(ps.Sample(draws, -draws), complete=True)
    assert every.complete
    assert table["theta[0]", "mean"].size == pytest.approx(every["x[0]", "mean"].size, rel=0.1)


def test_chains_are_taken_in_time_order() -> None:
    draws = white(1000, 2).reshape(4, 250, 2) * 1.5
    table = ps.effects(draws, -draws)
    assert table.rows[0].what == "sd"
    assert table.rows[0].df < 300
    with pytest.raises(ps.InputError, match="`iid`"):
        ps.effects(draws, -draws, iid=1)  # type: ignore[arg-type]


@pytest.mark.slow
def test_right_chains_that_are_short_are_left_alone() -> None:
    """Four chains of 60 draws that remember by 0.9 have 13 effective draws."""
    named = 0
    for seed in range(60):
        draws = np.random.default_rng(seed).standard_normal((4, 60, 3))
        draws[:, 1:] *= np.sqrt(0.19)
        for t in range(1, 60):
            draws[:, t] += 0.9 * draws[:, t - 1]
        named += bool(ps.effects(draws, -draws).found)
    assert binomtest(named, 60, 0.05, alternative="greater").pvalue > 0.05
    far = draws + 20.0
    assert ps.effects(far, -far).found[0].what == "mean"


@pytest.mark.parametrize("shift", [3.0, 10.0])
def test_draws_far_from_the_target_are_measured(shift: float) -> None:
    table = table_of(white(2000, 3) + shift)
    for name in ("theta[0]", "theta[1]", "theta[2]"):
        mean, sd = table[name, "mean"], table[name, "sd"]
        assert mean.found
        assert mean.reliable
        assert mean.size == pytest.approx(shift, abs=0.1)
        assert sd.reliable
        assert not sd.found


@pytest.mark.parametrize("ratio", [0.1, 0.03])
def test_draws_that_are_far_too_narrow_are_measured(ratio: float) -> None:
    row = table_of(ratio * white(2000, 3))["theta[1]", "sd"]
    assert row.found
    assert row.reliable
    assert row.size == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize(
    ("ratio", "shift"), [(1.0, 100.0), (1.0, 1000.0), (0.01, 3.0), (0.003, 0.0)]
)
def test_what_is_an_extrapolation_is_not_called_reliable(ratio: float, shift: float) -> None:
    table = table_of(shift + ratio * white(2000, 3))
    assert not any(row.reliable for row in table if row.what == "sd")
    assert not any(row.reliable for row in table if row.what == "mean")
    assert table.within(0.1).verdict == "undecided"


@pytest.mark.slow
def test_features_that_contradict_themselves_are_left_out() -> None:
    """Of Student-t(2), s x + 1 and s x^3 + 3 x^2 have the constant in their span."""
    named = 0
    for seed in range(40):
        draws = np.random.default_rng(seed).standard_t(2.0, (1000, 3))
        named += bool(ps.effects(draws, -3.0 * draws / (2.0 + draws**2), iid=True).found)
    assert binomtest(named, 40, 0.06, alternative="greater").pvalue > 0.05


@pytest.mark.slow
def test_shapes_of_a_skewed_target_rest_on_rare_draws() -> None:
    """Of log Gamma(0.5), whose kurtosis is 7, most right samples lack the rarest draws."""
    named = 0
    for seed in range(60):
        draws = np.log(np.random.default_rng([9, seed]).standard_gamma(0.5, (1000, 2)))
        named += bool(ps.effects(draws, 0.5 - np.exp(draws), iid=True).found)
    assert binomtest(named, 60, 0.06, alternative="greater").pvalue > 0.05


def test_what_is_to_be_trusted_comes_first() -> None:
    table = table_of(white(2000, 3) + 30.0)
    assert table.rows[0].what == "mean"
    reliable = [row.reliable for row in table.found if not row.direction]
    assert reliable == sorted(reliable, reverse=True)


def test_names_may_have_commas() -> None:
    draws = white(1000, 2)
    draws[:, 1] = 0.4 * draws[:, 0] + np.sqrt(0.84) * draws[:, 1]
    table = ps.effects(ps.Sample(draws, -draws, names=["b[0, 1]", "b[1, 0]"]), iid=True)
    assert table.rows[0].name == "b[0, 1], b[1, 0]"
    assert "correlation of `b[0, 1]` and `b[1, 0]` is" in table.rows[0].sentence


def test_importance_weights_count() -> None:
    """Weights turn draws that are too wide into right ones, and shift them if they are wrong."""
    draws = 1.3 * white(4000, 2)
    to_target = 0.5 * (draws**2).sum(axis=1) * (1.0 / 1.69 - 1.0)
    assert ps.effects(draws, -draws, iid=True).found[0].what == "sd"
    assert ps.effects(ps.Sample(draws, -draws, log_weights=to_target), iid=True).found == ()
    tilted = ps.Sample(draws, -draws, log_weights=to_target + 0.4 * draws[:, 1])
    row = ps.effects(tilted, iid=True).found[0]
    assert (row.name, row.what) == ("x[1]", "mean")
    assert row.lower <= 0.4 <= row.upper


def test_rows_without_weight_are_no_rows() -> None:
    draws = white(4000, 2)
    draws[:2000] += 3.0
    weights = np.where(np.arange(4000) < 2000, -np.inf, 0.0)
    table = ps.effects(ps.Sample(draws, -draws, log_weights=weights), iid=True)
    assert table.found == ()
    assert not [row for row in table if row.direction]
    for row in ps.effects(draws[2000:], -draws[2000:], iid=True):
        if not row.direction:
            assert table[row.name, row.what].size == pytest.approx(row.size, abs=1e-3)
    weights = np.where(np.arange(4000) < 3300, -np.inf, 0.0)
    with pytest.raises(ps.DegenerateError, match="`log_weights` must leave weight"):
        ps.effects(ps.Sample(draws, -draws, log_weights=weights), iid=True)


def test_units_do_not_matter() -> None:
    draws = white(500, 3)
    table = ps.effects(draws, -draws, iid=True)
    moved = ps.effects(5.0 + 100.0 * draws, -draws / 100.0, iid=True)
    for row in table:
        other = moved[row.name, row.what]
        assert other.size == pytest.approx(row.size, abs=1e-6)
        assert other.pvalue == pytest.approx(row.pvalue, rel=1e-4, abs=1e-8)
