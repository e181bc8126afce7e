"""The feature map Phi_i: summed, contracted, squared and laid out as the literal one is."""

from typing import Any

import numpy as np
import pytest

from polystein.errors import InputError
from polystein.stein.basis import (
    BoundedHermite,
    Hermite,
    LinearAndBounded,
    Monomial,
    SmoothTails,
    Term,
)
from polystein.stein.operator import (
    DiagonalOperator,
    FullOperator,
    WeighedRows,
    derivative_dot,
    derivative_sum,
    diagonal_entries,
    diagonal_sums,
    operator_for,
)
from tests.reference import check, resolution
from tests.rows import Array, arbitrary_rows, arbitrary_weights

ROWS, DIMENSION, ORDER = 25, 3, 3
DRAWS, SCORES = arbitrary_rows(ROWS, DIMENSION)
BASES: dict[str, Any] = {
    "monomial": Monomial(ORDER),
    "hermite": Hermite(ORDER),
    "bounded-hermite": BoundedHermite(ORDER),
}


def diagonals(scores: Array, terms: Any) -> Array:
    """All diagonal entries side by side, copied before the next ones take their memory."""
    return np.concatenate([entry.copy() for entry in diagonal_entries(scores, terms)], axis=1)


every_basis = pytest.mark.parametrize("name", list(BASES))
every_structure = pytest.mark.parametrize("structure", ["full", "diagonal"])


def literal_phi(name: str, i: int, structure: str) -> Array:
    """Phi_i(x) of every row, (n, d, d), or its diagonal, (n, d), entry by entry."""
    every = range(DIMENSION)
    full = np.array(
        [
            [[resolution.entry(x, s, name, i, row, column) for column in every] for row in every]
            for x, s in zip(DRAWS, SCORES, strict=True)
        ]
    )
    return full if structure == "full" else np.diagonal(full, axis1=1, axis2=2)


def numbered_terms(name: str) -> list[tuple[int, Term]]:
    return list(enumerate(BASES[name].terms(DRAWS), start=1))


def random_matrix(structure: str, seed: int = 3) -> Array:
    shape = (DIMENSION, DIMENSION) if structure == "full" else (DIMENSION,)
    return np.random.default_rng(seed).normal(size=shape)


@every_structure
@every_basis
def test_rows_are_laid_out_entry_by_entry(structure: Any, name: str) -> None:
    operator = operator_for(structure)
    for i, term in numbered_terms(name):
        expected = literal_phi(name, i, structure)
        found = operator.stacked(SCORES, term)
        assert found.shape == (ROWS, operator.parameters(DIMENSION))
        assert found == pytest.approx(expected.reshape(ROWS, -1), rel=1e-12, abs=1e-13)
        # Some rows of Phi_i alone.
        part = operator.stacked(SCORES, term, slice(1, 3))
        assert part == pytest.approx(expected[:, 1:3].reshape(ROWS, -1), rel=1e-12, abs=1e-13)


@every_structure
@every_basis
def test_sums_over_rows_are_products_and_derivatives(structure: Any, name: str) -> None:
    operator, weights = operator_for(structure), arbitrary_weights(ROWS)[1]
    for i, term in numbered_terms(name):
        expected = np.tensordot(weights, literal_phi(name, i, structure), axes=1)
        products = operator.products(weights[:, None] * SCORES, term)
        own = derivative_sum(term, weights)
        (found,) = operator.with_derivatives([products], [own])
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-13)
        assert operator.diagonal(found) - operator.diagonal(products) == pytest.approx(own)


@every_structure
@every_basis
def test_contractions_are_inner_products_with_every_row(structure: Any, name: str) -> None:
    operator, matrix = operator_for(structure), random_matrix(structure)
    for i, term in numbered_terms(name):
        expected = literal_phi(name, i, structure).reshape(ROWS, -1) @ matrix.ravel()
        found = operator.contract(SCORES, term, matrix)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-12)


@every_structure
@every_basis
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_norms_are_summed_with_squared_weights(
    structure: Any, name: str, weighted: bool
) -> None:
    """One block's rows serve all terms, as the squares of phi_i serve as those of phi_(i+1)'."""
    squares = arbitrary_weights(ROWS)[1] ** 2 if weighted else None
    rows = WeighedRows(SCORES, squares)
    for i, term in numbered_terms(name):
        norms = np.sum(literal_phi(name, i, structure).reshape(ROWS, -1) ** 2, axis=1)
        expected = float(np.sum(norms) if squares is None else squares @ norms)
        found = operator_for(structure).squared_norm_sum(rows, term)
        assert found == pytest.approx(expected, rel=1e-11)


@every_basis
def test_the_derivative_meets_a_vector_or_the_weights(name: str) -> None:
    vector, weights = random_matrix("diagonal"), arbitrary_weights(ROWS)[1]
    for i, term in numbered_terms(name):
        slopes = np.array([[resolution.function(name, float(x), i)[1] for x in r] for r in DRAWS])
        dots = np.broadcast_to(derivative_dot(term, vector), ROWS)
        assert dots == pytest.approx(slopes @ vector, rel=1e-11, abs=1e-12)
        assert derivative_sum(term, weights) == pytest.approx(weights @ slopes, rel=1e-11)


@every_structure
def test_the_score_times_ones_has_its_adjoint(structure: Any) -> None:
    """<matrix, s 1'> = v's, whichever entries the structure keeps."""
    operator, matrix, columns = operator_for(structure), random_matrix(structure), np.ones(3)
    score = SCORES[0]
    phi = operator.outer(score, columns)
    literal = np.outer(score, columns)
    assert np.array_equal(phi, literal if structure == "full" else np.diagonal(literal))
    value = float(operator.outer_adjoint(matrix) @ score)
    assert value == pytest.approx(float(np.sum(matrix * phi)), rel=1e-13)


@every_structure
@every_basis
def test_rows_are_those_of_the_score(structure: Any, name: str) -> None:
    """Phi_i of D s, and not of s, less its derivatives, has every row l multiplied by D_l."""
    operator, factors = operator_for(structure), np.array([2.0, 0.5, 4.0])
    for _, term in numbered_terms(name):
        expected = operator.products(SCORES * factors, term)
        found = operator.scale_rows(operator.products(SCORES, term), factors)
        assert found == pytest.approx(expected, rel=1e-12)


@every_basis
def test_diagonals_follow_the_score(name: str) -> None:
    expected = [SCORES, *(literal_phi(name, i, "diagonal") for i in range(1, ORDER + 1))]
    found = diagonals(SCORES, BASES[name].terms(DRAWS))
    assert found == pytest.approx(np.concatenate(expected, axis=1), rel=1e-12, abs=1e-13)


@every_basis
def test_diagonals_come_one_after_the_other_in_the_same_memory(name: str) -> None:
    score, *entries = diagonal_entries(SCORES, BASES[name].terms(DRAWS))
    assert score is SCORES
    assert all(np.shares_memory(entry, entries[0]) for entry in entries)


@pytest.mark.parametrize("d", [1, 3])
def test_diagonal_entries_are_the_loops(d: int) -> None:
    """The score's entries first, then those of each order."""
    draws, scores = arbitrary_rows(7, d, 1)
    found = diagonals(scores, LinearAndBounded(ORDER).terms(draws))
    expected = [check.diagonal_entries(x, s, ORDER) for x, s in zip(draws, scores, strict=True)]
    assert found == pytest.approx(np.array(expected), rel=1e-10, abs=1e-12)


ENVELOPED: dict[str, Any] = {
    "no function": Monomial(0),
    "powers": Monomial(4),
    "bounded": BoundedHermite(3),
    "identity": LinearAndBounded(1),
    "basis of check": LinearAndBounded(5),
    "tails": SmoothTails(),
}


@pytest.mark.parametrize("name", ENVELOPED)
@pytest.mark.filterwarnings("error")
def test_sums_of_diagonals_by_powers_are_those_of_the_entries(name: str) -> None:
    """The last row is far away: its powers are huge where the envelope is 0."""
    basis = ENVELOPED[name]
    draws, scores = arbitrary_rows(9, 3, 2)
    draws[-1] *= 1.0 if name == "powers" else 400.0
    before, kept = (draws.copy(), scores.copy()), tuple(range(1, basis.order + 1))
    sums, values = diagonal_sums(basis, kept), dict[int, Any]()
    ones = np.ones_like(draws)
    columns = [ones if part is None else part for part in copied(sums, draws, scores, values)]
    found = sums.combination @ np.array(columns).reshape(-1, draws.size)
    expected = diagonals(scores, basis.terms(draws))[:, 3:]
    expected = expected.reshape(len(draws), basis.order, 3).swapaxes(0, 1)
    assert found.reshape(expected.shape) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert sorted(values) == list(kept)
    for i, term in enumerate(basis.terms(draws), start=1):
        assert values[i] == pytest.approx(term.values, rel=1e-11, abs=1e-11)
    assert np.array_equal(before, (draws, scores))


def copied(sums: Any, draws: Any, scores: Any, values: dict[int, Any]) -> list[Any]:
    """A column is valid until the next one comes."""
    found = sums.columns(draws, scores, values)
    return [None if column is None else column.copy() for column in found]


def test_sums_of_diagonals_are_worked_out_once_for_a_basis() -> None:
    assert diagonal_sums(LinearAndBounded(4), (1, 3)) is diagonal_sums(LinearAndBounded(4), (1, 3))
    assert diagonal_sums(LinearAndBounded(4), (1,)) is not diagonal_sums(LinearAndBounded(4))


@every_structure
def test_structures_are_looked_up(structure: Any) -> None:
    kind = {"full": FullOperator, "diagonal": DiagonalOperator}[structure]
    assert type(operator_for(structure)) is kind
    assert operator_for(structure).parameters(7) == {"full": 49, "diagonal": 7}[structure]
    with pytest.raises(InputError, match="`structure` must be 'full' or 'diagonal'; got 'lower'"):
        operator_for("lower")  # type: ignore[arg-type]
