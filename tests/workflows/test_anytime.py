"""A monitor that looks at any time bets as it should, never sees a batch early, and survives."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import polystein as ps
from polystein.inference.betting import SignBets
from polystein.stein.moments import SteinMoments
from tests.reference.anytime import anytime_pvalue, wealths
from tests.statistical.samplers import autoregressive

Array = NDArray[np.float64]


def chains(count: int = 3, rows: int = 400, d: int = 2, seed: int = 0) -> Array:
    """AR(1) chains, a little off the target in mean and scale."""
    return 0.1 + 1.05 * autoregressive(np.random.default_rng(seed), count, rows, d, 0.3)


def score(draws: Array) -> Array:
    return -(draws**3)


def monitor(count: int = 3, order: int = 2, **options: Any) -> ps.Monitor:
    return ps.Monitor(score, order, looks="any", **{"chains": count, "batch": 20, **options})


@pytest.mark.parametrize(("count", "order"), [(3, 2), (1, 0), (2, 3)])
def test_the_pvalue_equals_the_slow_transcription(count: int, order: int) -> None:
    draws = chains(count)
    watched = monitor(count, order)
    for start in range(0, 400, 50):
        watched.update(draws[:, start : start + 50])
    (look,) = watched.looks[-1:]
    assert look.reason == ""
    expected = anytime_pvalue(draws, score(draws), order, 20)
    assert expected < 1.0
    assert look.pvalue == pytest.approx(expected, rel=1e-10)
    assert (look.draws, look.number, look.n_test) == (400, 20, 20 * (18 * count - 1))
    assert watched.discrepancy() == pytest.approx(ps.psd(draws, score, order=order), rel=1e-10)


def test_every_wealth_equals_the_slow_transcription() -> None:
    """For batches in any order of the chains, one process alone and several side by side."""
    rng = np.random.default_rng(2)
    batches, order = rng.standard_normal((40, 5, 7)) + 0.3, rng.integers(0, 3, 40)
    together = SignBets([4, 3], (5,))
    found = []
    for batch, chain in zip(batches, order, strict=True):
        before = together.bets
        together.update(batch, int(chain))
        if together.bets > before:
            found.append(np.exp(together.evidence()))
    for run in range(5):
        expected = wealths([(int(c), b[run]) for c, b in zip(order, batches, strict=True)], [4, 3])
        assert np.array(found)[:, run] == pytest.approx(expected, rel=1e-10)
        assert together.pvalue()[run] == pytest.approx(1.0 / max(1.0, *expected), rel=1e-10)


def test_a_bet_is_no_better_than_fair_over_the_two_signs() -> None:
    """What Ville's inequality needs, whatever the batches before were."""
    rng = np.random.default_rng(3)
    for count in (2, 3, 10, 60):
        earlier = rng.standard_normal((count, 6)) * rng.exponential(3.0, 6) + 0.5
        batch = 3.0 * rng.standard_normal(6)
        outcomes = []
        for sign in (1.0, -1.0):
            bets = SignBets([2, 4])
            for one in earlier:
                bets.update(one)
            before = bets.evidence()
            bets.update(sign * batch)
            outcomes.append(float(np.exp(bets.evidence() - before)))
        assert outcomes[0] != outcomes[1]
        assert np.mean(outcomes) <= 1.0 + 1e-12


def test_groups_that_are_zero_are_not_bet_on() -> None:
    bets = SignBets([2, 1])
    for _ in range(5):
        bets.update(np.zeros(3))
    assert bets.evidence() == pytest.approx(0.0, abs=1e-12)
    assert bets.evidence_by_group() == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("size", [1, 7, 130])
def test_it_does_not_matter_how_many_draws_come_at_a_time(size: int) -> None:
    draws = chains()
    at_once, in_parts = monitor(), monitor()
    at_once.update(draws)
    for start in range(0, draws.shape[1], size):
        in_parts.update(draws[:, start : start + size])
    assert in_parts.looks[-1].pvalue == pytest.approx(at_once.looks[-1].pvalue, rel=1e-9)
    assert in_parts.looks[-1].ess == pytest.approx(at_once.looks[-1].ess, rel=1e-9)


def test_chains_may_come_one_after_the_other() -> None:
    watched = monitor()
    for chain, draws in enumerate(chains()):
        assert watched.looks == ()
        watched.update(draws, chain=chain)
    # The first two had no frame to be bet in, and the third had one after its first batch.
    (look,) = watched.looks
    assert look.n_test == 20 * 17
    watched.update(chains(seed=1))
    assert 0.0 < watched.looks[-1].pvalue <= 1.0


def test_a_look_comes_with_full_batches_alone() -> None:
    draws, watched = chains(), monitor()
    assert watched.update(draws[:, :19]) == ()
    assert [look.number for look in watched.update(draws[:, 19:75])] == [3]
    assert watched.update(draws[:, 75:79]) == ()
    assert watched.n_draws == (79,) * 3


@pytest.mark.parametrize("cut", [10, 20, 155])
def test_a_monitor_survives_a_restart(cut: int) -> None:
    draws = chains()
    whole, before = monitor(), monitor()
    for part in (draws[:, :cut], draws[:, cut:]):
        whole.update(part)
    before.update(draws[:, :cut])
    stored = pickle.dumps(before.state_dict())
    after = ps.Monitor.load(pickle.loads(stored), score)
    after.update(draws[:, cut:])
    # Numbers that are not known are NaN, which equals nothing.
    assert repr(after.looks[-1]) == repr(whole.looks[-1])
    assert before.n_draws == (cut,) * 3


def test_the_state_does_not_grow() -> None:
    watched = monitor()
    for seed in range(4):
        watched.update(chains(seed=seed))
    before = len(pickle.dumps(watched.state_dict()))
    for seed in range(20):
        watched.update(chains(seed=seed))
    assert len(pickle.dumps(watched.state_dict())) == pytest.approx(before, abs=200)


def test_a_fault_raises_an_alarm_that_stays() -> None:
    rng = np.random.default_rng(4)
    watched = ps.Monitor(lambda x: -x, 2, looks="any", batch=25, chains=4)
    watched.update(rng.standard_normal((4, 1000, 2)))
    assert not watched.alarm
    assert repr(watched) == "Monitor(1000 draws, batches of 25)"
    while not watched.alarm:
        watched.update(rng.standard_normal((4, 25, 2)) + np.array([0.5, 0.0]))
    first = watched.looks[-1]
    assert first.draws < 1600
    assert first.features["score"] > first.features["x^2"]
    assert str(first).startswith(f"look {first.number} at {first.draws} draws: rejected (p = ")
    watched.update(rng.standard_normal((4, 500, 2)))
    assert watched.looks[0] == first
    assert len(watched.looks) == 2
    assert watched.alarm
    assert repr(watched).endswith("batches of 25, alarm)")


def test_batches_that_are_too_short_are_inconclusive() -> None:
    draws = autoregressive(np.random.default_rng(5), 4, 1000, 2, 0.9)
    (look,) = ps.Monitor(lambda x: -x, 1, looks="any", batch=20, chains=4).update(draws + 1.0)
    assert look.verdict == "inconclusive"
    assert "a `batch` of 20 draws is too short: use " in look.reason
    assert np.isnan(look.pvalue)
    (look,) = ps.Monitor(lambda x: -x, 1, looks="any", batch=200, chains=4).update(draws)
    assert look.verdict == "not rejected"
    assert look.ess == pytest.approx(3200 / 19, rel=0.7)


def test_chains_that_do_not_move_are_inconclusive() -> None:
    watched = monitor()
    (look,) = watched.update(np.ones((3, 100, 2)))
    assert look.verdict == "inconclusive"
    assert "constant" in look.reason
    (look,) = watched.update(chains())  # which fixes the frame a batch later
    assert look.verdict != "inconclusive"
    stuck = chains()
    stuck[:, 20:] = np.repeat(stuck[:, 20::20], 20, axis=1)
    (look,) = monitor().update(stuck)
    assert (look.verdict, look.ess) == ("inconclusive", 0.0)
    assert "constant within every batch" in look.reason


def test_draws_beyond_the_range_of_a_float_do_not_stop_the_sampler() -> None:
    draws, watched = chains(), monitor()
    draws[:, 200:] *= 1e200
    watched = ps.Monitor(lambda x: -x, 2, looks="any", batch=20, chains=3)
    for part in (draws, draws):
        (look,) = watched.update(part)
        assert look.verdict == "inconclusive"
        assert "overflow" in look.reason
        assert look.discrepancy == np.inf
    with pytest.raises(ps.ScaleError, match="rescale draws"):
        watched.discrepancy()
    assert watched.n_draws == (800,) * 3


def test_an_interrupted_update_leaves_no_verdict_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    draws, watched = chains(), monitor()
    watched.update(draws[:, :150])
    monkeypatch.setattr(SteinMoments, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        watched.update(draws[:, 150:])
    monkeypatch.undo()
    (look,) = watched.update(draws + 5.0)
    assert look.verdict == "inconclusive"
    assert "an update was interrupted" in look.reason
    with pytest.raises(ps.PolysteinError, match="start a new monitor"):
        watched.discrepancy()


def test_inputs_are_not_modified() -> None:
    draws = chains()
    before = draws.copy()
    monitor().update(draws)
    assert np.array_equal(draws, before)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"batch": 1}, "`batch` must be an integer >= 2; got 1"),
        ({"batch": 20.5}, "batch"),
        ({"gap": 5}, '`gap` is for looks fixed in advance, not "any"; got 5'),
        ({"looks": (100, 200)}, '`batch` is for `looks="any"` alone; got 20'),
        ({"looks": "all"}, "`batch`"),
        ({"looks": "all", "batch": None}, "or \"any\"; got 'all'"),
        ({"alpha": 1.0}, "alpha"),
        ({"chains": 0}, "chains"),
    ],
)
def test_options_are_validated(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ps.InputError, match=match):
        ps.Monitor(score, 2, **{"looks": "any", "batch": 20, **options})


@pytest.mark.slow
def test_independent_rows_raise_few_false_alarms() -> None:
    """Batches of ten independent rows of a skewed target, 200 bets side by side."""
    rng, runs = np.random.default_rng(6), 2000
    rows = rng.exponential(1.0, (runs, 200, 10, 1)) - 1.0
    bets = SignBets([1], (runs,))
    for k in range(200):
        bets.update(rows[:, k].mean(axis=1))
    assert (bets.pvalue() <= 0.05).sum() <= binom.ppf(0.999, runs, 0.05)
