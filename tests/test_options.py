"""Options that are not what they should be are named."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, DependenceWarning, InputError

DRAWS = np.random.default_rng(0).standard_normal((200, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "random"}, r"`split` must be RandomSplit\(\), .*; got 'random'"),
        ({"split": ps.RandomSplit}, r"`split` must be .* a class: call it, `RandomSplit\(\)`"),
        ({"variance": "iid"}, r"`variance` must be IID\(\), .*; got 'iid'"),
        ({"variance": ps.IID}, r"`variance` must be .* call it, `IID\(\)`"),
        ({"weights": "closed"}, r"`weights` must be CrossEntropy\(\), .*; got 'closed'"),
        ({"repeats": True}, "`repeats` must be a positive integer; got True"),
    ],
)
def test_rules_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.lambda_psd_test(DRAWS, -DRAWS, order=1, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.ClosedForm("a"), "`ridge` must be a finite number >= 0; got 'a'"),
        (lambda: ps.CrossEntropy(tolerance=None), "`tolerance` must be in"),
        (lambda: ps.CrossEntropy(elites=True), "`elites` must be a positive integer; got True"),
        (lambda: ps.BlockSplit(gap=True), "`gap` must be an integer >= 0 or 'auto'; got True"),
        (lambda: ps.BatchMeans(length=True), "`length` must be a positive integer or 'auto'"),
        (lambda: ps.RandomSplit(True), "`train` must be a share"),
    ],
)
def test_parameters_of_rules(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_numbers_of_numpy_are_numbers() -> None:
    assert ps.RandomSplit(np.float32(0.5)).train == 0.5
    assert ps.BlockSplit(gap=np.int64(3)).gap == 3


def test_a_block_split_with_the_variance_of_independent_rows_is_warned_about() -> None:
    with pytest.warns(DependenceWarning, match="`draws` are a time-ordered chain, but BlockSplit"):
        ps.lambda_psd_test(DRAWS, -DRAWS, order=1, split=ps.BlockSplit(0.5), rng=0)


@pytest.mark.parametrize("variance", [ps.IID(), ps.InitialSequence(), ps.BatchMeans()])
def test_all_weight_on_one_row_is_no_verdict(variance: Any) -> None:
    log_weights = np.zeros(400)
    log_weights[-1] = 200.0
    draws = np.random.default_rng(1).standard_normal((400, 2))
    sample = ps.Sample(draws, -draws, log_weights=log_weights)
    with pytest.raises(DegenerateError, match="`log_weights` must leave at least 2 effective"):
        ps.psd_test(sample, order=1, split=ps.BlockSplit(0.5, gap=0), variance=variance)


def test_without_a_ridge_singular_features_are_refused() -> None:
    from polystein.protocols import FeatureMoments

    rng = np.random.default_rng(0)
    features = rng.standard_normal((100, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.3]])
    moments = FeatureMoments(features.mean(axis=0), np.cov(features.T, bias=True), 100)
    with pytest.raises(DegenerateError, match="singular; use a positive `ridge`"):
        ps.ClosedForm(ridge=0.0).solve(moments, rng)
    ps.ClosedForm().solve(moments, rng)
