"""The arm that compares chains: its sums against loops, its words, and what it refuses."""

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.data.sample import as_source
from polystein.data.source import Source, complete, in_time_order
from polystein.inference.agreement import BATCHES, batch_bounds
from polystein.methods.check import agreement, look
from polystein.methods.check.agreement import (
    CHANCE_OF_HEAVY_TAIL,
    AgreementSums,
    agreement_abstention,
    agreement_arm,
    frozen_chains,
)
from polystein.methods.check.look import BOUND, BOUND_OF_MANY, Bounds, kept_rows
from polystein.results.evidence import Abstention, Arm
from tests.rows import Array
from tests.sources import MinimalSource


def some_chains(*shape: int, memory: float = 0.5, seed: int = 0) -> Array:
    noise = np.random.default_rng(seed).standard_normal(shape)
    noise[:, 1:] *= np.sqrt(1.0 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], noise, axis=1))


def ragged(chains: list[Array]) -> Source:
    return complete(MinimalSource([(one, -one) for one in chains], time_ordered=True))


def bounds_of(source: Source, **options: Any) -> Bounds:
    thinned = kept_rows(source.layout)
    run_pass(source, every_row(source), thinned, **options)
    return look.bounds_of(thinned)


def sums_of(source: Source, **options: Any) -> AgreementSums:
    sums = AgreementSums(source.layout, bounds_of(source, **options))
    run_pass(source, every_row(source), sums, **options)
    return sums


def arm_of(draws: Any, scores: Any = None) -> Arm:
    source = in_time_order(ps.Sample(draws, -draws if scores is None else scores))
    found = agreement_arm(sums_of(source), [f"x[{k}]" for k in range(draws.shape[-1])])
    assert isinstance(found, Arm)
    return found


@pytest.mark.parametrize("most", [None, 7])
def test_sums_are_those_of_the_bounded_rows(most: int | None) -> None:
    chains = [some_chains(1, rows, 3, seed=rows)[0] for rows in (100, 41, 100)]
    chains[1][20:] = 0.5
    bounds = Bounds(
        np.linspace(-1.0, 1.0, 6), np.linspace(0.2, 2.0, 6), 1.5, np.ones(6), np.zeros(3, bool)
    )
    source = ragged(chains)
    sums = AgreementSums(source.layout, bounds)
    run_pass(source, every_row(source), sums, most=most)
    found = sums.finalise()
    for chain, draws in enumerate(chains):
        edges = batch_bounds(len(draws))
        both = np.concatenate([draws, -draws], axis=1)
        for k in range(BATCHES):
            rows = both[edges[k] : edges[k + 1]]
            expected = np.zeros(6)
            for row in rows:
                expected += np.clip((row - bounds.centre) / bounds.spread, -1.5, 1.5)
            assert found.sums[chain, k] == pytest.approx(expected)
            assert found.rows[chain, k] == len(rows)
            still = [len(rows) > 1 and len(np.unique(column)) == 1 for column in rows.T]
            assert found.still[chain, k].tolist() == still


def test_a_change_between_equal_ends_is_a_change() -> None:
    draws = some_chains(2, 1200, 2)
    draws[0, 600:] = 1.0
    draws[0, 650, 1] = 2.0
    found = sums_of(in_time_order(ps.Sample(draws, -draws))).finalise()
    assert found.still[0, -6:, 0].all()
    assert found.still[0, -6:, 1].tolist() == [False, True, True, True, True, True]
    assert frozen_chains(found) == (0,)


def test_medians_and_spreads_are_those_of_the_rows() -> None:
    draws = some_chains(3, 200, 2) * [1.0, 50.0] + [3.0, -1e6]
    found = bounds_of(ps.Sample(draws, -draws), most=13)
    flat = np.concatenate([draws, -draws], axis=2).reshape(-1, 4)
    centre = np.sort(flat, axis=0)[round(0.5 * 599)]
    spread = 1.4826 * np.sort(np.abs(flat - centre), axis=0)[round(0.5 * 599)]
    assert found.centre == pytest.approx(centre)
    assert found.spread == pytest.approx(spread)
    assert found.bound == BOUND
    late = np.clip((flat.reshape(3, 200, 4)[:, 100:] - centre) / spread, -BOUND, BOUND)
    assert found.marginal == pytest.approx(late.var(axis=1, ddof=1).mean(axis=0))


def test_rows_are_kept_evenly_from_all_chains_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "KEPT_ROWS", 101)
    times = np.tile(np.arange(20.0), (50, 1))[:, :, None]
    draws = np.concatenate([times, np.arange(50.0)[:, None, None] + 0.0 * times], axis=2)
    source = ragged([*draws])
    thinned = kept_rows(source.layout)
    run_pass(source, every_row(source), thinned)
    kept = thinned.values
    assert len(kept) == 101
    assert len(np.unique(kept[:, 0])) == 20
    assert len(np.unique(kept[:, 1])) == 50
    assert look.bounds_of(thinned).bound == BOUND_OF_MANY


@pytest.mark.parametrize("most_rows", [7, 61, 10_000])
def test_kept_rows_come_chain_by_chain(most_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In time order, draws and scores apart, and as often as their chain is long."""
    monkeypatch.setattr(look, "KEPT_ROWS", most_rows)
    monkeypatch.setattr(look, "ROWS_A_ROOT", 0.0)
    lengths = [40, 3, 100, 1, 56]
    rows = [np.stack([np.full(n, k), np.arange(n)], axis=1) for k, n in enumerate(lengths)]
    source = complete(MinimalSource([(1.0 * one, -1.0 - one) for one in rows], time_ordered=True))
    thinned = kept_rows(source.layout)
    run_pass(source, every_row(source), thinned, most=9)
    draws, scores = thinned.draws_and_scores
    chains, places = thinned.places
    assert np.array_equal(draws, np.stack([chains, places], axis=1))
    assert np.array_equal(scores, -1.0 - draws)
    for number, length in enumerate(lengths):
        own = places[chains == number]
        assert np.all(np.diff(own) > 0)
        assert abs(len(own) - min(200, most_rows) * length / 200.0) <= 1.0
    assert np.all(np.diff(chains) >= 0)


def test_a_column_of_mostly_one_value_has_a_spread() -> None:
    draws = np.zeros((2, 100, 2))
    draws[:, ::5, 0] = 3.0
    found = bounds_of(ps.Sample(draws, -draws))
    assert found.spread[0] == pytest.approx(1.4826 * 3.0)
    assert 0.0 < found.spread[1] < 1e-300
    assert np.isfinite(found.marginal).all()


def test_correct_chains_agree() -> None:
    arm = arm_of(some_chains(4, 1000, 3))
    assert arm.name == "agreement of chains"
    assert arm.pvalue > 0.05
    assert arm.pvalue == min(1.0, *(part.adjusted for part in arm.parts))
    assert sum(part.level_share for part in arm.parts) == pytest.approx(1.0)


def test_a_start_that_is_off_is_named() -> None:
    draws = some_chains(4, 1000, 3)
    draws[:, :200, 1] += 8.0
    found = arm_of(draws)
    assert found.pvalue < 1e-6
    assert found.leading.words == "the first 200 draws of every chain: location"
    assert found.leading.coordinates == ("x[1]",)
    alone = arm_of(some_chains(1, 2000, 1) + 8.0 * (np.arange(2000) < 400)[:, None])
    assert alone.leading.words == "the first 400 draws: location"


def test_the_start_of_one_chain_is_named() -> None:
    draws = some_chains(4, 1000, 2)
    draws[2, :100, 0] += 8.0
    assert arm_of(draws).leading.words == "the first 100 draws of chain 2: location"


def test_a_chain_that_is_off_is_named() -> None:
    draws = some_chains(4, 1000, 3)
    draws[3, :, 2] += 1.0
    found = arm_of(draws)
    assert found.pvalue < 0.0025
    assert (found.leading.words, found.leading.coordinates) == ("chain 3: location", ("x[2]",))
    draws[3] += 9000.0
    assert arm_of(draws).leading.words.startswith("chain 3: ")


def far_chain(law: str) -> tuple[Array, Array]:
    """Four AR(0.5) chains, one of which is far out in its late half, with the scores of a law."""
    draws = some_chains(4, 1000, 2, memory=0.5)
    draws[1, 500:, 0] += 14.0
    scores = {
        "normal": -draws,
        "Laplace": -np.sign(draws),
        "t(3)": -4.0 * draws / (3.0 + draws**2),
    }
    return draws, scores[law]


@pytest.mark.parametrize(("law", "heavy"), [("normal", False), ("Laplace", False), ("t(3)", True)])
def test_a_chain_far_out_in_a_heavy_tail_may_be_there_by_chance(law: str, heavy: bool) -> None:
    draws, scores = far_chain(law)
    assert bounds_of(ps.Sample(draws, scores)).heavy.tolist() == [heavy, False]
    found = arm_of(draws, scores).leading
    assert found.coordinates == ("x[0]",)
    if heavy:
        assert found.pvalue == CHANCE_OF_HEAVY_TAIL
    else:
        assert found.pvalue < 1e-9


def test_a_chain_in_another_mode_is_in_no_heavy_tail() -> None:
    """Half of its rows are pulled away from the others."""
    draws = some_chains(4, 1000, 2, memory=0.5)
    draws[1, :, 0] += 12.0
    nearer = 1.0 / (1.0 + np.exp(12.0 * (draws[..., 0] - 6.0)))
    scores = -draws
    scores[..., 0] += 12.0 * (1.0 - nearer)
    assert not bounds_of(ps.Sample(draws, scores)).heavy.any()
    assert arm_of(draws, scores).pvalue < 1e-9


def test_a_heavy_tail_hides_no_fault_of_another_coordinate() -> None:
    draws, scores = far_chain("t(3)")
    draws[2, :, 1] += 2.0
    scores[..., 1] = -draws[..., 1]
    assert bounds_of(ps.Sample(draws, scores)).heavy.tolist() == [True, False]
    found = arm_of(draws, scores)
    assert found.pvalue < 1e-6
    assert (found.leading.words, found.leading.coordinates) == ("chain 2: location", ("x[1]",))


def test_tails_without_far_rows_are_not_called_heavy() -> None:
    draws = np.clip(some_chains(4, 1000, 1), -3.0, 3.0)
    scores = -4.0 * draws / (3.0 + draws**2)
    assert not bounds_of(ps.Sample(draws, scores)).heavy.any()


def test_scores_that_differ_are_named_as_scores() -> None:
    draws = some_chains(4, 1000, 2)
    scores = -draws
    scores[1, :, 0] += 3.0
    found = arm_of(draws, scores).leading
    assert (found.words, found.orders) == ("chain 1: score", ("score",))


def test_a_frozen_chain_is_named() -> None:
    draws = some_chains(4, 1000, 3, memory=0.9)
    draws[1] = draws[1, 0]
    found = arm_of(draws)
    assert found.pvalue < 0.0025
    assert found.leading.words == "chain 1, which does not move: location"


def test_a_frozen_chain_is_less_surprising_beside_long_stays() -> None:
    draws = some_chains(4, 1000, 2)
    draws[2] = draws[2, 0]
    source = as_source(draws, -draws)
    sums = AgreementSums(source.layout, bounds_of(source))
    run_pass(source, every_row(source), sums)
    pvalues = [
        next(part.pvalue for part in found.parts if part.name == "frozen chains")
        for stay in (1, 50, 400)
        if isinstance(found := agreement_arm(sums, ["a", "b"], stay), Arm)
    ]
    assert pvalues == pytest.approx([8 * (1 / 19) ** 6, 0.1**3, 0.8**3])


def test_chains_of_unequal_lengths_are_named_by_their_part() -> None:
    chains = [some_chains(1, rows, 2, seed=rows)[0] for rows in (800, 1000, 1200)]
    for one in chains:
        one[: len(one) // 5] += 5.0
    found = agreement_arm(sums_of(ragged(chains)), ["a", "b"])
    assert isinstance(found, Arm)
    assert found.leading.words == "the first 20 % of the draws of every chain: location"


def test_many_short_chains_are_compared() -> None:
    draws = some_chains(100, 50, 2)

    def found() -> Arm:
        arm = agreement_arm(sums_of(ragged([*draws])), ["a", "b"])
        assert isinstance(arm, Arm)
        return arm

    assert found().pvalue > 0.05
    draws[7, :, 1] += 4.0
    assert found().leading.words == "chain 7: location"


@pytest.mark.parametrize("value", [1e200, 1.7e308, -1.7e308])
def test_values_near_overflow_give_a_pvalue(value: float) -> None:
    draws = some_chains(4, 400, 2)
    draws[2, :, 0] = value * (1.0 - 0.05 * np.abs(np.sin(np.arange(400.0))))
    found = arm_of(draws)
    assert found.leading.words.startswith("chain 2")
    assert 0.0 < found.pvalue < 0.0025
    huge = np.where(np.arange(400) % 2 == 0, 1.7e308, -1.7e308)[:, None] * np.ones((4, 1, 1))
    assert np.isfinite(arm_of(huge).pvalue)


def test_slow_chains_abstain() -> None:
    draws = some_chains(4, 200, 2, memory=0.999)
    source = in_time_order(ps.Sample(draws, -draws))
    found = agreement_arm(sums_of(source), ["a", "b"])
    assert found == Abstention("agreement of chains", agreement.TOO_SLOW)
    draws[3] = 0.1
    assert arm_of(draws).leading.words == "chain 3, which does not move: location"


def test_one_chain_in_which_nothing_can_be_judged_abstains() -> None:
    draws = some_chains(1, 200, 2, memory=0.999)
    source = in_time_order(ps.Sample(draws, -draws))
    assert isinstance(agreement_arm(sums_of(source), ["a", "b"]), Abstention)


def test_reasons_to_abstain(monkeypatch: pytest.MonkeyPatch) -> None:
    def reason(draws: Array, **options: Any) -> str | None:
        found = agreement_abstention(ps.Sample(draws, -draws, **options))
        return None if found is None else found.reason

    draws = some_chains(4, 100, 2)
    assert reason(draws) is None
    assert reason(draws[0]) == "independent rows are no chains"
    weighted = reason(draws, log_weights=np.zeros((4, 100)))
    assert weighted == "draws with importance weights are not compared by chains"
    short = reason(draws[:, :20])
    assert short == "chains must have at least 24 draws to be compared; got 20"
    assert agreement_abstention(ragged([one[:20] for one in draws] * 8)) is None
    monkeypatch.setattr(agreement, "MOST_NUMBERS", 100)
    assert reason(draws) == "comparing 4 chains in 2 coordinates takes too much memory"


def test_sums_pickle_and_merge() -> None:
    draws = some_chains(4, 1000, 3)
    draws[1, 600:] = draws[1, 600]
    source = in_time_order(ps.Sample(draws, -draws))
    whole = sums_of(source)
    parts = [pickle.loads(pickle.dumps(whole.zero())) for _ in range(4)]
    for chain, part in enumerate(parts):
        for start in (500, 0):
            part.update(source.read(chain, start, start + 500))
    merged = parts[2].merge(parts[0]).merge(parts[3]).merge(parts[1])
    for found, expected in zip(merged.finalise()[:3], whole.finalise()[:3], strict=True):
        assert found == pytest.approx(expected)
