"""Hints by the pattern of what was found."""

import math
import pickle

import numpy as np
import pytest
from scipy.special import digamma, polygamma

import polystein as ps
from polystein.errors import InputError
from polystein.explain.hints import Circumstances, hint_for, refine_call
from polystein.report.result_page import result_page
from polystein.results.effect_rows import EffectRow


def hint(draws: np.ndarray, precision: np.ndarray | None = None, chains: int = 0) -> str:
    """The hint on independent rows, or on these rows as chains."""
    scores = -draws if precision is None else -draws @ precision
    if chains:
        shape = (chains, -1, draws.shape[1])
        return ps.effects(draws.reshape(shape), scores.reshape(shape)).hint
    return ps.effects(draws, scores, iid=True).hint


WHITE = np.random.default_rng(4).standard_normal((4000, 4))


def test_mean_field_draws_of_a_correlated_posterior() -> None:
    covariance = 0.9 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    precision = np.linalg.inv(covariance)
    draws = WHITE / np.sqrt(np.diagonal(precision))
    assert "mean-field" in hint(draws, precision)


def test_correlations_missed_with_spreads_of_both_signs() -> None:
    covariance = 0.7 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert hint(WHITE * [1.1, 1.1, 1.0, 0.95], np.linalg.inv(covariance)).startswith("above all")


def test_spreads_that_are_off_alike() -> None:
    assert "step size" in hint(1.2 * WHITE, chains=4)
    assert "too narrow" in hint(0.8 * WHITE)


CHAIN_WORDS = ("chain", "step", "Metropolis", "warm-up", "trace", "mass matrix")


def test_draws_without_chains_get_no_advice_about_them() -> None:
    """Independent rows, and one chain without statistics of a sampler: both may be a fit."""
    shifted, wide, dependent = WHITE + np.array([0.3, 0.0, 0.0, 0.0]), WHITE.copy(), WHITE.copy()
    wide[:, 2] *= 1.5
    dependent[:, 1] = 0.3 * dependent[:, 0] + np.sqrt(0.91) * dependent[:, 1]
    for draws, words in (
        (1.2 * WHITE, "too wide"),
        (shifted, "optimisation that stopped early"),
        (wide, "histogram"),
        (dependent, "scatter plots"),
    ):
        assert words in hint(draws)
        for found in (hint(draws), ps.effects(draws, -draws).hint):
            assert not any(word in found for word in CHAIN_WORDS)
    statistics = {"diverging": np.zeros((1, 4000), dtype=bool)}
    sample = ps.Sample(shifted[None], -shifted[None], facts={"sampler_statistics": statistics})
    assert "warm-up" in ps.effects(sample).hint


def test_without_a_size_the_hint_is_another_look() -> None:
    row = ps.effects(1.2 * WHITE, -1.2 * WHITE, iid=True).rows[0]
    unknown = row._replace(size=np.nan, lower=-np.inf, upper=np.inf, error=np.inf)
    table = ps.EffectTable((unknown,), 1)
    found = hint_for(table, 4, Circumstances(refine="ps.refine(sample)"))
    assert (found.code, "run `ps.refine(sample)`" in found) == ("refine", True)
    assert "long run of MCMC" in hint_for(table, 4)


def test_digits_of_single_precision_are_not_wrong_scores() -> None:
    draws = 1.5 * WHITE
    with pytest.warns(ps.ScoreWarning, match="digits of float32"):
        result = ps.check(draws, (-draws).astype(np.float32).astype(float), iid=True)
    assert result.effects.action == "look-for-scale"


def test_location_shape_and_dependence_alone() -> None:
    assert "warm-up" in hint(WHITE + np.array([0.3, 0.0, 0.0, 0.0]), chains=4)
    draws = WHITE.copy()
    draws[:, 0] = (np.random.default_rng(5).standard_gamma(8.0, 4000) - 8.0) / np.sqrt(8.0)
    assert "the draws are more skewed" in hint(draws)
    draws = WHITE.copy()
    draws[:, 1] = 0.3 * draws[:, 0] + np.sqrt(0.91) * draws[:, 1]
    assert "the draws are more dependent" in hint(draws)


def test_narrow_draws_that_are_too_dependent_are_not_mean_field() -> None:
    draws = WHITE.copy()
    draws[:, 1] = 0.3 * draws[:, 0] + np.sqrt(0.91) * draws[:, 1]
    assert "mean-field" not in hint(0.8 * draws)


def test_gaussian_draws_of_a_skewed_target() -> None:
    """A log-Gamma(2) law's mean and sd, and no skewness."""
    draws = digamma(2.0) + np.sqrt(polygamma(1, 2.0)) * WHITE[:, :1]
    table = ps.effects(draws, 2.0 - np.exp(draws), iid=True)
    skew = next(row for row in table if row.what == "skew")
    only = ps.EffectTable((skew._replace(found=True),), 1)
    assert "Gaussian approximation" in hint_for(only, 1, targets={("x[0]", "skew"): -skew.size})
    assert "no mean or sd stands out" in hint_for(only, 1)
    assert "draws are more skewed" in hint_for(only, 1, targets={("x[0]", "skew"): 0.0})


def test_else_begin_with_the_first() -> None:
    draws = WHITE.copy()
    draws[:, 2] *= 1.5
    assert hint(draws).startswith("begin with `x[2]`")


@pytest.mark.parametrize("dimension", [1, 4])
def test_nothing_found_is_no_hint(dimension: int) -> None:
    assert hint_for(ps.effects(WHITE[:, :1], -WHITE[:, :1], iid=True), dimension) == ""


def chains(seed: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((4, 500, 2))


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_chains_that_differ_come_before_effects() -> None:
    draws = chains()
    draws[2] += 1.0
    hint = ps.check(draws, -draws).effects.hint
    assert (
        hint
        == "look at chain 2, which differs from the other chains: has it found what they missed?"
    )
    draws = chains()
    draws[:, :100] += 1.0
    hint = ps.check(draws, -draws).effects.hint
    assert "draws of every chain differ from what follows: drop them" in hint


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_suspect_scores_come_before_chains() -> None:
    draws = chains()
    draws[2] += 1.0
    with pytest.warns(ps.ScoreWarning):
        result = ps.check(draws, draws)
    assert result.effects.hint.startswith("the scores themselves look wrong")


def test_a_border_asks_for_a_transform() -> None:
    sigma = np.random.default_rng(7).standard_gamma(1.0, (4000, 1))
    with pytest.warns(ps.ScoreWarning, match="unconstrained"):
        result = ps.check(sigma, -np.ones_like(sigma) + 1e-3 * sigma, iid=True)
    assert "unconstrained scale" in result.effects.hint


def test_a_chain_that_does_not_move_is_named() -> None:
    table = ps.effects(WHITE, -WHITE, iid=True)
    known = Circumstances(one_chain="chain 2, which does not move")
    assert (
        hint_for(table, 4, known)
        == "look at chain 2, which does not move, and find out why before you use the others."
    )


def test_correlations_that_are_hardly_missed_are_not_mean_field() -> None:
    """Full-rank fits are told otherwise: they would be advised to be what they are."""
    draws = 0.9 * WHITE
    sd = ps.effects(draws, -draws, iid=True).found[0]
    assert sd.what == "sd"
    pair = sd._replace(what="correlation", name="x[0], x[1]", size=0.2)
    targets = {(pair.name, "correlation"): -0.9}
    for size, told in ((0.2, True), (0.004, False)):
        table = ps.EffectTable((sd, pair._replace(size=size)), 2)
        assert ("mean-field" in hint_for(table, 4, targets=targets)) is told


def effect(name: str, what: str, size: float, *, sized: bool = True) -> EffectRow:
    """A row that was found, with a size and a direction or without."""
    nothing = 1.0 if what == "sd" else 0.0
    half = 0.5 * abs(size - nothing)
    if not sized:
        size, half = math.nan, math.inf
    ends = (size - half, size + half) if sized else (-math.inf, math.inf)
    pair = tuple(name.split(", ")) if what == "correlation" else ()
    return EffectRow(
        name, what, size, *ends, 0.001, True, 1.0 if sized else 0.5, "", size, half, 99.0, (), pair
    )


def test_spreads_are_not_the_story_where_means_are_further_off() -> None:
    wide = [effect(name, "sd", 1.2) for name in "abc"]
    for shift, code in ((0.1, "smaller-step"), (1.5, "look-at-parameter")):
        rows = (effect("a", "mean", shift), *wide)
        assert hint_for(ps.EffectTable(rows, 50), 3).code == code


def test_spreads_are_alike_only_if_no_unsized_one_may_differ() -> None:
    wide = [effect(name, "sd", 1.2) for name in "abcdefghi"]
    known = hint_for(ps.EffectTable(tuple(wide), 50), 10)
    assert (known.code, "nearly all spreads (9 of 10) are too" in known) == ("smaller-step", True)
    vague = hint_for(ps.EffectTable((*wide, effect("tau", "sd", 1.0, sized=False)), 50), 10)
    assert vague.code == "refine"
    assert vague.startswith("run `ps.refine` with `log_density=`")
    assert "spreads" not in vague
    target = Circumstances(refine="ps.refine(idata, model=model)")
    with_model = hint_for(
        ps.EffectTable((*wide, effect("tau", "mean", 0.0, sized=False)), 50), 10, target
    )
    assert with_model.startswith("run `ps.refine(idata, model=model)`")


def test_samplers_with_an_accept_step_are_not_told_to_take_one() -> None:
    table = ps.EffectTable(tuple(effect(name, "sd", 1.2) for name in "abc"), 20)
    assert "Metropolis correction" in hint_for(table, 3)
    nuts = hint_for(table, 3, Circumstances(accepts=True))
    assert "Metropolis" not in nuts
    assert "step" not in nuts
    assert nuts.code == "look-for-scale"
    draws = 1.5 * np.random.default_rng(0).standard_normal((4, 500, 3))
    statistics = {"diverging": np.zeros((4, 500), dtype=bool)}
    source = ps.Sample(draws, -draws, facts={"sampler_statistics": statistics})
    assert ps.effects(source).action == "look-for-scale"


def test_a_correlation_that_comes_first_is_told_before_spreads() -> None:
    rows = [effect(f"x, {other}", "correlation", 0.3) for other in "abc"]
    rows += [effect(name, "sd", 1.2) for name in "xyz"]
    missed = {(row.name, "correlation"): -0.3 for row in rows[:3]}
    assert hint_for(ps.EffectTable(tuple(rows), 50), 3, targets=missed).startswith("above all")


def test_the_call_of_refine_is_the_one_that_fits() -> None:
    facts = {"log_density": lambda x: -0.5 * (x**2).sum(axis=1)}
    sample = ps.Sample(1.4 * WHITE, -1.4 * WHITE, facts=facts)
    result = ps.check(sample, iid=True)
    assert " ".join(str(result).split()).endswith("for better draws `ps.refine(sample)`")
    assert "refined = ps.refine(sample)" in result_page(result)
    assert ps.effects(sample, iid=True).refine == "ps.refine(sample)"
    selected = ps.check(sample, iid=True, var_names=sample.names or ["x[0]"])
    assert selected.effects.refine == "ps.refine(sample)"
    assert refine_call(sample, object()) == "ps.refine(draws)"
    assert refine_call(sample, object(), object()) == "ps.refine(idata, model=model)"


def test_a_call_of_refine_that_is_printed_works() -> None:
    facts = {"log_density": lambda x: -0.5 * (x**2).sum(axis=1)}
    sample = ps.Sample(1.4 * WHITE, -1.4 * WHITE, names=list("abcd"), facts=facts)
    for given in (sample, sample.select(thin=2), pickle.loads(pickle.dumps(sample))):
        call = ps.check(given, iid=True).effects.refine
        if call:
            assert call == "ps.refine(sample)"
            assert ps.refine(given, transitions=2, starts=300).verdict == "rejected"
        else:
            with pytest.raises(InputError, match="must know their target"):
                ps.refine(given)
    assert ps.check(sample.select(var_names="a"), iid=True).effects.refine == ""


def test_without_a_log_density_there_is_no_call_of_refine() -> None:
    result = ps.check(1.4 * WHITE, -1.4 * WHITE, iid=True)
    assert result.effects.refine == ""
    assert str(result).endswith("`print(result.effects)` for all that was looked at")
    assert "better draws" not in str(result)
    weighted = ps.Sample(WHITE, -WHITE, log_weights=np.linspace(0.0, 1.0, len(WHITE)))
    assert refine_call(weighted, weighted) == ""


def test_both_parameters_of_a_pair_are_named() -> None:
    rows = (effect("x, y", "correlation", 0.3), effect("z", "sd", 1.4), effect("w", "mean", 0.2))
    pair = tuple(row._replace(pair=("x", "y")) if ", " in row.name else row for row in rows)
    known = hint_for(ps.EffectTable(pair, 50), 10, targets={("x, y", "correlation"): 0.1})
    assert known.startswith("begin with `x` and `y`: look at their trace")
