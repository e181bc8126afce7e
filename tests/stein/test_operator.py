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
    Term,
)
from polystein.stein.operator import (
    DiagonalOperator,
    FullOperator,
    derivative_dot,
    derivative_sum,
    diagonal_entries,
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
        slopes = derivative_sum(term, weights, float(weights.sum()))
        found = operator.summed(weights[:, None] * SCORES, term.values, slopes)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-13)


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
def test_squared_norms_are_summed_with_squared_weights(structure: Any, name: str) -> None:
    squares = arbitrary_weights(ROWS)[1] ** 2
    expected = squares @ np.sum(SCORES**2, axis=1)
    found = operator_for(structure).squared_norms(squares, SCORES, [])
    assert found == pytest.approx(expected, rel=1e-11)
    for i, term in numbered_terms(name):
        norms = np.sum(literal_phi(name, i, structure).reshape(ROWS, -1) ** 2, axis=1)
        found = operator_for(structure).squared_norms(squares, SCORES, [term])
        assert found == pytest.approx(expected + squares @ norms, rel=1e-11)


@every_basis
def test_the_derivative_meets_a_vector_or_the_weights(name: str) -> None:
    vector, weights = random_matrix("diagonal"), arbitrary_weights(ROWS)[1]
    for i, term in numbered_terms(name):
        slopes = np.array([[resolution.function(name, float(x), i)[1] for x in r] for r in DRAWS])
        dots = np.broadcast_to(derivative_dot(term, vector), ROWS)
        assert dots == pytest.approx(slopes @ vector, rel=1e-11, abs=1e-12)
        sums = np.broadcast_to(derivative_sum(term, weights, float(weights.sum())), vector.shape)
        assert sums == pytest.approx(weights @ slopes, rel=1e-11)


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


@every_structure
def test_structures_are_looked_up(structure: Any) -> None:
    kind = {"full": FullOperator, "diagonal": DiagonalOperator}[structure]
    assert type(operator_for(structure)) is kind
    assert operator_for(structure).parameters(7) == {"full": 49, "diagonal": 7}[structure]
    with pytest.raises(InputError, match="`structure` must be 'full' or 'diagonal'; got 'lower'"):
        operator_for("lower")  # type: ignore[arg-type]
