"""Finer weights: equal to their literal transcription, and better where few coordinates differ."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps
from polystein._lib.notes import Notes
from polystein.errors import InputError
from polystein.methods.split_sample import DividedRows, split_rows
from polystein.stein.basis import basis_for
from polystein.stein.witness import PrimalWitness, feature_moments, fit_matrices
from polystein.types import Resolution
from polystein.weights import resolution as module
from polystein.weights.resolution import FinerWeights
from tests.conftest import RecordingSplit, arbitrary_rows, arbitrary_weights
from tests.reference import algorithms
from tests.reference import resolution as literal
from tests.weights.literal import literal_u

Array = NDArray[np.float64]
FINE = ["coordinate", "hierarchical", "entry"]
STRUCTURES = ["full", "diagonal"]
RULES: list[tuple[Any, literal.Solve]] = [
    (ps.SoftThreshold(), literal.soft_threshold(1.0)),
    (ps.SoftThreshold(level=0.0), literal.soft_threshold(0.0)),
    (ps.ClosedForm(ridge=0.1), literal.ridged(0.1)),
]
# Basis, order, dimension, weighted.
CASES = [
    ("monomial", 2, 3, False),
    ("monomial", 1, 3, True),
    ("hermite", 2, 2, False),
    ("bounded-hermite", 3, 2, True),
    ("monomial", 2, 1, True),
    ("monomial", 0, 3, False),
    ("bounded-hermite", 0, 1, False),
]


Round = tuple[DividedRows, Any, Any]


def round_of(
    sample: ps.Sample, split: RecordingSplit, basis: Any, order: int, structure: Any
) -> Round:
    (rows,) = split_rows(sample, split, 3, Notes(), standardise=True)
    return rows, basis_for(basis, order, standardise=True), structure


def trained(round_: Round) -> PrimalWitness:
    rows, basis, structure = round_
    training = rows.partition.rows("witness")
    return fit_matrices(rows.source, training, basis, structure, frame=rows.frame)


def refined(round_: Round, resolution: Any, rule: Any) -> tuple[PrimalWitness, list[float]]:
    """The witness with its weights folded in, and the norm of the weights of each order."""
    rows, witness = round_[0], trained(round_)
    weighing = list(rows.partition.rows("weights"))
    finer = FinerWeights(rows.source, weighing, witness, rule, rows.streams.weights)
    factors = finer.factors(resolution)
    return witness.scaled(factors), [float(np.linalg.norm(factor)) for factor in factors]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_u_is_the_literal_one(resolution: Any, structure: Any, case: int) -> None:
    """With each rule by turns."""
    basis, order, d, weighted = CASES[case]
    turn = case + FINE.index(resolution) + STRUCTURES.index(structure)
    rule, solve = RULES[turn % len(RULES)]
    draws, scores = arbitrary_rows(60, d)
    log_weights, w = arbitrary_weights(60)
    sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
    w = w if weighted else np.full(60, 1 / 60)
    split = RecordingSplit()
    witness, found_norms = refined(
        round_of(sample, split, basis, order, structure), resolution, rule
    )
    u, norms = literal_u(sample, split, basis, order, structure, resolution, solve, w)
    found = witness.project(draws, scores).sum(axis=1)
    assert found == pytest.approx(u, rel=1e-10, abs=1e-10 * np.abs(u).max())
    assert found_norms == pytest.approx(norms, rel=1e-9, abs=1e-12)
    assert np.linalg.norm(found_norms) == pytest.approx(1.0, rel=1e-12)


def test_test_rows_are_not_looked_at_before_the_verdict() -> None:
    draws, scores = arbitrary_rows(120, 2)
    split = RecordingSplit()
    here = round_of(ps.Sample(draws, scores), split, "monomial", 2, "full")
    rows = split.rows["test"]
    changed, others = draws.copy(), scores.copy()
    changed[rows], others[rows] = 100.0 + rows[:, None], -3.0
    there = round_of(ps.Sample(changed, others), RecordingSplit(), "monomial", 2, "full")
    for resolution in FINE:
        first, second = (
            refined(each, resolution, ps.SoftThreshold())[0].project(draws, scores)
            for each in (here, there)
        )
        assert np.array_equal(first, second)


# With and without covariances


@pytest.mark.parametrize("resolution", FINE)
def test_rules_without_covariances_do_as_well_without_the_matrix(
    resolution: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that asks for covariances is given the matrix, while there is one."""
    shapes = []

    class Own:
        needs_covariance = True

        def solve(self, moments: Any, rng: np.random.Generator) -> Array:
            shapes.append(moments.covariance.ndim)
            return ps.SoftThreshold().solve(moments, rng)

    draws, scores = arbitrary_rows(150, 3)
    options: dict[str, Any] = {"order": 2, "standardise": True, "resolution": resolution, "rng": 1}
    expected = ps.lambda_psd_test(draws, scores, weights=ps.SoftThreshold(), **options)
    assert ps.lambda_psd_test(draws, scores, weights=Own(), **options).statistic == pytest.approx(
        expected.statistic, rel=1e-10
    )
    assert set(shapes) == {2}
    monkeypatch.setattr(module, "MOST_CORRELATED", 2)
    result = ps.lambda_psd_test(draws, scores, weights=Own(), **options)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert 1 in shapes


# The alternation


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", [ps.ClosedForm(), ps.SoftThreshold(), ps.CrossEntropy()])
def test_hierarchical_weights_are_no_worse_than_those_of_orders(rule: Any, seed: int) -> None:
    draws, scores = arbitrary_rows(100, 4, seed)
    sample = ps.Sample(draws, scores)
    fresh, again = (round_of(sample, RecordingSplit(), "monomial", 2, "full") for _ in range(2))
    witness, _ = refined(fresh, "hierarchical", rule)
    rows = again[0]
    stretches = list(rows.partition.rows("weights"))
    moments = feature_moments(sample, stretches, trained(again))
    chosen = rule.solve(moments, rows.streams.weights)
    start = algorithms.rayleigh(chosen, moments.mean, moments.covariance)
    moments = feature_moments(sample, stretches, witness)
    found = algorithms.rayleigh(np.ones(3), moments.mean, moments.covariance)
    assert found >= start * (1 - 1e-10)


def test_the_literal_alternation_gains() -> None:
    """Or the case above would compare the start with itself."""
    rng = np.random.default_rng(0)
    table = rng.normal(0.0, 1.0, (200, 6))
    table[:, 1] += 0.5
    history = literal.hierarchical(table, 3, literal.ridged(0.0), None)[2]
    assert len(history) > 2
    assert np.all(np.diff(history) > 0.0)


@pytest.mark.parametrize(
    ("resolution", "structure", "d", "rule"),
    [
        ("order", "full", 40, "CrossEntropy"),
        ("coordinate", "full", 10, "CrossEntropy"),
        ("coordinate", "full", 11, "SoftThreshold"),
        ("hierarchical", "full", 29, "CrossEntropy"),
        ("hierarchical", "full", 30, "SoftThreshold"),
        ("entry", "full", 3, "CrossEntropy"),
        ("entry", "full", 4, "SoftThreshold"),
        ("entry", "diagonal", 10, "CrossEntropy"),
    ],
)
def test_the_search_is_the_default_up_to_32_weights(
    resolution: Resolution, structure: Any, d: int, rule: str
) -> None:
    basis = basis_for("monomial", 2, standardise=True)
    assert type(module.default_rule(resolution, basis, structure, d)).__name__ == rule
    if d < 5:
        draws, scores = arbitrary_rows(100, d)
        result = ps.lambda_psd_test(
            draws, scores, order=2, resolution=resolution, structure=structure, standardise=True
        )
        assert result.settings["weights"].startswith(rule)


def test_what_cannot_be_is_refused() -> None:
    draws, scores = arbitrary_rows(60, 2)
    with pytest.raises(InputError, match=r"`resolution` must be 'order', .* or 'entry'; got 'row'"):
        ps.lambda_psd_test(draws, scores, order=1, resolution="row")  # type: ignore[arg-type]
    for resolution in FINE:
        with pytest.raises(InputError, match=r"`standardise` must be True .* one scale; got False"):
            ps.lambda_psd_test(draws, scores, order=1, resolution=resolution)  # type: ignore[arg-type]


def test_too_many_weights_for_a_matrix_need_another_rule() -> None:
    draws, scores = arbitrary_rows(30, 33)
    for rule in (ps.ClosedForm(), ps.CrossEntropy()):
        with pytest.raises(
            InputError, match=r"`weights` must be SoftThreshold\(\).* 1122 features"
        ):
            ps.lambda_psd_test(
                draws, scores, order=1, weights=rule, resolution="entry", standardise=True, rng=0
            )
