"""Finer weights: equal to their literal transcription, and better where few coordinates differ."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps
from polystein._lib.random import Streams, seed_sequence
from polystein.errors import InputError
from polystein.methods.split_sample import Stage, Trial
from polystein.protocols import Resolution
from polystein.results.result import Notes
from polystein.stein.basis import basis_for
from polystein.weights import resolution as module
from tests.conftest import RecordingSplit, arbitrary_rows, arbitrary_weights
from tests.reference import algorithms
from tests.reference import resolution as literal

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


def stage_of(
    sample: ps.Sample, split: RecordingSplit, basis: Any, order: int, structure: Any
) -> Stage:
    functions = basis_for(basis, order, standardise=True)
    trial = Trial(sample, functions, structure, split, ps.IID(), "two-sided", True)
    return Stage.start(trial, Streams.of(seed_sequence(3)), Notes())


def standardised(sample: ps.Sample, rows: NDArray[np.intp], w: Array) -> tuple[Array, Array]:
    """By the weighted mean and standard deviation of the training rows."""
    shares = w[rows] / w[rows].sum()
    mean = shares @ sample.draws[rows]
    spread = np.sqrt(shares @ (sample.draws[rows] - mean) ** 2)
    return (sample.draws - mean) / spread, sample.scores * spread


def literal_u(
    sample: ps.Sample,
    split: RecordingSplit,
    basis: str,
    order: int,
    structure: str,
    resolution: str,
    solve: literal.Solve,
    w: Array,
) -> tuple[Array, list[float]]:
    """u for every row, and the norm of the weights of each order."""
    draws, scores = standardised(sample, split.train, w)
    one, two = split.rows["witness"], split.rows["weights"]
    maximiser = literal.maximiser(
        draws[one], scores[one], basis, order, structure, w[one] / w[one].sum()
    )
    build = literal.entry_table if resolution == "entry" else literal.coordinate_table
    table = build(draws, scores, basis, structure, *maximiser)
    share, d = w[two] / w[two].sum(), draws.shape[1]
    if resolution == "hierarchical":
        alpha, beta, _ = literal.hierarchical(table[two], d, solve, share)
        return table @ np.outer(alpha, beta).ravel(), [abs(float(a)) for a in alpha]
    weights = solve(table[two], share)
    width = d**2 if resolution == "entry" and structure == "full" else d
    starts = [i * width for i in range(order + 1)]
    stops = [*starts[1:], len(weights)]
    norms = [float(np.linalg.norm(weights[a:b])) for a, b in zip(starts, stops, strict=True)]
    return table @ weights, norms


@pytest.mark.parametrize(("rule", "solve"), RULES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_u_is_the_literal_one(
    resolution: Any, structure: Any, case: Any, rule: Any, solve: literal.Solve
) -> None:
    basis, order, d, weighted = case
    draws, scores = arbitrary_rows(60, d)
    log_weights, w = arbitrary_weights(60)
    sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
    w = w if weighted else np.full(60, 1 / 60)
    split = RecordingSplit()
    stage = stage_of(sample, split, basis, order, structure)
    refinement = stage.refine(resolution, rule)
    u, norms = literal_u(sample, split, basis, order, structure, resolution, solve, w)
    found = refinement.witness.project(draws, scores).sum(axis=1)
    assert found == pytest.approx(u, rel=1e-10, abs=1e-10 * np.abs(u).max())
    assert refinement.norms == pytest.approx(norms, rel=1e-9, abs=1e-12)
    assert np.linalg.norm(refinement.norms) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_the_verdict_is_the_z_test_of_the_literal_u(resolution: Any, structure: Any) -> None:
    draws, scores = arbitrary_rows(120, 2)
    sample, split = ps.Sample(draws, scores), RecordingSplit()
    result = ps.lambda_psd_test(
        sample, order=2, weights=ps.SoftThreshold(), resolution=resolution, structure=structure,
        standardise=True, split=split, rng=4,
    )  # fmt: skip
    solve, w = literal.soft_threshold(1.0), np.full(120, 1 / 120)
    u, norms = literal_u(sample, split, "monomial", 2, structure, resolution, solve, w)
    z, pvalue = algorithms.z_statistic(u[split.rows["test"]])
    assert (result.statistic, result.pvalue) == pytest.approx((z, pvalue), rel=1e-9)
    assert result.weights == pytest.approx(dict(zip(["x", "x^2", "score"], norms, strict=True)))
    assert [part.weight for part in result.components] == list(result.weights.values())
    assert result.settings["weights"] == "SoftThreshold(level=1.0)"


def test_test_rows_are_not_looked_at_before_the_verdict() -> None:
    draws, scores = arbitrary_rows(120, 2)
    split = RecordingSplit()
    stage = stage_of(ps.Sample(draws, scores), split, "monomial", 2, "full")
    rows = split.rows["test"]
    changed, others = draws.copy(), scores.copy()
    changed[rows], others[rows] = 100.0 + rows[:, None], -3.0
    other = stage_of(ps.Sample(changed, others), RecordingSplit(), "monomial", 2, "full")
    for resolution in FINE:
        first, second = (
            each.refine(resolution, ps.SoftThreshold()).witness.project(draws, scores)  # type: ignore[arg-type]
            for each in (stage, other)
        )
        assert np.array_equal(first, second)


# With and without covariances


@pytest.mark.parametrize("resolution", FINE)
def test_rules_without_covariances_do_as_well_without_the_matrix(
    resolution: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that is not known to do without is given the matrix, while there is one."""
    shapes = []

    class Own:
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
    stage = stage_of(ps.Sample(draws, scores), RecordingSplit(), "monomial", 2, "full")
    refined = stage.refine("hierarchical", rule).witness
    coarse = stage.fit("witness")
    stage = stage_of(ps.Sample(draws, scores), RecordingSplit(), "monomial", 2, "full")
    moments = stage.feature_moments(coarse, "weights")
    chosen = rule.solve(moments, stage.streams.weights)
    start = algorithms.rayleigh(chosen, moments.mean, moments.covariance)
    moments = stage.feature_moments(refined, "weights")
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


# Relations between resolutions


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_equal_weights_are_those_of_orders(resolution: Any, structure: Any) -> None:
    """Up to the sign, which the mean of u on the weights rows decides for both."""
    draws, scores = arbitrary_rows(150, 3)
    options: dict[str, Any] = {
        "order": 2, "weights": ps.Uniform(), "structure": structure, "standardise": True, "rng": 3,
    }  # fmt: skip
    coarse = ps.lambda_psd_test(draws, scores, **options)
    fine = ps.lambda_psd_test(draws, scores, resolution=resolution, **options)
    assert fine.statistic == pytest.approx(coarse.statistic, rel=1e-10)
    assert [abs(part.z) for part in fine.components] == pytest.approx(
        [abs(part.z) for part in coarse.components], rel=1e-10
    )


def test_entries_of_a_diagonal_matrix_are_its_coordinates() -> None:
    draws, scores = arbitrary_rows(150, 3)
    options: dict[str, Any] = {
        "order": 2, "structure": "diagonal", "standardise": True, "rng": 3,
    }  # fmt: skip
    first, second = (
        ps.lambda_psd_test(draws, scores, resolution=name, **options)
        for name in ("coordinate", "entry")
    )
    assert first.statistic == second.statistic
    assert first.settings["coordinates"] == second.settings["coordinates"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("resolution", FINE)
def test_units_and_the_order_of_coordinates_do_not_matter(resolution: Any, structure: Any) -> None:
    draws, scores = arbitrary_rows(200, 4)
    names, places = np.array(["a", "b", "c", "d"]), np.array([2, 0, 3, 1])
    scale, shift = np.array([1e-3, 1.0, 7.0, 1e4]), np.array([5.0, 0.0, -1.0, 1e3])
    options: dict[str, Any] = {
        "order": 2, "structure": structure, "standardise": True, "rng": 3,
        "weights": ps.SoftThreshold(0.5), "resolution": resolution,
    }  # fmt: skip
    plain = ps.lambda_psd_test(ps.Sample(draws, scores, names=list(names)), **options)
    moved = ps.Sample(
        (draws * scale + shift)[:, places], (scores / scale)[:, places], names=list(names[places])
    )
    result = ps.lambda_psd_test(moved, **options)
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-8)
    assert result.weights == pytest.approx(plain.weights, rel=1e-8)
    for key in {"coordinates", "entries"} & set(plain.settings):
        assert result.settings[key] == pytest.approx(plain.settings[key], rel=1e-8)


# What a result says


def test_shares_of_coordinates_and_entries_are_parts_of_the_mean_of_u() -> None:
    draws, scores = arbitrary_rows(120, 2)
    sample, split = ps.Sample(draws, scores, names=["a", "b"]), RecordingSplit()
    rule = ps.SoftThreshold(level=0.0)
    result = ps.lambda_psd_test(
        sample, order=1, weights=rule, resolution="entry", standardise=True, split=split, rng=4
    )
    w = np.full(120, 1 / 120)
    x, s = standardised(sample, split.train, w)
    one, two, test = (split.rows[role] for role in ("witness", "weights", "test"))
    maximiser = literal.maximiser(x[one], s[one], "monomial", 1, "full", None)
    table = literal.entry_table(x, s, "monomial", "full", *maximiser)
    parts = literal.soft_threshold(0.0)(table[two], None) * table[test].mean(axis=0)
    labels = ["x[a, a]", "x[a, b]", "x[b, a]", "x[b, b]", "score[a]", "score[b]"]
    expected = dict(zip(labels, parts / np.abs(parts).sum(), strict=True))
    entries = result.settings["entries"]
    assert len(entries) == 5
    assert entries == pytest.approx({name: expected[name] for name in entries}, rel=1e-9)
    left_out = (set(labels) - set(entries)).pop()
    assert abs(expected[left_out]) == min(map(abs, expected.values()))
    sums = np.array([parts[[0, 1, 4]].sum(), parts[[2, 3, 5]].sum()])
    shares = dict(zip(["a", "b"], sums / np.abs(sums).sum(), strict=True))
    assert result.settings["coordinates"] == pytest.approx(shares, rel=1e-9)
    assert result.settings["resolution"] == "entry"


def test_orders_say_nothing_of_resolutions() -> None:
    draws, scores = arbitrary_rows(100, 2)
    result = ps.lambda_psd_test(draws, scores, order=2, rng=1)
    assert not {"resolution", "coordinates", "entries"} & set(result.settings)


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
