"""The study of chains beyond one time scale: its tables hold, begin again as published, are shown.

Lines that run NUTS need JAX; ``integration/test_nuts_lines.py`` runs a twentieth of those again.
"""

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polystein as ps

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "chains_beyond.md"
CHAINS = [
    "two-scale, slow share 0.1, 4 x 1000, d=4",
    "two-scale, slow share 0.1, 4 x 1000, d=16",
    "two-scale, slow share 0.05, 4 x 1000, d=4",
    "two-scale, slow share 0.1, 4 x 4000, d=16",
    "generalised HMC, exact flow, 4 x 1000, d=4",
    "rotating AR(0.97), angle 0.3, 4 x 1000, d=4",
    "rotating AR(0.97), angle 1, 4 x 1000, d=4",
    "sticky, 4 x 1000, d=4",
    "sticky, 4 x 1000, d=16",
    "sticky, rarely, 4 x 1000, d=4",
    "underdamped Langevin, small step, 4 x 1000, d=4",
    *(f"AR({memory}), 4 x 1000, d=8" for memory in ("-0.9", "-0.5", "0", "0.5", "0.9", "0.97")),
    "AR, 0 to 0.99 by coordinate, 4 x 1000, d=8",
    "slow radius, white signs, 4 x 1000, d=8",
    "MALA, correlated Gaussian, 4 x 1000, d=5",
    "HMC, correlated Gaussian, 4 x 1000, d=5",
    "random-walk Metropolis, 5 % accepted, correlated Gaussian, 4 x 1000, d=5",
    "systematic Gibbs, equicorrelated Gaussian, 4 x 1000, d=4",
    "ensemble of 16 walkers, correlated Gaussian, 16 x 1000, d=4",
    "NUTS, correlated Gaussian, 4 x 1000, d=5",
    "NUTS, log Gamma(2), 4 x 1000, d=5",
    *(
        f"AR({memory}), {shape}, d=4"
        for shape in ("4 x 100", "4 x 200", "100 x 50", "1000 x 20")
        for memory in ("0", "0.5", "0.9")
    ),
]
PLANTED = [
    *(
        f"{fault}, {where} coordinate"
        for where in ("every", "one")
        for fault in (
            "first 200 draws of every chain 8 sd off",
            "started at 20 sd",
            *(f"one chain of four {distance} sd off" for distance in ("1", "3", "9,000")),
        )
    ),
    "one chain of four frozen",
]
SCHOOLS = "centred eight schools, NUTS as it comes, 4 x 1000, d=10"
REGRESSION = "regression, NUTS after a warm-up of 20, 4 x 1000, d=5"
WALKERS = "ensemble of 16 walkers, correlated Gaussian, 16 x 1000, d=4"
POWER = ["AR(0.9), mean +0.1, 4 x 1000, d=8", "AR(0.9), all x 1.1, 4 x 1000, d=8"]
# Every line of every table with its replicates: the study is not there where only tests are.
REPLICATES: dict[str, dict[str, int]] = {
    "correct": dict.fromkeys(CHAINS, 300),
    "wrong": {**dict.fromkeys(PLANTED, 300), SCHOOLS: 40, REGRESSION: 40},
    "independent": {
        **dict.fromkeys(
            (f"N(0, I), {n}" for n in ("n=1000, d=16", "n=50, d=2", "n=50, d=16")), 4000
        ),
        "log Gamma(0.3), n=1000, d=16": 4000,
    },
    "power": dict.fromkeys(POWER, 1000),
    "axes": {
        f"(draw, chain, d) of {name}": 100
        for name in ("AR(0.5), 4 x 1000, d=8", "AR(0.9), 4 x 1000, d=8", WALKERS)
    },
}
LINES = {name: part for part, lines in REPLICATES.items() for name in lines}
WITH_JAX = {name for name in LINES if "NUTS" in name}
# What the page reports as not reached: half chains of a few correlated rows differ by more than
# R-hat 1.05, and such a result is never a bare "not rejected". The scale of antithetic chains is
# worth far fewer draws than their values.
SHORT_OF = {
    name: ["decides"]
    for name in (
        "AR(-0.9), 4 x 1000, d=8",
        "AR(0.5), 100 x 50, d=4",
        "AR(0.5), 1000 x 20, d=4",
        "AR(0.9), 1000 x 20, d=4",
    )
}
# Lines that are run again, from the first replicate on. The others are of the `check` before its
# shares were chosen anew, and have to be made again.
AGAIN = [
    (name, replicates // 20)
    for part in ("correct", "wrong", "axes")
    for name, replicates in REPLICATES[part].items()
    if name not in WITH_JAX
]
TABLES = ("correct", "wrong", "schools", "independent", "power", "axes")


def study(name: str) -> ModuleType:
    """A module of the study, which is in the repository but not in an installed package."""
    return importlib.import_module(f"studies.chains_beyond.{name}")


def line_of(name: str) -> Any:
    return study("lines").all_lines()[name]


def row_of(name: str) -> dict[str, str]:
    return study("runs").Place().stored(LINES[name])[name]


@pytest.mark.parametrize("part", REPLICATES)
def test_the_study_has_every_line_and_no_other(part: str) -> None:
    lines = list(study("lines").lines_of(part))
    assert [(line.name, line.replicates) for line in lines] == list(REPLICATES[part].items())
    assert {line.name for line in lines if line.needs_jax} == WITH_JAX & set(REPLICATES[part])


@pytest.mark.parametrize("part", REPLICATES)
def test_the_table_holds_every_line_in_full(part: str) -> None:
    rows = study("runs").Place().stored(part)
    found = [(name, int(row["replicates"])) for name, row in rows.items()]
    assert found == list(REPLICATES[part].items())


@pytest.mark.parametrize("name", LINES)
def test_the_counts_are_those_of_the_marks(name: str) -> None:
    row = row_of(name)
    assert re.fullmatch(r"[x?.e]+", row["verdicts"])
    assert len(row["verdicts"]) == len(row["abstentions"]) == int(row["replicates"])
    for mark, count in zip(
        "x?.e", ("rejected", "inconclusive", "not_rejected", "error"), strict=True
    ):
        assert row["verdicts"].count(mark) == int(row[count])
    assert int(row["p_0.05"]) == int(row["rejected"])
    assert int(row["seed"]) == importlib.import_module("studies.chains_beyond").SEED
    assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])


@pytest.mark.parametrize(("name", "count"), AGAIN)
def test_the_lines_begin_as_published(name: str, count: int) -> None:
    """A rejection here is one there, and so is every other verdict and abstention."""
    runs, row = study("runs"), row_of(name)
    rows = runs.again(line_of(name), range(count))
    assert runs.verdict_marks(rows) == row["verdicts"][:count]
    assert runs.abstention_marks(rows) == row["abstentions"][:count]


@pytest.mark.parametrize("name", LINES)
def test_what_is_asked_of_the_line_holds(name: str) -> None:
    line = line_of(name)
    least = study("true_ess").least_draws(line)
    assert (line.part == "correct") == (least is not None)
    found = study("judgements").judgements(line, row_of(name), least)
    assert [one.claim for one in found if not one.holds] == SHORT_OF.get(name, [])


@pytest.mark.parametrize("name", POWER)
def test_the_power_is_at_most_a_little_below_that_of_the_earlier_commit(name: str) -> None:
    """By 0.05 at the most."""
    place = study("runs").Place()
    earlier = study("tables").earlier_place(place).stored("power")[name]
    assert earlier["commit"].startswith("1d7e08b")
    assert study("judgements").power_kept(row_of(name), earlier)


@pytest.mark.parametrize("name", [SCHOOLS, REGRESSION])
def test_poor_diagnostics_are_never_a_bare_not_rejected(name: str) -> None:
    facts = study("runs").read_facts(study("runs").Place(), line_of(name))
    assert [one["verdict"] for one in facts] == [verdict(mark) for mark in row_of(name)["verdicts"]]
    assert all(study("judgements").never_bare(one) for one in facts)


def verdict(mark: str) -> str:
    return next(word for word, one in study("runs").MARKS.items() if one == mark)


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_the_table(name: str) -> None:
    assert tuple(study("tables").TABLES) == (*TABLES, "harder")
    lines = study("tables").TABLES[name](study("runs").Place())
    assert len(lines) > 2
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8")


def test_the_page_is_as_the_command_writes_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert study("tables").on_page(text, study("runs").Place()) == text


# The claims can fail


def counts(**changes: int) -> dict[str, str]:
    names = ("rejected", "inconclusive", "not_rejected", "error", "flips_abstained")
    start = dict.fromkeys((*names, "p_0.05", "p_0.01", "p_0.001"), 0) | {"replicates": 1000}
    return {name: str(value) for name, value in (start | changes).items()}


@pytest.mark.parametrize(
    ("claim", "kept", "broken"),
    [
        # 0.07 and 1,000 replicates: 90 are significantly more at the level 0.01, 89 are not.
        ("size", {"rejected": 89}, {"rejected": 90}),
        # The same of 0.06 and of 0.003: 79 and 9 are significantly more.
        ("smaller size", {"rejected": 78}, {"rejected": 79}),
        ("rare", {"p_0.001": 8}, {"p_0.001": 9}),
        ("flips judge", {"flips_abstained": 100}, {"flips_abstained": 101}),
        ("rejected", {"rejected": 900}, {"rejected": 899}),
        ("doubted", {"rejected": 900, "inconclusive": 50}, {"rejected": 900, "inconclusive": 49}),
        ("committed size", {"rejected": 60}, {"rejected": 61}),
        ("tails", {"p_0.01": 17, "p_0.001": 4}, {"p_0.01": 19}),
        ("tails", {"p_0.001": 4}, {"p_0.001": 5}),
        ("few rows", {"p_0.001": 2}, {"p_0.001": 3}),
        ("error", {"error": 950}, {"error": 949}),
    ],
)
def test_claims_are_kept_up_to_their_bounds(claim: str, kept: Any, broken: Any) -> None:
    judge = study("judgements").CLAIMS[claim]
    assert judge(counts(**kept))
    assert not judge(counts(**broken))


def test_a_verdict_is_asked_for_where_there_are_draws_enough() -> None:
    judgements = study("judgements")
    assert judgements.decides(counts(inconclusive=50), 401.0)
    assert not judgements.decides(counts(inconclusive=30, error=21), 401.0)
    assert judgements.decides(counts(inconclusive=1000), 400.0)
    assert judgements.power_kept(counts(rejected=700), counts(rejected=750))
    assert not judgements.power_kept(counts(rejected=700), counts(rejected=751))


@pytest.mark.parametrize(
    "change", [{"rhat_draws": "1.011"}, {"rhat_scores": "1.02"}, {"ess_draws": "399"}]
)
def test_healthy_runs_decide_and_others_need_not(change: dict[str, str]) -> None:
    judgements = study("judgements")
    fine = {"rhat_draws": "1.01", "rhat_scores": "1.0", "ess_draws": "400", "ess_scores": "500"}
    assert judgements.healthy(fine)
    assert not judgements.healthy(fine | change)
    decided = [fine | {"verdict": "not rejected"}] * 19
    open_questions = [fine | {"verdict": "inconclusive"}, fine | {"verdict": "error"}]
    others = [fine | change | {"verdict": "inconclusive"}] * 20
    assert judgements.healthy_runs_decide([*decided, open_questions[0], *others])
    assert not judgements.healthy_runs_decide([*decided, *open_questions, *others])


HARDER = {
    "t(4), hidden scale AR(0.998), 4 x 1000, d=4": 300,
    "t(4), hidden scale AR(0.998), 4 x 4000, d=4": 300,
    "pseudo-marginal, noise 2.2, 4 x 1000, d=4": 300,
    "independence sampler, 4 x 1000, d=4": 300,
    "AR(0.6), 32 x 40, d=4": 1000,
    "AR(0.6), 40 x 25, d=4": 1000,
    "t(3), random walk, 4 x 1000, d=4": 2000,
    "Poisson GLMM, NUTS after an ordinary warm-up, 4 x 1000, d=13": 300,
}


def test_the_harder_lines_are_there_with_their_claims() -> None:
    lines = list(study("lines").lines_of("harder"))
    assert {line.name: line.replicates for line in lines} == HARDER
    known = {*study("judgements").CLAIMS, "healthy runs decide"}
    assert all(line.claims <= known for line in lines)


def test_a_table_without_lines_is_not_on_the_page(tmp_path: Path) -> None:
    tables = study("tables")
    assert tables.on_page("no marks at all", study("runs").Place(tmp_path)) == "no marks at all"


@pytest.mark.parametrize(
    "name", [name for name in HARDER if "NUTS" not in name and "4 x 4000" not in name]
)
def test_scores_of_harder_lines_are_those_of_their_targets(name: str) -> None:
    drawn = line_of(name).draw(np.random.default_rng(0), 2)
    x = drawn.draws
    freedom = {"t(4)": 4.0, "t(3)": 3.0}.get(name.split(",")[0], np.inf)
    expected = -x if np.isinf(freedom) else -(freedom + 1.0) * x / (freedom + x**2)
    np.testing.assert_allclose(drawn.scores, expected, rtol=1e-12)
    chains, rows = (int(one) for one in name.split(", ")[-2].split(" x "))
    assert x.shape == (2, chains, rows, 4)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, True),
        ({"rhat_draws": "1.06"}, False),
        ({"ess_scores": "99.0"}, False),
        ({"rhat_draws": "1.06", "verdict": "inconclusive"}, True),
    ],
)
def test_a_bare_verdict_is_noticed(facts: dict[str, str], expected: bool) -> None:
    fine = {"rhat_draws": "1.0", "rhat_scores": "1.0", "ess_draws": "500", "ess_scores": "500"}
    assert study("judgements").never_bare(fine | {"verdict": "not rejected"} | facts) is expected


# How the study runs


@pytest.mark.processes
def test_the_tables_are_the_same_after_a_stop_and_for_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = study("runs")
    # The code of the study does not change while the test runs, whoever edits it.
    monkeypatch.setattr(runs, "code_digest", lambda: "code")
    line = line_of("AR(0.5), 4 x 100, d=4")
    tables = []
    for jobs in (1, 2):
        place = runs.Place(tmp_path / str(jobs), tmp_path / str(jobs) / "records")
        if jobs == 2:
            runs.run([line], place, 25, jobs)
        runs.run([line], place, 60, jobs)
        tables.append(place.table("correct").read_bytes())
        rows = runs.again(line, range(60))
        assert place.stored("correct")[line.name]["verdicts"] == runs.verdict_marks(rows)
    assert tables[0] == tables[1]


def test_replicates_are_the_same_from_any_group_on() -> None:
    runs, line = study("runs"), line_of("AR(0.5), 4 x 100, d=4")
    whole = [row["pvalue"] for row in runs.again(line, range(40))]
    assert [row["pvalue"] for row in runs.again(line, range(20, 40))] == whole[20:]
    assert len(set(whole)) > 20


def test_the_earlier_check_sees_the_same_draws_and_seeds() -> None:
    """This package, run as if it were an earlier one, gives its own p-values."""
    records, runs = study("records"), study("runs")
    cells = importlib.import_module("polystein.experiments.engine.cells")
    line = line_of("AR(0.5), 4 x 100, d=4")
    replicate = cells.Replicate(
        line.cell(25), 0, importlib.import_module("studies.chains_beyond").SEED
    )
    source = str(Path(ps.__file__).parents[1])
    found = records.group_task(replicate, earlier=source)
    now = runs.again(line, range(25))
    assert [row["pvalue"] for row in found] == [row["pvalue"] for row in now]


def test_a_refused_verdict_is_a_row_of_its_own() -> None:
    row = study("records").record(np.ones((4, 100, 2)), np.ones((4, 100, 2)), 0, False, {})
    assert row["verdict"] == "error"
    assert row["pvalue"] is None
    assert row["message"]


def test_an_unknown_arm_is_an_error() -> None:
    with pytest.raises(ValueError, match="arm of `check`"):
        study("records").arm_key("something else")


# The least true number of effective draws


def test_the_true_effective_draws_are_those_of_the_formula() -> None:
    """AR(ρ): n (1 - ρ)/(1 + ρ), less what the ends of the chains give, within a tenth."""
    true_ess = study("true_ess")
    for memory, slow in ((0.5, 0.5), (0.9, 0.9), (-0.9, 0.81)):
        line = line_of(f"AR({memory:g}), 4 x 1000, d=8")
        expected = 4000.0 * (1.0 - slow) / (1.0 + slow)
        assert true_ess.slowest(line, 250).draws == pytest.approx(expected, rel=0.15)
    two = true_ess.slowest(line_of(CHAINS[0]), 250)
    # Autocorrelations 0.1 * 0.98^k sum to 4.9: τ = 1 + 2 * 4.9 = 10.8.
    assert two.draws == pytest.approx(4000.0 / 10.8, rel=0.15)
