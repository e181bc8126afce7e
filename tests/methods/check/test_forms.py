"""The statistics that no linear map changes: against loops, and under linear maps."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import DrawMoments
from polystein.data.passes import every_row, run_pass
from polystein.errors import ScaleError
from polystein.inference.memory import FEWEST_A_CHAIN
from polystein.methods.check import flips as flips_arm
from polystein.methods.check import sums as batch_sums
from polystein.methods.check.batches import cut
from polystein.methods.check.flips import ROWS_FOR_DIRECTIONS
from polystein.methods.check.forms import Form, centred_spreads, forms, inverse_root
from polystein.methods.check.statistics import BASIS, TAILS
from polystein.methods.check.sums import BatchSums
from polystein.report.text import found_words
from tests.conftest import Array, arbitrary_rows
from tests.methods.check.sums import literal_products, random_sums
from tests.reference import check as literal
from tests.reference import invariant
from tests.reference import memory as literal_memory


def sums_of(draws: Array, scores: Array, *, chains: bool = False) -> BatchSums:
    sample = ps.Sample(draws, scores)
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, every_row(sample), moments)
    places = cut(sample.layout, chains=chains)
    return BatchSums(sample, moments.standard_frame(), BASIS, places, (1, 3), TAILS).take()


def forms_of(sums: Any, left_out: Any = ()) -> dict[str, Form]:
    kept = np.setdiff1d(np.arange(sums.diagonal.shape[2]), left_out)
    rows = float(sums.sizes.sum())
    metric = sums.score_products.size > 0 and rows >= ROWS_FOR_DIRECTIONS * kept.size
    return {form.name: form for form in forms(sums, kept, metric=metric)}


@pytest.mark.parametrize("left_out", [(), (1,), (0, 3)])
def test_the_products_are_the_loops(left_out: tuple[int, ...]) -> None:
    sums = random_sums(np.random.default_rng(1), 30, 4, mean=0.1)
    found, expected = forms_of(sums, left_out), literal_products(sums, left_out)
    assert set(found) == set(expected) == {"Hotelling", "trace of square"}
    for name, form in found.items():
        products = form.products.products
        scale = products[0, 0] / expected[name][0, 0]
        np.testing.assert_allclose(products, scale * expected[name], rtol=1e-9, atol=1e-9)
    assert found["Hotelling"].products.products[0, 0] == pytest.approx(expected["Hotelling"][0, 0])


def test_one_coordinate_has_no_directions() -> None:
    assert not forms_of(random_sums(np.random.default_rng(1), 30, 1))
    assert not forms_of(random_sums(np.random.default_rng(1), 30, 2), (0,))


def mapped(draws: Array, scores: Array, matrix: Array) -> tuple[Array, Array]:
    """x -> A x + 3 and s -> A^-T s."""
    return draws @ matrix.T + 3.0, scores @ np.linalg.inv(matrix)


def part_pvalues(result: ps.GofResult) -> dict[str, float]:
    names = ("Hotelling: sum", "trace: sum", "trace of square: sum")
    return {part.name: part.pvalue for part in result.evidence.parts if part.name in names}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("iid", [True, False])
def test_no_linear_map_changes_them(seed: int, iid: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """To 1e-8, on independent rows and on chains that remember.

    Tails are shown by the flips, of which there are more where other parts leave it open.
    """
    monkeypatch.setattr(flips_arm, "FURTHER_PATTERNS", ())
    rng = np.random.default_rng(seed)
    draws, scores = arbitrary_rows(1000, 6, seed)
    if not iid:
        for t in range(1, 1000):
            draws[t] = 0.6 * draws[t - 1] + 0.8 * draws[t]
        draws = draws.reshape(4, 250, 6)
        scores = -draws + 0.1 * draws**2
    matrix = rng.standard_normal((6, 6)) + np.eye(6)
    matrix *= np.geomspace(1e-3, 1e3, 6)[:, None]
    before = part_pvalues(ps.check(draws, scores, iid=iid))
    after = part_pvalues(ps.check(*mapped(draws, scores, matrix), iid=iid))
    assert len(before) == 3
    assert before == pytest.approx(after, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_tails_and_products_are_the_loops(weighted: bool) -> None:
    draws, scores = arbitrary_rows(60, 2, 4)
    weights = np.random.default_rng(0).exponential(size=60) if weighted else None
    log_weights = None if weights is None else np.log(weights)
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    moments = DrawMoments(2)
    run_pass(sample, every_row(sample), moments)
    frame, places = moments.standard_frame(), cut(sample.layout, chains=False)
    sums = BatchSums(sample, frame, BASIS, places, (1, 3), TAILS).take()
    own = [array[None] for array in frame.apply(draws, scores)]
    given = None if weights is None else weights[None]
    expected = literal.tail_sums(*own, given, places.stretches)
    products = literal.score_products(own[1], given)
    factor = (
        1.0
        if weights is None
        else sums.diagonal.sum()
        / float(literal.diagonal_sums(*own, given, places.stretches, BASIS.order).sum())
    )
    np.testing.assert_allclose(sums.tails, factor * expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums.score_products, factor * products, rtol=1e-9)


def test_too_many_coordinates_have_no_products_of_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, scores = arbitrary_rows(200, 3, 0)
    monkeypatch.setattr(batch_sums, "MOST_COORDINATES", 2)
    sums = sums_of(draws, scores)
    assert sums.score_products.size == 0
    assert set(forms_of(sums)) == {"trace of square"}


def test_too_few_rows_for_the_coordinates_leave_hotelling_out() -> None:
    rng = np.random.default_rng(0)
    for rows, present in ((59, False), (60, True)):
        draws = rng.standard_normal((rows, 30))
        assert ("Hotelling" in forms_of(sums_of(draws, -draws))) == present


def test_pairs_that_come_in_parts_leave_the_trace_of_the_square_out() -> None:
    sums = random_sums(np.random.default_rng(1), 30, 4)
    sums.at_once = 2
    assert set(forms_of(sums)) == {"Hotelling"}


def test_scores_that_do_not_vary_are_no_direction() -> None:
    """The first score is 0 everywhere, the last is the second: neither breaks the inverse."""
    scores = np.random.default_rng(0).standard_normal((50, 4))
    scores[:, 0] = 0.0
    scores[:, 3] = scores[:, 1]
    moments = scores.T @ scores
    root = inverse_root(moments)
    assert root.shape == (4, 2)
    np.testing.assert_allclose(root.T @ moments @ root, np.eye(2), atol=1e-10)


def test_squares_that_overflow_are_an_error() -> None:
    with np.errstate(over="ignore"), pytest.raises(ScaleError, match="square of a score"):
        inverse_root(np.array([[np.inf, 0.0], [0.0, 1.0]]))


# What stands out


def correlated(rng: np.random.Generator, axis: float, shift: float) -> tuple[Array, Array]:
    """Equicorrelated 0.9; the first axis has another spread and another place."""
    d = 4
    values = np.array([1.0 + 0.9 * (d - 1), *[0.1] * (d - 1)])
    vectors, _ = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, 1:]]))
    z = rng.standard_normal((1000, d))
    z[:, 0] = axis * z[:, 0] + shift
    return z * np.sqrt(values) @ vectors.T, -(z / np.sqrt(values)) @ vectors.T


@pytest.mark.parametrize(
    ("axis", "shift", "name"), [(1.0, 0.3, "Hotelling: sum"), (1.4, 0.0, "trace of square: sum")]
)
def test_a_fault_along_the_first_axis_is_told_as_all_coordinates(
    axis: float, shift: float, name: str
) -> None:
    draws, scores = correlated(np.random.default_rng(0), axis, shift)
    result = ps.check(ps.Sample(draws, scores, names=["a", "b", "c", "d"]), iid=True)
    part = next(part for part in result.evidence.parts if part.name == name)
    assert part.pvalue < 1e-3
    words = part.direction
    assert words.startswith("mainly ")
    assert words.count("+") == 2
    assert all(f"`{name}`" in words for name in part.coordinates)
    assert len(part.coordinates) == 3
    assert "-" not in words
    if name.startswith("Hotelling"):
        assert found_words(result) == f"location along a direction, {words}"


@pytest.mark.parametrize("chains", [False, True])
def test_draws_are_centred_by_those_far_away(chains: bool) -> None:
    rng = np.random.default_rng(5)
    shape = (2, 64, 3) if chains else (60, 3)
    sums = sums_of(rng.standard_normal(shape), rng.standard_normal(shape), chains=chains)
    numbers = sums.batches.chain_of.tolist()
    groups = [[k] for k in range(sums.count)]
    if chains:
        groups = literal_memory.levels(numbers, FEWEST_A_CHAIN)[-1]
    expected = invariant.distant_means(sums.draws, sums.sizes.tolist(), groups)
    np.testing.assert_allclose(sums.distant_means, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_centring_by_distant_draws_leaves_the_trace_without_bias() -> None:
    """The mean over many samples is 0, where draws that are centred by all give d."""
    rng, rows, d = np.random.default_rng(6), 40, 10
    by_distant, by_all = [], []
    for _ in range(400):
        draws = rng.standard_normal((rows, d))
        sums = sums_of(draws, -draws)
        by_distant.append(float(centred_spreads(sums, np.arange(d)).sum()))
        by_all.append(float(sums.diagonal[:, 1].sum()))
    error = float(np.std(by_distant)) / len(by_distant) ** 0.5
    assert abs(np.mean(by_distant)) < 3.5 * error
    assert abs(np.mean(by_all) - d) < 3.5 * error
