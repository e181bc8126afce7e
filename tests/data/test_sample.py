"""The door: what comes in is right, or the error says what is not."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.facts import Facts
from polystein.data.source import Layout
from polystein.errors import DependenceWarning, InputError
from tests.rows import arbitrary_rows, arbitrary_weights

pytestmark = pytest.mark.filterwarnings("ignore::polystein.HeavyTailWarning")
DRAWS, SCORES = arbitrary_rows(40, 3)


def gaussian_score(x: Any) -> Any:
    return -x


def refused(message: str) -> Any:
    """Expect an InputError, which is a ValueError too, with this text in it."""
    return pytest.raises(InputError, match=message)


def with_value(value: float, *places: tuple[int, int]) -> Any:
    array = DRAWS.copy()
    for place in places:
        array[place] = value
    return array


# Shapes


def test_one_dimensional_draws_are_refused_with_a_remedy() -> None:
    with refused(
        r"`draws` must have the shape \(n, d\) or \(chain, draw, d\); got \(40,\)"
    ) as info:
        ps.psd(DRAWS[:, 0], SCORES[:, 0], order=1)
    assert "draws[:, None]" in str(info.value)


@pytest.mark.parametrize("shape", [(), (2, 3, 4, 5)])
def test_other_numbers_of_axes_are_refused(shape: tuple[int, ...]) -> None:
    with refused(r"`draws` must have the shape \(n, d\) or \(chain, draw, d\); got \("):
        ps.psd(np.ones(shape), np.ones(shape), order=1)


@pytest.mark.parametrize("shape", [(0, 3), (30, 0), (4, 0, 2)])
def test_empty_draws_are_refused(shape: tuple[int, ...]) -> None:
    with refused(r"`draws` must not be empty; got the shape \("):
        ps.psd(np.ones(shape), np.ones(shape), order=1)


@pytest.mark.parametrize("shape", [(4, 1000), (19, 20), (1, 2)])
def test_a_scalar_parameter_by_chain_and_draw_is_refused_with_the_remedy(
    shape: tuple[int, int],
) -> None:
    with refused(r"`draws` must have one row for each draw; got \(") as info:
        ps.psd(np.ones(shape), np.ones(shape), order=1)
    message = str(info.value)
    assert "draws[..., None]" in message
    assert f"(chain, draw, d) = ({shape[0]}, {shape[1]}, 1)" in message


@pytest.mark.parametrize("shape", [(20, 21), (4, 4), (1, 1), (4, 1000, 1)])
def test_shapes_at_the_edge_of_that_rule_pass(shape: tuple[int, ...]) -> None:
    ps.Sample(np.ones(shape), np.ones(shape))


def test_scores_of_another_shape_are_refused() -> None:
    message = r"`scores` must have the shape of `draws`, \(40, 3\); got \(40, 2\)"
    with refused(message):
        ps.psd(DRAWS, SCORES[:, :2], order=1)


# Values and dtypes


def test_infinities_that_cancel_are_seen() -> None:
    draws = with_value(np.inf, (3, 1))
    draws[5, 1] = -np.inf
    with refused(r"`draws` must be finite; got 2 non-finite values, .* \(3, 1\): inf"):
        ps.psd(draws, SCORES, order=1)


def test_one_non_finite_value_in_chains_is_located() -> None:
    draws = DRAWS.reshape(2, 20, 3).copy()
    draws[1, 4, 2] = np.nan
    with refused(r"`draws` must be finite; got 1 non-finite value, the first at .* \(1, 4, 2\)"):
        ps.psd(draws, SCORES.reshape(2, 20, 3), order=1)


def test_a_callable_that_returns_nan_is_refused() -> None:
    with refused("`scores` must be finite; got 120 non-finite values"):
        ps.psd(DRAWS, lambda x: x * np.nan, order=1)


def test_finite_values_whose_sum_overflows_pass() -> None:
    ps.Sample(np.full((30, 2), 1.5e308), np.ones((30, 2)))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (DRAWS + 0j, "complex128"),
        (DRAWS.astype(object), "object"),
        (DRAWS > 0, "bool"),
        ([["a", "b"]] * 20, "<U1"),
        ([[2**70, 1]] * 20, "object"),
    ],
)
def test_dtypes_that_are_no_real_numbers_are_refused(value: Any, dtype: str) -> None:
    with refused(rf"`draws` must hold real numbers .*; got dtype {dtype}"):
        ps.psd(value, gaussian_score, order=1)
    with refused(rf"`scores` must hold real numbers .*; got dtype {dtype}"):
        ps.psd(DRAWS, value, order=1)


@pytest.mark.parametrize(
    ("value", "name"), [(None, "NoneType"), (object(), "object"), ({"mu": 1.0}, "dict")]
)
def test_objects_that_are_no_arrays_are_named_by_their_type(value: Any, name: str) -> None:
    with refused(rf"`draws` must hold real numbers .*; got a {name}"):
        ps.psd(value, gaussian_score, order=1)


def test_ragged_lists_and_masked_arrays_are_refused() -> None:
    with refused("`draws` must be an array of numbers"):
        ps.psd([[1.0], [1.0, 2.0]], gaussian_score, order=1)
    with refused("`draws` must be a plain array; got a masked array"):
        ps.psd(np.ma.masked_array(DRAWS, DRAWS > 0), gaussian_score, order=1)


# A Sample, or draws with scores


def test_a_sample_with_scores_is_refused() -> None:
    with refused("`scores` must not be given with a Sample, which has its own; got ndarray"):
        ps.psd(ps.Sample(DRAWS, SCORES), SCORES, order=1)


def test_draws_without_scores_are_refused() -> None:
    with refused("`scores` must be an array of the shape of `draws` or a callable; got None"):
        ps.psd(DRAWS, order=1)


def test_a_sample_stands_in_for_draws_and_scores() -> None:
    assert ps.psd(ps.Sample(DRAWS, SCORES), order=3) == ps.psd(DRAWS, SCORES, order=3)


# Names and weights


@pytest.mark.parametrize("names", ["abc", ["a", "b"], ["a", "b", "a"], [1, 2, 3], 3, np.array(3)])
def test_wrong_names_are_refused(names: Any) -> None:
    with refused("`names` must be 3 different strings, one for each coordinate; got "):
        ps.Sample(DRAWS, SCORES, names=names)


def test_names_are_kept_in_order() -> None:
    assert ps.Sample(DRAWS, SCORES, names=["b", "a", "c"]).names == ("b", "a", "c")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_log_weights_that_are_nan_or_infinite_are_refused(value: float) -> None:
    log_weights = np.zeros(40)
    log_weights[5] = value
    with refused(f"`log_weights` must be finite or -inf, .* got a largest value of {value}"):
        ps.Sample(DRAWS, SCORES, log_weights=log_weights)


def test_log_weights_that_are_all_minus_infinity_are_refused() -> None:
    with refused("`log_weights` must be finite or -inf, .* got a largest value of -inf"):
        ps.Sample(DRAWS, SCORES, log_weights=np.full(40, -np.inf))


def test_log_weights_of_the_wrong_shape_are_refused() -> None:
    message = r"`log_weights` must have the shape of `draws` without its last axis, \(40,\); got "
    with refused(message + r"\(40, 1\)"):
        ps.Sample(DRAWS, SCORES, log_weights=np.zeros((40, 1)))
    with refused("`log_weights` must hold real numbers"):
        ps.Sample(DRAWS, SCORES, log_weights=np.zeros(40) + 0j)


def test_a_weight_of_zero_leaves_a_row_out() -> None:
    log_weights = np.zeros(40)
    log_weights[25:] = -np.inf
    weighted = ps.psd(ps.Sample(DRAWS, SCORES, log_weights=log_weights), order=3)
    assert weighted == pytest.approx(ps.psd(DRAWS[:25], SCORES[:25], order=3), rel=1e-13)


# What is accepted, and left alone


def test_layout_tells_rows_from_chains() -> None:
    assert ps.Sample(DRAWS, SCORES).layout == Layout((40,), 3, False)
    chains = ps.Sample(DRAWS.reshape(4, 10, 3), SCORES.reshape(4, 10, 3))
    assert chains.layout == Layout((10, 10, 10, 10), 3, True)
    assert chains.layout.total == 40


def test_repr_says_what_is_inside() -> None:
    assert repr(ps.Sample(DRAWS, SCORES)) == "Sample(40 draws, d=3)"
    chains = ps.Sample(DRAWS.reshape(4, 10, 3), gaussian_score, log_weights=np.zeros((4, 10)))
    assert repr(chains) == "Sample(4 chains of 10 draws, d=3, weighted)"


def test_inputs_are_never_modified() -> None:
    draws, scores, log_weights = DRAWS.copy() + 100.0, SCORES.copy(), np.zeros(40)
    copies = draws.copy(), scores.copy(), log_weights.copy()
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    for estimator in ("u", "v"):
        ps.psd(sample, order=3, estimator=estimator)
    ps.lambda_psd(sample, order=2)
    ps.o_psd(sample, order=1)
    with pytest.warns(ps.LowESSWarning):
        ps.lambda_psd_test(sample, order=2, standardise=True, rng=0)
    for array, copy in zip((draws, scores, log_weights), copies, strict=True):
        assert np.array_equal(array, copy)


def test_read_only_inputs_are_accepted() -> None:
    draws, scores = DRAWS.copy(), SCORES.copy()
    draws.flags.writeable = scores.flags.writeable = False
    assert ps.psd(draws, scores, order=2) == ps.psd(DRAWS, SCORES, order=2)
    assert ps.lambda_psd(draws, scores, order=2) == ps.lambda_psd(DRAWS, SCORES, order=2)


def test_lists_and_non_contiguous_arrays_are_accepted() -> None:
    expected = ps.psd(DRAWS, SCORES, order=3, estimator="u")
    assert ps.psd(DRAWS.tolist(), SCORES.tolist(), order=3, estimator="u") == expected
    wide, fortran = np.repeat(DRAWS, 2, axis=1)[:, ::2], np.asfortranarray(SCORES)
    assert not wide.flags.contiguous
    assert ps.psd(wide, fortran, order=3, estimator="u") == pytest.approx(expected, rel=1e-13)


# Score functions


def test_chains_of_a_callable_are_passed_flat_and_come_back_in_place() -> None:
    shapes = []

    def score(x: Any) -> Any:
        shapes.append(x.shape)
        return -x

    sample = ps.Sample(DRAWS.reshape(4, 10, 3), score)
    assert shapes == [(40, 3)]
    assert np.array_equal(sample.scores, -DRAWS.reshape(4, 10, 3))


@pytest.mark.parametrize("shape", [(40, 3), (4, 10, 3)])
def test_a_score_function_is_given_so_many_rows_at_once(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    monkeypatch.setattr("polystein.data.sample.ROWS_AT_ONCE", 15)
    seen = []

    def score(x: Any) -> Any:
        seen.append(x.copy())
        return -x

    sample = ps.Sample(DRAWS.reshape(shape), score)
    assert [len(rows) for rows in seen] == [15, 15, 10]
    assert np.array_equal(np.concatenate(seen), DRAWS)
    assert np.array_equal(sample.scores, -DRAWS.reshape(shape))


def test_a_callable_that_writes_into_its_argument_leaves_the_draws_alone() -> None:
    draws = DRAWS.copy()

    def score(x: Any) -> Any:
        x *= -1.0
        return x

    assert ps.psd(draws, score, order=2) == ps.psd(DRAWS, -DRAWS, order=2)
    assert np.array_equal(draws, DRAWS)


def test_a_score_function_is_not_called_with_integers() -> None:
    """Unsigned integers would wrap around under a minus sign."""
    small = np.random.default_rng(0).integers(0, 5, (50, 2)).astype(np.uint8)
    sample = ps.Sample(small, lambda draws: -draws)
    assert np.array_equal(sample.scores, -small.astype(float))


def test_a_wrong_shape_in_a_later_block_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polystein.data.sample.ROWS_AT_ONCE", 15)
    message = r"`scores` must return .*, \(10, 3\); the callable returned \(9, 3\)"
    with refused(message):
        ps.Sample(DRAWS, lambda x: x if len(x) == 15 else x[1:])


def test_scores_that_are_no_numbers_are_refused_whoever_returns_them() -> None:
    with refused("`scores` must hold real numbers .*; got dtype bool"):
        ps.Sample(DRAWS, lambda x: x > 0)


# Facts


def test_nothing_is_known_unless_it_is_said() -> None:
    facts = ps.Sample(DRAWS, SCORES).facts
    assert facts == Facts()
    assert (dict(facts.sampler_statistics), facts.log_density, facts.transform) == ({}, None, None)


def test_facts_come_as_a_mapping_or_ready_made() -> None:
    diverging = np.zeros((1, 40), dtype=bool)
    given = {"sampler_statistics": {"diverging": diverging}, "log_density": gaussian_score}
    facts = ps.Sample(DRAWS, SCORES, facts=given).facts
    assert facts.sampler_statistics["diverging"] is diverging
    assert facts.log_density is gaussian_score
    assert ps.Sample(DRAWS, SCORES, facts=facts).facts is facts


@pytest.mark.parametrize(
    ("facts", "got"),
    [({"divergences": 3, "log_density": None}, r"\['divergences', 'log_density'\]"), (3, "3")],
)
def test_unknown_facts_are_refused(facts: Any, got: str) -> None:
    known = r"\['sampler_statistics', 'log_density', 'transform', 'warnings', 'minibatch'\]"
    with refused(f"`facts` must be a mapping with keys among {known}; got {got}"):
        ps.Sample(DRAWS, SCORES, facts=facts)


# Swapped axes


def test_swapped_axes_are_warned_about_at_the_callers_line() -> None:
    draws = np.random.default_rng(0).standard_normal((30, 4, 2))
    with pytest.warns(DependenceWarning, match=r"pass `draws.swapaxes\(0, 1\)`") as caught:
        sample = ps.Sample(draws, -draws)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    line = Path(__file__).read_text().splitlines()[caught[0].lineno - 1]
    assert line.strip() == "sample = ps.Sample(draws, -draws)"
    assert sample.facts.warnings == (str(caught[0].message),)


def test_a_public_function_warns_of_swapped_axes_at_the_callers_line() -> None:
    draws = np.random.default_rng(0).standard_normal((30, 4, 2))
    with pytest.warns(DependenceWarning, match="with more chains than draws in each") as caught:
        ps.psd(draws, -draws, order=2)
    assert caught[0].filename == __file__
    line = Path(__file__).read_text().splitlines()[caught[0].lineno - 1]
    assert line.strip() == "ps.psd(draws, -draws, order=2)"


def test_the_warning_comes_after_what_was_known_before() -> None:
    draws = np.random.default_rng(0).standard_normal((30, 4, 2))
    with pytest.warns(DependenceWarning):
        sample = ps.Sample(draws, -draws, facts={"warnings": ("an earlier one",)})
    assert sample.facts.warnings[0] == "an earlier one"
    assert len(sample.facts.warnings) == 2


@pytest.mark.parametrize("shape", [(19, 4, 2), (30, 30, 2), (4, 30, 2)])
def test_few_chains_and_long_ones_are_no_swapped_axes(shape: tuple[int, ...]) -> None:
    draws = np.random.default_rng(0).standard_normal(shape)
    assert ps.Sample(draws, -draws).facts.warnings == ()


# Pickles


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(40, 3), (4, 10, 3)])
def test_a_sample_survives_pickling(shape: tuple[int, ...], weighted: bool) -> None:
    log_weights = arbitrary_weights(40)[0].reshape(shape[:-1]) if weighted else None
    sample = ps.Sample(
        DRAWS.reshape(shape), SCORES.reshape(shape), names=["a", "b", "c"], log_weights=log_weights
    )
    copy = pickle.loads(pickle.dumps(sample))
    assert repr(copy) == repr(sample)
    assert (copy.layout, copy.names, copy.weighted) == (sample.layout, sample.names, weighted)
    assert copy.log_scale == sample.log_scale
    chain = len(sample.layout.lengths) - 1
    for found, expected in zip(copy.read(chain, 2, 9), sample.read(chain, 2, 9), strict=True):
        assert np.array_equal(found, expected)
    assert ps.psd(copy, order=3, estimator="u") == ps.psd(sample, order=3, estimator="u")
