"""Studies of blind spots, rivals, stores and seeds: draws and scores are what they say."""

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import kstest, norm, t

import polystein as ps
from polystein.experiments.engine.cells import Replicate
from tests.conftest import Array

pytestmark = pytest.mark.slow

ROWS = 20_000


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.check.{part}")


# Blind spots


def spots_with(*words: str) -> list[str]:
    if importlib.util.find_spec("studies") is None:
        return []
    found = study("blind_spots").SPOTS
    return [label for label in found if any(word in label for word in words) and "40" not in label]


TIES = spots_with("4 x 1000")


@pytest.mark.parametrize("label", TIES)
def test_ties_leave_margins_and_correlations_as_they_are(label: str) -> None:
    """The smallest of all p-values, times their number, is not below 0.001."""
    spot = study("blind_spots").SPOTS[label]
    draws, _ = spot.draw(np.random.default_rng(1), ROWS, spot.dimension)
    law = t(5.0) if "t(5)" in label else norm
    normal = norm.ppf(law.cdf(draws))
    pvalues = [kstest(column, "norm").pvalue for column in normal.T]
    products = normal[:, :, None] * normal[:, None, :]
    first, second = np.triu_indices(spot.dimension, 1)
    z = ROWS**0.5 * products.mean(axis=0) / products.std(axis=0)
    pvalues += list(2.0 * norm.sf(np.abs(z[first, second])))
    assert min(pvalues) * len(pvalues) > 1e-3


@pytest.mark.parametrize("label", TIES)
def test_ties_are_there(label: str) -> None:
    """Products of magnitudes or of signs, or their pattern, are far from those of the target."""
    spot = study("blind_spots").SPOTS[label]
    draws, _ = spot.draw(np.random.default_rng(2), ROWS, spot.dimension)
    high = np.where(np.abs(draws) > np.median(np.abs(draws), axis=0), 1.0, -1.0)
    signs = np.sign(draws)
    quarters = np.floor(4.0 * (2.0 * norm.cdf(np.abs(draws[:, :2])) - 1.0)).sum(axis=1) % 2
    means = [
        (high[:, 0] * high[:, 1]).mean(),
        np.prod(signs[:, :3], axis=1).mean(),
        np.prod(signs[:, :4], axis=1).mean() if spot.dimension > 3 else 0.0,
        (np.prod(high[:, :2], axis=1) * signs[:, 2]).mean() if spot.dimension > 2 else 0.0,
        1.0 - 2.0 * quarters.mean(),
    ]
    assert max(map(abs, means)) > 5.0 / ROWS**0.5


@pytest.mark.parametrize("label", spots_with("n=500"))
def test_fine_structure_is_there_and_little_else(label: str) -> None:
    """The first two moments are within a tenth; the law is another one by Kolmogorov-Smirnov."""
    spot = study("blind_spots").SPOTS[label]
    draws, scores = spot.draw(np.random.default_rng(3), ROWS, spot.dimension)
    heavy = "t(5)" in label
    law, variance = (t(5.0), 5.0 / 3.0) if heavy else (norm, 1.0)
    assert np.abs(draws.mean(axis=0)).max() < 0.05
    assert np.abs(draws.var(axis=0) / variance - 1.0).max() < 0.1 + 0.1 * heavy
    first = (draws[:, 0] + draws[:, 1]) / 2**0.5 if "diagonal" in label else draws[:, 0]
    assert kstest(first, law.cdf).pvalue < 1e-6
    assert scores.shape == draws.shape == (ROWS, spot.dimension)


def test_scores_of_blind_spots_are_those_of_the_targets() -> None:
    spots = study("blind_spot_draws")
    draws, scores = spots.same_magnitudes(np.random.default_rng(4), 20, 3)
    np.testing.assert_array_equal(scores, -draws)
    draws, scores = spots.common_scale(np.random.default_rng(4), 20, 3)
    slopes = gradient(lambda x: t.logpdf(x, 5.0).sum(axis=1), draws)
    np.testing.assert_allclose(scores, slopes, atol=1e-6)


def test_kernel_tests_see_500_of_the_rows_of_check() -> None:
    blind = study("blind_spots")
    for spot in blind.SPOTS.values():
        pair = spot.drawn(np.random.default_rng(5))
        assert pair[0].shape == ((4, spot.rows // 4) if spot.chains else (500,)) + (spot.dimension,)
        few, _ = spot.few(pair)
        assert few.shape == (500, spot.dimension)
        own = few[:: 500 // 4 + 1]
        every = pair[0].reshape(-1, spot.dimension)
        assert all(np.any(np.all(every == row, axis=1)) for row in own)


def test_what_is_wanted_hangs_on_what_ksd_sees() -> None:
    blind = study("blind_spots")
    spot = next(one for one in blind.SPOTS.values() if one.where_seen)
    assert blind.wanted(spot, {"ksd": 0.4}) == 0.95
    assert blind.wanted(spot, {"ksd": 0.39}) is None
    fine = next(one for one in blind.SPOTS.values() if not one.chains)
    assert blind.wanted(fine, {"ksd": 0.0}) == 0.95
    assert blind.Line("", {"check": 0.95}, 0.95).holds
    assert not blind.Line("", {"check": 0.94}, 0.95).holds


# Head to head


def log_ring(x: Array) -> Array:
    return -((np.hypot(*x.T) - 3.0) ** 2) / (2.0 * 0.25)


def log_banana(curvature: float) -> Callable[[Array], Array]:
    return lambda x: -0.5 * (x[:, 0] ** 2 + (x[:, 1] - curvature * (x[:, 0] ** 2 - 1.0)) ** 2)


def log_mixture(means: list[float], sd: float) -> Callable[[Array], Array]:
    def log_density(x: Array) -> Array:
        components = norm.pdf(x[:, :1], means, sd).mean(axis=1)
        return np.log(components) - 0.5 * x[:, 1] ** 2

    return log_density


def log_funnel(x: Array) -> Array:
    return norm.logpdf(x[:, 0]) + norm.logpdf(x[:, 1], 0.0, np.exp(0.5 * x[:, 0]))


def log_cross(x: Array) -> Array:
    squares = [x[:, 0] ** 2 + (x[:, 1] - sign * 0.9 * x[:, 0]) ** 2 / 0.19 for sign in (1, -1)]
    return np.log(np.exp(-0.5 * squares[0]) + np.exp(-0.5 * squares[1]))


LOG_DENSITIES: dict[str, Callable[[Array], Array]] = {
    "mixture of two": log_mixture([-1.5, 1.5], 0.8),
    "comb of five": log_mixture([-4.0, -2.0, 0.0, 2.0, 4.0], 0.5),
    "fine comb": log_mixture([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5], 0.12),
    "ring": log_ring,
    "banana 1": log_banana(1.0),
    "banana 0.3": log_banana(0.3),
    "logistic": lambda x: (-x - 2.0 * np.log1p(np.exp(-x))).sum(axis=1),
    "t(5)": lambda x: t.logpdf(x, 5.0).sum(axis=1),
    "log Gamma(2)": lambda x: (2.0 * x - np.exp(x)).sum(axis=1),
    "funnel": log_funnel,
    "cross": log_cross,
}


def plane_faults() -> list[str]:
    found = importlib.util.find_spec("studies")
    return [] if found is None else list(study("head_to_head_targets").FAULTS)


@pytest.mark.parametrize("label", plane_faults())
def test_scores_of_plane_targets_are_slopes_of_their_log_densities(label: str) -> None:
    log_density = next(one for name, one in LOG_DENSITIES.items() if label.startswith(name))
    targets = study("head_to_head_targets")
    draws, scores = targets.padded(targets.FAULTS[label], np.random.default_rng(6), 200, 3)
    np.testing.assert_allclose(scores[:, :2], gradient(log_density, draws[:, :2]), atol=2e-5)
    np.testing.assert_array_equal(scores[:, 2], -draws[:, 2])


@pytest.mark.parametrize(
    "name",
    ["TWO", "COMB", "FINE_COMB", "ring", "banana", "logistic", "student", "log_gamma", "funnel"],
)
def test_right_draws_of_plane_targets_have_their_scores(name: str) -> None:
    """The mean of s x' + I is 0, within five standard errors."""
    targets, rng = study("head_to_head_targets"), np.random.default_rng(7)
    given = {"banana": {"curvature": 1.0}, "funnel": {"strength": 1.0}}.get(name, {})
    if name.isupper():
        law = getattr(targets, name)
        draws = law.sample(rng, 50_000)
        scores = law.score(draws)
    else:
        draws = getattr(targets, name)(rng, 50_000, **given)
        scores = right_score(targets, name)(draws)
    products = scores[:, :, None] * draws[:, None, :] + np.eye(2)
    error = products.std(axis=0) / len(draws) ** 0.5
    assert np.all(np.abs(products.mean(axis=0)) < 5.0 * error)


def right_score(targets: ModuleType, name: str) -> Callable[[Array], Array]:
    if name == "student":
        return lambda x: -6.0 * x / (5.0 + x**2)
    if name == "banana":
        return lambda x: targets.banana_score(x, 1.0)
    found: Callable[[Array], Array] = getattr(targets, f"{name}_score")
    return found


def gradient(log_density: Callable[[Array], Array], draws: Array, step: float = 1e-5) -> Array:
    moves = step * np.eye(draws.shape[1])
    slopes = [log_density(draws + move) - log_density(draws - move) for move in moves]
    return np.stack(slopes, axis=1) / (2.0 * step)


def test_there_are_at_least_twenty_alternatives_in_two_dimensions_each() -> None:
    head = study("head_to_head")
    assert len(plane_faults()) >= 20
    assert head.DIMENSIONS == (2, 6)
    assert {cell.replicates for cell in head.STUDY.cells} == {60, 200}


def test_a_rival_is_ahead_by_more_than_a_tenth_or_not_at_all() -> None:
    comparison = study("head_to_head").Comparison
    assert comparison("", 2, {"check": 0.5, "ksdagg": 0.6, "ksd": 0.1}).ahead is None
    assert comparison("", 2, {"check": 0.5, "ksdagg": 0.61, "ksd": 0.9}).ahead == "ksd"


@pytest.mark.parametrize("part", ["blind_spots", "head_to_head"])
def test_all_methods_see_the_same_draws(part: str) -> None:
    one = study(part)
    count = len(one.METHODS)
    for place in range(0, len(one.STUDY.cells), count):
        cells = one.STUDY.cells[place : place + count]
        assert [cell["method"] for cell in cells] == list(one.METHODS)
        shared = {one.without_method(Replicate(cell, 0, 0)).cell.key for cell in cells}
        assert len(shared) == 1
    names = [one.STUDY.name(cell) for cell in one.STUDY.cells]
    assert len(set(names)) == len(names)


# Stores and seeds


def test_rows_of_a_file_are_those_in_memory(tmp_path: object) -> None:
    stores = study("memory_and_store")
    assert sum(cell.replicates for cell in stores.STUDY.cells) == 400
    values = np.random.default_rng(8).standard_normal((4, 50, 2))
    mapped = stores.in_file(values, tmp_path / "values.npy")  # type: ignore[operator]
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, values)


def test_differences_are_marked_and_counted() -> None:
    stores = study("memory_and_store")
    rows = [
        {"verdicts_differ": verdicts, "pvalues_differ": pvalues}
        for verdicts, pvalues in ((0, 0), (0, 1), (1, 1), (1, 0))
    ]
    assert stores.marks(rows) == ".pxx"
    counts = stores.rates(stores.STUDY.cells[0], ".pxx")
    assert counts == {"verdicts_differ": 2, "pvalues_differ": 1, "rate": "0.5000"}


def test_a_verdict_that_hangs_on_the_store_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stores = study("memory_and_store")
    real = ps.check

    def other(draws: Array, scores: Array, **options: object) -> ps.GofResult:
        shift = 5.0 * isinstance(draws, np.memmap)
        return real(np.asarray(draws) + shift, np.asarray(scores) - shift, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(stores.ps, "check", other)
    rows = stores.decide(Replicate(stores.STUDY.cells[0], 0, 0))
    assert rows == [{"verdicts_differ": 1, "pvalues_differ": 1}]


def test_border_cases_are_near_the_level_and_judged_by_six_seeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = study("seeds")
    assert sum(border.cases for border in seeds.BORDERS.values()) == 40
    first = iter([0.5, 0.05])
    asked: list[int] = []

    def check(draws: Array, scores: Array, iid: bool, rng: int) -> ps.GofResult:
        asked.append(rng)
        pvalue = next(first) if rng == 0 else 0.04 if rng == 3 else 0.06
        return ps.GofResult(0.0, pvalue, "greater", "check", dimension=draws.shape[-1])

    monkeypatch.setattr(seeds.ps, "check", check)
    rows = seeds.decide(Replicate(seeds.STUDY.cells[0], 0, 0))
    assert rows == [{"rejected": 1}]
    assert asked == [0, 0, 1, 2, 3, 4, 5, 6]
