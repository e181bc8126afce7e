"""The shares of the level are chosen as `studies.check.choose` says."""

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate
from tests.conftest import Array

pytestmark = pytest.mark.slow

FLIPS = "sign flips"
UNPUBLISHED = np.full(2, np.nan)


def study(part: str) -> ModuleType:
    """A module of the study, which is in the repository but not in an installed package."""
    return importlib.import_module(f"studies.check.{part}")


def found(label: str, flips: dict[str, float], trained: float | None = 1.0, **other: Any) -> Any:
    """What `check` found on one set of eight coordinates."""
    parts = {FLIPS: flips} | ({} if trained is None else {"trained": {"witness": trained}})
    known = {"pvalue": 1.0, "weight": 0.0, "dimension": 8} | other
    return study("training").Found(label, parts=parts, **known)


def two_faults(**other: Any) -> Any:
    """The first fault needs 0.3 of the level for `a`, the second 0.5 for `b`; `c` sees nothing."""
    first = found("first", {"a": 0.3 * 0.05, "b": 0.9, "c": 0.8}, **other)
    second = found("second", {"a": 0.7, "b": 0.5 * 0.05, "c": 0.9}, **other)
    return study("choose").evidence_of([first, first, second, second])


def literal_power(evidence: Any, tables: Array) -> list[float]:
    """One set and one statistic after the other, all of which judge, in eight coordinates."""
    rejected: dict[str, list[bool]] = {name: [] for name in evidence.faults}
    for place, row in enumerate(evidence.pvalues):
        weight = evidence.weights[evidence.kind_of[place]]
        shares = [(1.0 - weight) * a + weight * b for a, b in tables.T]
        hit = any(p <= 0.05 * share for p, share in zip(row, shares, strict=True))
        rejected[evidence.faults[evidence.fault_of[place]]].append(hit)
    return [float(np.mean(hits)) for hits in rejected.values()]


def test_the_power_is_that_of_any_statistic_on_its_share() -> None:
    choose, rng = study("choose"), np.random.default_rng(0)
    sets = [
        found(f"fault {k % 3}", dict(zip("abc", rng.random(3) ** 6, strict=True)), rng.random())
        for k in range(60)
    ]
    sets = [one._replace(weight=round(float(rng.random()), 1)) for one in sets]
    evidence = choose.evidence_of(sets)
    tables = rng.dirichlet(np.ones(4), 2)
    powers = choose.powers(evidence, tables)
    np.testing.assert_allclose(powers, literal_power(evidence, tables))
    assert powers.min() > 0.0
    assert powers.max() < 1.0


def test_the_best_statistic_is_judged_on_sets_that_did_not_choose_it() -> None:
    """Of 40 that see nothing the best seems to see more; one that sees half of the sets does."""
    choose, rng = study("choose"), np.random.default_rng(1)
    counted = rng.random((400, 40)) < 0.05
    sets = [found("nothing", {"a": 0.5})] * 200 + [found("something", {"a": 0.5})] * 200
    counted[200:, 7] = rng.random(200) < 0.5
    best = choose.best_powers(choose.evidence_of(sets), counted)
    assert counted[:200].mean(axis=0).max() > 0.08
    assert abs(best[0] - 0.05) < 3.0 * (0.05 * 0.95 / 200) ** 0.5
    assert best[1] == pytest.approx(counted[200:, 7].mean())


def test_shares_of_what_does_not_judge_go_to_the_others() -> None:
    choose = study("choose")
    flips = {"Hotelling: sum": 0.1, "score: sum": 0.2, "trace: sum": 0.3, "x: max": 0.4}
    fewer = {name: p for name, p in flips.items() if not name.startswith("Hot")}
    evidence = choose.evidence_of(
        [
            found("all", flips, 0.5),
            found("no Hotelling", fewer, 0.5),
            found("flips alone", flips, None),
            found("d=2", flips, 0.5, dimension=2),
        ]
    )
    assert evidence.statistics == (*flips, "all")
    tables = np.array([[0.2, 0.1, 0.4, 0.1, 0.2]] * 2)
    shares = choose.shares_of_kinds(evidence, tables)[evidence.kind_of]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[0], tables[0])
    np.testing.assert_allclose(shares[1], [0.0, 0.3, 0.4, 0.1, 0.2])
    np.testing.assert_allclose(shares[2], [0.25, 0.125, 0.5, 0.125, 0.0])
    np.testing.assert_allclose(shares[3], np.array([0.2, 0.1, 0.1, 0.1, 0.25 * 0.5]) * 1.6)


def test_the_descent_finds_shares_that_lose_nothing() -> None:
    choose, evidence = study("choose"), two_faults()
    best = choose.best_powers(evidence, evidence.pvalues <= 0.05)
    np.testing.assert_array_equal(best, 1.0)
    kept = np.ones(4, dtype=bool)
    even = choose.powers(evidence, choose.even_units(kept) / 200)
    assert choose.objective(even, best, UNPUBLISHED) > 0.0
    tables = choose.chosen_tables(evidence, kept, UNPUBLISHED)
    assert tables.min() >= 0.005 - 1e-9
    np.testing.assert_allclose(tables.sum(axis=1), 1.0)
    np.testing.assert_allclose(tables / 0.005, np.round(tables / 0.005), atol=1e-6)
    np.testing.assert_array_equal(choose.powers(evidence, tables), 1.0)
    assert tables[0, 0] >= 0.3 - 1e-9
    assert tables[0, 1] >= 0.5 - 1e-9


def test_other_arms_than_the_flips_have_one_share_in_both_tables() -> None:
    choose = study("choose")
    sets = [
        found("plain", {"a": 0.02, "b": 0.9}, 0.9),
        found("correlated", {"a": 0.9, "b": 0.02}, 0.9, weight=1.0),
        found("trained", {"a": 0.9, "b": 0.9}, 0.015),
    ]
    evidence = choose.evidence_of([one for one in sets for _ in range(2)])
    tables = choose.chosen_tables(evidence, np.ones(3, dtype=bool), np.full(3, np.nan))
    np.testing.assert_array_equal(choose.powers(evidence, tables), 1.0)
    assert tables[0, 2] == pytest.approx(tables[1, 2])
    assert tables[0, 0] != pytest.approx(tables[1, 0])


def test_what_does_not_pay_is_dropped_and_what_pays_stays() -> None:
    choose, evidence = study("choose"), two_faults()
    choice = choose.choose(evidence, UNPUBLISHED)
    dropped = {evidence.statistics[place] for place, _ in choice.dropped}
    assert dropped == {"c", "all"}
    assert [one.power for one in choice.bought[:2]] == [1.0, 1.0]
    assert [one.fault for one in choice.bought[:2]] == ["first", "second"]
    np.testing.assert_array_equal(choice.tables[:, 2:], 0.0)


def test_two_that_see_the_same_do_not_both_go() -> None:
    choose = study("choose")
    evidence = choose.evidence_of([found("fault", {"a": 1e-6, "b": 1e-6}, None)] * 2)
    choice = choose.choose(evidence, UNPUBLISHED[:1])
    assert [one.power for one in choice.bought] == [0.0, 0.0]
    assert len(choice.dropped) == 1


def test_the_table_reads_back(tmp_path: Any) -> None:
    choose, evidence = study("choose"), two_faults()
    tables = np.array([[0.3, 0.5, 0.0, 0.2], [0.4, 0.4, 0.0, 0.2]])
    (tmp_path / "chosen.csv").write_text(choose.table_text(evidence, tables), encoding="utf-8")
    assert choose.chosen_shares(tmp_path) == {
        (FLIPS, "a"): (0.3, 0.4),
        (FLIPS, "b"): (0.5, 0.4),
        ("trained", "all"): (0.2, 0.2),
    }


def test_statistics_of_another_arm_count_as_one() -> None:
    choose = study("choose")
    one = found("fault", {"a": 0.5})._replace(parts={"agreement": {"x": 0.01, "y": 0.2}, "net": {}})
    evidence = choose.evidence_of([one])
    assert evidence.arms == ("agreement",)
    assert evidence.pvalues.tolist() == [[0.02]]


def test_a_fall_counts_twice_and_only_where_a_fault_was_published() -> None:
    choose = study("choose")
    power, best = np.array([0.5, 0.6, 0.9]), np.array([0.7, 0.6, 0.9])
    earlier = np.array([np.nan, 0.8, 0.4])
    expected = 0.2 + 0.2 / 3 + 2.0 * (0.2 + 0.2 / 2)
    assert choose.objective(power, best, earlier) == pytest.approx(expected)


def test_what_was_found_before_reads_back_where_it_was_published(tmp_path: Any) -> None:
    choose = study("choose")
    sets = [found("paper: a", {"a": 0.5}, pvalue=p) for p in (0.01, 0.04, 0.2, 0.9)]
    evidence = choose.evidence_of([*sets, found("blind_spots: b", {"a": 0.5}, pvalue=0.01)])
    (tmp_path / "earlier.csv").write_text(choose.earlier_text(evidence), encoding="utf-8")
    earlier = choose.earlier_of(evidence, tmp_path)
    assert earlier.rates[0] == 0.5
    assert 0.3 < earlier.softened[0] < 0.6
    assert np.isnan(earlier.rates[1])
    assert np.isnan(choose.earlier_of(evidence, tmp_path / "none").rates).all()


# The sets


def test_the_training_seed_is_that_of_no_table() -> None:
    others = [
        importlib.import_module(f"studies.{name}").SEED
        for name in ("check", "chains_beyond", "chains_beyond.true_ess", "effects", "extensions")
    ]
    assert study("training").SEED not in others


def test_every_fault_of_the_studies_is_there() -> None:
    training = study("training")
    faults = list(training.SETS)
    counts = {
        "paper": 21,
        "beyond": 21,
        "beyond, as chains": 21,
        "correlated": len(study("correlated").FAULTS),
        "posteriors": 12,
        "rows_needed": len(study("rows_needed").FAULTS),
        "blind_spots": len(study("blind_spots").SPOTS),
        "head_to_head": 2 * len(study("head_to_head_targets").FAULTS),
        "chains_beyond": 13,
    }
    found = {name: sum(one.startswith(f"{name}: ") for one in faults) for name in counts}
    assert found == counts
    assert len(faults) == sum(counts.values())


@pytest.mark.parametrize(
    "label", ["paper: perturbed, d=2", "beyond, as chains: one mean 0.25, d=2"]
)
def test_a_set_is_kept_with_every_part(label: str) -> None:
    training = study("training")
    cell = Cell.of("check-training", replicates=1, set=label)
    (row,) = training.task(Replicate(cell, 0, training.SEED))
    one = training.SETS[label]
    draws, scores = one.sample(Replicate(cell, 0, training.SEED))
    stream = Replicate(cell, 0, training.SEED).stream("check")
    result = ps.check(draws, scores, iid=one.iid, rng=stream)
    assert row["pvalue"] == result.pvalue
    for part in result.evidence.parts:
        assert f'"{part.name}": ' in row["parts"]
    # Independent coordinates: the shares are those of uncorrelated ones.
    assert row["weight"] == 0.0


def test_correlated_scores_have_the_other_shares() -> None:
    training, rng = study("training"), np.random.default_rng(1)
    scores = rng.standard_normal((4, 500, 3))
    assert training.correlation_weight(scores) == 0.0
    scores[..., 1] += 2.0 * scores[..., 0]
    assert training.correlation_weight(scores) == 1.0
    assert training.correlation_weight(scores.reshape(-1, 3)[:5]) == 0.0
