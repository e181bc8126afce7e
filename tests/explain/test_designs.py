"""Features and functions of every design, against a literal transcription."""

import numpy as np
import pytest

from polystein.explain.designs import (
    CoordinateDesign,
    Design,
    JointDesign,
    MeansDesign,
    PairDesign,
    ValueFunction,
)
from tests.explain.rows import seen_of, skewed
from tests.reference import corrections as literal

SEEN = seen_of(*skewed(40))
CUBE = ValueFunction(lambda x: x[:, :2] ** 3, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
DESIGNS: dict[str, Design] = {
    "means": MeansDesign(3),
    "coordinate": CoordinateDesign(3, 1),
    "shape": CoordinateDesign(3, 1, shape=True),
    "pair": PairDesign(3, 0, 2),
    "joint": JointDesign(3, (0, 2), ((0, 2),), (CUBE,)),
    "diagonal": JointDesign(3, (), (), (CUBE,), products=False),
}


@pytest.mark.parametrize("shape", [False, True])
def test_features_of_a_coordinate(shape: bool) -> None:
    design = CoordinateDesign(3, 1, shape)
    columns = design.columns(SEEN)
    expected = literal.coordinate_features(SEEN.draws, SEEN.scores, 1, shape)
    assert columns[:, : design.cuts[-1]] == pytest.approx(expected, rel=1e-12)
    for power in range(design.functions):
        assert columns[:, design.cuts[-1] + power] == pytest.approx(SEEN.draws[:, 1] ** (power + 1))


def test_features_of_a_pair() -> None:
    design = PairDesign(3, 0, 2)
    columns = design.columns(SEEN)
    assert columns[:, :10] == pytest.approx(literal.pair_features(SEEN.draws, SEEN.scores, 0, 2))
    a, b = SEEN.draws[:, 0], SEEN.draws[:, 2]
    assert columns[:, 10:] == pytest.approx(np.column_stack([a, b, a * a, b * b, a * b]))


def test_features_and_functions_of_all_coordinates() -> None:
    design = JointDesign(3, (0, 2), ((0, 2),), (CUBE,))
    columns = design.columns(SEEN)
    features = design.cuts[-1]
    assert columns[:, :features] == pytest.approx(literal.joint_features(SEEN.draws, SEEN.scores))
    functions = columns[:, features:]
    a, b = SEEN.draws[:, 0], SEEN.draws[:, 2]
    moments = np.column_stack([a, b, a * a, b * b, a * b])
    assert functions[:, list(design.of_pair((0, 2)))] == pytest.approx(moments)
    values = (SEEN.raw[:, 1] ** 3 - 2.0) / 4.0
    assert functions[:, list(design.of_value(1))] == pytest.approx(
        np.column_stack([values, values**2])
    )


def test_without_products_only_own_ones_are_left() -> None:
    design = JointDesign(3, values=(CUBE,), products=False)
    columns, every = design.columns(SEEN), JointDesign(3, values=(CUBE,)).columns(SEEN)
    kept = [0, 1, 2, 3, 4, 8, 12, *range(13, every.shape[1])]
    assert columns == pytest.approx(every[:, kept])


@pytest.mark.parametrize("name", DESIGNS)
def test_products_need_not_form_the_columns(name: str) -> None:
    design = DESIGNS[name]
    columns = design.columns(SEEN)
    coefficients = np.random.default_rng(0).standard_normal((columns.shape[1], 4))
    assert columns.shape[1] == design.cuts[-1] + design.functions
    assert design.combined(SEEN, coefficients) == pytest.approx(columns @ coefficients)


@pytest.mark.parametrize("name", DESIGNS)
def test_features_have_mean_zero_under_the_target(name: str) -> None:
    """To a few standard errors, over many draws of the target itself."""
    draws = np.log(np.random.default_rng(1).standard_gamma(5.0, (20_000, 3)))
    columns = DESIGNS[name].columns(seen_of(draws, 5.0 - np.exp(draws)))
    features = columns[:, 1 : DESIGNS[name].cuts[-1]]
    z = features.mean(axis=0) / (features.std(axis=0) / np.sqrt(len(features)))
    assert np.abs(z).max() < 4.0
