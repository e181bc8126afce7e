"""KSD as a number and as a test: the literal formula, or an error."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.inference.multipliers import multipliers
from polystein.methods.wild_bootstrap import resampling_seed
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import kernels as literal
from tests.rivals.rows import plausible_rows

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")

KERNELS = {
    "imq": (ps.IMQKernel(), lambda draws: literal.imq()),
    "gaussian": (ps.GaussianKernel(), lambda x: literal.gaussian(literal.median_distance(x))),
}
both = pytest.mark.parametrize(("kernel", "reference"), KERNELS.values(), ids=KERNELS)
TESTS: list[Any] = [ps.ksd, ps.ksd_test, ps.ksdagg_test, ps.nystrom_ksd_test]


# The number


@both
def test_ksd_is_the_literal_one(kernel: Any, reference: Any) -> None:
    draws, scores = arbitrary_rows(50, 3)
    matrix = literal.stein_matrix(reference(draws), draws, scores)
    weights = np.full(50, 1 / 50)
    given = draws, scores
    v, u = (ps.ksd(*given, kernel=kernel, estimator=estimator) for estimator in ("v", "u"))
    assert type(v) is type(u) is float
    assert v**2 == pytest.approx(literal.v_statistic(matrix, weights), rel=1e-10)
    assert u == pytest.approx(literal.u_statistic(matrix, weights), rel=1e-10)


@both
def test_weighted_ksd_is_the_literal_one(kernel: Any, reference: Any) -> None:
    draws, scores = arbitrary_rows(40, 2)
    log_weights, weights = arbitrary_weights(40)
    matrix = literal.stein_matrix(reference(draws), draws, scores)
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    v, u = (ps.ksd(sample, kernel=kernel, estimator=estimator) for estimator in ("v", "u"))
    assert v**2 == pytest.approx(literal.v_statistic(matrix, weights), rel=1e-10)
    assert u == pytest.approx(literal.u_statistic(matrix, weights), rel=1e-10)


def test_the_unbiased_square_may_be_negative() -> None:
    draws = np.random.default_rng(0).standard_normal((60, 2))
    matrix = literal.stein_matrix(literal.imq(), draws, -draws)
    value = ps.ksd(draws, -draws, estimator="u")
    assert value == pytest.approx(literal.u_statistic(matrix, np.full(60, 1 / 60)), rel=1e-10)
    assert value < 0.0


def test_chains_count_as_their_rows() -> None:
    draws, scores = arbitrary_rows(60, 3)
    chains = draws.reshape(3, 20, 3), scores.reshape(3, 20, 3)
    assert ps.ksd(*chains) == ps.ksd(draws, scores)


# The test


@both
def test_replicates_for_independent_rows_are_literal(kernel: Any, reference: Any) -> None:
    draws, scores = plausible_rows(40, 2)
    matrix = literal.stein_matrix(reference(draws), draws, scores)
    signs = multipliers(99, resampling_seed(5), None).draw(0, 40)
    observed = literal.v_statistic(matrix, np.full(40, 1 / 40))
    replicates = [literal.v_statistic(matrix, row / 40) for row in signs]
    result = ps.ksd_test(draws, scores, kernel=kernel, n_bootstrap=99, rng=5)
    again = ps.ksd_test(draws, scores, kernel=kernel, n_bootstrap=99, rng=5, estimator="v")
    assert 0.02 < result.pvalue < 0.98
    assert result.pvalue == again.pvalue == literal.pvalue(observed, replicates)
    assert again.statistic == pytest.approx(40 * observed, rel=1e-10)
    unbiased = literal.u_statistic(matrix, np.full(40, 1 / 40))
    assert result.statistic == pytest.approx(40 * unbiased, rel=1e-10)


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_replicates_for_weighted_chains_are_literal(estimator: Any) -> None:
    draws, scores = plausible_rows(40, 2)
    log_weights, weights = arbitrary_weights(40)
    sample = ps.Sample(
        draws.reshape(2, 20, 2), scores.reshape(2, 20, 2), log_weights=log_weights.reshape(2, 20)
    )
    stream = multipliers(99, resampling_seed(5), 3.0)
    factors = np.concatenate([stream.draw(0, 20), stream.draw(1, 20)], axis=1) * weights
    matrix = literal.stein_matrix(literal.imq(), draws, scores)
    form = {"u": literal.off_diagonal_form, "v": literal.v_statistic}[estimator]
    statistic = {"u": literal.u_statistic, "v": literal.v_statistic}[estimator](matrix, weights)
    result = ps.ksd_test(sample, n_bootstrap=99, rng=5, length=3.0, estimator=estimator)
    assert result.settings["length"] == result.evidence.estimates["multiplier_length"] == 3.0
    assert result.statistic == pytest.approx(40 * statistic, rel=1e-10)
    assert 0.02 < result.pvalue < 0.98
    expected = literal.pvalue(form(matrix, weights), [form(matrix, row) for row in factors])
    assert result.pvalue == expected


def test_estimator_is_u_for_rows_and_v_for_chains() -> None:
    draws, scores = arbitrary_rows(40, 2)
    rows = ps.ksd_test(draws, scores, n_bootstrap=9, rng=0)
    chains = ps.ksd_test(draws[None], scores[None], n_bootstrap=9, rng=0)
    assert (rows.settings["estimator"], chains.settings["estimator"]) == ("u", "v")
    assert rows.settings["length"] == chains.settings["length"] == "auto"
    assert rows.evidence.estimates["multiplier_length"] is None
    assert chains.evidence.estimates["multiplier_length"] >= 1.0


def test_the_whole_matrix_says_the_same() -> None:
    """The yardstick of the benchmark is the same test, with other signs."""
    draws = np.random.default_rng(2).normal(0.05, 1.0, size=(300, 3))
    ours = ps.ksd_test(draws, -draws, n_bootstrap=4000, rng=0).pvalue
    assert ours == pytest.approx(literal.whole_matrix_test(draws, -draws, 4000, 0), abs=0.04)
    assert 0.1 < ours < 0.9


def test_result_says_how_it_came_about() -> None:
    draws, scores = arbitrary_rows(50, 2)
    result = ps.ksd_test(draws, scores, kernel=ps.GaussianKernel(2.0), n_bootstrap=19, rng=0)
    assert (result.method, result.alternative, result.n_test) == ("ksd", "greater", 50)
    assert result.settings["kernel"] == "GaussianKernel(bandwidth=2.0)"
    assert result.settings["n_bootstrap"] == 19
    assert result.evidence.estimates["kernel"] == result.settings["kernel"]
    assert result.pvalue == 0.05
    assert "ksd" in str(result)


def test_the_width_that_the_draws_gave_is_told() -> None:
    draws, scores = arbitrary_rows(50, 2)
    for test in (ps.ksd_test, ps.nystrom_ksd_test):
        result = test(draws, scores, kernel=ps.GaussianKernel(), n_bootstrap=9, rng=0)
        assert result.settings["kernel"] == "GaussianKernel(bandwidth='median')"
        name, _, width = result.evidence.estimates["kernel"].rstrip(")").partition("=")
        assert name == "GaussianKernel(bandwidth"
        assert float(width) == pytest.approx(literal.median_distance(draws), rel=1e-12)


def test_progress_ends_at_its_total() -> None:
    draws, scores = arbitrary_rows(300, 2)
    seen: list[tuple[int, int]] = []
    ps.ksd_test(draws, scores, n_bootstrap=9, rng=0, progress=lambda *done: seen.append(done))
    assert seen[0] == (1, 6)
    assert seen[-1] == (6, 6)


# All kernel tests alike


@pytest.mark.parametrize("test", TESTS[1:])
def test_rng_reproduces(test: Any) -> None:
    draws, scores = plausible_rows(60, 2)
    given = draws, scores
    assert test(*given, rng=3) == test(draws, scores, rng=3)
    values = {test(draws, scores, rng=np.random.default_rng(seed)).pvalue for seed in range(5)}
    assert len(values) > 1


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("error", "message", "draws", "scores"),
    [
        (InputError, "`scores` must be an array", np.ones((30, 2)), None),
        (InputError, "at least 2 rows", np.ones((1, 1)), np.ones((1, 1))),
        (InputError, "`draws` must be finite", np.full((30, 2), np.nan), np.ones((30, 2))),
        (DegenerateError, "all zero", np.eye(30), np.zeros((30, 30))),
    ],
)
def test_bad_input_is_named(
    test: Any, error: type[Exception], message: str, draws: Any, scores: Any
) -> None:
    with pytest.raises(error, match=message):
        test(draws, scores)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("scale", "slope"), [(1e200, 1.0), (1.0, 1e200)])
def test_what_does_not_fit_a_float_is_an_error(test: Any, scale: float, slope: float) -> None:
    draws, scores = arbitrary_rows(40, 2)
    with pytest.raises(ScaleError, match="rescale"):
        test(scale * draws, slope * scores)


@pytest.mark.parametrize("test", TESTS[1:])
@pytest.mark.parametrize("n_bootstrap", [0, -1, 2.5, "9", True])
def test_the_number_of_replicates_must_be_positive(test: Any, n_bootstrap: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`n_bootstrap` must be a positive integer"):
        test(draws, scores, n_bootstrap=n_bootstrap)


@pytest.mark.parametrize("test", TESTS[1:])
def test_a_length_is_for_chains_only(test: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`length` must be None or 'auto'"):
        test(draws, scores, length=4.0)


@pytest.mark.parametrize("test", TESTS[:2])
def test_estimator_must_be_known(test: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`estimator` must be 'u' or 'v'; got 'w'"):
        test(draws, scores, estimator="w")


@pytest.mark.parametrize("test", [ps.ksd, ps.ksd_test, ps.nystrom_ksd_test])
def test_kernel_must_be_known(test: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`kernel` must be an IMQKernel or a GaussianKernel"):
        test(draws, scores, kernel="imq")


def all_weight_on_one_row(rest: float = -np.inf) -> ps.Sample:
    draws, scores = arbitrary_rows(30, 2)
    log_weights = np.full(30, rest)
    log_weights[4] = 0.0
    return ps.Sample(draws, scores, log_weights=log_weights)


def test_one_row_with_all_the_weight_has_no_unbiased_estimate() -> None:
    sample = all_weight_on_one_row()
    assert ps.ksd(sample) > 0.0
    with pytest.raises(DegenerateError, match="two rows of positive weight"):
        ps.ksd(sample, estimator="u")


@pytest.mark.parametrize(
    "test",
    [
        partial(ps.ksd_test, estimator="v"),
        partial(ps.ksd_test, estimator="u"),
        partial(ps.ksdagg_test, n_correction=9),
        ps.nystrom_ksd_test,
        partial(ps.psd_l2_test, order=2),
        partial(ps.psd_bootstrap_test, order=1, estimator="v"),
        partial(ps.psd_bootstrap_test, order=1, estimator="u"),
    ],
)
@pytest.mark.parametrize("rest", [-np.inf, -50.0])
def test_one_row_with_all_the_weight_is_no_verdict(test: Any, rest: float) -> None:
    """Multipliers leave the statistic as it is, and the p-value would be 1 for any draws."""
    with pytest.raises(DegenerateError, match="two rows of positive weight"):
        test(all_weight_on_one_row(rest), n_bootstrap=9, rng=0)
    assert 0.0 < test(all_weight_on_one_row(-5.0), n_bootstrap=9, rng=0).pvalue <= 1.0


@pytest.mark.parametrize(
    "test",
    [
        ps.ksd_test,
        partial(ps.ksdagg_test, n_correction=9),
        ps.nystrom_ksd_test,
        partial(ps.psd_l2_test, order=1),
        partial(ps.psd_bootstrap_test, order=1),
    ],
)
def test_the_length_is_a_positive_number_of_any_type_but_no_boolean(test: Any) -> None:
    draws, scores = (part.reshape(2, 30, 2) for part in arbitrary_rows(60, 2))
    for length in (True, np.True_, 0, "long", np.nan, np.array([1.0, 2.0])):
        with pytest.raises(InputError, match="`length` must be a positive number or 'auto'; got"):
            test(draws, scores, n_bootstrap=9, length=length, rng=0)
    results = [
        test(draws, scores, n_bootstrap=9, length=length, rng=0)
        for length in (3, 3.0, np.int64(3), np.float32(3.0))
    ]
    assert {result.settings["length"] for result in results} == {3.0}
    assert {result.evidence.estimates["multiplier_length"] for result in results} == {3.0}
    assert len({result.pvalue for result in results}) == 1
