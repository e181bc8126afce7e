"""A monitor gives the discrepancy of all draws so far, looks when it should, and survives."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

import polystein as ps
from polystein.data.coordinates import DrawMoments
from polystein.inference.lugsail import LugsailBatches
from polystein.inference.variance import LongRun
from polystein.stein.moments import SteinMoments
from tests.reference.monitor import look_pvalues

Array = NDArray[np.float64]
LOOKS = (500, 800, 1200)


def chains(count: int = 3, rows: int = 1300, d: int = 2, seed: int = 0) -> Array:
    """AR(1) chains, a little off the target in mean and scale."""
    noise = np.random.default_rng(seed).standard_normal((count, rows, d))
    return 0.1 + 1.05 * np.sqrt(1 - 0.3**2) * lfilter([1.0], [1.0, -0.3], noise, axis=1)


def score(draws: Array) -> Array:
    return -(draws**3)


def monitor(count: int = 3, order: int = 2, **options: Any) -> ps.Monitor:
    return ps.Monitor(score, order, **{"looks": LOOKS, "chains": count, "gap": 20, **options})


@pytest.mark.parametrize(
    ("count", "order"), [(3, 2), (1, 1), pytest.param(40, 3, marks=pytest.mark.slow)]
)
def test_looks_equal_the_slow_transcription(count: int, order: int) -> None:
    # One chain needs more draws for a verdict, and 40 fewer.
    times = tuple({1: 4 * look, 3: look, 40: look // 4}[count] for look in LOOKS)
    draws = chains(count, times[-1] + 30)
    looks = monitor(count, order, looks=times).update(draws)
    expected = look_pvalues(draws, score(draws), order, list(times), gap=20)
    assert [look.pvalue for look in looks] == pytest.approx(expected, rel=1e-7)
    assert [look.draws for look in looks] == list(times)
    assert all(look.verdict != "inconclusive" for look in looks)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_the_discrepancy_is_that_of_all_draws_so_far(structure: Any) -> None:
    draws = 50.0 + chains()
    watched = monitor(structure=structure)
    for stop in (1, 130, 700, 1200):
        watched.update(draws[:, watched.n_draws[0] : stop])
        so_far = draws[:, :stop]
        expected = ps.psd(so_far, score(so_far), order=2, structure=structure)
        assert watched.discrepancy() == pytest.approx(expected, rel=1e-10)
    assert watched.looks[-1].discrepancy == watched.discrepancy()


@pytest.mark.parametrize("size", [1, 7, 450])
def test_looks_do_not_depend_on_how_many_draws_come_at_a_time(size: int) -> None:
    draws = chains()
    at_once, in_parts = monitor(), monitor()
    at_once.update(draws)
    for start in range(0, draws.shape[1], size):
        in_parts.update(draws[:, start : start + size])
    assert without_discrepancy(in_parts) == without_discrepancy(at_once)


def without_discrepancy(watched: ps.Monitor) -> list[tuple[Any, ...]]:
    """It includes draws after the look if they came with it."""
    return [
        (look.number, look.pvalue, look.statistic, look.ess, look.verdict, look.features)
        for look in watched.looks
    ]


def test_chains_one_draw_after_the_other_are_chains_side_by_side() -> None:
    draws = chains(rows=820)
    by_chain, at_once = monitor(), monitor()
    at_once.update(draws)
    for row in range(draws.shape[1]):
        for chain in range(3):
            by_chain.update(draws[chain, row][None], chain=chain)
    assert without_discrepancy(by_chain) == without_discrepancy(at_once)


def test_chains_may_come_one_after_the_other() -> None:
    draws = chains()
    watched = monitor()
    for chain in range(3):
        assert watched.looks == ()
        watched.update(draws[chain], chain=chain)
    assert [look.draws for look in watched.looks] == list(LOOKS)
    assert all(0.0 < look.pvalue <= 1.0 for look in watched.looks)


def test_test_rows_change_nothing_that_their_look_fixed() -> None:
    """Later rows of the same look, and the gap, have no influence on the test function."""
    first = chains()
    second = first.copy()
    second[:, 820:] += 1.0
    watched = [monitor() for _ in range(2)]
    testers = []
    for one, draws in zip(watched, (first, second), strict=True):
        one.update(draws[:, :1190])
        state = one.state_dict()["watch"]
        testers.append(state._chains[0].tester)
    a, b = testers
    assert all(np.array_equal(x, y) for x, y in zip(a.witness.A, b.witness.A, strict=True))
    assert np.array_equal(a.weights, b.weights)
    assert without_discrepancy(watched[0])[:2] == without_discrepancy(watched[1])[:2]


@pytest.mark.parametrize("cut", [100, 505, 1077])
def test_a_monitor_survives_a_restart(cut: int) -> None:
    draws = chains()
    whole, before = monitor(), monitor()
    whole.update(draws)
    before.update(draws[:, :cut])
    stored = pickle.dumps(before.state_dict())
    after = ps.Monitor.load(pickle.loads(stored), score)
    after.update(draws[:, cut:])
    assert without_discrepancy(after) == without_discrepancy(whole)
    assert after.discrepancy() == whole.discrepancy()
    # The first one was left as it was.
    assert before.n_draws == (cut,) * 3


def test_the_state_does_not_grow() -> None:
    draws = chains(rows=5000)
    watched = monitor()
    watched.update(draws[:, :1500])
    before = len(pickle.dumps(watched.state_dict()))
    watched.update(draws[:, 1500:])
    assert len(pickle.dumps(watched.state_dict())) == pytest.approx(before, abs=100)


def test_scores_may_be_given_instead_of_a_function() -> None:
    draws = chains()
    given, called = ps.Monitor(None, 2, looks=LOOKS, chains=3, gap=20), monitor()
    given.update(draws, score(draws))
    called.update(draws)
    assert given.looks == called.looks


def test_what_is_spent_is_alpha() -> None:
    plan = monitor(alpha=0.1).plan
    assert plan.levels == pytest.approx([0.1 * 5 / 12, 0.1 * 3 / 12, 0.1 * 4 / 12])


def test_chains_that_do_not_move_are_inconclusive() -> None:
    watched = monitor()
    looks = watched.update(np.ones((3, 1200, 2)))
    assert [look.verdict for look in looks] == ["inconclusive"] * 3
    assert "constant" in looks[0].reason
    assert not watched.alarm
    assert "inconclusive" in str(looks[0])


def test_too_few_effective_draws_are_inconclusive() -> None:
    walk = np.cumsum(np.random.default_rng(0).standard_normal((1, 1200, 2)), axis=1)
    looks = ps.Monitor(lambda x: -x, 1, looks=LOOKS).update(walk)
    assert {look.verdict for look in looks} == {"inconclusive"}
    assert "look less often" in looks[0].reason


def test_a_gap_shorter_than_the_memory_is_inconclusive() -> None:
    noise = np.random.default_rng(0).standard_normal((40, 1200, 2))
    draws = np.sqrt(1 - 0.9**2) * lfilter([1.0], [1.0, -0.9], noise, axis=1)[:, 200:]
    options: dict[str, Any] = {"looks": (500, 1000), "chains": 40}
    short = ps.Monitor(lambda x: -x, 1, gap=2, **options).update(draws)
    assert [look.verdict for look in short] == ["inconclusive"] * 2
    assert "a `gap` of 2 draws is too short" in short[0].reason
    enough = ps.Monitor(lambda x: -x, 1, gap=60, **options).update(draws)
    assert [look.verdict for look in enough] == ["not rejected"] * 2


def test_draws_beyond_the_range_of_a_float_do_not_stop_the_sampler() -> None:
    draws = chains()
    draws[:, 850:] *= 1e200
    watched = ps.Monitor(lambda x: -x, 2, looks=LOOKS, chains=3)
    looks = watched.update(draws)
    assert looks[2].verdict == "inconclusive"
    assert "overflow" in looks[2].reason
    assert "standardise" not in looks[2].reason  # an option that a monitor has not
    assert looks[2].discrepancy == np.inf
    with pytest.raises(ps.ScaleError, match=r"rescale draws \(x/c\) and scores \(c s\)"):
        watched.discrepancy()


def test_an_inconclusive_look_has_no_pvalue() -> None:
    draws = chains()
    draws[:, 500:800] = draws[0, 0]
    looks = monitor().update(draws)
    assert [look.verdict for look in looks][1] == "inconclusive"
    assert np.isnan([looks[1].statistic, looks[1].pvalue, looks[1].pvalue_recent]).all()
    assert np.isnan(looks[1].pvalue_so_far)
    assert str(looks[1]).startswith("look 2 at 800 draws: inconclusive (level 0.0125, psd = ")
    # The next look leaves it out, and NaN does not reach the p-value of all looks.
    assert 0.0 <= looks[2].pvalue_so_far <= 1.0
    assert looks[2].verdict != "inconclusive"


def test_a_statistic_that_overflows_is_never_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    vague = LongRun(np.zeros(3), np.diag([np.inf] * 3), np.full(3, 30.0), np.full(3, 1e6))
    monkeypatch.setattr(LugsailBatches, "finalise", lambda batches: vague)
    look = monitor().update(chains()[:, :500])[0]
    assert (look.verdict, look.alarm) == ("inconclusive", False)
    assert "overflow" in look.reason


@pytest.mark.parametrize("calls", [0, 3, 7])
@pytest.mark.parametrize("place", ["moments.add", "draws.update"])
def test_an_interrupted_update_leaves_no_verdict_behind(
    calls: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, watched = chains(), monitor()
    watched.update(draws[:, :100])
    kinds = {"moments.add": (SteinMoments, "add"), "draws.update": (DrawMoments, "update")}
    interrupted_after(calls, monkeypatch, *kinds[place])
    with pytest.raises(KeyboardInterrupt):
        watched.update(draws[:, 100:600])
    monkeypatch.undo()
    watched.update(draws[:, 600:])
    later = pickle.loads(pickle.dumps(watched.state_dict()))
    for found in (watched, ps.Monitor.load(later, score)):
        found.update(draws)
        assert {look.verdict for look in found.looks} == {"inconclusive"}
        assert all("an update was interrupted" in look.reason for look in found.looks)
        assert not found.alarm
        with pytest.raises(ps.PolysteinError, match="start a new monitor"):
            found.discrepancy()


def interrupted_after(calls: int, monkeypatch: pytest.MonkeyPatch, kind: type, method: str) -> None:
    """Ctrl-C in a call of this method."""
    made, left = getattr(kind, method), iter([False] * calls)

    def interrupted(self: Any, *given: Any) -> Any:
        if next(left, True):
            raise KeyboardInterrupt
        return made(self, *given)

    monkeypatch.setattr(kind, method, interrupted)


def test_bad_draws_are_refused_and_change_nothing() -> None:
    draws = chains()
    watched = monitor()
    watched.update(draws[:, :400])
    bad = draws[:, 400:500].copy()
    bad[2, 99, 1] = np.nan
    ragged = [[[1.0, 2.0]], [[1.0]], [[1.0]]]
    for wrong in (bad, bad[:, :, :1], bad[:2], bad[0], bad[0, 0], np.zeros((3, 0, 2)), ragged):
        with pytest.raises(ps.InputError, match="draws"):
            watched.update(wrong)
    assert watched.n_draws == (400,) * 3
    watched.update(draws[:, 400:])
    assert without_discrepancy(watched) == without_discrepancy(_fed(draws))


def _fed(draws: Array) -> ps.Monitor:
    watched = monitor()
    watched.update(draws)
    return watched


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"looks": ()}, "looks"),
        ({"looks": (500, 500)}, "increase"),
        ({"looks": (500, 510)}, "at least"),
        ({"looks": "300"}, "looks"),
        ({"looks": (300.5, 900)}, "looks"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"gap": 0}, "gap"),
        ({"chains": 0}, "chains"),
        ({"chains": 10**9}, "`chains` must be at most 100,000; got 1000000000"),
        ({"structure": "other"}, "structure"),
        ({"order": -1}, "order"),
    ],
)
def test_options_are_validated(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ps.InputError, match=match):
        monitor(**{"count": options.pop("chains", 3), **options})


def test_other_errors_name_what_to_do() -> None:
    with pytest.raises(ps.InputError, match="score"):
        ps.Monitor(np.zeros(3), 2, looks=LOOKS)  # type: ignore[arg-type]
    with pytest.raises(ps.InputError, match="scores"):
        ps.Monitor(None, 2, looks=LOOKS).update(np.zeros((10, 2)))
    with pytest.raises(ps.InputError, match="scores"):
        ps.Monitor(None, 2, looks=LOOKS).update(np.ones((10, 2)), np.ones((10, 3)))
    with pytest.raises(ps.InputError, match="chain"):
        monitor().update(np.ones((10, 2)), chain=3)
    with pytest.raises(ps.InputError, match="so far"):
        monitor().discrepancy()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "of version 3; got the version 1. Load it with the version of polystein"),
        ({"plan": 7}, "got int for its 'plan'"),
        ({"watch": 7}, "got int for its 'watch'"),
    ],
)
def test_what_is_no_state_is_refused_in_a_line(change: dict[str, Any], message: str) -> None:
    state = _fed(chains()).state_dict()
    with pytest.raises(ps.InputError, match=message) as caught:
        ps.Monitor.load({**state, **change})
    assert len(str(caught.value)) < 200


def test_a_state_without_its_parts_is_refused() -> None:
    with pytest.raises(ps.InputError, match="got nothing for its 'plan'"):
        ps.Monitor.load({"version": 3})
    state = monitor().state_dict()
    del state["watch"]  # None, before the first draw, but it must be there
    with pytest.raises(ps.InputError, match="got nothing for its 'watch'"):
        ps.Monitor.load(state)
    with pytest.raises(ps.InputError, match="got a dict without a version"):
        ps.Monitor.load({})
    with pytest.raises(ps.InputError, match=r"`state_dict\(\)` gave, of version 3; got a str$"):
        ps.Monitor.load("x" * 1000)  # type: ignore[arg-type]
    with pytest.raises(ps.InputError, match=r"`score` must be a function .*; got int"):
        ps.Monitor.load(monitor().state_dict(), 5)  # type: ignore[arg-type]
    assert ps.Monitor.load(monitor().state_dict()).n_draws == (0, 0, 0)


def test_inputs_are_not_modified() -> None:
    draws = chains()
    before = draws.copy()
    monitor().update(draws)
    assert np.array_equal(draws, before)


def test_it_shows_where_it_is() -> None:
    watched = monitor()
    assert repr(watched) == "Monitor(0 draws, 0 of 3 looks)"
    watched.update(chains() + 1.0)
    assert repr(watched) == "Monitor(1300 draws, 3 of 3 looks, alarm)"
    assert str(watched.looks[0]).startswith("look 1 at 500 draws: rejected (p = ")


def test_features_that_overflow_give_no_test_function() -> None:
    draws = np.random.default_rng(2).standard_normal((100, 1))
    draws[7] = 1e160
    scores = np.random.default_rng(3).standard_normal((100, 1))
    watched = ps.Monitor(None, 2, looks=(150, 240))
    assert watched.update(draws, scores) == ()
    (look,) = watched.update(scores, scores)
    assert look.verdict == "inconclusive"
    assert "overflow" in look.reason
