"""The door takes arrays of any library and precision, and labelled ones for what they say."""

import importlib
from types import ModuleType
from typing import Any

import array_api_strict
import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError
from tests.rows import Array, arbitrary_rows, arbitrary_weights

DRAWS, SCORES = arbitrary_rows(40, 3)


@pytest.fixture(params=["numpy", "array_api_strict"])
def xp(request: pytest.FixtureRequest) -> ModuleType:
    """Each array library in turn; array_api_strict allows nothing but the standard."""
    return importlib.import_module(request.param)


def refused(message: str) -> Any:
    """Expect an InputError, which is a ValueError too, with this text in it."""
    return pytest.raises(InputError, match=message)


# Reading


def test_reading_gives_the_rows_of_a_chain(xp: ModuleType) -> None:
    draws, scores = DRAWS.reshape(4, 10, 3), SCORES.reshape(4, 10, 3)
    log_weights = np.log(np.arange(1.0, 41.0)).reshape(4, 10)
    sample = ps.Sample(xp.asarray(draws), xp.asarray(scores), log_weights=xp.asarray(log_weights))
    block = sample.read(2, 3, 7)
    assert np.array_equal(block.draws, draws[2, 3:7])
    assert np.array_equal(block.scores, scores[2, 3:7])
    assert block.weights == pytest.approx(np.arange(24.0, 28.0) / 40.0, rel=1e-14)
    assert (block.chain, block.start, block.rows) == (2, 3, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_rows_are_read_as_numpy_in_double_precision(xp: ModuleType, dtype: str) -> None:
    draws, scores = ((8 * array).astype(dtype) for array in (DRAWS, SCORES))
    block = ps.Sample(xp.asarray(draws), xp.asarray(scores)).read(0, 5, 9)
    for found, expected in ((block.draws, draws[5:9]), (block.scores, scores[5:9])):
        assert type(found) is np.ndarray
        assert found.dtype == np.float64
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
def test_other_dtypes_are_computed_in_double_precision(xp: ModuleType, dtype: str) -> None:
    draws, scores = ((8 * array).astype(dtype) for array in (DRAWS, SCORES))
    expected = ps.psd(draws.astype(float), scores.astype(float), order=5)
    value = ps.psd(xp.asarray(draws), xp.asarray(scores), order=5)
    assert value == pytest.approx(expected, rel=1e-13)


def test_draws_and_scores_may_come_from_different_libraries() -> None:
    expected = ps.psd(DRAWS, SCORES, order=3, estimator="u")
    strict_draws, strict_scores = map(array_api_strict.asarray, (DRAWS, SCORES))
    assert ps.psd(DRAWS, strict_scores, order=3, estimator="u") == expected
    assert ps.psd(strict_draws, SCORES, order=3, estimator="u") == expected
    assert ps.psd(strict_draws, lambda x: SCORES, order=3, estimator="u") == expected
    assert ps.psd(DRAWS.astype(np.float32), SCORES, order=3) == pytest.approx(
        ps.psd(DRAWS, SCORES, order=3), rel=1e-5
    )


def test_weights_may_come_from_another_library_than_the_draws() -> None:
    log_weights, _ = arbitrary_weights(40)
    expected = ps.psd(ps.Sample(DRAWS, SCORES, log_weights=log_weights), order=3)
    strict = array_api_strict.asarray(log_weights)
    assert ps.psd(ps.Sample(DRAWS, SCORES, log_weights=strict), order=3) == expected


def test_libraries_give_the_same_verdict(xp: ModuleType) -> None:
    draws = np.random.default_rng(0).standard_normal((400, 3))
    expected = ps.check(draws, -draws, rng=0)
    found = ps.check(xp.asarray(draws), lambda x: -x, rng=0)
    assert (found.pvalue, found.statistic) == (expected.pvalue, expected.statistic)


# Score functions


def test_a_score_function_is_given_rows_of_the_library_of_the_draws(xp: ModuleType) -> None:
    seen = []

    def score(x: Any) -> Any:
        seen.append((type(x), str(x.dtype).rpartition(".")[2], tuple(x.shape)))
        return -x

    draws = xp.asarray(DRAWS.astype(np.float32))
    sample = ps.Sample(xp.reshape(draws, (4, 10, 3)), score)
    assert seen == [(type(draws), "float32", (40, 3))]
    assert np.array_equal(sample.read(1, 2, 5).scores, -DRAWS.astype(np.float32)[12:15])


def test_a_score_function_is_given_blocks_of_copies(
    xp: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polystein.data.sample.ROWS_AT_ONCE", 15)
    draws, lengths = xp.asarray(DRAWS.copy()), []

    def score(x: Any) -> Any:
        lengths.append(int(x.shape[0]))
        x *= -1.0
        return x

    sample = ps.Sample(draws, score)
    assert lengths == [15, 15, 10]
    assert np.array_equal(np.asarray(draws), DRAWS)
    block = sample.read(0, 0, 40)
    assert np.array_equal(block.draws, DRAWS)
    assert np.array_equal(block.scores, -DRAWS)


def test_a_callable_of_the_wrong_shape_is_refused(xp: ModuleType) -> None:
    message = (
        r"`scores` must return an array of the shape of its argument, \(40, 3\); "
        r"the callable returned \(40, 2\)"
    )
    with refused(message):
        ps.psd(xp.asarray(DRAWS), lambda x: x[:, :2], order=1)


# Values


@pytest.mark.parametrize("argument", ["draws", "scores"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_counted_and_the_first_is_located(
    xp: ModuleType, argument: str, value: float
) -> None:
    bad = DRAWS.copy()
    bad[7, 2] = bad[9, 0] = value
    pair = (bad, SCORES) if argument == "draws" else (SCORES, bad)
    message = rf"`{argument}` must be finite; got 2 non-finite values, .* \(7, 2\): {value}"
    with refused(message):
        ps.psd(*map(xp.asarray, pair), order=1)


def test_non_finite_values_of_later_rows_are_seen(
    xp: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polystein.data.sample.ROWS_AT_ONCE", 15)
    draws = DRAWS.reshape(4, 10, 3).copy()
    draws[3, 4, 1] = np.nan
    with refused(r"`draws` must be finite; got 1 non-finite value, the first at .* \(3, 4, 1\)"):
        ps.Sample(xp.asarray(draws), xp.asarray(SCORES.reshape(4, 10, 3)))


@pytest.mark.parametrize("value", [2**53 + 2, -(2**60)])
def test_integers_that_a_float_cannot_hold_are_refused(xp: ModuleType, value: int) -> None:
    draws = np.ones((30, 2), dtype=np.int64)
    draws[3, 1] = value
    with refused(r"`draws` must hold numbers that a float64 represents exactly; got .*int64"):
        ps.psd(xp.asarray(draws), lambda x: -x, order=1)


def test_other_dtypes_of_other_libraries_are_named() -> None:
    with refused(r"`draws` must hold real numbers .*; got dtype .*complex128"):
        ps.psd(array_api_strict.asarray(DRAWS + 0j), SCORES, order=1)
    with refused(r"`scores` must hold real numbers .*; got dtype .*bool"):
        ps.psd(DRAWS, array_api_strict.asarray(DRAWS > 0), order=1)


# Labelled arrays. Neither library is a dependency of the tests, so that these stand in.


class DataFrame:
    """As much of a pandas DataFrame as the door asks for."""

    def __init__(self, values: Array) -> None:
        self._values = values

    def to_numpy(self) -> Array:
        return self._values


class DataArray:
    """As much of an xarray DataArray as the door asks for."""

    def __init__(self, values: Array, *dims: str) -> None:
        self.values, self.dims = values, dims


class Dataset:
    """An xarray Dataset, which is no array."""


class StoredArray:
    """A dataset of an HDF5 file: it can be cut, but is no array of a library."""

    def __init__(self, values: Array) -> None:
        self._values = values
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, index: Any) -> Array:
        return self._values[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self._values, dtype=dtype)


DataFrame.__module__ = "pandas.core.frame"
DataArray.__module__ = "xarray.core.dataarray"
Dataset.__module__ = "xarray.core.dataset"


def test_data_frames_give_their_values() -> None:
    expected = ps.psd(DRAWS, SCORES, order=3)
    assert ps.psd(DataFrame(DRAWS), DataFrame(SCORES), order=3) == expected
    assert ps.psd(DataFrame(DRAWS), lambda x: SCORES, order=3) == expected
    with refused("`draws` must hold real numbers .*; got dtype object"):
        ps.psd(DataFrame(DRAWS.astype(object)), SCORES, order=3)


@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((40, 3), ("draw", "x")),
        ((40, 3), ("sample", "x")),
        ((4, 10, 3), ("chain", "draw", "x")),
        ((4, 10, 3), ("walker", "step", "x")),
    ],
)
def test_labelled_arrays_give_their_values(shape: tuple[int, ...], dims: tuple[str, ...]) -> None:
    draws, scores = DRAWS.reshape(shape), SCORES.reshape(shape)
    labelled = DataArray(draws, *dims), DataArray(scores, *dims)
    weights = DataArray(np.zeros(shape[:-1]), *dims[:-1])
    sample = ps.Sample(*labelled, log_weights=weights)
    assert sample.layout == ps.Sample(draws, scores).layout
    assert ps.psd(sample, order=3) == pytest.approx(ps.psd(DRAWS, SCORES, order=3), rel=1e-13)


@pytest.mark.parametrize(
    "dims", [("draw", "chain", "x"), ("x", "chain", "draw"), ("chain", "x", "draw")]
)
def test_labelled_axes_in_another_order_are_refused(dims: tuple[str, ...]) -> None:
    draws = DataArray(DRAWS.reshape(4, 10, 3), *dims)
    with refused(r"`draws` must have the dimensions \('chain', 'draw', ...\); got \(") as caught:
        ps.Sample(draws, lambda x: -x)
    assert str(dims) in str(caught.value)
    assert "array.transpose('chain', 'draw', ...)" in str(caught.value)


def test_a_collection_of_labelled_arrays_is_refused() -> None:
    with refused("`draws` must be an array; got an xarray Dataset. Pass one of its variables"):
        ps.Sample(Dataset(), lambda x: -x)
    with refused("`scores` must be an array; got an xarray Dataset"):
        ps.Sample(DRAWS, Dataset())


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_arrays_that_only_numpy_can_read_are_accepted(dtype: str) -> None:
    draws, scores = ((8 * array).astype(dtype) for array in (DRAWS, SCORES))
    expected = ps.psd(draws, scores, order=3)
    assert ps.psd(StoredArray(draws), StoredArray(scores), order=3) == expected
    chains = ps.Sample(StoredArray(draws.reshape(4, 10, 3)), lambda x: scores)
    assert ps.psd(chains, order=3) == pytest.approx(expected, rel=1e-13)
