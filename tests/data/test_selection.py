"""Coordinates by name and pattern, rows by stride."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.facts import Facts
from polystein.data.selection import Selection, spellings
from polystein.data.target import Target
from polystein.errors import InputError

NAMES = ["mu", "tau_log__", "theta[0]", "theta[1]", "theta_raw[a, b]", "w_simplex__[0]"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, [0, 1, 2, 3, 4, 5]),
        ("mu", [0]),
        ("theta", [2, 3]),
        ("theta[1]", [3]),
        (["theta[1]", "mu"], [0, 3]),
        ("theta*", [2, 3, 4]),
        ("theta[?]", [2, 3]),
        ("tau", [1]),
        ("tau_log__", [1]),
        ("w[0]", [5]),
        ("~theta*", [0, 1, 5]),
        (["t*", "~tau"], [2, 3, 4]),
        ("theta_raw[a, *]", [4]),
    ],
)
def test_names_and_patterns(wanted: str | list[str] | None, expected: list[int]) -> None:
    assert Selection(wanted).columns(NAMES) == expected


def test_what_the_model_computes_has_no_score() -> None:
    target = Target(
        2,
        lambda rows: -0.5 * (rows**2).sum(axis=1),
        None,
        ("a", "b_log__"),
        lambda rows: {"a": rows[:, 0], "b": np.exp(rows[:, 1]), "twice": 2.0 * rows},
    )
    draws = np.random.default_rng(0).standard_normal((50, 2))
    sample = ps.Sample(draws, -draws, names=["a", "b_log__"], facts=Facts(target=target))
    for name in ("twice", "twice[1]"):
        with pytest.raises(InputError, match=r"must name parameters that .* no score"):
            ps.check(sample, var_names=["a", name])
    assert sample.select(var_names="b").names == ("b_log__",)
    with pytest.raises(InputError, match="must name coordinates; got 'c'"):
        sample.select(var_names="c")


LABELS = [{}, {}, {"i": 0}, {"i": 1}, {"i": 1, "j": "b"}, {}]


@pytest.mark.parametrize(
    ("coords", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"i": 1}, [0, 1, 3, 4, 5]),
        ({"i": [0, 1]}, [0, 1, 2, 3, 4, 5]),
        ({"i": np.array([0]), "j": "b"}, [0, 1, 2, 5]),
        ({"j": ("b",)}, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_labels_of_axes(coords: dict[str, object], expected: list[int]) -> None:
    """Variables without the axis are kept, as by xarray."""
    assert Selection(coords=coords).columns(NAMES, LABELS) == expected


def test_names_and_labels_together() -> None:
    assert Selection("theta*", coords={"i": 1}).columns(NAMES, LABELS) == [3, 4]


@pytest.mark.parametrize(
    ("coords", "labels", "message"),
    [
        ({"k": 0}, LABELS, "got 'k', but there are i, j"),
        ({"i": 0}, None, "got 'i', but these draws have none"),
        ({"i": [0, 7]}, LABELS, "labels of the axis 'i', one or a list; got 7, but there are 0, 1"),
        ({"i": []}, LABELS, r"got \[\], but there are 0, 1"),
        ({"i": slice(1)}, LABELS, r"got slice\(None, 1, None\)"),
    ],
)
def test_labels_that_are_not_there(
    coords: dict[str, object], labels: list[dict[str, object]] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Selection(coords=coords).columns(NAMES, labels)


def test_labels_must_be_a_mapping_and_leave_something() -> None:
    with pytest.raises(InputError, match="`coords` must be a mapping"):
        Selection(coords=["i"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`coords` must leave a coordinate"):
        Selection("theta[0]", coords={"i": 1}).columns(NAMES, LABELS)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("thet", r"got 'thet', but there are mu, tau_log__, theta, .* Did you mean 'theta'\?"),
        ([], "must be a name or a list of names"),
        (3, "must be a name or a list of names"),
        (np.array("mu"), "must be a name or a list of names"),
        ((name for name in ["mu"]), "must be a name or a list of names"),
        (["mu", "~mu"], "must leave a coordinate"),
    ],
)
def test_what_matches_nothing_is_named(wanted: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Selection(wanted).columns(NAMES)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"thin": 0}, {"thin": 1.5}, {"drop_first": -1}])
def test_strides_are_checked(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be a"):
        Selection(**options)  # type: ignore[arg-type]


def test_a_variable_of_pymc_may_be_named_without_its_transform() -> None:
    assert spellings("w_simplex__[0]") == {"w_simplex__[0]", "w_simplex__", "w", "w[0]"}


def test_a_sample_keeps_rows_columns_weights_and_statistics() -> None:
    rng = np.random.default_rng(0)
    draws, log_weights = rng.standard_normal((3, 100, 2)), rng.normal(50.0, 1.0, size=(3, 100))
    facts = {
        "sampler_statistics": {"diverging": np.arange(300).reshape(3, 100) % 7 == 0},
        "log_density": lambda x: -0.5 * np.sum(x**2, axis=1),
    }
    whole = ps.Sample(draws, -draws, names=["a", "b"], log_weights=log_weights, facts=facts)
    part = whole.select(var_names="b", thin=3, drop_first=10)
    assert np.array_equal(part.draws, draws[:, 10::3, 1:])
    assert np.array_equal(part.scores, -draws[:, 10::3, 1:])
    assert part.names == ("b",)
    assert part.log_weights is not None
    np.testing.assert_allclose(part.log_weights + part.log_scale, log_weights[:, 10::3])
    assert part.facts.sampler_statistics["diverging"].shape == (3, 30)
    assert part.facts.log_density is None
    assert whole.select(thin=2).facts.log_density is not None
    with pytest.raises(InputError, match="`drop_first` must leave draws; got 100 of 100"):
        whole.select(drop_first=100)


def test_independent_rows_are_selected_alike() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 3))
    part = ps.Sample(draws, -draws).select(var_names=["x[2]"], thin=10)
    assert np.array_equal(part.draws, draws[::10, 2:])
    assert part.names is None
