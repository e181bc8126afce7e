"""The one call for users, and who is warned of what."""

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError
from tests.conftest import Array
from tests.statistical.samplers import autoregressive

VARIANCES: list[Any] = [ps.IID(), ps.InitialSequence(), ps.BatchMeans()]
SPLITS: list[Any] = [ps.RandomSplit(), ps.BlockSplit(), ps.ChainSplit()]


def chains(count: int = 4, rows: int = 1000, dimension: int = 3, memory: float = 0.5) -> Array:
    return autoregressive(np.random.default_rng(0), count, rows, dimension, memory)


def normal_score(draws: Any) -> Any:
    return -draws


def test_it_is_the_test_that_it_says() -> None:
    draws = chains()
    expected = ps.lambda_psd_test(
        draws,
        normal_score,
        order=3,
        weights=ps.ClosedForm(),
        split=ps.BlockSplit(0.5, gap="auto"),
        variance=ps.InitialSequence(),
        alternative="greater",
        standardise=True,
    )
    assert ps.check(draws, normal_score) == expected
    assert expected.alternative == "greater"
    assert list(expected.weights or {}) == ["x", "x^2", "x^3", "score"]


def test_the_verdict_on_chains_takes_no_randomness() -> None:
    draws = chains()
    first = ps.check(draws, normal_score)
    generator = np.random.default_rng(7)
    for rng in (None, 1, 2, generator):
        assert ps.check(draws, normal_score, rng=rng) == first


def test_independent_rows_are_split_by_rng() -> None:
    draws = chains(1, 2000, memory=0.0)[0]
    first = ps.check(draws, normal_score, iid=True, rng=1)
    assert ps.check(draws, normal_score, iid=True, rng=1) == first
    assert ps.check(draws, normal_score, iid=True, rng=2).pvalue != first.pvalue
    assert first.settings["split"] == "RandomSplit(train=0.5, weights=0.5)"
    assert first.settings["variance"] == "IID()"
    assert (first.n_train, first.n_gap, first.n_test) == (1000, 0, 1000)
    expected = ps.lambda_psd_test(
        draws, normal_score, order=3, weights=ps.ClosedForm(), split=ps.RandomSplit(0.5),
        alternative="greater", standardise=True, rng=1,
    )  # fmt: skip
    assert first == expected


def test_two_dimensions_are_one_chain() -> None:
    draws = chains(1, 3000)
    flat, one = ps.check(draws[0], normal_score), ps.check(draws, normal_score)
    assert flat.statistic == one.statistic
    assert flat.pvalue == one.pvalue
    assert flat.settings["split"] == "BlockSplit(train=0.5, gap='auto', weights=0.5)"


@pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
@pytest.mark.parametrize(("count", "rows"), [(1, 2000), (2, 1000), (4, 700), (50, 100)])
def test_counts_of_rows(count: int, rows: int) -> None:
    result = ps.check(chains(count, rows), normal_score)
    assert result.n_train + result.n_gap + result.n_test == count * rows
    assert result.n_train == count * rows // 2
    assert result.n_gap % count == 0
    # Five autocorrelation times of the slowest feature; that of x itself is 3.
    assert 5 <= result.n_gap // count <= 40
    assert 0.0 < result.pvalue < 1.0
    assert 100.0 < result.ess < 2 * result.n_test


def test_the_gap_grows_with_the_memory() -> None:
    gaps = [ps.check(chains(memory=memory), normal_score).n_gap for memory in (0.0, 0.5, 0.8)]
    assert gaps[0] < gaps[1] < gaps[2]


def test_libraries_agree(xp: ModuleType) -> None:
    draws = chains(2, 600)
    expected = ps.check(draws, -draws)
    for scores in (xp.asarray(-draws), normal_score):
        result = ps.check(xp.asarray(draws), scores)
        assert result.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert (result.n_gap, result.n_test) == (expected.n_gap, expected.n_test)
    sample = ps.Sample(xp.asarray(draws), xp.asarray(-draws), names=["a", "b", "c"])
    assert ps.check(sample).pvalue == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("iid", [False, True])
def test_units_do_not_matter(iid: bool) -> None:
    draws = chains(1, 2000)[0] if iid else chains()
    units, origin = np.array([1e-8, 50.0, -3e6]), np.array([1e-7, -500.0, 1e7])
    here = ps.check(draws, -draws, iid=iid, rng=0)
    there = ps.check(draws * units + origin, -draws / units, iid=iid, rng=0)
    assert there.statistic == pytest.approx(here.statistic, rel=1e-8)
    assert there.ess == pytest.approx(here.ess, rel=1e-8)
    assert there.n_gap == here.n_gap


def test_a_fault_is_found_and_explained() -> None:
    result = ps.check(1.3 * chains(memory=0.9, rows=2000), normal_score)
    assert result.pvalue < 1e-3
    assert result.explain()[0].name == "x"
    assert result.statistic > 3.0


@pytest.mark.parametrize("weight", [0.0, 700.0])
def test_weighted_chains(weight: float) -> None:
    """Equal weights change nothing; the weights' effective size is reported."""
    draws = chains()
    plain = ps.check(draws, normal_score)
    sample = ps.Sample(draws, normal_score, log_weights=np.full((4, 1000), weight))
    result = ps.check(sample)
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert result.settings["weights_ess"] == pytest.approx(4000.0)
    assert "weights_ess" not in plain.settings


def test_weights_right_what_they_were_made_to() -> None:
    draws = 1.25 * chains(memory=0.8, rows=2000)
    log_weights = -0.5 * (1.0 - 1.25**-2) * np.sum(draws**2, axis=-1)
    assert ps.check(draws, normal_score).pvalue < 1e-3
    assert ps.check(ps.Sample(draws, normal_score, log_weights=log_weights)).pvalue > 0.05


# Warnings


@pytest.mark.parametrize("variance", VARIANCES, ids=repr)
@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_chains_are_warned_about_unless_both_rules_keep_time(split: Any, variance: Any) -> None:
    options: Any = {"order": 1, "split": split, "variance": variance, "rng": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ps.psd_test(chains(), normal_score, **options)
    kinds = [item.category for item in caught]
    safe = split != ps.RandomSplit() and variance != ps.IID()
    assert kinds == ([] if safe else [ps.DependenceWarning])
    assert result.warnings == tuple(str(item.message) for item in caught)
    if not safe:
        assert f"{split} with {variance} holds for independent rows only" in result.warnings[0]


def test_independent_rows_are_not_warned_about() -> None:
    draws = chains(1, 1000, memory=0.0)[0]
    result = ps.psd_test(draws, normal_score, order=1, split=ps.RandomSplit(), rng=0)
    assert result.warnings == ()


@pytest.mark.parametrize("iid", [False, True])
def test_warnings_point_at_the_caller(iid: bool) -> None:
    draws = chains(1, 45)[0]
    with pytest.warns(ps.LowESSWarning, match="effective test draws") as caught:
        ps.check(draws, normal_score, iid=iid, rng=0)
    assert [item.filename for item in caught] == [__file__]


def test_few_effective_draws_are_warned_about() -> None:
    with pytest.warns(ps.LowESSWarning, match="not to be trusted with fewer than 100: take more"):
        result = ps.check(chains(memory=0.98), normal_score)
    assert result.ess < 100.0


def test_chains_called_independent_are_warned_about() -> None:
    with pytest.warns(ps.DependenceWarning):
        ps.check(chains(), normal_score, iid=True, rng=0)


# Errors


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="`scores` must be an array"):
        ps.check(chains())
    with pytest.raises(InputError, match="`draws` must have more rows for BlockSplit"):
        ps.check(chains(1, 3), normal_score)
    with pytest.raises(DegenerateError):
        ps.check(np.ones((2, 100, 2)), normal_score)
