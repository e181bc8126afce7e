"""What may be asked for, and what is refused."""

import numpy as np
import pytest

import polystein as ps
from polystein.explain.requests import asked
from tests.explain.rows import sample

NAMED = sample(names=["a", "b", "c"])


def labels(functions: object = None, names: object = None, source: ps.Sample = NAMED) -> list[str]:
    wanted = asked(source, functions, names)  # type: ignore[arg-type]
    return [f"{name} {quantity.what}" for quantity, name in wanted.quantities.items()]


def test_the_default_is_mean_and_sd_of_every_coordinate() -> None:
    assert labels() == ["a mean", "a sd", "b mean", "b sd", "c mean", "c sd"]


def test_names_select_coordinates() -> None:
    assert labels(["sd"], ["c", "a"]) == ["c sd", "a sd"]
    assert labels("mean", "b") == ["b mean"]


def test_pairs_functions_and_moments_together() -> None:
    def square(x: np.ndarray) -> np.ndarray:
        return x[:, :2] ** 2

    expected = ["a tail", "a, c correlation", "square[0] mean", "square[0] sd"]
    assert labels(["tail", ("c", "a"), square], "a")[:4] == expected
    assert labels({"both": square})[-1] == "both[1] sd"
    assert labels(square)[0] == "square[0] mean"


def test_functions_of_one_name_are_numbered() -> None:
    def square(x: np.ndarray) -> np.ndarray:
        return x[:, 0] ** 2

    found = labels([square, square, lambda x: x[:, 0], lambda x: x[:, 1] > 0.0])[::2]
    assert found == ["square mean", "square 1 mean", "function 1 mean", "function 2 mean"]


def test_constrained_parameters_come_through_the_transform() -> None:
    source = sample(
        names=["a", "b", "c"], facts={"transform": lambda x: {"a": x[:, 0], "tau": np.exp(x[:, 1])}}
    )
    assert labels(source=source)[-2:] == ["tau mean", "tau sd"]
    assert labels(["tau"], source=source) == ["tau mean", "tau sd"]
    with pytest.raises(ps.InputError, match="among"):
        labels(["sigma"], source=source)


@pytest.mark.parametrize(
    ("functions", "names", "message"),
    [
        (["median"], None, "got 'median'"),
        ([("a", "z")], None, "got 'z'"),
        ([("a", "a")], None, "two coordinates"),
        ([3], None, "got 3"),
        (3, None, "got 3"),
        (None, ["z"], "`names` must be names of coordinates"),
        ({"f": lambda x: 1.0}, None, "one value, or one row, for each"),
        ({"f": lambda x: x[:5]}, None, "one value, or one row, for each"),
        ({"f": lambda x: np.full(len(x), np.nan)}, None, "finite"),
        ({"f": lambda x: x[:, 0] + 1j}, None, "real numbers or booleans; got .* complex128"),
        ({"f": lambda x: ["a"] * len(x)}, None, "real numbers"),
        ({"f": lambda x: x[:, :0]}, None, r"got the shape \(300, 0\)"),
    ],
)
def test_what_cannot_be_is_refused(functions: object, names: object, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        labels(functions, names)


def test_functions_get_copies() -> None:
    def spoil(x: np.ndarray) -> np.ndarray:
        x[:] = 0.0
        return x[:, 0]

    before = np.array(NAMED.draws)
    labels({"spoil": spoil})
    assert np.array_equal(NAMED.draws, before)


def test_a_vector_that_is_its_own_coordinates_is_asked_for_once() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 3))

    def transform(x: np.ndarray) -> dict[str, np.ndarray]:
        return {"beta": x[:, :2], "sigma": np.exp(x[:, 2])}

    names = ["beta[0]", "beta[1]", "sigma_log__"]
    sample = ps.Sample(draws, -draws, names=names, facts={"transform": transform})
    found = [row.name for row in ps.expectations(sample, iid=True) if row.what == "mean"]
    assert found == [*names, "sigma"]
