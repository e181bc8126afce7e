"""Which coordinates and entries make up the mean of u: the literal shares, and their names."""

import numpy as np
import pytest

import polystein as ps
from polystein.methods.contributions import (
    MOST_NAMED,
    entry_name,
    largest_coordinates,
    largest_entries,
    largest_shares,
)
from polystein.results.evidence import Contribution
from tests.conftest import RecordingSplit, arbitrary_rows
from tests.reference import resolution as literal
from tests.weights.literal import standardised


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
    entries = dict(result.evidence.entries)
    assert len(entries) == 5
    assert entries == pytest.approx({name: expected[name] for name in entries}, rel=1e-9)
    left_out = (set(labels) - set(entries)).pop()
    assert abs(expected[left_out]) == min(map(abs, expected.values()))
    sums = np.array([parts[[0, 1, 4]].sum(), parts[[2, 3, 5]].sum()])
    shares = dict(zip(["a", "b"], sums / np.abs(sums).sum(), strict=True))
    assert dict(result.evidence.coordinates) == pytest.approx(shares, rel=1e-9)
    assert result.settings["resolution"] == "entry"


# By hand


def test_shares_are_of_the_sum_of_all_sizes_with_the_largest_first() -> None:
    assert largest_shares(np.array([1.0, -4.0, 0.0, 3.0])) == [(1, -0.5), (3, 0.375), (0, 0.125)]


def test_no_more_are_named_than_fit_a_report() -> None:
    parts = np.arange(1.0, 9.0)
    found = largest_shares(parts)
    assert [index for index, _ in found] == [7, 6, 5, 4, 3]
    assert len(found) == MOST_NAMED
    assert sum(share for _, share in found) == pytest.approx(parts[3:].sum() / parts.sum())


def test_equal_shares_keep_the_order_of_the_coordinates() -> None:
    assert [index for index, _ in largest_shares(np.array([1.0, -1.0, 1.0]))] == [0, 1, 2]


def test_nothing_has_no_shares() -> None:
    assert largest_shares(np.zeros(3)) == []


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_coordinates_sum_their_rows_over_the_orders(structure: str) -> None:
    matrix = np.array([[1.0, 2.0], [0.0, -1.0]])
    first = matrix if structure == "full" else np.array([3.0, -1.0])
    sample = ps.Sample(*arbitrary_rows(5, 2))
    found = largest_coordinates([first, np.array([1.0, -3.0])], sample)
    assert found == (Contribution("x[0]", 0.5), Contribution("x[1]", -0.5))


def test_entries_are_named_by_feature_and_coordinates() -> None:
    parts = [np.array([[1.0, 2.0], [0.0, -4.0]]), np.array([0.0, 3.0])]
    sample = ps.Sample(*arbitrary_rows(5, 2), names=["a", "b"])
    assert largest_entries(parts, ("x", "score"), sample) == (
        Contribution("x[b, b]", -0.4),
        Contribution("score[b]", 0.3),
        Contribution("x[a, b]", 0.2),
        Contribution("x[a, a]", 0.1),
    )


def test_an_entry_beyond_the_last_has_no_name() -> None:
    with pytest.raises(IndexError):
        entry_name(("score",), ("a", "b"), [np.zeros(2)], 2)
