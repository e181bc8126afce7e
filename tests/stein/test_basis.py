"""Bases: values and derivatives, Stein's identity, and their way into the tests."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import hermite_e

import polystein as ps
from polystein.errors import InputError
from polystein.stein.basis import (
    BoundedHermite,
    Hermite,
    LinearAndBounded,
    Monomial,
    SmoothTails,
    basis_for,
)
from tests.reference.check import tail as literal_tail

POINTS = np.linspace(-3.0, 3.0, 13)[:, None]
BASES = [Monomial(5), Hermite(5), BoundedHermite(5), LinearAndBounded(5), LinearAndBounded(1)]


def literal_hermite(k: int, x: Any) -> Any:
    """He_k(x)/sqrt(k!) from NumPy's own coefficients."""
    return hermite_e.hermeval(x, [0.0] * k + [1.0]) / math.sqrt(math.factorial(k))


def values(basis: Any, x: Any) -> list[Any]:
    return [term.values for term in basis.terms(x)]


def derivatives(basis: Any, x: Any) -> list[Any]:
    return [
        term.factor * (np.ones_like(x) if term.derivative is None else term.derivative)
        for term in basis.terms(x)
    ]


def test_hermite_polynomials_are_the_orthonormal_ones() -> None:
    for k, found in enumerate(values(Hermite(6), POINTS), start=1):
        assert found == pytest.approx(literal_hermite(k, POINTS), rel=1e-12, abs=1e-12)


def test_bounded_hermite_functions_have_their_envelope() -> None:
    for k, found in enumerate(values(BoundedHermite(6), POINTS), start=1):
        expected = literal_hermite(k, POINTS) * np.exp(-(POINTS**2) / 4.0)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("basis", BASES)
def test_derivatives_against_differences(basis: Any) -> None:
    step = 1e-6
    above, below = values(basis, POINTS + step), values(basis, POINTS - step)
    for i, found in enumerate(derivatives(basis, POINTS)):
        slope = (above[i] - below[i]) / (2.0 * step)
        assert found == pytest.approx(slope, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("basis", BASES)
def test_steins_identity_under_the_standard_normal(basis: Any) -> None:
    """E[-x phi(x) + phi'(x)] = 0, by quadrature."""
    nodes, weights = hermite_e.hermegauss(80)
    x, weights = nodes[:, None], weights / weights.sum()
    for phi, slope in zip(values(basis, x), derivatives(basis, x), strict=True):
        assert float(weights @ (-x * phi + slope)[:, 0]) == pytest.approx(0.0, abs=1e-10)


def test_bounded_functions_are_bounded() -> None:
    far = np.array([[-1e3], [-30.0], [30.0], [1e3]])
    for phi, slope in zip(
        values(BoundedHermite(6), far), derivatives(BoundedHermite(6), far), strict=True
    ):
        assert np.all(np.abs(phi) < 1e-10)
        assert np.all(np.abs(slope) < 1e-10)


def test_the_basis_of_the_paper_is_the_monomials() -> None:
    draws = np.array([[2.0, -3.0]])
    terms = list(Monomial(3).terms(draws))
    for i, term in enumerate(terms, start=1):
        assert np.array_equal(term.values, draws**i)
        derivative = np.ones_like(draws) if term.derivative is None else term.derivative
        assert np.array_equal(term.factor * derivative, i * draws ** (i - 1))
    assert Monomial(3).names == ("x", "x^2", "x^3")


def test_only_powers_are_closed_under_shifts() -> None:
    """Then (x + c)^i is a combination of x, ..., x^i and 1; no other basis claims so much."""
    assert [basis.closed_under_shifts for basis in BASES] == [True, False, False, False, False]


def test_names() -> None:
    assert Hermite(3).names == ("H1", "H2", "H3")
    assert BoundedHermite(2).names == ("G1", "G2")
    assert LinearAndBounded(1).names == ("x",)
    assert LinearAndBounded(4).names == ("x", "G1", "G2", "G3")


def test_features_are_named_with_the_score_last() -> None:
    assert Monomial(3).feature_names == ("x", "x^2", "x^3", "score")
    assert Monomial(0).feature_names == ("score",)
    assert LinearAndBounded(2).feature_names == ("x", "G1", "score")


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (Monomial(0), ()),
        (Monomial(1), ("spread, correlation",)),
        (
            Monomial(5),
            ("spread, correlation", "skewness", "tails", "moment 5", "moment 6"),
        ),
        (Hermite(2), ("shape", "shape")),
        (BoundedHermite(1), ("shape",)),
        (LinearAndBounded(3), ("spread", "shape", "shape")),
    ],
)
def test_every_feature_has_words_with_the_location_last(basis: Any, words: Any) -> None:
    assert basis.words == words
    assert basis.feature_words == (*words, "location")
    assert len(basis.words) == len(basis.names) == basis.order


def test_the_identity_comes_before_the_bounded_functions() -> None:
    first, *rest = values(LinearAndBounded(4), POINTS)
    assert np.array_equal(first, POINTS)
    assert len(rest) == 3
    for found, expected in zip(rest, values(BoundedHermite(3), POINTS), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.filterwarnings("error")
def test_smooth_tails_are_the_literal_ones_everywhere() -> None:
    points = np.concatenate([POINTS, [[-1e200], [-400.0], [-40.0], [40.0], [400.0], [1e200]]])
    terms = SmoothTails().terms(points)
    for sign, (found, factor, derivative) in zip((1.0, -1.0), terms, strict=True):
        near = [literal_tail(float(x), sign) for x in POINTS[:, 0]]
        expected = [*near, *((float(sign * x > 0.0), 0.0) for x in points[len(near) :, 0])]
        assert derivative is not None
        both = np.concatenate([found, factor * derivative], axis=1)
        assert both == pytest.approx(np.array(expected), rel=1e-12, abs=1e-14)
    assert len(SmoothTails().names) == len(SmoothTails().words) == SmoothTails().order == 2


@pytest.mark.parametrize("order", [0, -1, 1.5, True, "2"])
def test_the_identity_is_not_left_out(order: Any) -> None:
    with pytest.raises(InputError, match=r"`order` must be a positive integer; got "):
        LinearAndBounded(order)


@pytest.mark.parametrize("name", ["hermite", "bounded-hermite"])
def test_a_basis_must_be_standardised(name: Any) -> None:
    draws = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.raises(InputError, match="`standardise` must be True"):
        ps.lambda_psd_test(draws, -draws, order=2, basis=name, rng=0)


@pytest.mark.parametrize("order", [True, 1.0, -1, [1], np.ones(2)])
def test_an_order_is_refused_also_if_it_equals_one_that_was_taken(order: Any) -> None:
    assert basis_for("monomial", 1, standardise=False) == Monomial(1)
    assert basis_for("monomial", np.int64(1), standardise=False) == Monomial(1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`order` must be an integer >= 0; got "):
        basis_for("monomial", order, standardise=False)


def test_an_unknown_basis_is_named() -> None:
    draws = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.raises(InputError, match=r"`basis` must be 'monomial', .*; got 'fourier'"):
        ps.psd_test(draws, -draws, order=2, basis="fourier", rng=0)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::polystein.errors.HeavyTailWarning")
def test_hermite_polynomials_span_what_monomials_span() -> None:
    """With weights free to mix the orders, diagonal and d = 1, the best u is the same."""
    draws = np.random.default_rng(1).laplace(scale=0.5**0.5, size=(3000, 1))
    options: Any = {
        "order": 3,
        "weights": ps.ClosedForm(ridge=0.0),
        "structure": "diagonal",
        "standardise": True,
        "rng": 0,
    }
    monomial = ps.lambda_psd_test(draws, -draws, basis="monomial", **options)
    hermite = ps.lambda_psd_test(draws, -draws, basis="hermite", **options)
    assert hermite.statistic == pytest.approx(monomial.statistic, rel=1e-8)
    assert tuple(hermite.weights or ()) == ("H1", "H2", "H3", "score")


def test_bounded_functions_see_heavy_tails_without_suffering_from_them() -> None:
    """Draws of a Student-t with its own score: correct, and no heavy column u."""
    draws = np.random.default_rng(2).standard_t(5.0, size=(4000, 4))
    scores = -6.0 * draws / (5.0 + draws**2)
    result = ps.lambda_psd_test(
        draws, scores, order=4, basis="bounded-hermite", standardise=True, rng=0
    )
    assert result.warnings == ()
    assert result.pvalue > 0.01
    # The same draws do not come from the normal of the same variance.
    scale = (5.0 / 3.0) ** 0.5
    wrong = ps.lambda_psd_test(
        draws / scale, -draws / scale, order=4, basis="bounded-hermite", standardise=True, rng=0
    )
    assert wrong.pvalue < 1e-4
