"""The kernel net: against the statistic written out, and what it sees and leaves."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.spread import KeptRows
from polystein.methods.check.batches import cut
from polystein.methods.check.net import NET_ROWS, kernel_products, net_arm
from polystein.methods.check.statistics import BASIS, FEWEST_FOR_NET
from polystein.methods.check.sums import BatchSums
from polystein.results.evidence import Abstention, Arm
from tests.conftest import Array, arbitrary_weights
from tests.methods.check.trained_rounds import round_of, thinned_of
from tests.reference import kernels as literal
from tests.statistical.samplers import autoregressive


def looked(sample: ps.Sample, *, chains: bool = False) -> tuple[KeptRows, BatchSums]:
    split = ps.BlockSplit(0.5) if chains else ps.RandomSplit(0.5)
    frame, batches = round_of(sample, split).frame_of_all(), cut(sample.layout, chains=chains)
    return thinned_of(sample), BatchSums(sample, frame, BASIS, batches).take()


def net_of(sample: ps.Sample, *, chains: bool = False, left_out: Any = ()) -> Arm | Abstention:
    thinned, sums = looked(sample, chains=chains)
    slow = np.isin(np.arange(sample.layout.dimension), left_out)
    return net_arm(thinned, sums, np.random.default_rng(0), left_out=slow)


def normal(rows: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((rows, d))


def parity(rows: int) -> Array:
    """Each three of four coordinates are independent; the sign of the fourth is their product's."""
    draws = normal(rows, 4)
    draws[:, 3] = np.abs(draws[:, 3]) * np.sign(draws[:, 0] * draws[:, 1] * draws[:, 2])
    return draws


@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_batches_are_the_literal_ones(weighted: bool) -> None:
    """Of white coordinates: x -> M^1/2 x with M the second moments of the scores."""
    rows, d = 240, 3
    mixed = normal(rows, d) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 2.0]])
    scores = -mixed + 0.3 * normal(rows, d, 1)
    log_weights, weights = arbitrary_weights(rows)
    sample = ps.Sample(mixed, scores, log_weights=log_weights if weighted else None)
    thinned, sums = looked(sample)
    weights = weights / weights.max() if weighted else np.ones(rows)
    draws, scores = sums.frame.apply(mixed, scores)
    moments = (scores * weights[:, None]).T @ scores / weights.sum()
    spread = np.sqrt(np.diag(moments))
    values, vectors = np.linalg.eigh(moments / np.outer(spread, spread))
    draws = (draws * spread) @ (vectors * np.sqrt(values)) @ vectors.T
    scores = (scores / spread) @ (vectors / np.sqrt(values)) @ vectors.T
    matrix = literal.stein_matrix(literal.imq(0.3**0.5), draws, scores)
    expected = np.zeros((sums.count, sums.count))
    stretches = sums.batches.stretches
    for one in stretches:
        for other in stretches:
            own, others = slice(one.start, one.stop), slice(other.start, other.stop)
            expected[one.batch, other.batch] = weights[own] @ matrix[own, others] @ weights[others]
    found = kernel_products(thinned, sums, np.arange(d))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_the_p_value_is_that_of_the_flips() -> None:
    draws = normal(400, 2) + 0.02
    sample = ps.Sample(draws, -draws)
    thinned, sums = looked(sample)
    products = kernel_products(thinned, sums, np.arange(2))
    np.fill_diagonal(products, 0.0)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(999, sums.count), dtype=np.int8)
    flips = [float(signs @ products @ signs) for signs in 1.0 - 2.0 * bits]
    extreme = 1 + sum(value >= products.sum() for value in flips)
    arm = net_of(sample)
    assert isinstance(arm, Arm)
    assert arm.pvalue == arm.parts[0].pvalue == extreme / 1000
    assert (arm.name, arm.rows) == ("kernel net", "evenly spaced rows")


def test_a_parity_of_four_signs_is_seen() -> None:
    draws = parity(4000)
    result = ps.check(draws, -draws, iid=True)
    assert result.verdict == "rejected"
    assert result.evidence.arms[0].name == "kernel net"
    chains = draws.reshape(4, 1000, 4)
    assert ps.check(chains, -chains).verdict == "rejected"


def test_few_or_slow_batches_abstain() -> None:
    few = normal(4 * FEWEST_FOR_NET - 1, 2)
    assert isinstance(net_of(ps.Sample(few, -few)), Abstention)
    enough = normal(4 * FEWEST_FOR_NET, 2)
    assert isinstance(net_of(ps.Sample(enough, -enough)), Arm)
    assert isinstance(net_of(ps.Sample(enough, -enough), left_out=(0, 1)), Abstention)
    slow = autoregressive(np.random.default_rng(0), 4, 1000, 2, 0.999)
    found = net_of(ps.Sample(slow, -slow), chains=True)
    assert isinstance(found, Abstention)
    assert "independent batches" in found.reason


def test_an_abstaining_net_leaves_no_doubt() -> None:
    draws = normal(130, 2)
    result = ps.check(draws, -draws, iid=True)
    assert [one.name for one in result.evidence.abstained] == ["kernel net"]
    assert result.verdict == "not rejected"


@pytest.mark.parametrize(("rows", "kept"), [(300, 300), (4_000, 1_021), (250_000, 1_500)])
def test_rows_grow_like_the_root_of_their_number(rows: int, kept: int) -> None:
    draws = normal(rows, 1)
    thinned, _ = looked(ps.Sample(draws, -draws))
    chains, places = thinned.places
    assert places.size == kept
    assert not chains.any()
    assert np.array_equal(thinned.draws_and_scores[0], draws[places])
    assert NET_ROWS == 500


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize("size", [1e4, 1e8, 1e12])
def test_one_absurd_score_does_not_pass_for_nothing_found(size: float) -> None:
    """It hides a clear fault from all sums. The verdict says so."""
    draws = 1.15 * normal(2000, 3)
    scores = -draws
    assert ps.check(draws, scores, iid=True).verdict == "rejected"
    scores[123] *= size
    result = ps.check(draws, scores, iid=True)
    assert result.verdict in ("rejected", "inconclusive")
    if result.verdict == "inconclusive":
        (reason,) = (one for one in result.reasons if "outweigh" in one)
        assert "row 123 holds" in reason
