"""What would have been noticed: the moved statistics are the literal ones; how results tell it."""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.data.spread import KeptRows
from polystein.inference.signflips import random_signs
from polystein.methods.check.faults import Fault, factors, least_visible, seen_rows
from polystein.methods.check.flips import FlippedFamily, statistics_of
from polystein.methods.check.noticed import MovedFamily, moved_statistics
from polystein.results.noticeable import Noticeable
from tests.conftest import Array
from tests.methods.check.flips import sums_of
from tests.reference import invariant
from tests.reference import noticed as literal

FAULTS = [Fault("mean", (0,), 0.0), Fault("sd", (1,), 0.0), Fault("correlation", (0, 1), 0.0)]
SIZE, PATTERNS = 0.3, 2


def skewed_rows(chains: int, rows: int) -> ps.Sample:
    """Correlated draws whose scores are not quite right, autocorrelated if there are chains."""
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((chains, rows, 2)) @ np.array([[1.0, 0.5], [0.0, 0.9]])
    if chains > 1:
        draws[:, 1:] += 0.6 * draws[:, :-1]
    scores = -draws + 0.2 * draws[..., ::-1] ** 2 - 0.2
    return ps.Sample(draws if chains > 1 else draws[0], scores if chains > 1 else scores[0])


@pytest.mark.parametrize(
    ("families", "chains", "rows"),
    [(True, 1, 482), (True, 2, 242), (False, 1, 130), (False, 2, 70)],
)
def test_moved_statistics_are_the_literal_ones(families: bool, chains: int, rows: int) -> None:
    sample = skewed_rows(chains, rows)
    sums, kept = sums_of(sample, chains=chains > 1), np.arange(2)
    every = statistics_of(sums, kept).every
    signs = random_signs(1 + PATTERNS, sums.count, np.random.default_rng(1), unflipped_first=True)
    for one in every:
        one.flip(signs)
    judged = [one for one in every if one.is_judged and isinstance(one, FlippedFamily) == families]
    assert len(judged) >= (5 if families else 1)
    some = KeptRows(sample.layout, np.arange(sample.layout.total))
    _kept(sums, some)
    seen = seen_rows(some, sums)
    draws, scores = (part.reshape(chains, rows, 2) for part in (seen.draws, seen.scores))
    moved = moved_statistics(judged, FAULTS, seen, sums, signs[1:], kept)
    for number, fault in enumerate(FAULTS):
        v = literal.factor(fault.what, fault.places, draws, scores)
        assert factors(seen, FAULTS)[number] * v.size == pytest.approx(v.ravel(), abs=1e-9)
        means, growths = literal.shifts(draws, scores, v), literal.growths(draws, scores, v)
        for one, found in zip(judged, moved[number], strict=True):
            if isinstance(one, FlippedFamily):
                name = one.family.name
                _compare_family(one, found, (means[name], growths[name]), sums, signs)
            else:
                _compare_form(one, found, (draws, scores, v), sums, signs)


def _kept(sums: Any, some: KeptRows) -> None:
    """Read the rows that are to be kept."""
    run_pass(sums.source, every_row(sums.source), some)


def _compare_family(one: Any, found: Any, shift: Any, sums: Any, signs: Array) -> None:
    means, growths = shift
    values = {name: list(one.statistics[name][0][1:]) for name in one.statistics}
    for places, columns, group in one.columns():
        own, rows = group.joining.of_first(signs[1:]), group.joining.rows
        for pattern in range(PATTERNS):
            for place, column in zip(places, columns.T, strict=True):
                if not column.any():
                    continue
                now, before = (
                    literal.moved_square(
                        *(column, rows, own[pattern], size * means[place]),
                        size * growths[place],
                        group.deflation,
                    )
                    for size in (SIZE, 0.0)
                )
                for name, each in values.items():
                    total = name.endswith("sum")
                    each[pattern] = (
                        each[pattern] + now - before if total else max(each[pattern], now)
                    )
    for name, (after, _) in found.after(SIZE).items():
        assert after == pytest.approx(np.array(values[name]), rel=2e-5), name


def _compare_form(one: Any, found: Any, rows: Any, sums: Any, signs: Array) -> None:
    draws, scores, v = rows
    hotelling = one.form.orders == ("score",)
    starts = [*one.joining.starts, sums.count]
    groups = [list(range(low, high)) for low, high in itertools.pairwise(starts)]
    own = one.joining.of_first(signs[1:])
    batches, mean, moments = sums.diagonal[:, 0], -np.mean(v[..., None] * scores, axis=(0, 1)), None
    if hotelling:
        moments = sums.score_products
    else:
        mean = literal.matrix_shift(draws, scores, v)
        matrices = next(sums.pairs(1)).astype(float)
        matrices[:, range(2), range(2)] = sums.diagonal[:, 1]
        batches = invariant.centred(matrices, batches, sums.distant_means)
    ((_, (after, _law)),) = found.after(SIZE).items()
    expected = [
        literal.moved_form(
            *(batches, sums.sizes, own[pattern], SIZE * mean),
            deflation=one.deflation,
            moments=moments,
            chains=None if one.chains is None else list(one.chains),
            groups=groups,
        )
        for pattern in range(PATTERNS)
    ]
    assert after / one.variance**0.5 == pytest.approx(np.array(expected), rel=2e-4, abs=2e-4)


def test_the_least_visible_parameter_is_chosen() -> None:
    """Scores that are three times as large make a shift three times as visible."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((800, 3))
    precision = np.array([9.0, 1.0, 9.0])
    result = ps.check(draws / precision**0.5, lambda x: -x * precision, iid=True)
    assert len(result.noticeable) == 3  # units do not matter
    tails = rng.standard_t(4.0, size=(800, 3))  # scores of the second know less of it
    tails[:, [0, 2]] = draws[:, [0, 2]]

    def scores(x: Array) -> Array:
        own = -x.copy()
        own[:, 1] = -5.0 * x[:, 1] / (4.0 + x[:, 1] ** 2)
        return own

    sample = ps.Sample(tails, scores, names=["a", "b", "c"])
    sums = sums_of(sample)
    some = KeptRows(sample.layout, np.arange(800))
    _kept(sums, some)
    first = least_visible(seen_rows(some, sums), sums, np.arange(3))
    assert next(fault.places for fault in first if fault.what == "sd") == (1,)


def test_sizes_shrink_with_the_root_of_the_rows() -> None:
    rng = np.random.default_rng(2)
    sizes = [
        [one.size for one in ps.check(draws, -draws, iid=True).noticeable]
        for draws in (rng.standard_normal((rows, 2)) for rows in (1_000, 6_000))
    ]
    ratios = np.array(sizes[0]) / sizes[1]
    assert np.all((ratios > 1.8) & (ratios < 3.4)), ratios


def test_results_hold_what_was_computed_and_nothing_else() -> None:
    draws = np.random.default_rng(3).standard_normal((4, 300, 2))
    result = ps.check(draws, -draws)
    assert result.to_dict()["noticeable"] is None
    assert not pickle.loads(pickle.dumps(result)).can_tell_noticeable
    with pytest.raises(ps.InputError, match="`noticeable` must have been computed"):
        _ = pickle.loads(pickle.dumps(result)).noticeable
    assert "Power      would have noticed" in str(result)
    found = result.noticeable
    assert [one.what for one in found] == ["mean", "sd", "correlation"]
    assert pickle.loads(pickle.dumps(result)).noticeable == found
    assert ps.GofResult.from_dict(result.to_dict()).noticeable == found
    old = {key: value for key, value in result.to_dict().items() if key != "noticeable"}
    assert ps.GofResult.from_dict(old).noticeable_faults is None


@pytest.mark.parametrize(
    "damage", [{"size": -1.0}, {"size": "x"}, {"names": "a"}, {"what": 3}, {"what": "mode"}]
)
def test_damaged_content_is_refused(damage: dict[str, Any]) -> None:
    draws = np.random.default_rng(3).standard_normal((4, 300, 2))
    values = ps.check(draws, -draws).to_dict()
    one = {"what": "mean", "size": 0.1, "names": ["x[0]"]}
    assert ps.GofResult.from_dict({**values, "noticeable": [one]}).noticeable == (
        Noticeable("mean", 0.1, ("x[0]",)),
    )
    with pytest.raises(ps.InputError, match="`values` must be what `to_dict` gave"):
        ps.GofResult.from_dict({**values, "noticeable": [{**one, **damage}]})


def test_nothing_is_told_where_the_sign_flips_do_not_judge() -> None:
    draws = np.random.default_rng(3).standard_normal((40, 2))
    result = ps.check(draws, -draws)
    assert result.verdict == "inconclusive"
    assert "Power" not in str(result)


def test_a_fault_that_moves_nothing_leaves_the_statistics() -> None:
    sample = skewed_rows(1, 484)
    sums, kept = sums_of(sample), np.arange(2)
    one = statistics_of(sums, kept).every[0]
    assert isinstance(one, FlippedFamily)
    signs = random_signs(9, sums.count, np.random.default_rng(1), unflipped_first=True)
    one.flip(signs)
    moved = MovedFamily(one, 1.0)
    for name, (values, _) in moved.after(0.4).items():
        assert np.array_equal(values, one.statistics[name][0][1:])
