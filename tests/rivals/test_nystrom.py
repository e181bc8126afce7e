"""Nyström KSD: the literal projection on the same landmarks and multipliers."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein._lib.random import Streams
from polystein.errors import InputError
from polystein.inference.multipliers import multipliers
from polystein.rivals import nystrom
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import kernels as literal
from tests.rivals.rows import plausible_rows

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")


@pytest.mark.parametrize("count", [1, 7, 40])
def test_the_test_is_the_literal_one(count: int) -> None:
    draws, scores = plausible_rows(40, 2)
    streams = Streams(5)
    landmarks = streams.split.choice(40, count, replace=True)
    signs = multipliers(99, int(streams.resampling.integers(2**63)), None).draw(0, 40)
    matrix = literal.stein_matrix(literal.imq(), draws, scores)
    observed = literal.nystrom(matrix, landmarks, np.full(40, 1 / 40))
    replicates = [literal.nystrom(matrix, landmarks, row / 40) for row in signs]
    result = ps.nystrom_ksd_test(draws, scores, n_landmarks=count, n_bootstrap=99, rng=5)
    assert result.statistic == pytest.approx(40 * observed, rel=1e-10)
    assert result.pvalue == literal.pvalue(observed, replicates)
    assert 0.02 < result.pvalue < 0.98


def test_weighted_chains_are_literal() -> None:
    draws, scores = plausible_rows(40, 2)
    log_weights, weights = arbitrary_weights(40)
    sample = ps.Sample(
        draws.reshape(2, 20, 2), scores.reshape(2, 20, 2), log_weights=log_weights.reshape(2, 20)
    )
    streams = Streams(5)
    landmarks = streams.split.choice(40, 6, replace=True)
    stream = multipliers(99, int(streams.resampling.integers(2**63)), 3.0)
    factors = np.concatenate([stream.draw(0, 20), stream.draw(1, 20)], axis=1) * weights
    bandwidth = literal.median_distance(draws)
    matrix = literal.stein_matrix(literal.gaussian(bandwidth), draws, scores)
    result = ps.nystrom_ksd_test(
        sample, kernel=ps.GaussianKernel(), n_landmarks=6, n_bootstrap=99, length=3.0, rng=5
    )
    observed = literal.nystrom(matrix, landmarks, weights)
    replicates = [literal.nystrom(matrix, landmarks, row) for row in factors]
    assert result.statistic == pytest.approx(40 * observed, rel=1e-10)
    assert result.pvalue == literal.pvalue(observed, replicates)
    assert 0.02 < result.pvalue < 0.98


def test_with_every_row_as_a_landmark_it_is_ksd() -> None:
    draws, scores = arbitrary_rows(40, 2)
    rows = nystrom.Landmarks(ps.IMQKernel(), draws, scores)
    matrix = rows.stein_kernel(draws, scores)
    squares = nystrom.projected_squares(matrix.mean(axis=0)[None], matrix)
    assert squares[0] == pytest.approx(ps.ksd(draws, scores) ** 2, rel=1e-9)


def test_repeated_landmarks_change_nothing() -> None:
    draws, scores = arbitrary_rows(40, 2)
    chosen = np.array([3, 8, 20])
    values = []
    for index in (chosen, np.tile(chosen, 3)):
        rows = nystrom.Landmarks(ps.IMQKernel(), draws[index], scores[index])
        means = rows.stein_kernel(draws, scores).mean(axis=0)[None]
        matrix = rows.stein_kernel(draws[index], scores[index])
        values.append(nystrom.projected_squares(means, matrix)[0])
    assert values[1] == pytest.approx(values[0], rel=1e-9)


def test_blocks_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """AR(1) multipliers are one stream, however many rows are drawn at once."""
    draws, scores = plausible_rows(300, 2)
    chains = draws.reshape(2, 150, 2), scores.reshape(2, 150, 2)
    whole = ps.nystrom_ksd_test(*chains, n_landmarks=10, n_bootstrap=1, rng=0)
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(nystrom, "BLOCK_ELEMENTS", 1)
    monkeypatch.setattr(nystrom, "LEAST_ROWS", 40)
    parts = ps.nystrom_ksd_test(
        *chains, n_landmarks=10, n_bootstrap=1, rng=0, progress=lambda *done: seen.append(done)
    )
    assert parts.statistic == pytest.approx(whole.statistic, rel=1e-10)
    assert seen == [(rows, 300) for rows in (40, 80, 120, 150, 190, 230, 270, 300)]


@pytest.mark.parametrize(("n", "expected"), [(400, 80), (1000, 127), (9, 9)])
def test_default_number_of_landmarks(n: int, expected: int) -> None:
    draws, scores = arbitrary_rows(n, 2)
    result = ps.nystrom_ksd_test(draws, scores, n_bootstrap=9, rng=0)
    assert result.settings["n_landmarks"] == expected
    assert (result.method, result.alternative, result.n_test) == ("nystrom-ksd", "greater", n)


@pytest.mark.parametrize("n_landmarks", [0, -3, 31, 2.5, "4", True])
def test_the_number_of_landmarks_must_fit(n_landmarks: Any) -> None:
    draws, scores = arbitrary_rows(30, 2)
    with pytest.raises(InputError, match="`n_landmarks` must be an integer from 1 to the number"):
        ps.nystrom_ksd_test(draws, scores, n_landmarks=n_landmarks)
