"""R-hat and effective sample sizes are those of ArviZ, to 1e-6."""

import warnings

import numpy as np
import pytest

import polystein as ps
from polystein.inference.convergence import ranked_convergence
from polystein.results.diagnostics import Convergence
from tests.conftest import Array
from tests.statistical.samplers import autoregressive, correlated_gaussian, metropolis_step, run

with warnings.catch_warnings():
    # It announces its next major version.
    warnings.simplefilter("ignore", FutureWarning)
    import arviz


def chains(count: int, length: int, memory: float) -> Array:
    """Smooth, tied, coarse and heavy-tailed columns; one in which a chain is off, one frozen."""
    values = autoregressive(np.random.default_rng(count + length), count, length, 6, memory)
    values[:, :, 1] = np.round(values[:, :, 1], 1)
    values[:, :, 2] = np.sign(values[:, :, 2])
    values[:, :, 3] = np.exp(5.0 * values[:, :, 3])
    values[0, :, 4] += 3.0
    values[0, :, 5] = 0.2
    return values


def of_arviz(values: Array) -> tuple[Array, Array, Array]:
    columns = [values[:, :, column] for column in range(values.shape[2])]
    # It divides by the variances of chains that do not move.
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.array([float(arviz.rhat(column)) for column in columns]),
            np.array([float(arviz.ess(column, method="bulk")) for column in columns]),
            np.array([float(arviz.ess(column, method="tail")) for column in columns]),
        )


@pytest.mark.parametrize("memory", [-0.9, 0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("count", "length"), [(4, 1000), (2, 101), (10, 50), (100, 20), (2, 4), (3, 5), (2, 7), (3, 10)]
)
def test_ranked_diagnostics_are_those_of_arviz(count: int, length: int, memory: float) -> None:
    values = chains(count, length, memory)
    # ArviZ has no ESS of distances from the median, our fourth.
    for ours, theirs in zip(ranked_convergence(values)[:3], of_arviz(values), strict=True):
        # Half chains that do not move: 0/0, or a last digit over another one.
        known = ~np.isnan(theirs)
        assert ours[known] == pytest.approx(theirs[known], rel=1e-6)
        assert np.all(np.isnan(ours[~known]) | (ours[~known] > 1e6))


def test_one_chain_has_the_effective_sizes_of_arviz() -> None:
    """ArviZ has no R-hat of one chain, though it splits chains; ours is that of the halves."""
    values = chains(2, 500, 0.9)[1:]
    ours, theirs = ranked_convergence(values), of_arviz(values)
    assert ours.ess_bulk == pytest.approx(theirs[1], rel=1e-6)
    assert ours.ess_tail == pytest.approx(theirs[2], rel=1e-6)
    assert np.isfinite(ours.rhat).all()


def test_a_metropolis_chain_that_repeats_rows() -> None:
    rng = np.random.default_rng(3)
    target = correlated_gaussian()
    draws = run(rng, target, metropolis_step(1.0), 4, 800, thin=1, burn=20)
    scores = target.score(draws)
    assert np.any(draws[:, 1:] == draws[:, :-1])
    sample = ps.Sample(draws, scores)
    for what, values in (("draws", draws), ("scores", scores)):
        found = Convergence.of(sample, what)
        rhat, bulk, tail = of_arviz(values)
        assert found.rhat == pytest.approx(rhat.max(), rel=1e-6)
        assert found.ess_bulk == pytest.approx(bulk.min(), rel=1e-6)
        assert found.ess_tail == pytest.approx(tail.min(), rel=1e-6)
