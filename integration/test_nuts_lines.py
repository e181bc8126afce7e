"""Lines of ``studies/chains_beyond`` that run BlackJAX's NUTS: they are right, and repeat."""

import json
import warnings
from typing import Any

import jax
import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import kstest, norm

from studies._precision import enable_x64
from studies.chains_beyond.judgements import never_bare
from studies.chains_beyond.lines import Line, all_lines
from studies.chains_beyond.runs import Place, again, read_facts
from tests.statistical.samplers import correlated_gaussian

with warnings.catch_warnings():
    # BlackJAX 1.2 imports JAXopt, which is no longer maintained and says so.
    warnings.simplefilter("ignore", DeprecationWarning)
    from studies.chains_beyond import nuts

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning"),
    # BlackJAX 1.2 calls `jax.numpy.clip` by names that JAX has changed since.
    pytest.mark.filterwarnings("ignore:Passing arguments 'a':DeprecationWarning"),
]

LINES = [line for line in all_lines().values() if line.needs_jax]
# Over all comparisons of a test together; the seeds are fixed.
LEVEL = 1e-3


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    """For densities that a test calls itself; chains ask for it on their own."""
    with enable_x64(True):
        yield


def name_of(line: Line) -> str:
    return line.name


@pytest.mark.parametrize(
    "line", [line for line in LINES if "never bare" in line.claims], ids=name_of
)
def test_a_twentieth_is_never_bare(line: Line) -> None:
    """Verdicts are not compared with the table, whose lines are of another choice of shares.

    Trajectories that diverge magnify the last digits, too, which depend on the version of JAX.
    """
    rows = again(line, range(line.replicates // 20))
    facts = [{**json.loads(str(row["facts"])), "verdict": str(row["verdict"])} for row in rows]
    assert all(never_bare(one) for one in facts)


@pytest.mark.parametrize("target", nuts.EXACT)
def test_rows_from_an_exact_start_are_exact_draws(target: str) -> None:
    """Mean, spread and law of the last row of 2,000 independent chains, by coordinate."""
    drawn = nuts.from_exact_start(np.random.default_rng(1), 500, target, rows=50)
    last = drawn.draws[:, :, -1].reshape(2000, 5)
    if target == "correlated Gaussian":
        white = np.linalg.solve(correlated_gaussian().scale, last.T).T
        standard = norm.cdf(white)
    else:
        white = (last - polygamma(0, 2.0)) / polygamma(1, 2.0) ** 0.5
        # Gamma(2) has the distribution function 1 - (1 + y) exp(-y).
        standard = 1.0 - (1.0 + np.exp(last)) * np.exp(-np.exp(last))
    pvalues = [kstest(column, "uniform").pvalue for column in standard.T]
    pvalues += list(2.0 * norm.sf(2000**0.5 * np.abs(white.mean(axis=0))))
    products = white[:, 0] * white[:, 1:].T
    pvalues += list(2.0 * norm.sf(2000**0.5 * np.abs(products.mean(axis=1))))
    assert min(pvalues) * len(pvalues) > LEVEL


def test_chains_of_a_group_are_different_chains() -> None:
    drawn = nuts.from_exact_start(np.random.default_rng(2), 3, "log Gamma(2)", rows=50)
    assert len(np.unique(drawn.draws[:, :, -1, 0])) == 12


@pytest.mark.parametrize(
    "log_density",
    [
        nuts.gaussian_log_density,
        nuts.log_gamma_log_density,
        nuts.eight_schools_log_density,
        nuts.regression_log_density,
    ],
)
def test_scores_are_gradients_of_the_densities(log_density: Any) -> None:
    """Central differences; BlackJAX's gradients are what the chains come with."""
    d = 10 if log_density is nuts.eight_schools_log_density else 5
    point = np.random.default_rng(3).uniform(-1.0, 1.0, d)
    moves = 1e-5 * np.eye(d)
    slopes = [float(log_density(point + move) - log_density(point - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose(jax.grad(log_density)(point), slopes, rtol=1e-5, atol=1e-5)


def test_the_regression_is_that_of_its_rows() -> None:
    """Up to a constant: the residuals are squared one by one here."""
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 5))
    values = []
    for point in points:
        residuals = (nuts.RESPONSE - nuts.DESIGN @ point[:4]) / np.exp(point[4])
        prior = norm.logpdf(point[:4], scale=100.0).sum() + norm.logpdf(point[4])
        values.append(prior + (norm.logpdf(residuals) - point[4]).sum())
    found = [float(nuts.regression_log_density(point)) for point in points]
    np.testing.assert_allclose(found[1] - found[0], values[1] - values[0], rtol=1e-9)


@pytest.mark.parametrize("line", [one for one in LINES if "never bare" in one.claims], ids=name_of)
def test_poor_diagnostics_are_never_a_bare_not_rejected(line: Line) -> None:
    facts = read_facts(Place(), line)
    assert len(facts) == line.replicates
    assert all(never_bare(one) for one in facts)
