"""The wild bootstrap against the n x n kernel matrix written out, i.i.d. and dependent."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import polystein as ps
from polystein._lib.random import Streams
from polystein.errors import DegenerateError, InputError
from polystein.inference.multipliers import multipliers
from polystein.methods import bootstrap as fast
from polystein.stein.basis import Monomial
from tests.conftest import Array, arbitrary_rows, arbitrary_weights
from tests.reference import bootstrap as literal
from tests.reference import stein
from tests.statistical.samplers import autoregressive

# Short chains, for speed.
pytestmark = pytest.mark.filterwarnings("ignore::polystein.errors.LowESSWarning")

STRUCTURES = ["full", "diagonal"]


def drawn(count: int, lengths: tuple[int, ...], seed: int, length: float | None) -> Array:
    """The multipliers that a test with this `rng` uses."""
    stream = multipliers(count, int(Streams(seed).resampling.integers(2**63)), length)
    return np.concatenate([stream.draw(i, rows) for i, rows in enumerate(lengths)], axis=1)


def literal_pvalue(kernel: Array, factors: Array, estimator: str) -> tuple[float, float]:
    """n V or n U, and (b + 1)/(B + 1)."""
    observed = literal.statistic(kernel, np.ones(len(kernel)), estimator)
    replicates = [literal.statistic(kernel, row, estimator) for row in factors]
    larger = sum(replicate >= observed for replicate in replicates)
    return observed, (larger + 1) / (len(factors) + 1)


# Against the literal one


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("estimator", ["u", "v"])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_independent_rows(order: int, estimator: Any, structure: Any) -> None:
    draws, scores = arbitrary_rows(25, 2)
    result = ps.psd_bootstrap_test(
        draws,
        scores,
        order=order,
        estimator=estimator,
        structure=structure,
        n_bootstrap=39,
        rng=4,
    )
    signs = drawn(39, (25,), 4, None)
    observed, _, pvalue = literal.wild_bootstrap(draws, scores, order, signs, estimator, structure)
    assert result.statistic == pytest.approx(observed, rel=1e-11)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-13)


@pytest.mark.parametrize("estimator", ["u", "v"])
@pytest.mark.parametrize("seed", range(4))
def test_chains(estimator: Any, seed: int) -> None:
    draws, scores = (part.reshape(3, 12, 2) for part in arbitrary_rows(36, 2, seed))
    result = ps.psd_bootstrap_test(
        draws, scores, order=2, estimator=estimator, n_bootstrap=39, length=3.0, rng=seed
    )
    kernel = literal.kernel_matrix(draws.reshape(36, 2), scores.reshape(36, 2), 2)
    factors = drawn(39, (12, 12, 12), seed, 3.0)
    observed, pvalue = literal_pvalue(kernel, factors, estimator)
    assert result.statistic == pytest.approx(observed, rel=1e-11)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-13)
    assert result.settings["length"] == result.evidence.estimates["multiplier_length"] == 3.0
    assert result.settings["estimator"] == estimator


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_replicates_with_weights(estimator: Any) -> None:
    """||sum w xi||^2, and (||sum w xi||^2 - sum w^2 ||xi||^2) / (1 - sum w^2)."""
    draws, scores = arbitrary_rows(30, 2)
    log_weights, weights = arbitrary_weights(30)
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    result = ps.psd_bootstrap_test(sample, order=2, estimator=estimator, n_bootstrap=39, rng=2)
    rows = np.array([stein.xi(x, s, 2) for x, s in zip(draws, scores, strict=True)])
    expected = stein.psd_u if estimator == "u" else lambda *a, **k: stein.psd_v(*a, **k) ** 2
    value = 30 * expected(draws, scores, 2, weights=weights)
    assert result.statistic == pytest.approx(value, rel=1e-11)
    replicates = np.sum((drawn(39, (30,), 2, None) * weights @ rows) ** 2, axis=1)
    larger = int(np.sum(replicates >= np.sum((weights @ rows) ** 2)))
    assert result.pvalue == (larger + 1) / 40
    assert result.ess == pytest.approx(1.0 / float(weights @ weights))


@given(
    seed=st.integers(0, 10**6), n=st.integers(2, 60), d=st.integers(1, 4), order=st.integers(0, 3)
)
def test_u_and_v_give_one_pvalue_for_independent_rows(
    seed: int, n: int, d: int, order: int
) -> None:
    """Signs leave the diagonal as it is."""
    draws, scores = arbitrary_rows(max(n, 20), d, seed)
    options: Any = {"order": order, "n_bootstrap": 19, "rng": seed}
    u = ps.psd_bootstrap_test(draws, scores, estimator="u", **options)
    v = ps.psd_bootstrap_test(draws, scores, estimator="v", **options)
    assert u.pvalue == v.pvalue
    assert u.statistic < v.statistic


def test_defaults() -> None:
    """u for independent rows, v and an estimated length for chains."""
    draws, scores = arbitrary_rows(200, 2)
    rows = ps.psd_bootstrap_test(draws, scores, order=1, n_bootstrap=19, rng=0)
    assert (rows.settings["estimator"], rows.settings["length"]) == ("u", "auto")
    assert rows.evidence.estimates["multiplier_length"] is None
    chains = ps.psd_bootstrap_test(draws[None], scores[None], order=1, n_bootstrap=19, rng=0)
    assert (chains.settings["estimator"], chains.settings["length"]) == ("v", "auto")
    assert chains.evidence.estimates["multiplier_length"] >= 1.0
    assert chains.statistic == pytest.approx(200 * ps.psd(draws, scores, order=1) ** 2, rel=1e-12)
    assert (rows.method, rows.alternative, rows.n_test, rows.n_train) == (
        "psd-bootstrap", "greater", 200, 0,
    )  # fmt: skip


# Memory, blocks, progress


@pytest.mark.parametrize("length", [None, 4.0])
def test_parts_that_fit_the_memory_change_nothing(
    monkeypatch: pytest.MonkeyPatch, length: float | None
) -> None:
    draws, scores = arbitrary_rows(100, 7)
    sample = ps.Sample(draws[None], scores[None])
    options: Any = {"seed": 3, "length": length}
    whole = fast.wild_replicates(sample, Monomial(2), "full", 9, **options)
    # The sums of one score coordinate's features, and no more.
    monkeypatch.setattr(fast, "MEMORY_BUDGET", 8 * 9 * 15)
    seen: list[tuple[int, int]] = []
    parts = fast.wild_replicates(
        sample, Monomial(2), "full", 9, progress=lambda *done: seen.append(done), **options
    )
    assert seen[-1] == (700, 700)
    assert parts[0] == pytest.approx(whole[0], rel=1e-12)
    assert parts[1] == pytest.approx(whole[1], rel=1e-12)


@pytest.mark.parametrize("chains", [False, True])
def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch, chains: bool) -> None:
    draws = np.random.default_rng(1).standard_normal((2, 150, 3) if chains else (300, 3))
    options: Any = {"order": 2, "n_bootstrap": 99, "rng": 5}
    before = ps.psd_bootstrap_test(draws, -draws, **options)
    assert 0.1 < before.pvalue < 0.9
    for rows in (7, 64):
        monkeypatch.setattr("polystein.data.passes.block_rows", lambda dimension, rows=rows: rows)
        after = ps.psd_bootstrap_test(draws, -draws, **options)
        assert after.pvalue == before.pvalue
        assert after.statistic == pytest.approx(before.statistic, rel=1e-11)
        if chains:
            lengths = [own.evidence.estimates["multiplier_length"] for own in (after, before)]
            assert lengths[0] == pytest.approx(lengths[1], rel=1e-9)


def test_progress_counts_every_row_once() -> None:
    draws, scores = arbitrary_rows(20_000, 4)
    seen: list[tuple[int, int]] = []
    ps.psd_bootstrap_test(
        draws, scores, order=1, n_bootstrap=3, rng=0, progress=lambda *done: seen.append(done)
    )
    assert len(seen) > 1
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (20_000, 20_000)


def test_one_seed_one_verdict() -> None:
    draws = np.random.default_rng(1).standard_normal((100, 2))
    options: Any = {"order": 2, "n_bootstrap": 499}
    first = ps.psd_bootstrap_test(draws, -draws, rng=1, **options)
    assert ps.psd_bootstrap_test(draws, -draws, rng=1, **options) == first
    others = {ps.psd_bootstrap_test(draws, -draws, rng=seed, **options).pvalue for seed in (2, 3)}
    assert others != {first.pvalue}


# Size and power


@pytest.mark.slow
def test_independent_draws_keep_the_level_and_a_fault_is_found() -> None:
    rejections = 0
    for seed in range(400):
        draws = np.random.default_rng(seed).standard_normal((200, 2))
        rejections += (
            ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=99, rng=seed).pvalue
            <= 0.05
        )
    assert stats.binomtest(rejections, 400, 0.05).pvalue > 0.001, rejections
    draws = np.random.default_rng(0).standard_normal((200, 2)) + 0.4
    result = ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=99, rng=0)
    assert result.pvalue == 0.01


@pytest.mark.slow
def test_chains_that_remember_are_not_rejected_for_it() -> None:
    """At memory 0.8 signs, which take rows for independent, reject most of them."""
    as_chains = as_rows = 0
    draws = autoregressive(np.random.default_rng(1), 800, 250, 2, 0.8).reshape(200, 4, 250, 2)
    for seed, chains in enumerate(draws):
        options: Any = {"order": 1, "n_bootstrap": 99, "rng": seed}
        as_chains += ps.psd_bootstrap_test(chains, lambda x: -x, **options).pvalue <= 0.05
        rows = chains.reshape(1000, 2)
        as_rows += ps.psd_bootstrap_test(rows, lambda x: -x, **options).pvalue <= 0.05
    assert stats.binomtest(as_chains, 200, 0.05, "greater").pvalue > 0.001, as_chains
    assert as_rows > 100, as_rows


def test_chains_with_a_fault_are_rejected() -> None:
    draws = 1.5 * autoregressive(np.random.default_rng(2), 4, 1000, 2, 0.5)
    result = ps.psd_bootstrap_test(draws, lambda x: -x, order=1, n_bootstrap=199, rng=0)
    assert result.pvalue == pytest.approx(1 / 200)


# Errors


@pytest.mark.parametrize("count", [0, -1, 1.5, None, "9"])
def test_bad_counts_are_refused(count: Any) -> None:
    message = f"`n_bootstrap` must be a positive integer; got {count!r}"
    with pytest.raises(InputError, match=message):
        ps.psd_bootstrap_test(*arbitrary_rows(50, 2), order=1, n_bootstrap=count)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "w"}, "`estimator` must be 'u' or 'v'; got 'w'"),
        ({"order": -1}, "`order` must be an integer >= 0; got -1"),
        ({"structure": "dense"}, "`structure` must be 'full' or 'diagonal'; got 'dense'"),
        ({"length": 5.0}, "`length` must be None or 'auto' for independent rows"),
        ({"rng": -1}, "`rng` must be a non-negative int"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.psd_bootstrap_test(*arbitrary_rows(50, 2), **{"order": 1, **options})


def test_scores_of_zero_are_degenerate() -> None:
    draws, _ = arbitrary_rows(50, 2)
    with pytest.raises(DegenerateError, match="are `scores` all zero"):
        ps.psd_bootstrap_test(draws, np.zeros_like(draws), order=0)


def test_few_effective_draws_of_chains_are_warned_about() -> None:
    """At an autocorrelation of 0.9 two chains of 300 hold about 600/19 draws."""
    rng = np.random.default_rng(3)
    chains = np.zeros((2, 300, 2))
    for t in range(1, 300):
        chains[:, t] = 0.9 * chains[:, t - 1] + 0.19**0.5 * rng.standard_normal((2, 2))
    with pytest.warns(ps.LowESSWarning, match="hold about .* effective draws") as caught:
        result = ps.psd_bootstrap_test(chains, -chains, order=1, n_bootstrap=19, rng=0)
    assert [item.filename for item in caught] == [__file__]
    assert 10.0 < result.ess < 90.0
    assert result.to_dict()["ess"] == result.ess
