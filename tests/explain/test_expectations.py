"""Corrected expectations as a user sees them."""

import math

import numpy as np
import pytest

import polystein as ps
from tests.explain.rows import skewed


def wrong(n: int = 2000) -> ps.Sample:
    """Draws of N(0.3, 0.25 I) for the target N(0, I)."""
    draws = np.random.default_rng(0).normal(0.3, 0.5, size=(n, 2))
    return ps.Sample(draws, -draws, names=["a", "b"])


def test_wrong_draws_are_corrected_exactly_where_features_span() -> None:
    table = ps.expectations(wrong(), ["mean", "sd", "skew", "tail", ("a", "b")], iid=True)
    truth = {"mean": 0.0, "sd": 1.0, "skew": 0.0, "tail": 3.0, "correlation": 0.0}
    for row in table:
        assert row.corrected == pytest.approx(truth[row.what], abs=1e-4)
        assert row.reliability > 0.999
        assert row.bias == pytest.approx(row.plain - row.corrected, abs=1e-12)
        assert row.lower <= row.bias <= row.upper


def test_plain_values_and_their_errors() -> None:
    sample = wrong()
    draws = np.asarray(sample.draws)
    table = ps.expectations(sample, ["mean", "sd", ("a", "b")], iid=True)
    assert table["a", "mean"].plain == pytest.approx(draws[:, 0].mean())
    assert table["a", "mean"].mcse == pytest.approx(draws[:, 0].std() / math.sqrt(2000))
    assert table["a", "sd"].plain == pytest.approx(draws[:, 0].std())
    assert table["a", "sd"].mcse == pytest.approx(draws[:, 0].std() / math.sqrt(4000), rel=0.1)
    assert table["a, b", "correlation"].plain == pytest.approx(np.corrcoef(draws.T)[0, 1])
    assert table["a, b", "correlation"].mcse == pytest.approx(1 / math.sqrt(2000), rel=0.1)


def test_a_sample_and_functions_may_come_without_a_keyword() -> None:
    sample = wrong()
    first = ps.expectations(sample, ["mean"])
    assert first == ps.expectations(sample, functions=["mean"])
    assert len(ps.expectations(sample.draws, sample.scores, ["mean"])) == len(first)
    with pytest.raises(ps.InputError, match="scores"):
        ps.expectations(sample, sample.scores, ["mean"])


def test_functions_of_the_draws() -> None:
    table = ps.expectations(wrong(), {"cube": lambda x: x[:, 0] ** 3 + 2.0}, iid=True)
    assert table["cube", "mean"].corrected == pytest.approx(2.0, abs=1e-4)
    step = ps.expectations(wrong(), {"step": lambda x: x[:, 0] > 0.0}, iid=True)["step", "mean"]
    assert not step.reliable
    assert np.isnan([step.corrected, step.error, step.bias]).all()
    assert (step.lower, step.upper) == (-np.inf, np.inf)
    table = ps.expectations(wrong(), {"step": lambda x: x[:, 0] > 0.0})
    assert "- not corrected: the scores do not tell" in str(table)
    assert table.to_dict()["rows"][0]["corrected"] is None


def test_reliability_is_that_of_the_draws_and_no_bound_for_the_target() -> None:
    """All draws are in one of the two modes of 0.5 N(-3, 0.25) + 0.5 N(3, 0.25)."""
    draws = np.random.default_rng(4).normal(3.0, 0.5, size=(1000, 1))
    scores = -(draws - 3.0 * np.tanh(12.0 * draws)) / 0.25
    row = ps.expectations(draws, scores, functions=["mean"])["x[0]", "mean"]
    assert row.reliability > 0.9999
    # The target's mean is 0, and its sd is above 3: the margin would allow an error of 0.03.
    assert row.corrected == pytest.approx(3.0, abs=0.01)


def test_units_and_origin_do_not_matter() -> None:
    draws, scores = skewed(1000)
    table = ps.expectations(draws, scores, iid=True)
    moved = ps.expectations(1000.0 + 10.0 * draws, scores / 10.0, iid=True)
    for row, other in zip(table, moved, strict=True):
        offset = 1000.0 if row.what == "mean" else 0.0
        assert other.corrected == pytest.approx(offset + 10.0 * row.corrected, rel=1e-8)
        assert other.error == pytest.approx(10.0 * row.error, rel=1e-4)
        assert other.lower == pytest.approx(10.0 * row.lower, rel=1e-5, abs=1e-7)


def test_errors_keep_their_digits_far_from_the_origin() -> None:
    # Multiples of 1/1024, so that the change of origin and scale rounds nothing.
    draws = np.round(1024.0 * np.random.default_rng(1).standard_normal((400, 2))) / 1024.0
    near = ps.expectations(draws, -draws, iid=True)
    far = ps.expectations(2.0**27 + 2.0**-14 * draws, -(2.0**14) * draws, iid=True)
    for row, other in zip(near, far, strict=True):
        assert 2.0**14 * other.mcse == pytest.approx(row.mcse, rel=1e-8)
        assert 2.0**14 * other.upper == pytest.approx(row.upper, rel=1e-8)
        assert 2.0**14 * other.bias == pytest.approx(row.bias, rel=1e-6)


def test_parameters_on_their_own_scale_from_wrong_draws_with_weights() -> None:
    """sigma of log sigma ~ N(0, 0.25), from draws with sd 0.6 and weights that tilt them."""
    draws = np.random.default_rng(2).normal(0.1, 0.6, (4000, 2))
    sample = ps.Sample(
        draws,
        -4.0 * draws,
        names=["log_sigma", "mu"],
        log_weights=0.3 * draws[:, 0],
        facts={"transform": lambda x: {"sigma": np.exp(x[:, 0]), "mu": x[:, 1]}},
    )
    table = ps.expectations(sample, iid=True)
    names = [row.name for row in table if row.what == "mean"]
    assert names == ["log_sigma", "mu", "sigma"]
    mean, sd = table["sigma", "mean"], table["sigma", "sd"]
    assert mean.reliable
    assert mean.plain > 1.3
    assert mean.corrected == pytest.approx(np.exp(0.125), abs=0.01)
    assert sd.corrected == pytest.approx(np.sqrt(np.expm1(0.25)) * np.exp(0.125), rel=0.03)


def test_chains_have_larger_errors_than_independent_rows() -> None:
    noise = np.random.default_rng(0).standard_normal((4, 1000, 2))
    noise[:, 1:] *= np.sqrt(0.19)
    for t in range(1, 1000):
        noise[:, t] += 0.9 * noise[:, t - 1]
    chains = ps.expectations(noise, -noise)["x[0]", "mean"]
    rows = ps.expectations(noise.reshape(-1, 2), -noise.reshape(-1, 2), iid=True)["x[0]", "mean"]
    assert 3.0 < chains.mcse / rows.mcse < 6.0


def test_importance_weights_count() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0.0, 1.3, (2000, 2))
    log_weights = 0.5 * (draws**2).sum(axis=1) * (1 / 1.69 - 1.0)
    table = ps.expectations(ps.Sample(draws, -draws, log_weights=log_weights), iid=True)
    assert table["x[0]", "sd"].plain == pytest.approx(1.0, abs=0.05)
    assert table["x[0]", "sd"].corrected == pytest.approx(1.0, abs=1e-6)
    unweighted = ps.expectations(draws, -draws, iid=True)["x[0]", "mean"]
    assert table["x[0]", "mean"].mcse > unweighted.mcse / 1.4


def test_the_table_is_printed_and_stored() -> None:
    table = ps.expectations(wrong(), iid=True)
    assert len(table) == 4
    assert table.to_dict()["rows"][0]["name"] == "a"
    assert "corrected" in str(table).splitlines()[0]
    with pytest.raises(ps.InputError, match="name and property of a row"):
        table["a", "median"]


def test_what_is_no_flag_is_refused() -> None:
    with pytest.raises(ps.InputError, match="`iid`"):
        ps.expectations(wrong(), iid="yes")  # type: ignore[arg-type]


def test_what_has_no_value_is_an_error() -> None:
    draws = np.random.default_rng(0).standard_normal((200, 2))
    functions = {"first": lambda x: x[:, 0], "one": lambda x: np.ones(len(x))}
    with pytest.raises(ps.DegenerateError, match="must vary over the draws; the values of 'one'"):
        ps.expectations(ps.Sample(draws, -draws), functions, iid=True)
    twice = np.repeat(draws[:, :1], 2, axis=1)
    sample = ps.Sample(twice, -twice, names=["a", "b"])
    with pytest.raises(ps.DegenerateError, match="linear function of another"):
        ps.expectations(sample, [("a", "b")], iid=True)
    assert not [row for row in ps.effects(sample, iid=True) if row.what == "correlation"]


@pytest.mark.parametrize("factor", [1e200, 1e-200, 1e307])
def test_large_and_small_functions_vary(factor: float) -> None:
    draws = np.random.default_rng(0).uniform(-1.0, 1.0, (500, 2))
    sample = ps.Sample(draws, -draws)
    table = ps.expectations(sample, {"h": lambda x: factor * x[:, 0]}, iid=True)
    plain = ps.expectations(sample, {"h": lambda x: x[:, 0]}, iid=True)
    for what in ("mean", "sd"):
        assert table["h", what].plain == pytest.approx(factor * plain["h", what].plain, rel=1e-9)
        assert table["h", what].bias == pytest.approx(factor * plain["h", what].bias, rel=1e-6)


@pytest.mark.parametrize("dimension", [2, 4])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_draws_on_a_cross_correct_no_function_of_two_coordinates(
    dimension: int, noise: float
) -> None:
    """There x_1^2 x_2^2 = x_1^4, whose mean is 3; that of the target, N(0, I), is 1."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        draws = rng.standard_normal((2000, dimension))
        draws[:, 1] = draws[:, 0] * rng.choice([-1.0, 1.0], size=2000)
        draws[:, 1] += noise * rng.standard_normal(2000)
        functions = {"product": lambda x: x[:, 0] ** 2 * x[:, 1] ** 2}
        row = ps.expectations(draws, -draws, functions, iid=True)["product", "mean"]
        assert np.isnan(row.corrected)
