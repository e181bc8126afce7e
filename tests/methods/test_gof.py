"""Algorithms 1 and 3 against their literal transcriptions, and what may influence what."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import sqrtm

import polystein as ps
from polystein.errors import DegenerateError, InputError, ScaleError
from tests.conftest import RecordingSplit, arbitrary_rows, arbitrary_weights
from tests.reference import algorithms, stein

Array = NDArray[np.float64]
# At orders 5 and 6 the tails of u are heavy indeed; that warning has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
STRUCTURES = ["full", "diagonal"]
TESTS: list[Any] = [ps.psd_test, ps.lambda_psd_test]


def literal_lambda(
    draws: Array, scores: Array, order: int, rows: Any, ridge: float, **k: Any
) -> Any:
    return algorithms.lambda_psd_z_test(
        draws,
        scores,
        order,
        rows["witness"],
        rows["weights"],
        rows["test"],
        lambda features: algorithms.closed_form(features, ridge),
        **k,
    )


# Algorithms 1 and 3


def assert_z_test(result: Any, literal: tuple[float, float]) -> None:
    """z to 1e-9, and p as far as z determines it, however small it is."""
    assert result.statistic == pytest.approx(literal[0], rel=1e-9)
    assert result.pvalue == pytest.approx(literal[1], rel=1e-5, abs=0.0)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(7))
def test_psd_test_is_algorithm_1(order: int, structure: Any) -> None:
    draws, scores = arbitrary_rows(120, 3)
    split = RecordingSplit()
    result = ps.psd_test(
        draws,
        scores,
        order=order,
        structure=structure,
        split=split,
        rng=1,
    )
    literal = algorithms.psd_z_test(
        draws, scores, order, split.train, split.rows["test"], structure
    )
    assert_z_test(result, literal)
    assert result.method == "psd"
    assert result.weights is None


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(1, 7))
def test_lambda_psd_test_is_algorithm_3(order: int, structure: Any) -> None:
    draws, scores = arbitrary_rows(120, 3)
    split = RecordingSplit()
    result = ps.lambda_psd_test(
        draws,
        scores,
        order=order,
        weights=ps.ClosedForm(ridge=0.01),
        structure=structure,
        split=split,
        rng=1,
    )
    literal = literal_lambda(draws, scores, order, split.rows, 0.01, structure=structure)
    assert_z_test(result, literal)


def test_the_tests_far_from_the_origin_are_the_literal_ones() -> None:
    draws, scores = arbitrary_rows(120, 3)
    draws += 100.0
    split = RecordingSplit()
    result = ps.psd_test(draws, scores, order=3, split=split, rng=1)
    literal = algorithms.psd_z_test(draws, scores, 3, split.train, split.rows["test"])
    assert_z_test(result, literal)


@pytest.mark.parametrize("standardise", [False, True])
def test_the_dual_form_is_the_literal_one(standardise: bool) -> None:
    """Fewer rows than dimensions."""
    draws, scores = arbitrary_rows(100, 150)
    split = RecordingSplit()
    options: Any = {"order": 3, "split": split, "standardise": standardise, "rng": 1}
    plain = ps.psd_test(draws, scores, **options)
    weighted = ps.lambda_psd_test(draws, scores, weights=ps.ClosedForm(), **options)
    if standardise:
        mean, spread = draws[split.train].mean(axis=0), draws[split.train].std(axis=0)
        draws, scores = (draws - mean) / spread, scores * spread
    literal = algorithms.psd_z_test(draws, scores, 3, split.train, split.rows["test"])
    assert_z_test(plain, literal)
    literal = literal_lambda(draws, scores, 3, split.rows, 0.01)
    assert_z_test(weighted, literal)


def test_importance_weights_enter_every_stage() -> None:
    draws, scores = arbitrary_rows(150, 2)
    log_weights, weights = arbitrary_weights(150)
    split = RecordingSplit()
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    with pytest.warns(ps.LowESSWarning):
        result = ps.psd_test(sample, order=2, split=split, rng=1)
    train, test = split.train, split.rows["test"]
    matrices, vector = stein.maximiser(
        draws[train], scores[train], 2, weights=weights[train] / weights[train].sum()
    )
    u = stein.features(draws[test], scores[test], matrices, vector).sum(axis=1)
    w = weights[test] / weights[test].sum()
    mean = float(w @ u)
    variance = float(w**2 @ (u - mean) ** 2) / (1.0 - float(w @ w))
    assert result.statistic == pytest.approx(mean / variance**0.5, rel=1e-10)
    assert result.ess == pytest.approx(1.0 / float(w @ w), rel=1e-10)


def test_components_are_the_features_own_z() -> None:
    draws, scores = arbitrary_rows(150, 2)
    split = RecordingSplit()
    result = ps.lambda_psd_test(draws, scores, order=2, weights=ps.ClosedForm(), split=split, rng=1)
    rows = split.rows
    matrices, vector = stein.maximiser(draws[rows["witness"]], scores[rows["witness"]], 2)
    table = stein.features(draws[rows["test"]], scores[rows["test"]], matrices, vector)
    expected = [algorithms.z_statistic(column)[0] for column in table.T]
    assert [part.z for part in result.components] == pytest.approx(expected, rel=1e-10)
    assert result.weights is not None
    u = table @ np.array(list(result.weights.values()))
    assert result.statistic == pytest.approx(algorithms.z_statistic(u)[0], rel=1e-10)


def test_scores_and_their_function_give_the_same_verdict() -> None:
    draws, scores = arbitrary_rows(150, 3)
    expected = ps.lambda_psd_test(draws, scores, order=3, standardise=True, rng=2)
    result = ps.lambda_psd_test(draws, lambda x: scores, order=3, standardise=True, rng=2)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert result.weights == pytest.approx(expected.weights, rel=1e-10)


# Order 0, alternatives, standardising


def test_at_order_zero_both_tests_agree_exactly() -> None:
    draws, scores = arbitrary_rows(150, 3)
    plain = ps.psd_test(draws, scores, order=0, rng=5)
    for rule in (ps.CrossEntropy(), ps.ClosedForm(), ps.Uniform()):
        result = ps.lambda_psd_test(draws, scores, order=0, weights=rule, rng=5)
        assert (result.statistic, result.pvalue) == (plain.statistic, plain.pvalue)
        assert result.weights == {"score": 1.0}
        assert (result.n_train, result.n_test) == (105, 45)


@pytest.mark.parametrize("test", TESTS)
def test_greater_is_the_upper_tail(test: Any) -> None:
    draws, scores = arbitrary_rows(150, 3)
    two_sided = test(draws, scores, order=2, rng=5)
    greater = test(draws, scores, order=2, alternative="greater", rng=5)
    assert greater.statistic == two_sided.statistic
    assert greater.statistic > 0.0
    assert greater.pvalue == pytest.approx(two_sided.pvalue / 2, rel=1e-12, abs=0.0)
    assert greater.alternative == "greater"


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_standardise_is_standardising_by_hand(test: Any, shift: float) -> None:
    draws, scores = arbitrary_rows(150, 3)
    draws = draws * [1.0, 50.0, 0.01] + shift
    split = RecordingSplit()
    options: Any = {"order": 3, "split": split, "rng": 3}
    result = test(draws, scores, standardise=True, **options)
    mean, spread = draws[split.train].mean(axis=0), draws[split.train].std(axis=0)
    by_hand = test((draws - mean) / spread, scores * spread, **options)
    assert result.statistic == pytest.approx(by_hand.statistic, rel=1e-7 if shift else 1e-10)
    assert result.settings["standardise"] is True
    assert by_hand.settings["standardise"] is False


@pytest.mark.parametrize("test", [ps.psd_test, ps.lambda_psd_test])
def test_whitening_is_whitening_by_hand(test: Any) -> None:
    """By the training rows' mean, standard deviation and the symmetric root of correlations."""
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 3)) + 2.0
    scores = -draws + 0.1 * rng.standard_normal((400, 3))
    split = ps.BlockSplit(0.5, gap=0)
    chains = ps.Sample(draws[None], scores[None])
    options: Any = {"order": 2, "split": split, "variance": ps.BatchMeans(), "rng": 3}
    result = test(chains, standardise="whiten", **options)
    train = draws[:200]
    centre, scale = train.mean(axis=0), train.std(axis=0)
    correlation = np.corrcoef(train.T)
    root = sqrtm(correlation).real
    white = (draws - centre) / scale @ np.linalg.inv(root)
    by_hand = test(ps.Sample(white[None], (scores * scale @ root)[None]), **options)
    assert result.statistic == pytest.approx(by_hand.statistic, rel=1e-8)
    assert result.settings["standardise"] == "whiten"
    assert np.cov(white[:200].T, bias=True) == pytest.approx(np.eye(3), abs=1e-9)


def test_whitened_tests_see_along_the_loose_direction() -> None:
    """Equicorrelated 0.9 and 0.3 standard deviations off along the first axis."""
    rng, found = np.random.default_rng(5), {True: 0, "whiten": 0}
    precision = np.linalg.inv(0.1 * np.eye(6) + 0.9)
    for seed in range(20):
        draws = rng.multivariate_normal(np.full(6, 0.3), 0.1 * np.eye(6) + 0.9, size=600)
        for how in found:
            result = ps.lambda_psd_test(
                draws, -draws @ precision, order=1, standardise=how, rng=seed
            )
            found[how] += result.rejected(0.05)
    assert found["whiten"] >= 16
    assert found[True] <= 10


def test_a_singular_correlation_cannot_be_whitened() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 2))
    draws = np.column_stack([draws, draws.sum(axis=1)])
    with pytest.raises(DegenerateError, match="correlation matrix can be inverted"):
        ps.psd_test(draws, -draws, order=1, standardise="whiten", rng=0)


@pytest.mark.parametrize("wrong", ["white", 1, None, np.ones(2)])
def test_other_ways_to_standardise_are_refused(wrong: Any) -> None:
    draws = np.random.default_rng(0).standard_normal((100, 2))
    with pytest.raises(InputError, match='`standardise` must be True, False or "whiten"'):
        ps.psd_test(draws, -draws, order=1, standardise=wrong, rng=0)


def test_standardised_verdicts_do_not_depend_on_units() -> None:
    draws, scores = arbitrary_rows(150, 3)
    options: Any = {"order": 3, "weights": ps.ClosedForm(), "standardise": True, "rng": 3}
    here = ps.lambda_psd_test(draws, scores, **options)
    there = ps.lambda_psd_test(draws * 1e60 + 1e61, scores / 1e60, **options)
    assert there.statistic == pytest.approx(here.statistic, rel=1e-8)


# Who sees what


@pytest.mark.parametrize("standardise", [False, True, "whiten"])
def test_test_rows_never_influence_training(standardise: bool | str) -> None:
    draws, scores = arbitrary_rows(150, 3)
    split = RecordingSplit()
    options: Any = {"order": 3, "split": split, "standardise": standardise, "rng": 3}
    before = ps.lambda_psd_test(draws, scores, **options)
    other, others = draws.copy(), scores.copy()
    other[split.rows["test"]] = 7.0 * other[split.rows["test"]][::-1] + 30.0
    others[split.rows["test"]] *= -3.0
    after = ps.lambda_psd_test(other, others, **options)
    assert after.weights == before.weights
    assert after.statistic != before.statistic


def test_rows_for_the_weights_never_influence_the_witness() -> None:
    """With fixed weights, lambda-PSD's second training part is not looked at."""
    draws, scores = arbitrary_rows(150, 3)
    split = RecordingSplit()
    options: Any = {"order": 3, "split": split, "weights": ps.Uniform(), "rng": 3}
    before = ps.lambda_psd_test(draws, scores, **options)
    scores = scores.copy()
    scores[split.rows["weights"]] *= 1.5
    assert ps.lambda_psd_test(draws, scores, **options).statistic == before.statistic
    assert ps.psd_test(draws, scores, order=3, split=split, rng=3).statistic != before.statistic


# Warnings


@pytest.mark.parametrize("test", TESTS)
def test_chains_are_warned_about(test: Any) -> None:
    draws, scores = arbitrary_rows(200, 2)
    with pytest.warns(ps.DependenceWarning, match="`draws` are 2 time-ordered chains") as caught:
        result = test(draws.reshape(2, 100, 2), scores.reshape(2, 100, 2), order=1, rng=0)
    assert [str(item.message) for item in caught] == list(result.warnings)
    assert caught[0].filename == __file__
    assert result.statistic == pytest.approx(test(draws, scores, order=1, rng=0).statistic)


@pytest.mark.parametrize("test", TESTS)
def test_few_draws_are_warned_about(test: Any) -> None:
    draws, scores = arbitrary_rows(40, 1)
    with pytest.warns(ps.LowESSWarning, match="rests on 12 effective test draws") as caught:
        result = test(draws, scores, order=1, rng=0)
    assert [str(item.message) for item in caught] == list(result.warnings)
    assert caught[0].filename == __file__


# Errors


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("order", [-1, 1.5, True, "2", None])
def test_bad_orders_are_refused(test: Any, order: Any) -> None:
    with pytest.raises(InputError, match=f"`order` must be an integer >= 0; got {order!r}"):
        test(*arbitrary_rows(100, 2), order=order, rng=0)


@pytest.mark.parametrize("test", TESTS)
def test_unknown_choices_are_refused(test: Any) -> None:
    rows = arbitrary_rows(100, 2)
    message = "`alternative` must be 'two-sided' or 'greater'; got 'less'"
    with pytest.raises(InputError, match=message):
        test(*rows, order=1, alternative="less", rng=0)
    with pytest.raises(InputError, match="`structure` must be 'full' or 'diagonal'; got 'dense'"):
        test(*rows, order=1, structure="dense", rng=0)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("scores", [1.0, 0.0, -1e9])
def test_constant_scores_are_degenerate_at_order_zero(test: Any, scores: float) -> None:
    draws, _ = arbitrary_rows(100, 2)
    with pytest.raises(DegenerateError, match=r"has no variance|exactly zero"):
        test(draws, np.full_like(draws, scores), order=0, rng=0)


@pytest.mark.parametrize("test", TESTS)
def test_constant_draws_and_scores_are_degenerate(test: Any) -> None:
    draws, scores = np.full((100, 2), 3.3), np.full((100, 2), 0.7)
    # A split that keeps time is not asked whether rows repeat.
    split = RecordingSplit(respects_time=True)
    with pytest.raises(DegenerateError, match="constant"):
        test(draws, scores, order=2, split=split, rng=0)


@pytest.mark.parametrize("test", TESTS)
def test_rows_that_repeat_are_refused(test: Any) -> None:
    draws, scores = (np.repeat(part, 2, axis=0) for part in arbitrary_rows(50, 2))
    with pytest.raises(InputError, match="50 of 100 rows repeat another row"):
        test(draws, scores, order=1, rng=0)


@pytest.mark.parametrize("test", TESTS)
def test_a_constant_coordinate_cannot_be_standardised(test: Any) -> None:
    draws, scores = arbitrary_rows(100, 2)
    draws[:, 1] = 0.1
    with pytest.raises(DegenerateError, match=r"coordinate 1 is constant .* \(1 of 2 are\)"):
        test(draws, scores, order=2, standardise=True, rng=0)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("scale", [1e60, 1e90, 1e100, 1e150, 1e300])
def test_overflow_is_an_error_and_never_a_verdict(test: Any, scale: float) -> None:
    """At 1e60 and order 3 features are near 1e120 and fit, at 1e100 their variance does not."""
    draws, scores = arbitrary_rows(100, 2)
    if scale == 1e60:
        assert np.isfinite(test(draws * scale, scores / scale, order=3, rng=0).statistic)
        return
    with pytest.raises(ScaleError, match="overflows in the coordinates of `draws`"):
        test(draws * scale, scores / scale, order=3, rng=0)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("rng", range(4))
def test_a_role_without_weight_is_an_error(test: Any, rng: int) -> None:
    """All weight on one row, whichever role it has."""
    log_weights = np.full(100, -np.inf)
    log_weights[3] = 0.0
    sample = ps.Sample(*arbitrary_rows(100, 2), log_weights=log_weights)
    with pytest.raises((DegenerateError, InputError)):
        test(sample, order=1, rng=rng)


def test_a_rule_must_say_what_it_needs() -> None:
    class Rule:
        def solve(self, moments: object, rng: object) -> None: ...

    draws, scores = arbitrary_rows(50, 2)
    with pytest.raises(ps.InputError, match="`weights` must say by `needs_covariance"):
        ps.lambda_psd_test(draws, scores, order=1, weights=Rule())  # type: ignore[arg-type]


@pytest.mark.parametrize("test", [ps.psd_test, ps.lambda_psd_test])
def test_scores_that_are_all_zero_are_refused(test: Any) -> None:
    draws, _ = arbitrary_rows(200, 3)
    with pytest.raises(ps.InputError, match=r"`scores` must not be 0 at all draws; got zeros for"):
        test(draws, 0.0 * draws, order=2, rng=0)


def test_scores_whose_training_mean_is_zero_are_tested() -> None:
    """The score's feature is 0 on every row, but the scores are not."""
    draws, _ = arbitrary_rows(200, 2)
    scores = np.tile([[1.0, -2.0], [-1.0, 2.0]], (100, 1))
    split = ps.BlockSplit(0.5, gap=0)
    result = ps.psd_test(draws, scores, order=2, split=split, variance=ps.InitialSequence(), rng=0)
    assert result.components[-1].z == 0.0
    assert 0.0 <= result.pvalue <= 1.0
